use lockgate_wire::EmitError;
use lockgate_wire::quic::packet_number::Truncated;
use lockgate_wire::quic::varint::Width;
use lockgate_wire::quic::{
    ConnectionId, LongRepr, LongType, Packet, RetryRepr, ShortRepr, Version, VersionNegotiationRepr,
};
use proptest::prelude::*;

use super::{any_bytes, any_id, hex, id};

/// An Initial without connection IDs or token, of packet number 0.
fn plain() -> LongRepr<'static> {
    LongRepr {
        version: Version::V1,
        kind: LongType::Initial,
        destination: ConnectionId::EMPTY,
        source: ConnectionId::EMPTY,
        token: &[],
        length_width: Width::Two,
        packet_number: Truncated::in_bytes(0, 1).expect("one byte"),
    }
}

#[test]
fn headers_of_the_appendices_are_written() {
    let number = |number, bytes| Truncated::in_bytes(number, bytes).expect("1 to 4 bytes");
    let client = LongRepr {
        destination: id("8394c8f03e515708"),
        packet_number: number(2, 4),
        ..plain()
    };
    let written = |repr: &LongRepr<'_>, payload_bytes: usize| {
        let mut bytes = b"a packet before".to_vec();
        let start = bytes.len();
        let reserved = repr.append_to(&mut bytes).expect("valid");
        bytes.resize(bytes.len() + payload_bytes, 0);
        reserved.close(&mut bytes, 16).expect("short");
        bytes.truncate(bytes.len() - payload_bytes);
        bytes.split_off(start)
    };
    let v1 = "c300000001088394c8f03e5157080000449e00000002";
    assert_eq!(written(&client, 1162), hex(v1));
    let client = LongRepr {
        version: Version::V2,
        ..client
    };
    let v2 = "d36b3343cf088394c8f03e5157080000449e00000002";
    assert_eq!(written(&client, 1162), hex(v2));
    let server = LongRepr {
        source: id("f067a5502a4262b5"),
        packet_number: number(1, 2),
        ..plain()
    };
    assert_eq!(
        written(&server, 99),
        hex("c1000000010008f067a5502a4262b50040750001")
    );

    let short = ShortRepr {
        destination: ConnectionId::EMPTY,
        spin: false,
        key_phase: false,
        packet_number: number(654_360_564, 3),
    };
    let mut bytes = Vec::new();
    assert_eq!((short.append_to(&mut bytes), bytes), (1, hex("4200bff4")));

    for (version, unused, wanted) in [
        (
            Version::V1,
            0x0f,
            "ff000000010008f067a5502a4262b5746f6b656e",
        ),
        (
            Version::V2,
            0x0f,
            "cf6b3343cf0008f067a5502a4262b5746f6b656e",
        ),
    ] {
        let repr = RetryRepr {
            version,
            unused,
            destination: ConnectionId::EMPTY,
            source: id("f067a5502a4262b5"),
            token: b"token",
        };
        let mut bytes = Vec::new();
        repr.append_to(&mut bytes).expect("valid");
        assert_eq!(bytes, hex(wanted));
    }
}

#[test]
fn what_cannot_be_is_refused_and_writes_nothing() {
    let mut bytes = Vec::new();
    for repr in [
        LongRepr {
            version: Version::Other(7),
            ..plain()
        },
        LongRepr {
            kind: LongType::Retry,
            ..plain()
        },
        LongRepr {
            kind: LongType::Handshake,
            token: b"token",
            ..plain()
        },
    ] {
        assert!(matches!(
            repr.append_to(&mut bytes),
            Err(EmitError::Field { .. })
        ));
    }
    let retry = RetryRepr {
        version: Version::V1,
        unused: 0,
        destination: ConnectionId::EMPTY,
        source: ConnectionId::EMPTY,
        token: &[],
    };
    assert!(retry.append_to(&mut bytes).is_err());
    let list = VersionNegotiationRepr {
        unused: 0,
        destination: &[],
        source: &[0; 256],
        versions: &[Version::V1],
    };
    assert!(list.append_to(&mut bytes).is_err());
    let list = VersionNegotiationRepr {
        source: &[],
        versions: &[],
        ..list
    };
    assert!(list.append_to(&mut bytes).is_err());
    assert!(bytes.is_empty());
}

#[test]
fn a_length_field_says_what_it_can() {
    for (length_width, most) in [(Width::Two, 16_383), (Width::Four, 16_384)] {
        let repr = LongRepr {
            length_width,
            ..plain()
        };
        let mut bytes = Vec::new();
        let reserved = repr.append_to(&mut bytes).expect("valid");
        let at = reserved.packet_number_at();
        bytes.resize(at + most, 1);
        assert_eq!(reserved.close(&mut bytes, 0), Ok(()));
        assert!(Packet::new(&bytes, |_| 0).is_ok_and(|packet| packet.bytes() == bytes));
    }
    let mut bytes = Vec::new();
    let reserved = plain().append_to(&mut bytes).expect("valid");
    let error = reserved
        .close(&mut bytes, 16_383)
        .expect_err("a byte too many");
    let limit = "QUIC packet: 16384 bytes are more than its length field holds, 16383";
    assert_eq!(error.to_string(), limit);
}

