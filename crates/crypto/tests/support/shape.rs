//! How many bytes the parts of a job have.

use lockgate_crypto::{Algorithm, Kind, Operation, RsaScheme};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub source: usize,
    pub destination: usize,
    pub aad: usize,
    pub tag: usize,
}

impl Shape {
    /// One that `kind` takes, as close to the given lengths as it can be.
    pub fn near(kind: Kind, text_bytes: usize, aad_bytes: usize) -> Self {
        let (source, destination) = texts(kind, text_bytes);
        Self {
            source,
            destination,
            aad: if kind.algorithm.is_aead() {
                aad_bytes
            } else {
                0
            },
            tag: kind.algorithm.tag_bytes(kind.operation),
        }
    }
}

fn texts(kind: Kind, text_bytes: usize) -> (usize, usize) {
    let Kind {
        algorithm,
        operation,
    } = kind;
    let modulus = algorithm.modulus_bytes();
    match (operation, message_bytes_max(algorithm)) {
        (Operation::Encrypt, Some(most)) => (text_bytes % (most + 1), modulus),
        (Operation::Decrypt, Some(most)) => (modulus, text_bytes % (most + 1)),
        (Operation::Sign | Operation::Verify, _) => (32, 0),
        (Operation::Derive, _) => (modulus, modulus),
        (Operation::Hash, _) => (text_bytes, algorithm.digest_bytes()),
        _ if takes_blocks(algorithm) => (text_bytes & !15, text_bytes & !15),
        _ if is_xts(algorithm) => (text_bytes.max(16), text_bytes.max(16)),
        _ => (text_bytes, text_bytes),
    }
}

pub fn message_bytes_max(algorithm: Algorithm) -> Option<usize> {
    match algorithm {
        Algorithm::Rsa(bits, RsaScheme::Pkcs1) => Some(bits.bits() / 8 - 11),
        Algorithm::Rsa(bits, RsaScheme::Oaep) => Some(bits.bits() / 8 - 66),
        _ => None,
    }
}

/// Whether it takes whole blocks only: ECB and CBC.
pub fn takes_blocks(algorithm: Algorithm) -> bool {
    use Algorithm as A;
    matches!(
        algorithm,
        A::Aes128Ecb | A::Aes192Ecb | A::Aes256Ecb | A::Aes128Cbc | A::Aes192Cbc | A::Aes256Cbc
    )
}

pub fn is_xts(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::Aes128Xts | Algorithm::Aes256Xts)
}
