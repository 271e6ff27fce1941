//! Overlaps, refused before any work is done.

use crate::scatter::Cursor;
use crate::work::LIST_MAX;
use crate::{Operation, Segment, Status};

/// Lists up to this length are compared pair by pair.
const SHORT: usize = 8;

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

fn apart(a: &[Segment], b: &[Segment]) -> bool {
    // The common case first: two regions of one slab, far from each other.
    if !overlap(hull(a), hull(b)) {
        return true;
    }
    if a.len().min(b.len()) <= SHORT {
        return a
            .iter()
            .all(|&x| b.iter().all(|&y| !overlap(range(x), range(y))));
    }
    apart_by_sweep(a, b)
}

/// The same in n log n steps: a guest may send a thousand segments, and must not
/// cause a million comparisons. Each side is sorted by itself, since most stand in order;
/// then both are swept by address. No segment is empty.
fn apart_by_sweep(a: &[Segment], b: &[Segment]) -> bool {
    let mut orders = [[0_u16; LIST_MAX]; 2];
    let [mut one, mut other] = {
        let [first, second] = &mut orders;
        [(a, first), (b, second)].map(|(list, order)| {
            let order = &mut order[..list.len()];
            for (slot, index) in order.iter_mut().zip(0..) {
                *slot = index;
            }
            order.sort_unstable_by_key(|&index| range(list[usize::from(index)]));
            let in_order = order.iter();
            in_order
                .map(move |&index| range(list[usize::from(index)]))
                .peekable()
        })
    };
    while let (Some(&left), Some(&right)) = (one.peek(), other.peek()) {
        if overlap(left, right) {
            return false;
        }
        // Whatever ends first lies before all that follows on the other side.
        let ended = if left.1 <= right.0 {
            &mut one
        } else {
            &mut other
        };
        ended.next();
    }
    true
}

type Range = (usize, usize);

#[inline]
fn range(segment: Segment) -> Range {
    (segment.address.addr(), segment.address.addr() + segment.len)
}

#[inline]
fn overlap(a: Range, b: Range) -> bool {
    a.0 < a.1 && b.0 < b.1 && a.0 < b.1 && b.0 < a.1
}

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
        Segment::new(std::ptr::without_provenance_mut(address), len)
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
        let one = |address| vec![at(address, 32)];
        let two = |first, second| vec![at(first, 16), at(second, 16)];
        for (source, destination, passes) in [
            (one(100), one(100), true),
            (one(100), one(132), true),
            (one(100), one(116), false),
            (one(100), two(100, 116), true),
            (two(100, 200), two(200, 100), false),
            (two(100, 200), two(116, 216), true),
            (two(100, 200), two(116, 215), false),
        ] {
            let passed = both(&source, &destination).is_ok();
            assert_eq!(passed, passes, "{source:?} {destination:?}");
        }
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
        use Operation::{Decrypt, Encrypt};
        for (operation, tag, expected) in [
            (Encrypt, 132, Ok(())),
            (Encrypt, 131, Err(Status::BadSegment)),
            (Encrypt, 190, Err(Status::BadSegment)),
            (Decrypt, 190, Ok(())),
            (Decrypt, 131, Err(Status::BadSegment)),
        ] {
            let found = disjoint(operation, &[text], &[text], aad, at(tag, 16));
            assert_eq!(found, expected, "{operation} {tag}");
        }
        let over = disjoint(Operation::Encrypt, &[text], &[text], at(99, 2), at(300, 16));
        assert_eq!(over, Err(Status::BadSegment));
    }

    fn pairwise(a: &[Segment], b: &[Segment]) -> bool {
        a.iter()
            .all(|&x| b.iter().all(|&y| !overlap(range(x), range(y))))
    }

    /// Two lists laid out by `seed`, dense enough that about half overlap.
    fn lists(seed: u64) -> [Vec<Segment>; 2] {
        let mut state = seed;
        let mut below = |bound: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from((state >> 33) % bound).expect("small")
        };
        let mut lists = [Vec::new(), Vec::new()];
        let mut address = 1000;
        for _ in 0..60 {
            let (gap, len) = (below(3), 1 + below(9));
            lists[below(2)].push(at(address + gap, len));
            // Now and then the next begins before this one ends.
            address += gap + len - usize::from(below(80) == 0);
        }
        for list in &mut lists {
            list.rotate_left(below(10));
        }
        lists
    }

    #[test]
    fn the_sweep_agrees_with_all_pairs() {
        let mut verdicts = [0; 2];
        for seed in 0..2000 {
            let [a, b] = lists(seed);
            let expected = pairwise(&a, &b);
            assert_eq!(apart_by_sweep(&a, &b), expected, "seed {seed}");
            assert_eq!(apart(&a, &b), expected, "seed {seed}");
            verdicts[usize::from(expected)] += 1;
        }
        assert!(
            verdicts.iter().all(|&count| count > 200),
            "one-sided: {verdicts:?}"
        );
    }

    #[test]
    fn lists_of_the_greatest_length_fit() {
        let a: Vec<_> = (0..LIST_MAX).map(|n| at(16 + 4 * n, 2)).collect();
        let b: Vec<_> = (0..LIST_MAX).map(|n| at(18 + 4 * n, 2)).collect();
        assert!(apart(&a, &b));
        let mut touching = b.clone();
        touching[700].len = 3;
        assert!(!apart(&a, &touching));
    }
}