proptest! {
    #[test]
    fn long_headers_are_read_as_written(
        version in prop::sample::select(vec![Version::V1, Version::V2]),
        kind in prop::sample::select(LongType::ALL[..3].to_vec()),
        destination in any_id(0),
        source in any_id(0),
        token in any_bytes(100),
        length_width in prop::sample::select(vec![Width::Two, Width::Four]),
        (number, number_bytes) in (any::<u64>(), 1_usize..=4),
        payload in any_bytes(60),
        behind in any_bytes(20),
    ) {
        let token = if kind == LongType::Initial { &token[..] } else { &[] };
        let packet_number = Truncated::in_bytes(number, number_bytes).expect("1 to 4");
        let repr = LongRepr {
            version, kind, destination, source, token, length_width, packet_number,
        };
        let mut bytes = Vec::new();
        let reserved = repr.append_to(&mut bytes).expect("valid");
        bytes.extend(&payload);
        reserved.close(&mut bytes, 0).expect("short");
        let whole = bytes.len();
        bytes.extend(&behind);
        let Ok(Packet::Long(view)) = Packet::new(&bytes, |_| 0) else {
            panic!("it was just made");
        };
        prop_assert_eq!((view.version, view.kind), (version, kind));
        prop_assert_eq!((view.destination, view.source), (destination, source));
        prop_assert_eq!((view.token, view.bytes), (token, &bytes[..whole]));
        prop_assert_eq!(view.packet_number_at, reserved.packet_number_at());
        prop_assert_eq!(view.first_byte.packet_number_bytes(), number_bytes);
        prop_assert_eq!(view.sample().is_some(), number_bytes + payload.len() >= 20);
        let field = &view.bytes[view.packet_number_at..][..number_bytes];
        prop_assert_eq!(Truncated::of_bytes(field), Some(packet_number));
        for end in 0..whole {
            prop_assert!(Packet::new(&bytes[..end], |_| 0).is_err());
        }
    }

    #[test]
    fn short_headers_are_read_as_written(
        destination in any_id(0),
        (spin, key_phase) in any::<(bool, bool)>(),
        (number, number_bytes) in (any::<u64>(), 1_usize..=4),
    ) {
        let packet_number = Truncated::in_bytes(number, number_bytes).expect("1 to 4");
        let repr = ShortRepr { destination, spin, key_phase, packet_number };
        let mut bytes = Vec::new();
        let number_at = repr.append_to(&mut bytes);
        let Ok(Packet::Short(view)) = Packet::new(&bytes, |_| destination.bytes().len()) else {
            panic!("it was just made");
        };
        prop_assert_eq!((view.destination, view.packet_number_at), (destination, number_at));
        let first = view.first_byte;
        prop_assert_eq!((first.is_spin_set(), first.is_key_phase_set()), (spin, key_phase));
        prop_assert_eq!(first.packet_number_bytes(), number_bytes);
        prop_assert!(first.is_reserved_clear() && first.is_fixed_bit_set());
        prop_assert_eq!(Truncated::of_bytes(&bytes[number_at..]), Some(packet_number));
    }

    #[test]
    fn retries_are_read_as_written(
        version in prop::sample::select(vec![Version::V1, Version::V2]),
        unused in any::<u8>(),
        (destination, source) in (any_id(0), any_id(0)),
        token in prop::collection::vec(any::<u8>(), 1..50),
        tag in any::<[u8; 16]>(),
    ) {
        let repr = RetryRepr { version, unused, destination, source, token: &token };
        let mut bytes = Vec::new();
        repr.append_to(&mut bytes).expect("valid");
        bytes.extend(tag);
        let Ok(Packet::Retry(view)) = Packet::new(&bytes, |_| 0) else {
            panic!("it was just made");
        };
        prop_assert_eq!((view.version, view.token), (version, &token[..]));
        prop_assert_eq!((view.destination, view.source), (destination, source));
        prop_assert_eq!(view.first_byte.0 & 0x0f, unused & 0x0f);
        prop_assert_eq!(view.untagged_and_tag(), (&bytes[..bytes.len() - 16], tag));
    }

    #[test]
    fn lists_of_versions_are_read_as_written(
        unused in any::<u8>(),
        (destination, source) in (any_bytes(255), any_bytes(255)),
        versions in prop::collection::vec(any::<u32>().prop_map(Version::from), 1..9),
    ) {
        let repr = VersionNegotiationRepr {
            unused,
            destination: &destination,
            source: &source,
            versions: &versions,
        };
        let mut bytes = Vec::new();
        repr.append_to(&mut bytes).expect("valid");
        let Ok(Packet::VersionNegotiation(view)) = Packet::new(&bytes, |_| 0) else {
            panic!("it was just made");
        };
        prop_assert_eq!((view.destination, view.source), (&destination[..], &source[..]));
        prop_assert_eq!(view.versions().collect::<Vec<_>>(), versions);
    }
}
