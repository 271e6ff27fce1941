//! Fragments of datagrams, in any order, and those that do not fit together.

use crate::make::{V4, V6, frame, udp4, udp6};
use lockgate_quic::capture::{
    DATAGRAMS_MAX, Datagram, Datagrams, Frame, HELD_NS_MAX, LinkType, Skip,
};
use proptest::prelude::*;
use wire::{ipv4, ipv6, protocol};

/// A part of a datagram's bytes with the rest to follow, or not.
fn four(id: u16, bytes: &[u8], at: usize, more: bool) -> Frame {
    let mut header = ipv4::Repr::new(V4[0], V4[1], protocol::UDP);
    header.identification = id;
    header.fragment = ipv4::Fragment::new(u32::try_from(at).unwrap(), more).unwrap();
    frame(LinkType::RAW, header.to_bytes(bytes).unwrap())
}

fn six(id: u32, next_header: u8, bytes: &[u8], at: usize, more: bool) -> Frame {
    let fragment = ipv6::extension::Repr::Fragment(ipv6::extension::Fragment {
        offset_bytes: u16::try_from(at).unwrap(),
        more,
        identification: id,
    });
    let header = ipv6::Repr::new(V6[0], V6[1], ipv6::extension::FRAGMENT);
    let fragment = fragment.to_bytes(next_header, bytes).unwrap();
    frame(LinkType::RAW, header.to_bytes(&fragment).unwrap())
}

/// Pieces of `piece` bytes, a multiple of 8.
fn pieces(bytes: &[u8], piece: usize) -> impl Iterator<Item = (&[u8], usize, bool)> {
    let pieces = bytes.chunks(piece).enumerate();
    pieces.map(move |(n, part)| (part, n * piece, n * piece + part.len() < bytes.len()))
}

fn all(frames: &[Frame]) -> (Vec<Datagram>, Datagrams) {
    let mut datagrams = Datagrams::new();
    let found = frames.iter().filter_map(|frame| datagrams.datagram(frame));
    (found.collect(), datagrams)
}

fn dropped(frames: &[Frame]) -> u64 {
    let (found, datagrams) = all(frames);
    assert_eq!(found, []);
    let skipped = datagrams.skipped();
    assert_eq!(skipped.total(), skipped.count(Skip::Fragment));
    skipped.total()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(64, 4096)))]

    #[test]
    fn fragments_in_any_order_are_the_datagram(
        payload in proptest::collection::vec(any::<u8>(), 0..3000),
        piece in 1_usize..100,
        order in any::<u64>(),
    ) {
        let (udp4, udp6) = (udp4(&payload), udp6(&payload));
        let with_options = ipv6::extension::Repr::Destination(&[]);
        let with_options = with_options.to_bytes(protocol::UDP, &udp6).unwrap();
        let destination = ipv6::extension::DESTINATION;
        // Two datagrams at the same time, each apart from the other by its number.
        let mut frames = Vec::new();
        for id in [7, 8] {
            frames.extend(pieces(&udp4, piece * 8).map(|(part, at, more)| four(id, part, at, more)));
            frames.extend(pieces(&udp6, piece * 8).map(|(part, at, more)| six(id.into(), protocol::UDP, part, at, more)));
            frames.extend(pieces(&with_options, piece * 8).map(|(part, at, more)| six(u32::from(id) << 20, destination, part, at, more)));
        }
        shuffle(&mut frames, order);
        for (number, frame) in (1..).zip(&mut frames) {
            frame.number = number;
        }
        let (found, datagrams) = all(&frames);
        prop_assert_eq!(found.len(), 6);
        prop_assert!(found.iter().all(|datagram| datagram.payload == payload));
        prop_assert_eq!(datagrams.skipped().total(), 0);
        let parts: u64 = found.iter().map(|datagram| datagram.frames).sum();
        prop_assert_eq!(parts, frames.len() as u64);
        let last = found.iter().map(|datagram| datagram.number).max();
        prop_assert_eq!(last, Some(frames.len() as u64));
    }
}

fn shuffle(frames: &mut [Frame], mut seed: u64) {
    for at in (1..frames.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        frames.swap(at, (seed >> 33) as usize % (at + 1));
    }
}

#[test]
fn the_longest_datagram_is_put_together() {
    let payload = vec![5; 65_507];
    let udp = udp4(&payload);
    let frames: Vec<_> = pieces(&udp, 1480)
        .map(|(part, at, more)| four(1, part, at, more))
        .collect();
    let (found, _) = all(&frames);
    assert!(found.len() == 1 && found[0].payload == payload);
    // Beyond what a length can say.
    assert_eq!(dropped(&[four(1, &[0; 8], 65_528, false)]), 1);
}

