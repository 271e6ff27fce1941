//! Anti-forensic information splitting, as LUKS has it: a key lies in many stripes,
//! and is lost when any of them is overwritten (LUKS1 on-disk format §2.4).

use zeroize::Zeroizing;

use crate::hash::Hash;

/// The key of `stripes.len() / count` bytes that the stripes hold.
///
/// # Panics
/// Unless `stripes` is a positive number of stripes of equal length.
pub(crate) fn merge(stripes: &[u8], count: usize, hash: Hash) -> Zeroizing<Vec<u8>> {
    assert!(count > 0 && !stripes.is_empty() && stripes.len().is_multiple_of(count));
    let bytes = stripes.len() / count;
    let mut state = Zeroizing::new(vec![0; bytes]);
    for (index, stripe) in stripes.chunks_exact(bytes).enumerate() {
        state
            .iter_mut()
            .zip(stripe)
            .for_each(|(to, from)| *to ^= from);
        if index + 1 < count {
            diffuse(&mut state, hash);
        }
    }
    state
}

/// Each part of the digest's length becomes the hash of its number and itself.
fn diffuse(block: &mut [u8], hash: Hash) {
    for (number, part) in (0_u32..).zip(block.chunks_mut(hash.bytes())) {
        let digest = hash.digest(&[&number.to_be_bytes(), part]);
        let bytes = part.len();
        part.copy_from_slice(&digest[..bytes]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a writer does: all stripes but the last are random.
    fn split(key: &[u8], count: usize, hash: Hash, seed: u8) -> Vec<u8> {
        let bytes = key.len();
        let random = (0..(count - 1) * bytes).map(|at| (at as u8).wrapping_mul(167) ^ seed);
        let mut stripes: Vec<u8> = random.collect();
        let mut state = vec![0; bytes];
        for stripe in stripes.chunks_exact(bytes) {
            state
                .iter_mut()
                .zip(stripe)
                .for_each(|(to, from)| *to ^= from);
            diffuse(&mut state, hash);
        }
        stripes.extend(state.iter().zip(key).map(|(a, b)| a ^ b));
        stripes
    }

    #[test]
    fn what_was_split_is_merged() {
        let key: Vec<u8> = (0..64).collect();
        for hash in Hash::ALL {
            for (bytes, count) in [(16, 1), (32, 2), (64, 4000), (20, 3), (33, 5)] {
                let stripes = split(&key[..bytes], count, hash, 0x5a);
                assert_eq!(
                    *merge(&stripes, count, hash),
                    key[..bytes],
                    "{hash} {bytes}"
                );
            }
        }
    }

    #[test]
    fn no_key_without_every_bit_of_every_stripe() {
        let key = [7; 32];
        let mut stripes = split(&key, 10, Hash::Sha256, 1);
        for at in (0..stripes.len()).step_by(29) {
            stripes[at] ^= 1;
            assert_ne!(*merge(&stripes, 10, Hash::Sha256), key, "byte {at}");
            stripes[at] ^= 1;
        }
    }
}
