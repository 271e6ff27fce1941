//! The frames of a stream, one after the other. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::{Stamp, TestFrame, TestFrameError};

use crate::tester::stream::{Addresses, DESTINATIONS_MAX, FrameSize, Stream};

/// The UDP source port of frame 0.
const SOURCE_PORT: u16 = 0xc020;

/// What a tag adds to a frame: a stream's sizes count without it, so that 64
/// bytes are possible with one, too.
const TAG_BYTES: u32 = 4;

/// Sizes of IMIX in an order that mixes them: RFC 6985 leaves it open.
const IMIX_ORDER: [u32; 12] = [64, 570, 64, 64, 570, 64, 1518, 64, 570, 64, 64, 570];

/// The longest frame in memory: 1518 bytes without its frame check sequence,
/// with a tag.
pub const FRAME_BYTES_MAX: usize = 1518;

/// Makes the frames of a stream.
#[derive(Clone, Debug)]
pub struct Frames {
    stream: Stream,
    first: TestFrame,
    least: u32,
}

impl Frames {
    /// Of a stream that can be made: its first frame, at its smallest size, was
    /// tried.
    ///
    /// # Errors
    /// [`TestFrameError`].
    ///
    /// # Panics
    /// If it has no destination, too many, or not a power of two: `Addresses`
    /// forbids it.
    pub fn new(stream: &Stream) -> Result<Self, TestFrameError> {
        let (source, destination, count): (IpAddr, IpAddr, u32) = match stream.addresses {
            Addresses::V4 {
                source,
                first,
                count,
                ..
            } => (source.into(), first.into(), count),
            Addresses::V6 {
                source,
                first,
                count,
                ..
            } => (source.into(), first.into(), count),
        };
        assert!(
            count.is_power_of_two() && count <= DESTINATIONS_MAX,
            "{count} destinations"
        );
        let tag = stream.link.vlan.map_or(0, |_| TAG_BYTES);
        let mut first = TestFrame {
            source_ethernet: stream.link.source,
            destination_ethernet: stream.link.destination,
            vlan: stream.link.vlan,
            source,
            destination,
            source_port: SOURCE_PORT,
            frame_bytes: 64 + tag,
        };
        // IMIX's smallest frame grows where an IPv6 header does not fit.
        let least = match stream.size {
            FrameSize::Fixed(bytes) => bytes + tag,
            FrameSize::Imix => u32::try_from(first.frame_bytes_min()).unwrap_or(u32::MAX),
        };
        first.frame_bytes = first.frame_bytes.max(least);
        if let FrameSize::Fixed(bytes) = stream.size {
            first.frame_bytes = bytes.saturating_add(tag);
        }
        let stamp = Stamp {
            trial: stream.trial,
            stream: stream.id,
            sequence: 0,
            due_ns: 0,
        };
        first.to_bytes(stamp)?;
        Ok(Self {
            stream: *stream,
            first,
            least,
        })
    }

    /// Writes frame `sequence`, due at `due_ns`, to the start of `buffer`, and
    /// returns its length in memory.
    ///
    /// # Errors
    /// [`TestFrameError::Buffer`] below [`FRAME_BYTES_MAX`].
    pub fn write(
        &self,
        sequence: u64,
        due_ns: u64,
        buffer: &mut [u8],
    ) -> Result<usize, TestFrameError> {
        let stamp = Stamp {
            trial: self.stream.trial,
            stream: self.stream.id,
            sequence,
            due_ns,
        };
        self.frame(sequence).write(stamp, buffer)
    }

    /// Its length in memory.
    #[must_use]
    pub fn memory_bytes(&self, sequence: u64) -> usize {
        self.frame(sequence).memory_bytes()
    }

    fn frame(&self, sequence: u64) -> TestFrame {
        let (destination, flow) = self.destination(sequence);
        let frame_bytes = match self.stream.size {
            FrameSize::Fixed(_) => self.first.frame_bytes,
            FrameSize::Imix => {
                let turn = (sequence % IMIX_ORDER.len() as u64) as usize;
                let tag = self.stream.link.vlan.map_or(0, |_| TAG_BYTES);
                (IMIX_ORDER[turn] + tag).max(self.least)
            }
        };
        TestFrame {
            destination,
            source_port: SOURCE_PORT.wrapping_add(flow),
            frame_bytes,
            ..self.first
        }
    }

    /// Where a frame goes, and the flow's number modulo 65,536.
    fn destination(&self, sequence: u64) -> (IpAddr, u16) {
        match self.stream.addresses {
            Addresses::V4 {
                first,
                count,
                stride,
                ..
            } => {
                let index = (sequence % u64::from(count)) as u32;
                let bits = first.to_bits().wrapping_add(index.wrapping_mul(stride));
                (Ipv4Addr::from_bits(bits).into(), index as u16)
            }
            Addresses::V6 {
                first,
                count,
                stride,
                ..
            } => {
                let index = sequence % u64::from(count);
                let [high, low] = [first.to_bits() >> 64 << 64, first.to_bits() & LOW];
                let low = (low as u64).wrapping_add(index.wrapping_mul(stride.into()));
                let bits = high | u128::from(low);
                (Ipv6Addr::from_bits(bits).into(), index as u16)
            }
        }
    }
}

/// The low 64 bits of an IPv6 address.
const LOW: u128 = u64::MAX as u128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tester::testing::stream;

    #[test]
    fn imix_has_seven_four_and_one() {
        let count = |bytes| IMIX_ORDER.iter().filter(|size| **size == bytes).count();
        assert_eq!([count(64), count(570), count(1518)], [7, 4, 1]);
        let mut imix = stream(None);
        imix.size = FrameSize::Imix;
        let frames = Frames::new(&imix).unwrap();
        let bytes: usize = (0..12).map(|k| frames.memory_bytes(k) + 4).sum();
        assert_eq!(bytes, 7 * 64 + 4 * 570 + 1518);
        imix.link.vlan = Some(9);
        assert_eq!(Frames::new(&imix).unwrap().memory_bytes(0), 64);
        imix.addresses = six(1);
        assert_eq!(Frames::new(&imix).unwrap().memory_bytes(0), 84);
    }

    fn six(count: u32) -> Addresses {
        Addresses::V6 {
            source: "2001:2::1".parse().unwrap(),
            first: "2001:2:0:1:ffff:ffff:ffff:ffff".parse().unwrap(),
            count,
            stride: 1,
        }
    }

    #[test]
    fn destinations_and_flows_repeat() {
        let mut many = stream(None);
        many.addresses = Addresses::V4 {
            source: "192.0.2.2".parse().unwrap(),
            first: "198.19.0.0".parse().unwrap(),
            count: 4,
            stride: 128,
        };
        let frames = Frames::new(&many).unwrap();
        let to = |sequence| frames.destination(sequence).0.to_string();
        assert_eq!(
            [to(0), to(3), to(4)],
            ["198.19.0.0", "198.19.1.128", "198.19.0.0"]
        );
        many.addresses = six(2);
        many.size = FrameSize::Fixed(84);
        let frames = Frames::new(&many).unwrap();
        // The low half wraps by itself.
        assert_eq!(frames.destination(1).0.to_string(), "2001:2:0:1::");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let mut small = stream(None);
        small.size = FrameSize::Fixed(63);
        assert!(Frames::new(&small).is_err());
        small.size = FrameSize::Fixed(64);
        small.link.vlan = Some(1);
        assert_eq!(Frames::new(&small).unwrap().memory_bytes(5), 64);
        small.addresses = six(1);
        assert!(Frames::new(&small).is_err());
    }
}
