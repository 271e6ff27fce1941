//! Lengths and overlaps, refused before any work is done.

use crate::scatter::Cursor;
use crate::{Algorithm, Kind, Operation, Segment, Status};

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

/// What a job reads and writes does not overlap, except that source and
/// destination may be the same bytes in the same order. Both lists are sound
/// and hold no empty segment, unless it is their only one.
///
/// # Errors
/// [`Status::BadSegment`].
pub(crate) fn disjoint(
    operation: Operation,
    source: &[Segment],
    destination: &[Segment],
    aad: Segment,
    tag: Segment,
) -> Result<(), Status> {
    let writes_tag = matches!(operation, Operation::Encrypt | Operation::Sign);
    let in_place_or_apart = same_bytes(source, destination) || apart(source, destination);
    let extras_apart = apart(&[aad], destination) && apart(&[tag], destination);
    let tag_alone = !writes_tag || (apart(&[tag], source) && apart(&[tag], &[aad]));
    if in_place_or_apart && extras_apart && tag_alone {
        Ok(())
    } else {
        Err(Status::BadSegment)
    }
}

/// [`disjoint`] for one segment on each side, which most jobs have.
///
/// # Errors
/// [`Status::BadSegment`].
#[inline]
pub(crate) fn disjoint_pair(
    operation: Operation,
    source: Segment,
    destination: Segment,
    aad: Segment,
    tag: Segment,
) -> Result<(), Status> {
    let (from, to) = (range(source), range(destination));
    let mut bad = source != destination && overlap(from, to);
    if aad.len | tag.len > 0 {
        let writes_tag = matches!(operation, Operation::Encrypt | Operation::Sign);
        let (aad, tag) = (range(aad), range(tag));
        bad |= overlap(aad, to) || overlap(tag, to);
        bad |= writes_tag && (overlap(tag, from) || overlap(tag, aad));
    }
    if bad { Err(Status::BadSegment) } else { Ok(()) }
}

/// Whether the n-th byte of both lists has the same address, for every n.
fn same_bytes(a: &[Segment], b: &[Segment]) -> bool {
    let (mut a, mut b) = (Cursor::new(a), Cursor::new(b));
    loop {
        let ((a_address, a_bytes), (b_address, b_bytes)) = (a.run(), b.run());
        let run_bytes = a_bytes.min(b_bytes);
        if run_bytes == 0 {
            return a_bytes == b_bytes;
        }
        if a_address != b_address {
            return false;
        }
        a.advance(run_bytes);
        b.advance(run_bytes);
    }
}

/// Whether no byte belongs to both lists.
fn apart(a: &[Segment], b: &[Segment]) -> bool {
    // The common case first: two regions of one slab, far from each other.
    if !overlap(hull(a), hull(b)) {
        return true;
    }
    a.iter()
        .all(|&x| b.iter().all(|&y| !overlap(range(x), range(y))))
}

/// First address and the one after the last.
type Range = (usize, usize);

#[inline]
fn range(segment: Segment) -> Range {
    (segment.address.addr(), segment.address.addr() + segment.len)
}

#[inline]
fn overlap(a: Range, b: Range) -> bool {
    a.0 < a.1 && b.0 < b.1 && a.0 < b.1 && b.0 < a.1
}

/// The smallest range around all segments that have bytes.
fn hull(list: &[Segment]) -> Range {
    list.iter()
        .filter(|segment| segment.len > 0)
        .map(|&segment| range(segment))
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        .unwrap_or((0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    fn both(source: &[Segment], destination: &[Segment]) -> Result<(), Status> {
        disjoint(
            Operation::Encrypt,
            source,
            destination,
            Segment::EMPTY,
            Segment::EMPTY,
        )
    }

    #[test]
    fn in_place_and_apart_pass_partial_overlap_does_not() {
        let bad = Err(Status::BadSegment);
        assert_eq!(both(&[at(100, 32)], &[at(100, 32)]), Ok(()));
        assert_eq!(both(&[at(100, 32)], &[at(132, 32)]), Ok(()));
        assert_eq!(both(&[at(100, 32)], &[at(116, 32)]), bad);
        assert_eq!(both(&[at(100, 32)], &[at(100, 16), at(116, 16)]), Ok(()));
        assert_eq!(
            both(&[at(100, 16), at(200, 16)], &[at(200, 16), at(100, 16)]),
            bad
        );
        assert_eq!(
            both(&[at(100, 16), at(200, 16)], &[at(116, 16), at(216, 16)]),
            Ok(())
        );
        assert_eq!(
            both(&[at(100, 16), at(200, 16)], &[at(116, 16), at(215, 16)]),
            bad
        );
    }

    /// Every arrangement of four short segments in a few bytes.
    #[test]
    fn pairs_are_judged_as_lists_of_one() {
        for code in 0..7_usize.pow(4) * 8 {
            let digit = |place: u32| at(64 + code / 7_usize.pow(place) % 7, 2);
            let bits = code / 7_usize.pow(4);
            let operation = [Operation::Encrypt, Operation::Decrypt][bits & 1];
            let empty_if = |empty: usize, segment| if empty > 0 { Segment::EMPTY } else { segment };
            let (source, destination) = (digit(0), digit(1));
            let (aad, tag) = (empty_if(bits & 2, digit(2)), empty_if(bits & 4, digit(3)));
            assert_eq!(
                disjoint_pair(operation, source, destination, aad, tag),
                disjoint(operation, &[source], &[destination], aad, tag),
                "{operation:?} {source:?} {destination:?} {aad:?} {tag:?}"
            );
        }
    }

    #[test]
    fn the_tag_stays_out_of_what_is_written_and_read() {
        let (text, aad) = (at(100, 32), at(200, 8));
        let with = |operation, tag| disjoint(operation, &[text], &[text], aad, tag);
        assert_eq!(with(Operation::Encrypt, at(132, 16)), Ok(()));
        assert_eq!(
            with(Operation::Encrypt, at(131, 16)),
            Err(Status::BadSegment)
        );
        assert_eq!(
            with(Operation::Encrypt, at(190, 16)),
            Err(Status::BadSegment)
        );
        assert_eq!(with(Operation::Decrypt, at(190, 16)), Ok(()));
        assert_eq!(
            with(Operation::Decrypt, at(131, 16)),
            Err(Status::BadSegment)
        );
        let over = disjoint(Operation::Encrypt, &[text], &[text], at(99, 2), at(300, 16));
        assert_eq!(over, Err(Status::BadSegment));
    }
}
