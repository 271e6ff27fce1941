use lockgate_wire::quic::packet_number::{NUMBER_MAX, Truncated, bytes_needed, expand};
use lockgate_wire::quic::varint::{Reader, TooLarge, VALUE_MAX, Width, append, append_in};
use proptest::prelude::*;

use super::{hex, integer};

#[test]
fn integers_are_those_of_the_appendix() {
    // RFC 9000, A.1.
    for (text, value, is_shortest) in [
        ("c2197c5eff14e88c", 151_288_809_941_952_652, true),
        ("9d7f3e7d", 494_878_333, true),
        ("7bbd", 15_293, true),
        ("25", 37, true),
        ("4025", 37, false),
    ] {
        let bytes = hex(text);
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.varint(), Ok(value));
        assert!(reader.rest().is_empty());
        let mut again = Vec::new();
        append(value, &mut again).expect("it was read");
        assert_eq!(again == bytes, is_shortest);
        for end in 0..bytes.len() {
            let mut cut = Reader::new(&bytes[..end]);
            let missing = cut.varint().expect_err("cut");
            let needed = if end == 0 { 1 } else { bytes.len() };
            assert_eq!((missing.needed_bytes, missing.found_bytes), (needed, end));
            assert_eq!(cut.at(), 0);
        }
    }
}

#[test]
fn limits_of_integers() {
    let found = VALUE_MAX + 1;
    let limit = VALUE_MAX;
    let mut bytes = Vec::new();
    assert_eq!(append(found, &mut bytes), Err(TooLarge { found, limit }));
    assert_eq!(Width::of(found), None);
    for width in Width::ALL {
        let most = width.value_max();
        assert_eq!(Width::of(most), Some(width));
        assert_eq!(append_in(width, most, &mut bytes), Ok(()));
        assert!(append_in(width, most + 1, &mut bytes).is_err());
    }
    assert_eq!(bytes.len(), 1 + 2 + 4 + 8);
    let text =
        "4611686018427387904 is more than an integer of that width holds, 4611686018427387903";
    assert_eq!(TooLarge { found, limit }.to_string(), text);
}

#[test]
fn a_count_that_is_not_there_leaves_the_reader() {
    let mut reader = Reader::new(&[0xff; 9]);
    let missing = reader.counted().expect_err("2^62 - 1 bytes");
    assert!(missing.needed_bytes > 1 << 60 && missing.found_bytes == 9);
    assert_eq!(reader.at(), 0);
    assert!(reader.bytes(u64::MAX).is_err());
}

#[test]
fn packet_numbers_are_those_of_the_appendix() {
    // RFC 9000, A.2.
    assert_eq!(bytes_needed(0xac_5c02, Some(0xab_e8b3)), Some(2));
    assert_eq!(bytes_needed(0xac_e8fe, Some(0xab_e8b3)), Some(3));
    // A.3.
    assert_eq!(expand(0x9b32, 16, Some(0xa82f_30ea)), 0xa82f_9b32);
    assert_eq!(expand(0, 8, None), 0);
}

#[test]
fn limits_of_packet_numbers() {
    assert_eq!(bytes_needed(127, None), Some(1));
    assert_eq!(bytes_needed(128, None), Some(2));
    assert_eq!(bytes_needed((1 << 31) - 1, None), Some(4));
    assert_eq!(bytes_needed(1 << 31, None), None);
    assert_eq!(bytes_needed(7, Some(7)), None);
    assert_eq!(bytes_needed(NUMBER_MAX, Some(NUMBER_MAX - 1)), Some(1));
    assert_eq!(bytes_needed(NUMBER_MAX + 1, Some(NUMBER_MAX)), None);
    assert_eq!(bytes_needed(u64::MAX, None), None);
    assert_eq!(expand(0, 8, Some(NUMBER_MAX)), NUMBER_MAX - 255);
    // 256 is not too far ahead, only too large.
    assert_eq!(expand(0, 8, Some(NUMBER_MAX - 10)), NUMBER_MAX - 255);
    // As far below what is expected as above: it is above.
    assert_eq!(expand(0, 8, Some(0x17f)), 0x200);
    assert_eq!(expand(0xff, 8, Some(u64::MAX)), NUMBER_MAX);
    assert_eq!(expand(u32::MAX, 99, None), u64::from(u32::MAX));
    assert_eq!(Truncated::of_bytes(&[]), None);
    assert_eq!(Truncated::of_bytes(&[0; 5]), None);
    assert_eq!(Truncated::in_bytes(1, 0), None);
    assert_eq!(Truncated::in_bytes(1, 5), None);
}

proptest! {
    #[test]
    fn integers_are_read_as_written(value in integer(), wider in 0_usize..4) {
        let width = Width::of(value).expect("62 bits");
        let width = width.max(Width::ALL[wider]);
        let mut bytes = Vec::new();
        append_in(width, value, &mut bytes).expect("it fits");
        prop_assert_eq!(bytes.len(), width.bytes());
        prop_assert_eq!(Reader::new(&bytes).varint(), Ok(value));
    }

    /// Whatever arrived between the largest acknowledged and the packet itself.
    #[test]
    fn packet_numbers_are_expanded_within_the_window(
        acknowledged in prop::option::of(integer()),
        ahead in 1_u64..1 << 31,
        arrived in 0.0..=1.0,
    ) {
        let acknowledged = acknowledged.map(|largest| largest.min(NUMBER_MAX - ahead));
        let number = acknowledged.map_or(ahead - 1, |largest| largest + ahead);
        let sent = Truncated::new(number, acknowledged).expect("near");
        let others = (arrived * (ahead - 1) as f64) as u64;
        let largest = match acknowledged {
            Some(largest) => Some(largest + others),
            None => others.checked_sub(1),
        };
        prop_assert_eq!(sent.expand(largest), number);
        let received = Truncated::of_bytes(sent.bytes()).expect("1 to 4 bytes");
        prop_assert_eq!(received, sent);
    }

    /// Also of packets that were overtaken: the window's two halves.
    #[test]
    fn a_window_is_as_wide_below_as_above(
        largest in integer(), bytes in 1_usize..=4, off in any::<i32>(),
    ) {
        let half = 1_i64 << (8 * bytes - 1);
        let off = i64::from(off) % half;
        let expected = (largest + 1).clamp(1 << 31, NUMBER_MAX - (1 << 31));
        let number = expected.checked_add_signed(off).expect("far from both ends");
        let sent = Truncated::in_bytes(number, bytes).expect("1 to 4");
        prop_assert_eq!(sent.expand(Some(expected - 1)), number);
    }

    #[test]
    fn an_expanded_number_ends_in_what_was_sent(
        word in any::<u32>(), bytes in 1_u32..=4, largest in any::<Option<u64>>(),
    ) {
        let whole = expand(word, 8 * bytes, largest);
        let mask = u32::MAX >> (32 - 8 * bytes);
        prop_assert!(whole <= NUMBER_MAX);
        prop_assert_eq!(u32::try_from(whole & u64::from(mask)).expect("masked"), word & mask);
    }
}
