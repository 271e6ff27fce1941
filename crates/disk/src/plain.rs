//! Plain mode: no header, and a key that is a passphrase's hash or a file's bytes.

use zeroize::Zeroizing;

use crate::hash::Hash;

/// What cryptsetup 2.6.1 takes where nothing is named; 2.7 changed both.
pub const CIPHER: &str = "aes-cbc-essiv:sha256";
pub const HASH: &str = "ripemd160";
pub const KEY_BITS: usize = 256;

/// How a passphrase becomes a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hashing {
    /// Zeros at the end, or what is too long cut off.
    Plain,
    /// The hash of the passphrase, then of `A` and the passphrase, and so on.
    Hash(Hash),
}

/// A key of `bytes` from a passphrase.
pub fn key(hashing: Hashing, passphrase: &[u8], bytes: usize) -> Zeroizing<Vec<u8>> {
    let mut key = Zeroizing::new(vec![0; bytes]);
    match hashing {
        Hashing::Plain => {
            let taken = bytes.min(passphrase.len());
            key[..taken].copy_from_slice(&passphrase[..taken]);
        }
        Hashing::Hash(hash) => {
            for (count, part) in key.chunks_mut(hash.bytes()).enumerate() {
                let digest = hash.digest(&[&b"A".repeat(count), passphrase]);
                part.copy_from_slice(&digest[..part.len()]);
            }
        }
    }
    key
}
