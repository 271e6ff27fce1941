//! Lengths, refused before any work is done.

use crate::{Algorithm, Kind, Segment, Status};

/// Bytes of an AES block, a GCM tag, a CBC initialisation vector.
pub(crate) const BLOCK_BYTES: usize = 16;
/// Bytes of a SHA-256 digest.
pub(crate) const DIGEST_BYTES: usize = 32;
/// Bytes of an RSA-2048 signature.
pub(crate) const SIGNATURE_BYTES: usize = 256;
/// Longest GCM text (SP 800-38D §5.2.1.1: 2^39 − 256 bits).
const GCM_TEXT_BYTES_MAX: u64 = (1 << 36) - 32;
/// Longest GCM additional data (2^64 − 1 bits).
const GCM_AAD_BYTES_MAX: u64 = (1 << 61) - 1;
/// Longest XTS data unit (SP 800-38E §4: 2^20 blocks).
const XTS_BYTES_MAX: u64 = 16 << 20;
/// Longest SHA-256 message (FIPS 180-4 §1: fewer than 2^64 bits).
const SHA256_BYTES_MAX: u64 = (1 << 61) - 1;

/// The bytes that a job names, part by part.
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

/// Whether `algorithm` takes these lengths: the table at [`crate::Job`].
///
/// # Errors
/// [`Status::BadLength`].
#[inline]
pub(crate) fn lengths(algorithm: Algorithm, lengths: Lengths) -> Result<(), Status> {
    if fit(algorithm, lengths) {
        Ok(())
    } else {
        Err(Status::BadLength)
    }
}

#[inline]
fn fit(algorithm: Algorithm, lengths: Lengths) -> bool {
    let Lengths {
        source,
        destination,
        aad,
        tag,
    } = lengths;
    let text = source as u64;
    let same = source == destination;
    let bare = aad == 0 && tag == 0;
    match algorithm {
        Algorithm::Aes128Cbc | Algorithm::Aes256Cbc => {
            same && bare && source.is_multiple_of(BLOCK_BYTES)
        }
        Algorithm::Aes128Ctr | Algorithm::Aes256Ctr => same && bare,
        Algorithm::Aes128Gcm | Algorithm::Aes256Gcm => {
            let limits = text <= GCM_TEXT_BYTES_MAX && aad as u64 <= GCM_AAD_BYTES_MAX;
            same && tag == BLOCK_BYTES && limits
        }
        Algorithm::Aes256Xts => same && bare && source >= BLOCK_BYTES && text <= XTS_BYTES_MAX,
        Algorithm::Sha256 => destination == DIGEST_BYTES && bare && text <= SHA256_BYTES_MAX,
        Algorithm::Rsa2048 => {
            source == DIGEST_BYTES && destination == 0 && aad == 0 && tag == SIGNATURE_BYTES
        }
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
    use crate::Operation;

    fn at(address: usize, len: usize) -> Segment {
        Segment {
            address: std::ptr::without_provenance_mut(address),
            len,
        }
    }

    fn taken(algorithm: Algorithm, of: [usize; 4]) -> Result<(), Status> {
        let [source, destination, aad, tag] = of;
        lengths(
            algorithm,
            Lengths {
                source,
                destination,
                aad,
                tag,
            },
        )
    }

    #[test]
    fn lengths_follow_the_table() {
        use Algorithm::*;
        let refused = Err(Status::BadLength);
        assert_eq!(taken(Aes128Cbc, [32, 32, 0, 0]), Ok(()));
        assert_eq!(taken(Aes128Cbc, [31, 31, 0, 0]), refused);
        assert_eq!(taken(Aes128Cbc, [32, 16, 0, 0]), refused);
        assert_eq!(taken(Aes256Cbc, [32, 32, 1, 0]), refused);
        assert_eq!(taken(Aes256Ctr, [31, 31, 0, 0]), Ok(()));
        assert_eq!(taken(Aes256Ctr, [31, 31, 0, 16]), refused);
        assert_eq!(taken(Aes128Gcm, [0, 0, 9, 16]), Ok(()));
        assert_eq!(taken(Aes128Gcm, [0, 0, 9, 12]), refused);
        assert_eq!(taken(Aes256Xts, [15, 15, 0, 0]), refused);
        assert_eq!(taken(Aes256Xts, [17, 17, 0, 0]), Ok(()));
        assert_eq!(taken(Aes256Xts, [16 << 20, 16 << 20, 0, 0]), Ok(()));
        assert_eq!(
            taken(Aes256Xts, [(16 << 20) + 1, (16 << 20) + 1, 0, 0]),
            refused
        );
        assert_eq!(taken(Sha256, [5, 32, 0, 0]), Ok(()));
        assert_eq!(taken(Sha256, [5, 31, 0, 0]), refused);
        assert_eq!(taken(Rsa2048, [32, 0, 0, 256]), Ok(()));
        assert_eq!(taken(Rsa2048, [31, 0, 0, 256]), refused);
        assert_eq!(taken(Rsa2048, [32, 0, 0, 255]), refused);
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn gcm_stops_at_its_limit() {
        let most = (1 << 36) - 32;
        assert_eq!(taken(Algorithm::Aes256Gcm, [most, most, 0, 16]), Ok(()));
        let over = taken(Algorithm::Aes256Gcm, [most + 1, most + 1, 0, 16]);
        assert_eq!(over, Err(Status::BadLength));
    }

    #[test]
    fn an_operation_of_another_algorithm_does_not_exist() {
        let algorithm = Algorithm::Sha256;
        let with = |operation| Kind {
            algorithm,
            operation,
        };
        assert!(exists(with(Operation::Hash)) && !exists(with(Operation::Encrypt)));
    }

    #[test]
    fn null_and_wrapping_segments_are_unsound() {
        assert_eq!(sound(Segment::EMPTY), Ok(()));
        assert_eq!(sound(at(0, 1)), Err(Status::BadSegment));
        assert_eq!(sound(at(usize::MAX - 3, 8)), Err(Status::BadSegment));
    }
}
