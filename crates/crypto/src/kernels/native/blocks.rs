//! The block cipher on several registers at once.

use super::lanes::Lanes;
use super::round_keys::RoundKeys;

/// Runs `blocks`, already xored with the first round key, through all rounds;
/// each register has a last round key of its own, made of the schedule's and
/// of `mask`, which is thus xored to the result. `ROUNDS` is
/// the key's number of rounds, or 0 where the compiler need not know it.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn rounds<V: Lanes, const N: usize, const ENCRYPT: bool, const ROUNDS: usize>(
    keys: &RoundKeys,
    mut blocks: [V; N],
    mask: &[V; N],
) -> [V; N] {
    let schedule = schedule::<ENCRYPT>(keys);
    let count = if ROUNDS > 0 { ROUNDS } else { keys.rounds };
    // SAFETY: the instructions are there, says the caller; the schedule has
    // one key more than rounds.
    unsafe {
        let mut round = 1;
        while round < count {
            blocks = one_round::<V, N, ENCRYPT>(blocks, V::broadcast(schedule.add(round)));
            round += 1;
        }
        let key = V::broadcast(schedule.add(count));
        let mut index = 0;
        while index < N {
            let key = key.xor(mask[index]);
            blocks[index] = if ENCRYPT {
                blocks[index].encrypt_last_round(key)
            } else {
                blocks[index].decrypt_last_round(key)
            };
            index += 1;
        }
    }
    blocks
}

/// One round that is not the last.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn one_round<V: Lanes, const N: usize, const ENCRYPT: bool>(
    mut blocks: [V; N],
    key: V,
) -> [V; N] {
    let mut index = 0;
    while index < N {
        // SAFETY: the caller's.
        blocks[index] = unsafe {
            if ENCRYPT {
                blocks[index].encrypt_round(key)
            } else {
                blocks[index].decrypt_round(key)
            }
        };
        index += 1;
    }
    blocks
}

/// The round keys of a direction, in the order of use.
#[inline(always)]
pub(super) fn schedule<const ENCRYPT: bool>(keys: &RoundKeys) -> *const [u8; 16] {
    if ENCRYPT {
        keys.encrypting.as_ptr()
    } else {
        keys.decrypting.as_ptr()
    }
}
