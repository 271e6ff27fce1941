//! Captures and packets, made by hand.

use std::net::{Ipv4Addr, Ipv6Addr};

use lockgate_quic::capture::{Capture, Frame, Item, LinkType};
use wire::checksum::Pseudo;
use wire::{EtherType, ethernet, ipv4, ipv6, protocol, udp};

pub const V4: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 2)];
pub const V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
];
pub const PORTS: [u16; 2] = [50000, 443];

pub const SECTION: u32 = 0x0a0d_0d0a;
pub const TLS: u32 = 0x544c_534b;
pub const KEY_LOG: &[u8] = b"# the secrets of a capture\n";

pub fn udp4(payload: &[u8]) -> Vec<u8> {
    let pseudo = Pseudo::V4(V4[0], V4[1]);
    let datagram = udp::Repr {
        source_port: PORTS[0],
        destination_port: PORTS[1],
    };
    datagram.to_bytes(&pseudo, payload).unwrap()
}

pub fn udp6(payload: &[u8]) -> Vec<u8> {
    let pseudo = Pseudo::V6(V6[0], V6[1]);
    let datagram = udp::Repr {
        source_port: PORTS[0],
        destination_port: PORTS[1],
    };
    datagram.to_bytes(&pseudo, payload).unwrap()
}

pub fn ip4(payload: &[u8]) -> Vec<u8> {
    let header = ipv4::Repr::new(V4[0], V4[1], protocol::UDP);
    header.to_bytes(&udp4(payload)).unwrap()
}

pub fn ip6(payload: &[u8]) -> Vec<u8> {
    let header = ipv6::Repr::new(V6[0], V6[1], protocol::UDP);
    header.to_bytes(&udp6(payload)).unwrap()
}

pub fn ether(ether_type: EtherType, payload: &[u8]) -> Vec<u8> {
    let header = ethernet::Repr {
        destination: [2; 6],
        source: [4; 6],
        ether_type,
    };
    header.to_bytes(payload)
}

pub fn frame(link: LinkType, bytes: Vec<u8>) -> Frame {
    Frame {
        time_ns: 1,
        link,
        bytes,
        is_cut: false,
        number: 1,
    }
}

/// Writes fields in one byte order.
#[derive(Clone)]
pub struct Bytes {
    pub is_big: bool,
    pub bytes: Vec<u8>,
}

impl Bytes {
    pub fn new(is_big: bool) -> Self {
        let bytes = Vec::new();
        Self { is_big, bytes }
    }

    pub fn u16(mut self, value: u16) -> Self {
        let big = value.to_be_bytes();
        let little = value.to_le_bytes();
        self.bytes.extend(if self.is_big { big } else { little });
        self
    }

    pub fn u32(mut self, value: u32) -> Self {
        let big = value.to_be_bytes();
        let little = value.to_le_bytes();
        self.bytes.extend(if self.is_big { big } else { little });
        self
    }

    pub fn words(self, values: &[u32]) -> Self {
        values.iter().fold(self, |bytes, value| bytes.u32(*value))
    }

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    fn padded(mut self) -> Self {
        let bytes = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(bytes, 0);
        self
    }

    /// The header of a pcap file.
    pub fn pcap(self, magic: u32, link: u32) -> Self {
        let head = self.u32(magic).u16(2).u16(4);
        head.words(&[0, 0, 262_144, link])
    }

    pub fn record(self, time: [u32; 2], bytes: &[u8], original_bytes: usize) -> Self {
        let head = self.words(&time);
        let lengths = [u32::try_from(bytes.len()).unwrap(), original_bytes as u32];
        head.words(&lengths).raw(bytes)
    }

    pub fn block(self, kind: u32, body: impl FnOnce(Bytes) -> Bytes) -> Self {
        let body = body(Bytes::new(self.is_big)).padded().bytes;
        let bytes = u32::try_from(body.len() + 12).unwrap();
        self.u32(kind).u32(bytes).raw(&body).u32(bytes)
    }

    pub fn section(self) -> Self {
        self.block(SECTION, |body| {
            let body = body.u32(0x1a2b_3c4d).u16(1).u16(0);
            body.words(&[u32::MAX, u32::MAX])
        })
    }

