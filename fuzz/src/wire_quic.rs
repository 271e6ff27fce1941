//! A QUIC datagram, payload and transport parameters of unknown origin.

use wire::quic::packet_number::{self, Truncated};
use wire::quic::transport_parameters::{Observed, parameters};
use wire::quic::varint::{self, Reader, Width};
use wire::quic::{
    Datagram, Frame, Long, LongRepr, Packet, PacketKind, Retry, RetryRepr, Unknown,
    VersionNegotiation, VersionNegotiationRepr, frames,
};

/// The bytes as a datagram, as a payload and as parameters end in values or an error, and
/// nothing is lost between the packets. What is read as a value becomes bytes that are
/// read as the same value.
pub fn wire_quic(data: &[u8]) {
    for local_id_bytes in [0, 8, 20, 21] {
        datagram(data, local_id_bytes);
    }
    payload(data);
    let listed = parameters(data).count();
    assert!(listed <= data.len(), "each takes two bytes, or is an error");
    if let Ok(observed) = Observed::parse(data)
        && let Some(versions) = observed.version_information
    {
        let _ = (versions.chosen(), versions.available().count());
    }
    integers(data);
}

fn datagram(data: &[u8], local_id_bytes: usize) {
    let mut packets = Datagram::new(data, |_: &[u8]| local_id_bytes);
    let mut read: Vec<u8> = Vec::new();
    for packet in packets.by_ref().flatten() {
        read.extend(packet.bytes());
        assert!(packet.destination().len() <= 255);
        match packet {
            Packet::Long(long) => again_long(&long),
            Packet::Retry(retry) => again_retry(&retry),
            Packet::VersionNegotiation(list) => again_versions(&list),
            Packet::Unknown(Unknown { version, .. }) => assert_ne!(version.number(), 0),
            Packet::Short(short) => {
                assert_eq!(short.packet_number_at, 1 + local_id_bytes);
                assert_eq!(
                    short.sample().is_some(),
                    short.bytes.len() >= 21 + local_id_bytes
                );
            }
        }
    }
    read.extend(packets.rest());
    assert_eq!(read, data);
}

fn again_long(view: &Long<'_>) {
    let protected = &view.bytes[view.packet_number_at..];
    assert_eq!(view.sample().is_some(), protected.len() >= 20);
    let repr = LongRepr {
        version: view.version,
        kind: view.kind,
        destination: view.destination,
        source: view.source,
        token: view.token,
        length_width: Width::Eight,
        packet_number: Truncated::in_bytes(0, 1).expect("one byte"),
    };
    let mut bytes = Vec::new();
    let reserved = repr.append_to(&mut bytes).expect("fields of a packet");
    bytes.truncate(reserved.packet_number_at());
    bytes.extend(protected);
    reserved.close(&mut bytes, 0).expect("it has eight bytes");
    let Ok(Packet::Long(again)) = Packet::new(&bytes, |_| 0) else {
        panic!("it was just made");
    };
    assert_eq!((again.version, again.kind), (view.version, view.kind));
    assert_eq!(
        (again.destination, again.source),
        (view.destination, view.source)
    );
    assert_eq!((again.token, again.bytes), (view.token, &bytes[..]));
}

fn again_retry(view: &Retry<'_>) {
    let (untagged, tag) = view.untagged_and_tag();
    let repr = RetryRepr {
        version: view.version,
        unused: view.first_byte.0,
        destination: view.destination,
        source: view.source,
        token: view.token,
    };
    let mut bytes = Vec::new();
    match repr.append_to(&mut bytes) {
        Ok(()) => assert_eq!(bytes[1..], untagged[1..]),
        Err(_) => assert!(view.token.is_empty()),
    }
    assert!(view.bytes.ends_with(&tag));
}

fn again_versions(view: &VersionNegotiation<'_>) {
    let versions: Vec<_> = view.versions().collect();
    let repr = VersionNegotiationRepr {
        unused: view.bytes[0],
        destination: view.destination,
        source: view.source,
        versions: &versions,
    };
    let mut bytes = Vec::new();
    repr.append_to(&mut bytes).expect("fields of a packet");
    assert_eq!(bytes[1..], view.bytes[1..]);
}

fn payload(data: &[u8]) {
    let mut written = Vec::new();
    let mut read = Vec::new();
    for frame in frames(data).flatten() {
        assert!(frame.is_allowed_in(PacketKind::OneRtt));
        if let Frame::Ack(ack) = frame {
            let ranges = ack.ranges();
            assert!(ranges.count() <= data.len(), "each but one takes two bytes");
        }
        frame.append_to(&mut written).expect("it was read");
        read.push(frame);
    }
    let again: Vec<_> = frames(&written)
        .map(|frame| frame.expect("written"))
        .collect();
    assert_eq!(again, read);
}

fn integers(data: &[u8]) {
    let mut reader = Reader::new(data);
    while let Ok(value) = reader.varint() {
        let mut bytes = Vec::new();
        varint::append(value, &mut bytes).expect("it was read");
        assert_eq!(Reader::new(&bytes).varint(), Ok(value));
        let largest = data
            .first()
            .map(|_| value.rotate_left(17) & varint::VALUE_MAX);
        for bytes in 1..=packet_number::BYTES_MAX {
            let number = Truncated::in_bytes(value, bytes).expect("1 to 4");
            let whole = number.expand(largest);
            assert!(whole <= packet_number::NUMBER_MAX);
            assert_eq!(Truncated::in_bytes(whole, bytes), Some(number));
        }
    }
}
