//! Lengths, refused before any work is done.

use crate::{Algorithm, Kind, Operation, PacketPlace, RsaScheme, Segment, Status};

/// Bytes of an AES block, a GCM tag, a CBC initialisation vector.
pub(crate) const BLOCK_BYTES: usize = 16;
/// Bytes of the SHA-256 digest that every signature here is over.
pub(crate) const SIGNED_DIGEST_BYTES: usize = 32;
/// Longest GCM text (SP 800-38D §5.2.1.1: 2^39 − 256 bits).
const GCM_TEXT_BYTES_MAX: u64 = (1 << 36) - 32;
/// Longest GCM additional data (2^64 − 1 bits).
const GCM_AAD_BYTES_MAX: u64 = (1 << 61) - 1;
/// Longest ChaCha20-Poly1305 text (RFC 8439 §2.8: 2^32 − 1 blocks of 64 bytes).
const CHACHA20_TEXT_BYTES_MAX: u64 = ((1 << 32) - 1) * 64;
/// Longest XTS data unit (SP 800-38E §4: 2^20 blocks).
const XTS_BYTES_MAX: u64 = 16 << 20;
/// Longest message of the hashes with 512-bit blocks (FIPS 180-4 §1: fewer
/// than 2^64 bits); enough for the others.
const HASH_BYTES_MAX: u64 = (1 << 61) - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub source: usize,
    pub destination: usize,
    pub aad: usize,
    pub tag: usize,
}

/// Whether the algorithm of `kind` has its operation.
pub(crate) fn exists(kind: Kind) -> bool {
    kind.algorithm.operations().contains(&kind.operation)
}

/// Whether `kind` takes these lengths, and with them the number of a first sector: the table at [`crate::Job`].
///
/// # Errors
/// [`Status::BadLength`].
#[inline]
pub(crate) fn lengths(kind: Kind, iv: &[u8; 16], lengths: Lengths) -> Result<(), Status> {
    if fit(kind, iv, lengths) {
        Ok(())
    } else {
        Err(Status::BadLength)
    }
}

#[inline(always)]
fn fit(kind: Kind, iv: &[u8; 16], lengths: Lengths) -> bool {
    let Lengths {
        source,
        destination,
        aad,
        tag,
    } = lengths;
    let text = source as u64;
    let same = source == destination;
    let bare = aad == 0 && tag == 0;
    use Algorithm as A;
    match kind.algorithm {
        A::Aes128Ecb | A::Aes192Ecb | A::Aes256Ecb | A::Aes128Cbc | A::Aes192Cbc | A::Aes256Cbc => {
            same && bare && source.is_multiple_of(BLOCK_BYTES)
        }
        A::Aes128Ctr | A::Aes192Ctr | A::Aes256Ctr => same && bare,
        A::Aes128Gcm | A::Aes192Gcm | A::Aes256Gcm => {
            let limits = text <= GCM_TEXT_BYTES_MAX && aad as u64 <= GCM_AAD_BYTES_MAX;
            same && tag == BLOCK_BYTES && limits
        }
        A::ChaCha20Poly1305 => same && tag == BLOCK_BYTES && text <= CHACHA20_TEXT_BYTES_MAX,
        A::Aes128Xts | A::Aes256Xts => {
            same && bare && source >= BLOCK_BYTES && text <= XTS_BYTES_MAX
        }
        A::Sha1 | A::Sha256 | A::Sha384 | A::Sha512 | A::HmacSha256 => {
            destination == kind.algorithm.digest_bytes() && bare && text <= HASH_BYTES_MAX
        }
        A::Rsa(..) | A::EcdsaP256 | A::X25519 | A::Ffdh(_) => fit_public_key(kind, lengths),
        A::Sectors(sectors) => same && bare && sectors.first(iv, source).is_some(),
        A::Packets(_) => bare && PacketPlace::fits(iv, kind.operation, source, destination),
    }
}

fn fit_public_key(kind: Kind, lengths: Lengths) -> bool {
    let Lengths {
        source,
        destination,
        aad,
        tag,
    } = lengths;
    let Kind {
        algorithm,
        operation,
    } = kind;
    let modulus = algorithm.modulus_bytes();
    let is_right = match (operation, rsa_message_bytes_max(algorithm)) {
        (Operation::Encrypt, Some(most)) => source <= most && destination == modulus,
        (Operation::Decrypt, Some(most)) => source == modulus && destination <= most,
        (Operation::Derive, _) => source == modulus && destination == modulus,
        (Operation::Encrypt | Operation::Decrypt | Operation::Hash, _) => false,
        (Operation::Sign | Operation::Verify, _) => {
            source == SIGNED_DIGEST_BYTES && destination == 0
        }
    };
    is_right && aad == 0 && tag == algorithm.tag_bytes(operation)
}

/// Longest message of RSA encryption (RFC 8017 §7.1.1, §7.2.1).
fn rsa_message_bytes_max(algorithm: Algorithm) -> Option<usize> {
    match algorithm {
        Algorithm::Rsa(bits, RsaScheme::Pkcs1) => Some(bits.bits() / 8 - 11),
        Algorithm::Rsa(bits, RsaScheme::Oaep) => {
            (bits.bits() / 8).checked_sub(2 * SIGNED_DIGEST_BYTES + 2)
        }
        _ => None,
    }
}

/// A segment is sound when it has no bytes, or has an address and ends
/// before the address space does.
///
/// # Errors
/// [`Status::BadSegment`].
#[inline]
pub(crate) fn sound(segment: Segment) -> Result<(), Status> {
    let from_null = segment.address.is_null() && segment.len > 0;
    let wraps = segment.address.addr().checked_add(segment.len).is_none();
    if from_null || wraps {
        Err(Status::BadSegment)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests of whole back-ends have other lengths, but no text as long as these.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn texts_end_at_the_limits_of_their_standards() {
        for (algorithm, most, tag) in [
            (Algorithm::Aes256Gcm, (1_usize << 36) - 32, 16),
            (Algorithm::ChaCha20Poly1305, (1 << 38) - 64, 16),
            (Algorithm::Aes256Xts, 16 << 20, 0),
        ] {
            for (text, expected) in [(most, Ok(())), (most + 1, Err(Status::BadLength))] {
                let of = Lengths {
                    source: text,
                    destination: text,
                    aad: 0,
                    tag,
                };
                assert_eq!(
                    lengths(algorithm.into(), &[0; 16], of),
                    expected,
                    "{algorithm} {text}"
                );
            }
        }
    }
}