    pub fn interface(self, link: u16, snap_bytes: u32, options: &[(u16, &[u8])]) -> Self {
        self.block(1, |body| {
            let body = body.u16(link).u16(0).u32(snap_bytes);
            options.iter().fold(body, |body, (code, value)| {
                let length = u16::try_from(value.len()).unwrap();
                body.u16(*code).u16(length).raw(value).padded()
            })
        })
    }

    pub fn enhanced(self, interface: u32, ticks: u64, bytes: &[u8], original_bytes: u32) -> Self {
        let captured_bytes = u32::try_from(bytes.len()).unwrap();
        let (high, low) = ((ticks >> 32) as u32, ticks as u32);
        self.block(6, |body| {
            let head = [interface, high, low, captured_bytes, original_bytes];
            body.words(&head).raw(bytes)
        })
    }

    pub fn secrets(self, kind: u32, text: &[u8]) -> Self {
        let bytes = u32::try_from(text.len()).unwrap();
        self.block(10, |body| body.words(&[kind, bytes]).raw(text))
    }
}

/// What a capture holds up to its end or its first error, which is text.
pub fn items(bytes: &[u8]) -> (Vec<Item>, Option<String>) {
    let mut capture = match Capture::open(bytes) {
        Ok(capture) => capture,
        Err(error) => return (Vec::new(), Some(error.to_string())),
    };
    let mut items = Vec::new();
    for item in capture.by_ref() {
        match item {
            Ok(item) => items.push(item),
            Err(error) => {
                assert!(capture.next().is_none(), "nothing comes behind an error");
                return (items, Some(error.to_string()));
            }
        }
    }
    (items, None)
}

pub fn frames(bytes: &[u8]) -> Vec<Frame> {
    let (items, error) = items(bytes);
    assert_eq!(error, None);
    let frames = items.into_iter().filter_map(|item| match item {
        Item::Packet(frame) => Some(frame),
        Item::Secrets(_) => None,
    });
    frames.collect()
}

pub fn is_same(a: &Item, b: &Item) -> bool {
    match (a, b) {
        (Item::Packet(a), Item::Packet(b)) => a == b,
        (Item::Secrets(a), Item::Secrets(b)) => a.as_bytes() == b.as_bytes(),
        _ => false,
    }
}

/// A capture of every format and byte order.
pub fn samples() -> Vec<(String, Vec<u8>)> {
    let packet = ip4(b"payload");
    let mut samples = Vec::new();
    for is_big in [false, true] {
        for magic in [0xa1b2_c3d4, 0xa1b2_3c4d] {
            let made = Bytes::new(is_big).pcap(magic, 101);
            let made = made.record([7, 8], &packet, packet.len());
            let made = made.record([9, 10], &packet[..30], packet.len());
            let name = format!("pcap {magic:x} {is_big}");
            samples.push((name, made.record([11, 12], &[], 0).bytes));
        }
        samples.push((format!("pcapng {is_big}"), pcapng(is_big).bytes));
    }
    let other = Bytes {
        is_big: true,
        ..pcapng(false)
    };
    let two = other.section().interface(228, 0, &[]);
    let two = two.enhanced(0, 5, &packet, 35);
    samples.push(("pcapng, both orders".to_owned(), two.bytes));
    samples
}

/// A block of each kind.
fn pcapng(is_big: bool) -> Bytes {
    let packet = ip4(b"payload");
    let made = Bytes::new(is_big).section();
    let made = made.interface(101, 30, &[(2, b"eth0"), (9, &[9]), (0, &[])]);
    let made = made.secrets(TLS, KEY_LOG);
    let made = made.enhanced(0, 1_700_000_000_123_456_789, &packet, 35);
    // Of a future kind, and a custom one.
    let made = made.block(0x0bad, |body| body.raw(&[1; 20]));
    let made = made.block(0xbad0_0bad, |body| body.raw(&[1; 4]));
    let made = made.block(3, |body| body.u32(35).raw(&packet[..30]));
    let made = made.secrets(0x5747_4b4c, b"of WireGuard");
    made.block(2, |body| {
        let body = body.u16(0).u16(3).words(&[0, 9, 34, 35]);
        body.raw(&packet[..34])
    })
}
