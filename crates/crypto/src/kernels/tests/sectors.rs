//! Sectors: every set of instructions against the twin, at borders of groups, carries
//! and batches.

use super::*;
use crate::SectorMode;
use crate::kernels::sectors::SectorKey;

fn ivs(seed: u64, count: usize) -> Vec<[u8; 16]> {
    let random = noise(seed, 16 * count);
    let ivs = random.as_chunks().0.iter().zip(0_u128..);
    // Numbers of blocks about to carry, and numbers in a row, as disks have them.
    let iv = |(random, index): (&[u8; 16], u128)| match index % 4 {
        0 => *random,
        1 => (u128::from(u64::MAX) - 40 + index).to_be_bytes(),
        2 => (u128::MAX - 20 - index).to_be_bytes(),
        _ => (32 * index + 1).to_be_bytes(),
    };
    ivs.map(iv).collect()
}

#[test]
fn sectors_are_the_twins_for_every_mode_key_size_and_count() {
    for mode in SectorMode::ALL {
        for key_bytes in mode.key_bytes() {
            let key = noise(key_bytes as u64, key_bytes);
            let twin = SectorKey::with(Instructions::Baseline, mode, &key).unwrap();
            for (count, bytes) in [(1, 512), (3, 4096), (33, 512), (31, 1024), (130, 512)] {
                let (ivs, text) = (ivs(count as u64, count), noise(7, count * bytes));
                for encrypt in [true, false] {
                    let mut expected = text.clone();
                    twin.run(encrypt, &ivs, &mut expected);
                    assert_ne!(expected, text);
                    for set in native_sets() {
                        let what = format!("{mode:?} {key_bytes} {count} × {bytes} {}", set.set);
                        let own = SectorKey::with(set.set, mode, &key).unwrap();
                        let run = Guarded::new(text.len(), encrypt).filled(&text);
                        let apart = Guarded::new(text.len(), !encrypt);
                        let [at, to] = [&run, &apart].map(|own| {
                            let begin = own.segment().address;
                            move |index: usize| begin.wrapping_add(index * bytes)
                        });
                        // SAFETY: all are as long as the text.
                        unsafe {
                            own.run_at(encrypt, &ivs, bytes, |index| {
                                (at(index).cast_const(), to(index))
                            });
                            own.run_at(encrypt, &ivs, bytes, |index| {
                                (at(index).cast_const(), at(index))
                            });
                            assert!(apart.bytes() == expected, "{what} apart");
                            assert!(run.bytes() == expected, "{what} in place");
                            own.run_at(!encrypt, &ivs, bytes, |index| {
                                (at(index).cast_const(), at(index))
                            });
                            assert!(run.bytes() == text, "{what} back");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_key_of_another_length_is_refused() {
    for mode in SectorMode::ALL {
        for bytes in 0..70 {
            let made = SectorKey::with(crate::instructions(), mode, &noise(1, bytes));
            assert_eq!(
                made.is_ok(),
                mode.key_bytes().contains(&bytes),
                "{mode:?} {bytes}"
            );
        }
    }
}
