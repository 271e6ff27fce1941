//! What GCM and packets leave on the stack: no key, no text, no mask of a tag.

use std::collections::HashSet;
use std::hint::black_box;
use std::mem::MaybeUninit;

use super::{native_sets, noise};
use crate::{
    Algorithm, Backend, Data, KeyMaterial, Kind, Operation, PacketPlace, PacketSlices, Packets,
    Slices, Status, process_packets, process_slices,
};

/// More than any call here uses.
const DEPTH: usize = 64 << 10;
const PATTERN: usize = 8;

/// Leaves a pattern where the next call has its frames.
#[inline(never)]
fn paint() {
    black_box(&mut [0x5a_u8; DEPTH]);
}

/// What is there.
#[inline(never)]
fn left() -> Vec<u8> {
    let stack = MaybeUninit::<[u8; DEPTH]>::uninit();
    let start = black_box(&stack).as_ptr().cast::<u8>();
    // SAFETY: a frame of our own; volatile, since nobody wrote it in this function.
    (0..DEPTH)
        .map(|at| unsafe { start.add(at).read_volatile() })
        .collect()
}

fn windows(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.windows(PATTERN)
}

/// Runs `work` and looks for what is secret.
fn leaves_nothing(what: &str, secrets: &[&[u8]], work: impl Fn()) {
    let secrets: HashSet<&[u8]> = secrets.iter().flat_map(|all| windows(all)).collect();
    paint();
    work();
    let left = left();
    let painted = left.iter().filter(|byte| **byte == 0x5a).count();
    assert!(
        painted > DEPTH / 4,
        "{what}: the stack that is looked at is not all used"
    );
    let found = windows(&left).position(|window| secrets.contains(window));
    assert_eq!(
        found, None,
        "{what}: bytes behind the end of the stack's {DEPTH}"
    );
}

/// The first block of AES over zeros but for the counter: what hides the tag.
fn mask(algorithm: Algorithm, key: &[u8], first: [u8; 16]) -> [u8; 16] {
    let ecb = match key.len() {
        16 => Algorithm::Aes128Ecb,
        _ => Algorithm::Aes256Ecb,
    };
    let aws_lc = crate::by_name("aws-lc").unwrap();
    let key = aws_lc.key(ecb, &KeyMaterial::take(&mut key.to_vec()));
    let mut mask = first;
    let slices = Slices::plain(Data::InPlace(&mut mask));
    let kind = Kind::new(ecb, Operation::Encrypt);
    let status = process_slices(&*aws_lc, &*key.unwrap(), kind, slices);
    assert_eq!(status, Status::Ok, "{algorithm}");
    mask
}

#[test]
fn gcm_leaves_no_secret_on_the_stack() {
    for (algorithm, key_bytes) in [(Algorithm::Aes128Gcm, 16), (Algorithm::Aes256Gcm, 32)] {
        let (key, text) = (noise(1, key_bytes), noise(2, 1500));
        let mut first = [7; 16];
        first[12..].copy_from_slice(&[0, 0, 0, 1]);
        let mask = mask(algorithm, &key, first);
        for own in native_sets() {
            let made = own.key(algorithm, &KeyMaterial::take(&mut key.clone()));
            let made = made.unwrap();
            for bytes in [0, 20, 64, 300, 1500] {
                let what = format!("{} {algorithm} {bytes}", own.set);
                let kind = Kind::new(algorithm, Operation::Encrypt);
                let memory = std::cell::RefCell::new((vec![0; bytes], [0; 16]));
                leaves_nothing(&what, &[&key, &text[..bytes], &mask], || {
                    let (to, tag) = &mut *memory.borrow_mut();
                    let slices = Slices {
                        iv: [7; 16],
                        aad: &[3; 30],
                        data: Data::apart(&text[..bytes], to),
                        tag,
                    };
                    let status = process_slices(&own, &*made, kind, slices);
                    assert_eq!(status, Status::Ok);
                });
            }
        }
    }
}

#[test]
fn packets_leave_no_secret_on_the_stack() {
    for suite in [Packets::Aes128Gcm, Packets::Aes256Gcm] {
        let (key, mut plain) = (noise(3, suite.key_bytes()), noise(4, 1200));
        plain[0] = 0x43;
        for own in native_sets() {
            let algorithm = Algorithm::Packets(suite);
            let made = own.key(algorithm, &KeyMaterial::take(&mut key.clone()));
            let made = made.unwrap();
            for bytes in [30, 64, 1200] {
                let what = format!("{} {} {bytes}", own.set, suite.name());
                let memory = std::cell::RefCell::new(vec![0; bytes + 16]);
                let ciphers = &key[..2 * suite.cipher_key_bytes()];
                // The header is on the wire.
                leaves_nothing(&what, &[ciphers, &plain[13..bytes]], || {
                    let mut all = [PacketSlices {
                        key: &*made,
                        place: PacketPlace {
                            number: 5,
                            number_at: 9,
                            phase: None,
                        },
                        source: &plain[..bytes],
                        destination: &mut memory.borrow_mut(),
                        status: Status::Cancelled,
                    }];
                    process_packets(&own, suite, Operation::Encrypt, &mut all);
                    assert_eq!(all[0].status, Status::Ok);
                });
            }
        }
    }
}
