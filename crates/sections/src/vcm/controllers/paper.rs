//! Which of the paper's figures an algorithm answers.

use crypto::Algorithm;
use model::paper::published::{AES_128, Published, RSA, SHA_256};

/// The paper's figure of that algorithm, where it has one.
pub(super) fn published(algorithm: Algorithm) -> Option<Published> {
    match algorithm {
        Algorithm::Aes128Cbc => Some(AES_128),
        Algorithm::Sha256 => Some(SHA_256),
        Algorithm::Rsa(..) => Some(RSA),
        _ => None,
    }
}

/// Bytes that PKCS#1 v1.5 encrypts with a modulus of so many bytes (RFC 8017,
/// section 7.2.1).
pub(super) fn rsa_piece_bytes(modulus_bytes: usize) -> usize {
    modulus_bytes.saturating_sub(11).max(1)
}
