use std::ops::RangeInclusive;

use lockgate_wire::quic::frame::{Ack, AckRepr, Direction, EcnCounts, FrameError};
use lockgate_wire::quic::varint::VALUE_MAX;
use lockgate_wire::quic::{Frame, PacketKind, frames};
use proptest::prelude::*;

use super::{any_bytes, any_id, hex, id, integer};

fn only(payload: &[u8]) -> Result<Frame<'_>, FrameError> {
    let mut all = frames(payload);
    let frame = all.next().expect("one");
    assert!(all.next().is_none(), "{payload:x?}");
    frame
}

fn ack(payload: &[u8]) -> Ack<'_> {
    match only(payload) {
        Ok(Frame::Ack(ack)) => ack,
        other => panic!("{other:?}"),
    }
}

/// A frame of each type, byte by byte.
const KNOWN: [(&str, Frame<'_>); 24] = [
    ("000000", Frame::Padding { bytes: 3 }),
    ("01", Frame::Ping),
    (
        "04 01 02 4003",
        Frame::ResetStream {
            stream: 1,
            error: 2,
            final_bytes: 3,
        },
    ),
    (
        "05 01 02",
        Frame::StopSending {
            stream: 1,
            error: 2,
        },
    ),
    (
        "06 4400 02 6162",
        Frame::Crypto {
            offset_bytes: 1024,
            data: b"ab",
        },
    ),
    ("07 01 61", Frame::NewToken { token: b"a" }),
    (
        "0f 04 03 02 6162",
        Frame::Stream {
            stream: 4,
            offset_bytes: 3,
            data: b"ab",
            fin: true,
            has_length: true,
        },
    ),
    (
        "08 04 6162",
        Frame::Stream {
            stream: 4,
            offset_bytes: 0,
            data: b"ab",
            fin: false,
            has_length: false,
        },
    ),
    ("10 05", Frame::MaxData { bytes: 5 }),
    (
        "11 04 05",
        Frame::MaxStreamData {
            stream: 4,
            bytes: 5,
        },
    ),
    (
        "12 06",
        Frame::MaxStreams {
            direction: Direction::Bidirectional,
            streams: 6,
        },
    ),
    (
        "13 06",
        Frame::MaxStreams {
            direction: Direction::Unidirectional,
            streams: 6,
        },
    ),
    ("14 05", Frame::DataBlocked { bytes: 5 }),
    (
        "15 04 05",
        Frame::StreamDataBlocked {
            stream: 4,
            bytes: 5,
        },
    ),
    (
        "17 06",
        Frame::StreamsBlocked {
            direction: Direction::Unidirectional,
            streams: 6,
        },
    ),
    ("19 07", Frame::RetireConnectionId { sequence: 7 }),
    (
        "1a 0102030405060708",
        Frame::PathChallenge([1, 2, 3, 4, 5, 6, 7, 8]),
    ),
    (
        "1b 0102030405060708",
        Frame::PathResponse([1, 2, 3, 4, 5, 6, 7, 8]),
    ),
    (
        "1c 0a 06 02 6e6f",
        Frame::ConnectionClose {
            error: 10,
            frame_type: Some(6),
            reason: b"no",
        },
    ),
    (
        "1d 4100 00",
        Frame::ConnectionClose {
            error: 256,
            frame_type: None,
            reason: b"",
        },
    ),
    ("1e", Frame::HandshakeDone),
    ("1f", Frame::ImmediateAck),
    (
        "31 01 61",
        Frame::Datagram {
            data: b"a",
            has_length: true,
        },
    ),
    (
        "40af 01 02 43e8 03",
        Frame::AckFrequency {
            sequence: 1,
            threshold_packets: 2,
            max_delay_us: 1000,
            reordering_packets: 3,
        },
    ),
];

/// Whether a payload that is cut within this frame has a frame of another length there.
fn has_no_end(frame: &Frame<'_>) -> bool {
    matches!(
        frame,
        Frame::Padding { .. }
            | Frame::Stream {
                has_length: false,
                ..
            }
            | Frame::Datagram {
                has_length: false,
                ..
            }
    )
}

#[test]
fn every_type_is_read_and_cut_anywhere() {
    for (text, wanted) in KNOWN {
        let bytes = hex(text);
        assert_eq!(only(&bytes), Ok(wanted), "{text}");
        let ends = if has_no_end(&wanted) {
            0..0
        } else {
            1..bytes.len()
        };
        for end in ends {
            let error = only(&bytes[..end]).expect_err(text);
            assert!(
                matches!(error, FrameError::Truncated { .. } | FrameError::Type(_)),
                "{error}"
            );
        }
    }
}

#[test]
fn a_connection_id_is_announced() {
    let bytes = hex("18 05 03 04 01020304 000102030405060708090a0b0c0d0e0f");
    let frame = Frame::NewConnectionId {
        sequence: 5,
        retire_prior_to: 3,
        id: id("01020304"),
        reset_token: std::array::from_fn(|at| u8::try_from(at).expect("small")),
    };
    assert_eq!(only(&bytes), Ok(frame));
    for end in 1..bytes.len() {
        let error = only(&bytes[..end]);
        assert!(
            matches!(error, Err(FrameError::Truncated { kind: 0x18, .. })),
            "{end}"
        );
    }
    let rest = "01020304 000102030405060708090a0b0c0d0e0f";
    for (text, message) in [
        (
            "18 05 06 04",
            "frame of type 0x18: what is retired is 6, not at or below its own sequence number",
        ),
        (
            "18 05 03 00",
            "frame of type 0x18: ID's length is 0, not 1 to 20",
        ),
    ] {
        let mut bytes = hex(&[text, rest].concat());
        if text.ends_with("00") {
            bytes.drain(4..8);
        }
        assert_eq!(only(&bytes).expect_err(text).to_string(), message);
    }
    let mut long = hex("18 05 03 15");
    long.resize(4 + 21 + 16, 7);
    let message = "frame of type 0x18: ID's length is 21, not 1 to 20";
    assert_eq!(only(&long).expect_err("21").to_string(), message);
}

#[test]
fn ranges_go_down_from_the_largest() {
    // 100 to 90; a gap of one packet; 88 to 88; of three; 84 to 80.
    let bytes = hex("02 4064 05 02 0a 00 00 02 04");
    let view = ack(&bytes);
    let ranges: Vec<_> = view.ranges().collect();
    assert_eq!(ranges, [90..=100, 88..=88, 80..=84]);
    assert_eq!((view.largest(), view.delay, view.ecn), (100, 5, None));
    let repr = AckRepr {
        delay: 5,
        ranges: &ranges,
        ecn: None,
    };
    let mut again = Vec::new();
    repr.append_to(&mut again).expect("in order");
    assert_eq!(again, bytes);
    for end in 1..bytes.len() {
        assert!(only(&bytes[..end]).is_err());
    }
    let bytes = hex("03 00 00 00 00 01 02 03");
    let ecn = EcnCounts {
        ect0: 1,
        ect1: 2,
        ce: 3,
    };
    assert_eq!(ack(&bytes).ecn, Some(ecn));
    assert_eq!(ack(&bytes).ranges().collect::<Vec<_>>(), [0..=0]);
}

#[test]
fn no_range_ends_below_zero() {
    for (text, field) in [
        ("02 05 00 00 06", "first range"),
        ("02 05 00 01 04 00 00", "gap"),
        ("02 05 00 01 01 00 03", "range"),
        ("02 05 00 01 00 ffffffffffffffff 00", "gap"),
    ] {
        let bytes = hex(text);
        let error = only(&bytes).expect_err(text);
        assert!(matches!(error, FrameError::Field { kind: 2, field: found, .. } if found == field));
    }
    // As many ranges as can be said, and none there.
    let bytes = hex("02 ffffffffffffffff 00 ffffffffffffffff 00");
    assert!(matches!(only(&bytes), Err(FrameError::Truncated { .. })));
}

#[test]
fn ranges_that_are_none_are_not_written() {
    let wrong: [&[RangeInclusive<u64>]; 6] = [
        &[],
        &[5..=9, 4..=4],
        &[1..=2, 5..=9],
        &[5..=9, 7..=7],
        &[RangeInclusive::new(9, 5)],
        &[0..=VALUE_MAX + 1],
    ];
    for ranges in wrong {
        let mut bytes = vec![1];
        let repr = AckRepr {
            delay: 0,
            ranges,
            ecn: None,
        };
        assert!(repr.append_to(&mut bytes).is_err(), "{ranges:?}");
        assert_eq!(bytes, [1]);
    }
}

#[test]
fn limits_of_frames() {
    for (text, message) in [
        (
            "07 00",
            "frame of type 0x7: token's length is 0, not 1 or more",
        ),
        (
            "12 d000000000000001",
            "frame of type 0x12: number of streams is 1152921504606846977, not 2^60 at most",
        ),
        (
            "06 ffffffffffffffff 01 61",
            "frame of type 0x6: end is 4611686018427387904, not 2^62 - 1 at most",
        ),
        (
            "0c 00 ffffffffffffffff 61",
            "frame of type 0xc: end is 4611686018427387904, not 2^62 - 1 at most",
        ),
        ("20", "frame of unknown type 0x20"),
        ("7fff", "frame of unknown type 0x3fff"),
        ("4001", "frame type 0x1 has 2 bytes, more than it needs"),
        ("06 00 05 61", "frame of type 0x6: payload of 4 bytes, of 8"),
        ("40", "type of a frame: 1 bytes, of 2"),
    ] {
        assert_eq!(only(&hex(text)).expect_err(text).to_string(), message);
    }
    assert!(only(&hex("12 d000000000000000")).is_ok());
    assert!(only(&hex("06 ffffffffffffffff 00")).is_ok());
}

#[test]
fn values_beyond_the_limits_are_not_written() {
    for frame in [
        Frame::Padding { bytes: 0 },
        Frame::NewToken { token: &[] },
        Frame::MaxData {
            bytes: VALUE_MAX + 1,
        },
        Frame::ResetStream {
            stream: 0,
            error: 0,
            final_bytes: u64::MAX,
        },
        Frame::Crypto {
            offset_bytes: u64::MAX,
            data: b"a",
        },
        Frame::MaxStreams {
            direction: Direction::Bidirectional,
            streams: (1 << 60) + 1,
        },
    ] {
        let mut bytes = vec![1];
        assert!(frame.append_to(&mut bytes).is_err(), "{frame:?}");
        assert_eq!(bytes, [1]);
    }
}

#[test]
fn frames_are_allowed_as_in_the_table() {
    // RFC 9000, table 3: I, 0, H, 1 as PacketKind::ALL.
    for (kind, wanted) in [
        ("000000", "I0H1"),
        ("01", "I0H1"),
        ("02 00 00 00 00", "IH1"),
        ("04 01 02 4003", "01"),
        ("06 4400 02 6162", "IH1"),
        ("07 01 61", "1"),
        ("08 04 6162", "01"),
        ("10 05", "01"),
        ("19 07", "01"),
        ("1a 0102030405060708", "01"),
        ("1b 0102030405060708", "1"),
        ("1c 0a 06 02 6e6f", "I0H1"),
        ("1d 4100 00", "01"),
        ("1e", "1"),
        ("31 01 61", "01"),
        ("40af 01 02 43e8 03", "1"),
        ("1f", "1"),
    ] {
        let bytes = hex(kind);
        let frame = only(&bytes).expect("valid");
        let allowed: String = PacketKind::ALL
            .into_iter()
            .zip("I0H1".chars())
            .filter_map(|(packet, letter)| frame.is_allowed_in(packet).then_some(letter))
            .collect();
        assert_eq!(allowed, wanted, "{kind}");
    }
}

#[test]
fn frames_end_with_the_first_error() {
    let bytes = hex("01 0000 01 20 01");
    let mut all = frames(&bytes);
    let read: Vec<_> = all.by_ref().collect();
    let valid = [Frame::Ping, Frame::Padding { bytes: 2 }, Frame::Ping];
    assert_eq!(read[..3], valid.map(Ok));
    assert_eq!(read[3..], [Err(FrameError::Unknown { kind: 0x20 })]);
    assert_eq!(all.rest(), [1]);
    assert!(frames(&[]).next().is_none());
}

/// Any frame but ACK, whose data borrow from `data`.
fn any_frame(data: &'static [u8]) -> BoxedStrategy<Frame<'static>> {
    let direction = prop::sample::select(vec![Direction::Bidirectional, Direction::Unidirectional]);
    let streams = (direction, 0..=1_u64 << 60);
    let offset = 0..=VALUE_MAX - 1000;
    prop_oneof![
        (1_usize..50).prop_map(|bytes| Frame::Padding { bytes }),
        prop::sample::select(vec![Frame::Ping, Frame::HandshakeDone, Frame::ImmediateAck]),
        (integer(), integer(), integer()).prop_map(|(stream, error, final_bytes)| {
            Frame::ResetStream {
                stream,
                error,
                final_bytes,
            }
        }),
        (integer(), integer()).prop_map(|(stream, error)| Frame::StopSending { stream, error }),
        offset
            .clone()
            .prop_map(move |offset_bytes| Frame::Crypto { offset_bytes, data }),
        Just(Frame::NewToken { token: b"token" }),
        (
            integer(),
            prop_oneof![Just(0), offset],
            any::<(bool, bool)>()
        )
            .prop_map(
                move |(stream, offset_bytes, (fin, has_length))| Frame::Stream {
                    stream,
                    offset_bytes,
                    data,
                    fin,
                    has_length,
                }
            ),
        integer().prop_map(|bytes| Frame::MaxData { bytes }),
        integer().prop_map(|bytes| Frame::DataBlocked { bytes }),
        (integer(), integer()).prop_map(|(stream, bytes)| Frame::MaxStreamData { stream, bytes }),
        (integer(), integer())
            .prop_map(|(stream, bytes)| Frame::StreamDataBlocked { stream, bytes }),
        streams
            .clone()
            .prop_map(|(direction, streams)| Frame::MaxStreams { direction, streams }),
        streams.prop_map(|(direction, streams)| Frame::StreamsBlocked { direction, streams }),
        (integer(), 0.0..=1.0, any_id(1), any::<[u8; 16]>()).prop_map(
            |(sequence, part, id, reset_token)| Frame::NewConnectionId {
                sequence,
                retire_prior_to: ((sequence as f64 * part) as u64).min(sequence),
                id,
                reset_token,
            }
        ),
        integer().prop_map(|sequence| Frame::RetireConnectionId { sequence }),
        any::<[u8; 8]>().prop_map(Frame::PathChallenge),
        any::<[u8; 8]>().prop_map(Frame::PathResponse),
        (integer(), prop::option::of(integer())).prop_map(move |(error, frame_type)| {
            Frame::ConnectionClose {
                error,
                frame_type,
                reason: data,
            }
        }),
        any::<bool>().prop_map(move |has_length| Frame::Datagram { data, has_length }),
        (integer(), integer(), integer(), integer()).prop_map(
            |(sequence, threshold_packets, max_delay_us, reordering_packets)| {
                Frame::AckFrequency {
                    sequence,
                    threshold_packets,
                    max_delay_us,
                    reordering_packets,
                }
            }
        ),
    ]
    .boxed()
}

proptest! {
    #[test]
    fn frames_are_read_as_written(
        all in prop::collection::vec(any_frame(b"some data of a frame"), 1..9),
    ) {
        let mut bytes = Vec::new();
        let mut written = Vec::new();
        for frame in all {
            // Two runs of padding are one; behind what has no length comes nothing.
            let is_run = matches!(frame, Frame::Padding { .. })
                && matches!(written.last(), Some(Frame::Padding { .. }));
            if !is_run {
                frame.append_to(&mut bytes).expect("within the limits");
                written.push(frame);
            }
            if has_no_end(&frame) && !matches!(frame, Frame::Padding { .. }) {
                break;
            }
        }
        let read: Vec<_> = frames(&bytes).collect();
        prop_assert_eq!(read, written.into_iter().map(Ok).collect::<Vec<_>>());
    }

    #[test]
    fn acknowledgments_are_read_as_written(
        delay in integer(),
        ecn in prop::option::of((integer(), integer(), integer())),
        steps in prop::collection::vec((0_u64..1000, 0_u64..1 << 20), 1..20),
        lowest in 0_u64..1 << 40,
    ) {
        let ecn = ecn.map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce });
        let mut start = lowest;
        let mut ranges = Vec::new();
        for (length, gap) in steps {
            ranges.insert(0, start..=start + length);
            start += length + gap + 2;
        }
        let mut bytes = Vec::new();
        AckRepr { delay, ranges: &ranges, ecn }.append_to(&mut bytes).expect("in order");
        let view = ack(&bytes);
        prop_assert_eq!((view.delay, view.ecn), (delay, ecn));
        prop_assert_eq!(view.ranges().collect::<Vec<_>>(), ranges);
        let mut again = Vec::new();
        Frame::Ack(view).append_to(&mut again).expect("it was read");
        prop_assert_eq!(&again, &bytes);
        for end in 1..bytes.len() {
            prop_assert!(only(&bytes[..end]).is_err());
        }
    }

    #[test]
    fn bytes_of_anybody_are_frames_or_errors(
        kind in prop::option::of(0_u8..0x32), data in any_bytes(120),
    ) {
        let data = [kind.as_slice(), &data].concat();
        let mut written = Vec::new();
        let mut read = Vec::new();
        for frame in frames(&data).flatten() {
            if let Frame::Ack(ack) = frame {
                prop_assert!(ack.ranges().count() <= data.len());
            }
            frame.append_to(&mut written).expect("it was read");
            read.push(Ok(frame));
        }
        prop_assert_eq!(frames(&written).collect::<Vec<_>>(), read);
    }
}