#[test]
fn a_repeated_fragment_does_no_harm() {
    let udp = udp4(&[1; 40]);
    let (a, b) = (four(1, &udp[..24], 0, true), four(1, &udp[24..], 24, false));
    let (found, datagrams) = all(&[b.clone(), b, a.clone()]);
    assert_eq!((found.len(), found[0].frames), (1, 3));
    assert_eq!(datagrams.skipped().total(), 0);
    // Behind the whole, it is of another one.
    let (found, datagrams) = all(&[four(1, &udp[24..], 24, false), a.clone(), a]);
    assert_eq!(
        (found.len(), datagrams.skipped().count(Skip::Fragment)),
        (1, 1)
    );
}

#[test]
fn fragments_that_overlap_or_disagree_refuse_the_datagram() {
    let udp = udp4(&[1; 40]);
    let part =
        |range: std::ops::Range<usize>, more| four(1, &udp[range.clone()], range.start, more);
    let rest = part(24..48, false);
    for refused in [
        // Overlaps at each side, inside and around; other bytes in the same place.
        [part(0..24, true), part(16..32, true)],
        [part(16..32, true), part(0..24, true)],
        [part(0..32, true), part(8..16, true)].map(|frame| other(&frame)),
        [part(8..16, true), part(0..24, true)],
        [part(0..24, true), other(&part(0..24, true))],
        // Two ends; bytes behind the end.
        [part(8..47, false), part(8..48, false)],
        [part(8..16, false), part(16..24, true)],
        [part(16..24, true), part(8..16, false)],
        [part(8..16, false), part(16..24, false)],
        [part(16..24, false), part(8..16, false)],
    ] {
        let frames = [&refused[..], &[part(0..24, true), rest.clone()]].concat();
        assert_eq!(dropped(&frames), 4, "{refused:?}");
    }
}

/// Without an overlap or a gap, and yet with two ends.
#[test]
fn the_first_end_that_is_said_counts() {
    let udp = udp4(&[]);
    let long = [&udp[..], &[0; 16]].concat();
    let part =
        |range: std::ops::Range<usize>, more| four(1, &long[range.clone()], range.start, more);
    assert_eq!(
        dropped(&[part(8..16, false), part(16..24, false), part(0..8, true)]),
        3
    );
    assert_eq!(
        dropped(&[part(16..24, false), part(8..16, false), part(0..8, true)]),
        3
    );
}

/// With its last byte changed.
fn other(frame: &Frame) -> Frame {
    let mut other = frame.clone();
    *other.bytes.last_mut().unwrap() ^= 1;
    other
}

#[test]
fn fragments_that_cannot_be_are_dropped() {
    // Empty, or with a length that the next one cannot begin behind.
    assert_eq!(dropped(&[four(1, &[], 0, true)]), 1);
    assert_eq!(dropped(&[four(1, &[], 8, false)]), 1);
    assert_eq!(dropped(&[four(1, &[0; 9], 0, true)]), 1);
}

#[test]
fn the_oldest_datagram_gives_way_and_is_counted() {
    let udp = udp4(&[1; 40]);
    let first = |id| four(id, &udp[..24], 0, true);
    let last = |id| four(id, &udp[24..], 24, false);
    let count = u16::try_from(DATAGRAMS_MAX).unwrap();
    let mut frames: Vec<_> = (0..=count).map(first).collect();
    assert_eq!(dropped(&frames), u64::from(count) + 1);
    frames.extend((1..=count).map(last));
    let (found, datagrams) = all(&frames);
    assert_eq!(found.len(), DATAGRAMS_MAX);
    assert_eq!(datagrams.skipped().count(Skip::Fragment), 1);
}

#[test]
fn a_fragment_waits_for_no_more_than_a_minute() {
    let udp = udp4(&[1; 40]);
    let first = four(1, &udp[..24], 0, true);
    let last = |time_ns| Frame {
        time_ns,
        ..four(1, &udp[24..], 24, false)
    };
    let (found, _) = all(&[first.clone(), last(1 + HELD_NS_MAX)]);
    assert_eq!(found.len(), 1);
    assert_eq!(dropped(&[first, last(2 + HELD_NS_MAX)]), 2);
}

#[test]
fn a_whole_that_is_no_datagram_counts_all_its_fragments() {
    let mut udp = udp4(&[1; 40]);
    udp[4] = 1;
    let halves = [four(1, &udp[..24], 0, true), four(1, &udp[24..], 24, false)];
    let (found, datagrams) = all(&halves);
    assert_eq!(found, []);
    assert_eq!(datagrams.skipped().count(Skip::Malformed), 2);
    // A fragment header within what fragments make: nobody's.
    let nested = [&[17, 0, 0, 1, 0, 0, 0, 9], &udp6(&[2; 8])[..]].concat();
    let kind = ipv6::extension::FRAGMENT;
    let halves = [
        six(1, kind, &nested[..16], 0, true),
        six(1, kind, &nested[16..], 16, false),
    ];
    let (found, datagrams) = all(&halves);
    assert_eq!(found, []);
    assert_eq!(datagrams.skipped().count(Skip::Malformed), 2);
    let tcp = six(1, protocol::TCP, &[0; 8], 0, true);
    assert_eq!(all(&[tcp]).1.skipped().count(Skip::NotUdp), 1);
}
