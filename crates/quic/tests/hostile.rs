//! Truncation at every byte, damage of every byte, and bytes of no meaning.

use crate::make::{is_same, items, samples};
use lockgate_quic::capture::{Capture, Datagrams, Item, KeyLog};
use proptest::prelude::*;

/// Reads everything there is to read; what was counted is what was there.
pub fn read_all(bytes: &[u8]) {
    let Ok(capture) = Capture::open(bytes) else {
        return;
    };
    let (mut frames, mut joined, mut taken_bytes) = (0, 0, 0);
    let mut datagrams = Datagrams::new();
    for item in capture.flatten() {
        match item {
            Item::Packet(frame) => {
                frames += 1;
                taken_bytes += frame.bytes.len();
                let found = datagrams.datagram(&frame);
                joined += found.map_or(0, |datagram| datagram.frames);
            }
            Item::Secrets(secrets) => {
                taken_bytes += secrets.as_bytes().len();
                let _ = KeyLog::read(secrets.as_bytes());
            }
        }
    }
    assert_eq!(frames, joined + datagrams.skipped().total());
    assert!(taken_bytes <= bytes.len());
}

#[test]
fn a_capture_that_ends_at_any_byte_gives_what_is_before() {
    for (name, bytes) in samples() {
        let (whole, error) = items(&bytes);
        assert_eq!(error, None, "{name}");
        let mut before = 0;
        for end in 0..bytes.len() {
            let (found, error) = items(&bytes[..end]);
            assert!(found.iter().zip(&whole).all(|(a, b)| is_same(a, b)));
            assert!((before..=before + 1).contains(&found.len()), "{name} {end}");
            before = found.len();
            if let Some(error) = error {
                let end = format!("byte {end},");
                let is_named = error.contains(&end) || error.contains("empty");
                assert!(is_named || error.contains("begins with"), "{name}: {error}");
            }
        }
        assert_eq!(
            before + 1,
            whole.len(),
            "{name}: the last item ends the file"
        );
    }
}

#[test]
fn no_changed_byte_of_a_capture_panics() {
    for (_, mut bytes) in samples() {
        for at in 0..bytes.len() {
            for mask in [0x01, 0x04, 0x80, 0xff] {
                bytes[at] ^= mask;
                read_all(&bytes);
                bytes[at] ^= mask;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(256, 20_000)))]

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), sample in 0_usize..7) {
        read_all(&bytes);
        // Behind a good beginning.
        let (_, begin) = &samples()[sample];
        read_all(&[begin, &bytes[..]].concat());
        let middle = begin.len() / 2;
        read_all(&[&begin[..middle], &bytes[..], &begin[middle..]].concat());
    }

    #[test]
    fn no_bytes_in_a_frame_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..100),
        link in proptest::sample::select(vec![0, 1, 12, 101, 108, 113, 228, 229, 276, 147]),
    ) {
        let bytes = crate::make::Bytes::new(false).pcap(0xa1b2_c3d4, link).record([0, 0], &bytes, 0);
        read_all(&bytes.bytes);
    }
}
