//! The tester's frames: every size, family and tag, and stamps found again.

use std::net::IpAddr;

use lockgate_wire::checksum::Pseudo;
use lockgate_wire::{
    EtherType, Stamp, Summary, TestFrame, TestFrameError, ethernet, ipv4, ipv6, stamp_of, udp,
};
use proptest::prelude::*;

fn frame(source: &str, destination: &str, vlan: Option<u16>, frame_bytes: u32) -> TestFrame {
    TestFrame {
        source_ethernet: [2, 0, 0, 0, 0, 0xa],
        destination_ethernet: [2, 0, 0, 0, 0, 0xb],
        vlan,
        source: source.parse().expect("an address"),
        destination: destination.parse().expect("an address"),
        source_port: 1024,
        frame_bytes,
    }
}

fn four(vlan: Option<u16>, frame_bytes: u32) -> TestFrame {
    frame("192.0.2.2", "198.19.0.1", vlan, frame_bytes)
}

fn six(vlan: Option<u16>, frame_bytes: u32) -> TestFrame {
    frame("2001:2:0:ff00::2", "2001:2:0:1::1", vlan, frame_bytes)
}

const STAMP: Stamp = Stamp {
    trial: 3,
    stream: 1,
    sequence: 0x0102_0304_0506,
    due_ns: 123_456_789,
};

fn verified(bytes: &[u8]) -> (usize, udp::Repr) {
    let view = ethernet::Packet::new(bytes).expect("a header");
    let (ether_type, network) = view.network().expect("whole");
    let (pseudo, datagram) = match ether_type {
        EtherType::IPV4 => {
            let packet = ipv4::Packet::new(network).expect("whole");
            assert_eq!(usize::from(packet.total_bytes()), network.len());
            let repr = ipv4::Repr::parse(&packet).expect("right");
            (
                Pseudo::V4(repr.source, repr.destination),
                packet.payload().to_vec(),
            )
        }
        EtherType::IPV6 => {
            let packet = ipv6::Packet::new(network).expect("whole");
            let repr = ipv6::Repr::parse(&packet);
            let payload = packet.payload().to_vec();
            assert_eq!(payload.len() + 40, network.len());
            (Pseudo::V6(repr.source, repr.destination), payload)
        }
        other => panic!("{other:?}"),
    };
    let packet = udp::Packet::new(&datagram).expect("whole");
    assert_eq!(packet.payload().len() + 8, datagram.len());
    assert_ne!(packet.checksum(), 0, "a checksum, though IPv4 needs none");
    let repr = udp::Repr::parse(&packet, &pseudo).expect("right");
    (packet.payload().len(), repr)
}

#[test]
fn sixty_four_bytes_are_header_and_stamp() {
    let bytes = four(None, 64).to_bytes(STAMP).expect("possible");
    assert_eq!(bytes.len(), 60);
    let (payload_bytes, udp) = verified(&bytes);
    assert_eq!(payload_bytes, 18);
    assert_eq!((udp.source_port, udp.destination_port), (1024, 7));
    assert_eq!(
        Summary(&bytes).to_string(),
        "60 bytes: 02:00:00:00:00:0a > 02:00:00:00:00:0b, IPv4 192.0.2.2 > 198.19.0.1 ttl 64 \
         length 46 id 0x0000, UDP 1024 > 7"
    );
}

#[test]
fn the_limits_of_size_are_told() {
    for (frame, least, most) in [
        (four(None, 0), 64, 1518),
        (four(Some(5), 0), 68, 1522),
        (six(None, 0), 84, 1518),
        (six(Some(0), 0), 88, 1522),
    ] {
        for wrong in [0, least - 1, most + 1, u32::MAX] {
            let frame = TestFrame {
                frame_bytes: wrong,
                ..frame
            };
            let error = frame.to_bytes(STAMP).expect_err("impossible");
            let text = error.to_string();
            assert!(
                text.contains(&format!("{wrong} bytes: {least} to {most}")),
                "{text}"
            );
        }
        for right in [least, most] {
            let frame = TestFrame {
                frame_bytes: right,
                ..frame
            };
            assert!(frame.to_bytes(STAMP).is_ok());
        }
    }
}

#[test]
fn what_cannot_be_is_refused_and_writes_nothing() {
    let mut buffer = [0x55; 60];
    let mixed = frame("192.0.2.2", "2001:2::1", None, 100);
    assert!(matches!(
        mixed.write(STAMP, &mut buffer),
        Err(TestFrameError::Families(..))
    ));
    let error = four(Some(4095), 68).write(STAMP, &mut buffer);
    assert_eq!(error, Err(TestFrameError::Vlan(4095)));
    let error = four(None, 65).write(STAMP, &mut buffer);
    let wanted = TestFrameError::Buffer {
        needed_bytes: 61,
        found_bytes: 60,
    };
    assert_eq!(error, Err(wanted));
    assert_eq!(buffer, [0x55; 60]);
}

#[test]
fn another_frames_bytes_carry_no_stamp() {
    let bytes = four(None, 64).to_bytes(STAMP).expect("possible");
    for (at, value) in [(12, 9), (14, 0x55), (23, 6), (20, 0x20), (21, 1), (42, 0)] {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        assert_eq!(stamp_of(&bytes), None, "{value:#x} at {at}");
    }
    assert_eq!(stamp_of(&bytes[..59]), None);
    assert_eq!(stamp_of(&[]), None);
}

proptest! {
    #[test]
    fn stamps_are_found_again(
        is_six: bool,
        vlan in proptest::option::of(0..=4094_u16),
        frame_bytes in 88..=1518_u32,
        destination: u32,
        source_port: u16,
        sequence in 0..1_u64 << 48,
        due_ns: u64,
        junk: u8,
        padding in 0..9_usize,
    ) {
        let mut frame = if is_six { six(vlan, frame_bytes) } else { four(vlan, frame_bytes) };
        frame.source_port = source_port;
        frame.destination = match frame.destination {
            IpAddr::V4(_) => IpAddr::V4(destination.into()),
            IpAddr::V6(address) => IpAddr::V6((u128::from(address) + u128::from(destination)).into()),
        };
        let stamp = Stamp { sequence, due_ns, ..STAMP };
        // A buffer that held something else before.
        let mut bytes = vec![junk; frame.memory_bytes() + padding];
        let written = frame.write(stamp, &mut bytes).expect("possible");
        prop_assert_eq!(written, frame.memory_bytes());
        prop_assert_eq!(stamp_of(&bytes), Some(stamp), "with padding behind it");
        let (_, udp) = verified(&bytes[..written]);
        prop_assert_eq!(udp.source_port, source_port);
        prop_assert!(bytes[written..].iter().all(|byte| *byte == junk));
    }
}
