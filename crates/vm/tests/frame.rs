//! The frames on the wire.

use lockgate_vm::protocol::{Decoder, Frame, FrameError, HEADER_BYTES_MAX, Kind};
use proptest::prelude::*;

const LIMIT: usize = 1000;

fn cases() -> u32 {
    testing::cases(64, 4096)
}

/// Decodes `bytes` in pieces of these lengths, then the rest at once.
fn decode(bytes: &[u8], pieces: &[usize]) -> (Vec<Frame>, Option<FrameError>) {
    let mut decoder = Decoder::new(LIMIT);
    let mut frames = Vec::new();
    let mut rest = bytes;
    for length in pieces.iter().copied().chain([usize::MAX]) {
        let (mut piece, later) = rest.split_at(length.min(rest.len()));
        rest = later;
        loop {
            match decoder.next(&mut piece) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
            assert!(decoder.bytes_held() <= HEADER_BYTES_MAX + LIMIT);
        }
        assert!(piece.is_empty());
    }
    (frames, None)
}

fn error(text: &str) -> FrameError {
    let (frames, error) = decode(text.as_bytes(), &[]);
    assert_eq!(frames, []);
    error.unwrap_or_else(|| panic!("{text:?} is accepted"))
}

fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let frame = (
        any::<u32>(),
        0..Kind::ALL.len(),
        any::<u64>(),
        any::<u64>(),
        prop::collection::vec(any::<u8>(), 0..LIMIT),
    );
    let frame = frame.prop_map(|(sequence, kind, value, limit, payload)| Frame {
        sequence,
        kind: Kind::ALL[kind],
        value,
        limit,
        payload,
    });
    prop::collection::vec(frame, 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn what_was_encoded_decodes_in_any_pieces(
        frames in frames(),
        pieces in prop::collection::vec(0_usize..700, 0..40),
    ) {
        let mut bytes = Vec::new();
        for frame in &frames {
            frame.encode(&mut bytes);
        }
        prop_assert_eq!(decode(&bytes, &pieces), (frames, None));
    }

    #[test]
    fn pieces_change_nothing(
        start in frames(),
        noise in prop::collection::vec(any::<u8>(), 0..300),
        pieces in prop::collection::vec(0_usize..200, 0..40),
    ) {
        let mut bytes = Vec::new();
        for frame in &start {
            frame.encode(&mut bytes);
        }
        bytes.extend(noise);
        prop_assert_eq!(decode(&bytes, &pieces), decode(&bytes, &[]));
    }
}

#[test]
fn a_frame_has_one_spelling() {
    for text in [
        "LG1 01 run 0 0 0\n",
        "LG1 1 run +0 0 0\n",
        "LG1 1 run 0 -1 0\n",
        "LG1 1 run 0 0 00\n",
        "LG1 1 run 0 0 \n",
        "LG1 4294967296 run 0 0 0\n",
        "LG1 1 run 18446744073709551616 0 0\n",
        "LG1 1 run 0 0 0x1\n",
    ] {
        testing::assert_matches!(error(text), FrameError::BadNumber { .. }, "{text:?}");
    }
    for text in [
        "\n",
        "LG1\n",
        "LG2 1 run 0 0 0\n",
        "lg1 1 run 0 0 0\n",
        "LG1  1 run 0 0 0\n",
        " LG1 1 run 0 0 0\n",
        "LG1 1 run 0 0 0 \n",
        "LG1 1 run 0 0\n",
        "LG1\t1\trun\t0\t0\t0\n",
    ] {
        testing::assert_matches!(error(text), FrameError::NotAHeader { .. }, "{text:?}");
    }
    let carriage_return = error("LG1 1 run 0 0 0\r\n");
    testing::assert_matches!(
        carriage_return,
        FrameError::BadNumber {
            field: "length",
            ..
        }
    );
    let word = error("LG1 1 Run 0 0 0\n");
    assert_eq!(word, FrameError::UnknownKind { word: "Run".into() });
}

#[test]
fn the_longest_header_fits() {
    let frame = Frame {
        sequence: u32::MAX,
        kind: Kind::Output,
        value: u64::MAX,
        limit: u64::MAX,
        payload: Vec::new(),
    };
    let mut bytes = Vec::new();
    frame.encode(&mut bytes);
    assert!(bytes.len() + 20 <= HEADER_BYTES_MAX);
    assert_eq!(decode(&bytes, &[1; 80]), (vec![frame], None));
}

#[test]
fn a_header_without_an_end_is_refused() {
    let (_, none) = decode(&[b'x'; HEADER_BYTES_MAX - 1], &[]);
    assert_eq!(none, None);
    for pieces in [&[][..], &[1; 200], &[HEADER_BYTES_MAX - 1]] {
        let (_, error) = decode(&[b'x'; HEADER_BYTES_MAX], pieces);
        testing::assert_matches!(error, Some(FrameError::HeaderTooLong { .. }));
    }
}

#[test]
fn a_payload_beyond_the_limit_is_refused_at_once() {
    for length in [LIMIT as u64 + 1, u64::MAX] {
        let expected = FrameError::PayloadTooLarge {
            kind: Kind::Output,
            length,
            limit: LIMIT,
        };
        assert_eq!(error(&format!("LG1 1 output 0 0 {length}\n")), expected);
    }
}

#[test]
fn a_broken_stream_stays_broken() {
    let mut decoder = Decoder::new(LIMIT);
    let mut bytes: &[u8] = b"nonsense\nLG1 1 done 0 0 0\n";
    assert!(decoder.next(&mut bytes).is_err());
    assert_eq!(decoder.next(&mut bytes), Err(FrameError::Broken));
}
