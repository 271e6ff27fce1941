use lockgate_wire::quic::{
    ConnectionId, Datagram, FirstByte, Long, LongType, Packet, PacketKind, Retry, SAMPLE_BYTES,
    Short, Version, VersionNegotiation,
};
use lockgate_wire::{Layer, ParseError};
use proptest::prelude::*;

use super::{any_bytes, hex, id};

/// RFC 9001, A.2, and RFC 9369, A.2: before protection.
const CLIENT_INITIALS: [(&str, Version); 2] = [
    ("c300000001088394c8f03e5157080000449e00000002", Version::V1),
    ("d36b3343cf088394c8f03e5157080000449e00000002", Version::V2),
];
/// A.3 of both.
const SERVER_INITIALS: [(&str, Version); 2] = [
    ("c1000000010008f067a5502a4262b50040750001", Version::V1),
    ("d16b3343cf0008f067a5502a4262b50040750001", Version::V2),
];
/// A.4 of both.
const RETRIES: [(&str, Version); 2] = [
    (
        "ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba",
        Version::V1,
    ),
    (
        "cf6b3343cf0008f067a5502a4262b5746f6b656ec8646ce8bfe33952d955543665dcc7b6",
        Version::V2,
    ),
];
/// RFC 9001, A.5: protected.
const CHACHA: &str = "4cfe4189655e5cd55c41f69080575d7999c25a5bfb";

/// The header with as many bytes as its length of two bytes says.
fn whole(header: &str, number_bytes: usize) -> Vec<u8> {
    let mut bytes = hex(header);
    let number_at = bytes.len() - number_bytes;
    let [high, low] = [bytes[number_at - 2], bytes[number_at - 1]];
    let length = usize::from(u16::from_be_bytes([high & 0x3f, low]));
    bytes.resize(number_at + length, 0xab);
    bytes
}

fn long(bytes: &[u8]) -> Long<'_> {
    match Packet::new(bytes, |_| 0) {
        Ok(Packet::Long(long)) => long,
        other => panic!("{other:?}"),
    }
}

