//! AES rounds on registers, and nothing else.

use super::lanes::Lanes;

/// Encrypts `N` registers `laps` times with one key in a register; the bytes.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes, const N: usize, const ROUNDS: usize>(laps: u64) -> u64 {
    let mut seed = std::hint::black_box([0x5a_u8; 16]);
    let mut out = [0_u8; 64];
    // SAFETY: the caller's word; both arrays are ours, and a register is at
    // most 64 bytes.
    unsafe {
        let key = V::broadcast(&seed);
        let mut blocks = [key; N];
        let mut index = 0;
        while index < N {
            seed[0] = index as u8;
            blocks[index] = V::broadcast(&seed);
            index += 1;
        }
        let mut lap = 0;
        while lap < laps {
            let mut index = 0;
            while index < N {
                blocks[index] = blocks[index].xor(key);
                index += 1;
            }
            let mut round = 1;
            while round <= ROUNDS {
                let mut index = 0;
                while index < N {
                    blocks[index] = if round < ROUNDS {
                        blocks[index].encrypt_round(key)
                    } else {
                        blocks[index].encrypt_last_round(key)
                    };
                    index += 1;
                }
                round += 1;
            }
            lap += 1;
        }
        // Without a use of every register the compiler would drop the loop.
        let mut all = key;
        let mut index = 0;
        while index < N {
            all = all.xor(blocks[index]);
            index += 1;
        }
        all.store(out.as_mut_ptr());
    }
    std::hint::black_box(out);
    laps * (N * V::BLOCKS * 16) as u64
}
