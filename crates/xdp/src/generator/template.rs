//! What a frame has in common with all others of its size, and the sums over it.

use sys::failure::Failure;
use wire::checksum::Sum;

/// Bytes of a frame that the program writes: Ethernet, 802.1Q, IPv6, UDP,
/// rounded up to whole eight bytes. `HEAD_BYTES_MAX` in `bpf/generator.bpf.c`.
pub(super) const HEAD_BYTES: usize = 72;

const ETHERNET_BYTES: usize = 14;
const VLAN_BYTES: usize = 4;
const UDP_BYTES: usize = 8;
const PROTOCOL_UDP: u8 = 17;

/// The longest frame in memory: a page has room for 3,520 bytes, of which
/// Lockgate uses what Ethernet has.
pub(super) const FRAME_BYTES_MAX: usize = 1518;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Template {
    pub frame: Vec<u8>,
    pub ip_offset: usize,
    pub is_v6: bool,
    pub has_udp_sum: bool,
    /// The destination, all of it or the low 64 bits.
    pub destination: u64,
    /// Of IPv4.
    pub source: u32,
    pub source_port: u16,
}

impl Template {
    /// Parses a frame, and zeroes what the program will write: the stamp, the
    /// addresses (of IPv6 the low half of the destination), the source port, the
    /// checksums.
    pub fn parse(frame: &[u8]) -> Result<Self, Failure> {
        let (ip_offset, is_v6) = network_layer(frame).ok_or_else(unsupported)?;
        let udp = ip_offset + if is_v6 { 40 } else { 20 };
        let (min, max) = (udp + UDP_BYTES + wire::STAMP_BYTES, FRAME_BYTES_MAX);
        // The program copies whole eight bytes.
        let min = if is_v6 { min.max(HEAD_BYTES) } else { min };
        if frame.len() < min || frame.len() > max {
            return Err(Failure::new(format!(
                "a frame of {} bytes in memory is outside {min} to {max}, which headers and stamp need and a page holds",
                frame.len()
            )));
        }
        if frame[ip_offset + if is_v6 { 6 } else { 9 }] != PROTOCOL_UDP {
            return Err(unsupported());
        }
        let mut template = Self {
            frame: frame.to_vec(),
            ip_offset,
            is_v6,
            has_udp_sum: frame[udp + 6..udp + 8] != [0, 0],
            destination: 0,
            source: 0,
            source_port: u16::from_be_bytes([frame[udp], frame[udp + 1]]),
        };
        template.blank(udp);
        Ok(template)
    }

    fn blank(&mut self, udp: usize) {
        let ip = self.ip_offset;
        let mut take = |place: std::ops::Range<usize>| {
            let bytes = self.frame[place.clone()].iter();
            let value = bytes.fold(0, |value, byte| value << 8 | u64::from(*byte));
            self.frame[place].fill(0);
            value
        };
        if self.is_v6 {
            self.destination = take(ip + 32..ip + 40);
        } else {
            self.destination = take(ip + 16..ip + 20);
            self.source = u32::try_from(take(ip + 12..ip + 16)).unwrap_or(0);
            self.frame[ip + 10..ip + 12].fill(0);
        }
        self.frame[udp..udp + 2].fill(0);
        self.frame[udp + 6..udp + 8].fill(0);
        let stamp = self.frame.len() - wire::STAMP_BYTES;
        self.frame[stamp..].fill(0);
    }

    fn udp(&self) -> usize {
        self.ip_offset + if self.is_v6 { 40 } else { 20 }
    }

    /// Sum over the IPv4 header; 0 for IPv6, which has no checksum.
    pub fn ip_sum(&self) -> u16 {
        if self.is_v6 {
            return 0;
        }
        in_memory(Sum::new().over(&self.frame[self.ip_offset..self.udp()]))
    }

    /// Sum over pseudo header (RFC 768; RFC 8200, section 8.1), UDP header and
    /// payload.
    pub fn udp_sum(&self) -> u16 {
        let addresses = if self.is_v6 { 8..40 } else { 12..20 };
        let ip = &self.frame[self.ip_offset..];
        let datagram = &self.frame[self.udp()..];
        let length = &datagram[4..6];
        let sum = Sum::new()
            .over(&ip[addresses])
            .over(&[0, PROTOCOL_UDP])
            .over(length)
            .over(datagram);
        in_memory(sum)
    }

    /// The first bytes, zero beyond the frame's end.
    pub fn head(&self) -> [u8; HEAD_BYTES] {
        let mut head = [0; HEAD_BYTES];
        let count = self.frame.len().min(HEAD_BYTES);
        head[..count].copy_from_slice(&self.frame[..count]);
        head
    }

    pub fn matches(&self, other: &Self) -> bool {
        let same =
            |range: std::ops::Range<usize>| self.frame.get(range.clone()) == other.frame.get(range);
        let ip = self.ip_offset;
        let addresses = if self.is_v6 { 6..40 } else { 8..20 };
        self.ip_offset == other.ip_offset
            && self.is_v6 == other.is_v6
            && self.has_udp_sum == other.has_udp_sum
            && self.destination == other.destination
            && self.source == other.source
            && self.source_port == other.source_port
            && same(0..ip + 2)
            && same(ip + addresses.start..ip + addresses.end)
    }
}

fn unsupported() -> Failure {
    Failure::new(
        "a frame to send must be UDP over IPv4 without options or over IPv6 without extension headers, with at most one 802.1Q tag",
    )
}

/// Where the IP header begins, and whether it is version 6.
fn network_layer(frame: &[u8]) -> Option<(usize, bool)> {
    let ethertype = |at: usize| Some([*frame.get(at)?, *frame.get(at + 1)?]);
    let (offset, kind) = match ethertype(12)? {
        [0x81, 0x00] => (ETHERNET_BYTES + VLAN_BYTES, ethertype(16)?),
        other => (ETHERNET_BYTES, other),
    };
    match (kind, *frame.get(offset)?) {
        ([0x08, 0x00], 0x45) => Some((offset, false)),
        ([0x86, 0xdd], first) if first >> 4 == 6 => Some((offset, true)),
        _ => None,
    }
}

/// The folded sum of words as they lie in memory: the order of bytes does not matter
/// before (RFC 1071, section 2).
fn in_memory(sum: Sum) -> u16 {
    u16::from_ne_bytes((!sum.finish()).to_be_bytes())
}