fn short(bytes: &[u8], local_id_bytes: usize) -> Short<'_> {
    match Packet::new(bytes, |_| local_id_bytes) {
        Ok(Packet::Short(short)) => short,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_clients_initial_is_that_of_the_appendix() {
    for (header, version) in CLIENT_INITIALS {
        let bytes = whole(header, 4);
        assert_eq!(bytes.len(), 1200);
        let packet = long(&bytes);
        assert_eq!((packet.version, packet.kind), (version, LongType::Initial));
        assert_eq!(packet.destination, id("8394c8f03e515708"));
        assert_eq!(packet.source, ConnectionId::EMPTY);
        assert_eq!((packet.token, packet.packet_number_at), (&[][..], 18));
        assert_eq!(packet.bytes, bytes);
        assert_eq!(packet.sample(), Some(&[0xab; SAMPLE_BYTES]));
        let first = packet.first_byte;
        assert_eq!(first.packet_number_bytes(), 4);
        assert!(first.is_reserved_clear() && first.is_fixed_bit_set());
        // The mask that both appendices state begins with 43 and 94.
        let mask = if version == Version::V1 { 0x43 } else { 0x94 };
        assert_eq!(first.masked(mask).0 & 0xf0, first.0 & 0xf0);
        assert_eq!(first.masked(mask).masked(mask), first);
    }
    assert_eq!(FirstByte(0xc3).masked(0x43), FirstByte(0xc0));
    assert_eq!(FirstByte(0xd3).masked(0x94), FirstByte(0xd7));
}

#[test]
fn a_servers_initial_is_that_of_the_appendix() {
    for (header, version) in SERVER_INITIALS {
        let bytes = whole(header, 2);
        let packet = long(&bytes);
        assert_eq!((packet.version, packet.kind), (version, LongType::Initial));
        assert_eq!(packet.destination, ConnectionId::EMPTY);
        assert_eq!(packet.source, id("f067a5502a4262b5"));
        assert_eq!(packet.source.to_string(), "f067a5502a4262b5");
        assert_eq!((packet.packet_number_at, bytes.len()), (18, 18 + 0x75));
        assert_eq!(packet.first_byte.packet_number_bytes(), 2);
    }
}

#[test]
fn a_retry_is_that_of_the_appendix() {
    for (bytes, version) in RETRIES {
        let bytes = hex(bytes);
        let Ok(Packet::Retry(packet)) = Packet::new(&bytes, |_| 0) else {
            panic!("{bytes:?}");
        };
        let Retry { token, source, .. } = packet;
        assert_eq!((packet.version, token), (version, &b"token"[..]));
        assert_eq!(source, id("f067a5502a4262b5"));
        let (untagged, tag) = packet.untagged_and_tag();
        assert_eq!([untagged, &tag].concat(), bytes);
    }
}

#[test]
fn a_short_header_is_that_of_the_appendix() {
    let bytes = hex(CHACHA);
    let packet = short(&bytes, 0);
    assert_eq!(packet.packet_number_at, 1);
    let sample = hex("5e5cd55c41f69080575d7999c25a5bfb");
    assert_eq!(packet.sample().map(|sample| &sample[..]), Some(&sample[..]));
    // The mask is aefefe7d03.
    let first = packet.first_byte.masked(0xae);
    assert_eq!((first, first.packet_number_bytes()), (FirstByte(0x42), 3));
    assert!(first.is_reserved_clear() && !first.is_spin_set() && !first.is_key_phase_set());
    let unprotected = hex("4200bff4");
    let cut = short(&unprotected, 0);
    assert_eq!((cut.bytes, cut.sample()), (&unprotected[..], None));
    assert_eq!(short(&bytes, 5).destination, id("fe4189655e"));
    assert_eq!(short(&bytes, 5).sample(), None, "one byte is missing");
}

#[test]
fn type_bits_are_permuted_in_version_2() {
    let bits = |version| LongType::ALL.map(|kind| kind.bits(version));
    assert_eq!(bits(Version::V1), [Some(0), Some(1), Some(2), Some(3)]);
    assert_eq!(bits(Version::V2), [Some(1), Some(2), Some(3), Some(0)]);
    assert_eq!(bits(Version::Other(2)), [None; 4]);
    assert_eq!(LongType::from_bits(Version::V2, 0), Some(LongType::Retry));
    assert_eq!(LongType::from_bits(Version::V1, 4), None);
}

#[test]
fn reserved_versions_are_known_by_their_pattern() {
    assert!(Version::from(0x1a2a_3a4a).is_reserved());
    assert!(!Version::V1.is_reserved() && !Version::V2.is_reserved());
    assert_eq!(Version::from(0x6b33_43cf), Version::V2);
    assert_eq!(Version::from(0x1a2a_3a4a).to_string(), "0x1a2a3a4a");
}

#[test]
fn of_an_unknown_version_the_invariants_are_read() {
    let ids = [&[200][..], &[7; 200], &[1, 9], b"anything"].concat();
    let bytes = [&hex("80 1a2a3a4a")[..], &ids].concat();
    let Ok(Packet::Unknown(packet)) = Packet::new(&bytes, |_| 0) else {
        panic!("no long header of a version");
    };
    assert_eq!(
        (packet.destination, packet.source),
        (&[7; 200][..], &[9][..])
    );
    assert!(!packet.first_byte.is_fixed_bit_set());
    assert_eq!(packet.bytes, bytes);
    let mut known = bytes;
    known[1..5].copy_from_slice(&1_u32.to_be_bytes());
    known.truncate(4 + 203);
    known.extend([0, 0, 0]);
    let error = Packet::new(&known, |_| 0).expect_err("200 bytes are too many");
    assert_eq!(
        error.to_string(),
        "QUIC packet: length of a connection ID is 200, not 0 to 20 bytes"
    );
}

#[test]
fn a_list_of_versions_is_whole() {
    let bytes = hex("80 00000000 01aa 02bbbb 00000001 6b3343cf 0a0a0a0a");
    let read = |end: usize| Packet::new(&bytes[..end], |_| 0);
    let Ok(Packet::VersionNegotiation(packet)) = read(bytes.len()) else {
        panic!("no list");
    };
    let VersionNegotiation {
        destination,
        source,
        ..
    } = packet;
    assert_eq!((destination, source), (&[0xaa][..], &[0xbb, 0xbb][..]));
    let versions: Vec<_> = packet.versions().collect();
    assert_eq!(
        versions,
        [Version::V1, Version::V2, Version::Other(0x0a0a_0a0a)]
    );
    for end in 0..bytes.len() {
        assert_eq!(read(end).is_ok(), end == 14 || end == 18, "{end}");
    }
}

#[test]
fn every_truncation_is_an_error() {
    let mut handshake = hex("e5 00000001 01aa 02bbbb 4016");
    handshake.resize(12 + 0x16, 1);
    let mut initial = whole(CLIENT_INITIALS[1].0, 4);
    initial[16..18].copy_from_slice(&[0x44, 0x9e]);
    let token = hex("c0 00000001 00 00 03 010203 05 0000000000");
    for bytes in [initial, handshake, token, whole(SERVER_INITIALS[0].0, 2)] {
        long(&bytes);
        for end in 0..bytes.len() {
            let error = Packet::new(&bytes[..end], |_| 0);
            assert!(
                matches!(
                    error,
                    Err(ParseError::Truncated {
                        layer: Layer::Quic,
                        ..
                    })
                ),
                "{end}"
            );
        }
    }
    for end in 0..15 + 16 {
        assert!(
            Packet::new(&hex(RETRIES[0].0)[..end], |_| 0).is_err(),
            "{end}"
        );
    }
    for end in 0..9 {
        assert!(Packet::new(&hex(CHACHA)[..end], |_| 8).is_err(), "{end}");
    }
    assert!(Packet::new(&[0x40; 40], |_| 21).is_err());
}

#[test]
fn a_length_beyond_all_memory_is_an_error() {
    let bytes = hex("e5 00000001 00 00 ffffffffffffffff 00");
    let error = Packet::new(&bytes, |_| 0).expect_err("so much is not there");
    assert!(
        matches!(
            error,
            ParseError::Truncated {
                found_bytes: 16,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn coalesced_packets_come_one_by_one() {
    let initial = whole(SERVER_INITIALS[0].0, 2);
    let mut handshake = hex("e5 00000001 00 08f067a5502a4262b5 4020");
    handshake.resize(handshake.len() + 0x20, 2);
    let bytes = [&initial, &handshake, &hex(CHACHA)]
        .map(Vec::as_slice)
        .concat();
    let mut datagram = Datagram::new(&bytes, |_: &[u8]| 0);
    let kinds: Vec<_> = datagram
        .by_ref()
        .map(|packet| packet.expect("whole").kind())
        .collect();
    let wanted = [
        PacketKind::Initial,
        PacketKind::Handshake,
        PacketKind::OneRtt,
    ];
    assert_eq!(kinds, wanted.map(Some));
    assert!(datagram.rest().is_empty());

    let cut = &bytes[..initial.len() + 20];
    let mut datagram = Datagram::new(cut, |_: &[u8]| 0);
    assert!(datagram.next().is_some_and(|packet| packet.is_ok()));
    assert!(datagram.next().is_some_and(|packet| packet.is_err()));
    assert!(datagram.next().is_none());
    assert_eq!(datagram.rest(), &cut[initial.len()..]);
}

#[test]
fn connection_ids_are_in_the_order_of_slices() {
    let ids = ["", "00", "0000", "01", "0100", "02"].map(id);
    assert!(ids.is_sorted_by(|a, b| a < b));
    assert!(ConnectionId::new(&[0; 21]).is_err());
    assert_eq!(ConnectionId::default(), ConnectionId::EMPTY);
}

proptest! {
    #[test]
    fn bytes_of_anybody_are_packets_or_errors(
        data in any_bytes(300),
        known in prop::option::of(prop::sample::select(vec![1_u32, 0x6b33_43cf, 0])),
        local_id_bytes in 0_usize..30,
    ) {
        let mut data = data;
        if let (Some(version), true) = (known, data.len() > 5) {
            data[0] |= 0x80;
            data[1..5].copy_from_slice(&version.to_be_bytes());
        }
        let mut datagram = Datagram::new(&data, |_: &[u8]| local_id_bytes);
        let mut read = 0;
        for packet in datagram.by_ref().flatten() {
            prop_assert!(!packet.bytes().is_empty());
            read += packet.bytes().len();
        }
        prop_assert_eq!(datagram.rest(), &data[read..]);
    }
}
