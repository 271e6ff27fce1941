//! The frames of a stream, one after the other: for ports that write them, and
//! for those that have a program write them. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::{Spread, Stamp, TestFrame, TestFrameError};

use crate::tester::line::IMIX;
use crate::tester::stream::{Addresses, DESTINATIONS_MAX, FrameSize, Stream, TAG_BYTES};

const SOURCE_PORT: u16 = 0xc020;

/// Which of [`IMIX`]'s sizes is whose turn, in an order that mixes them: RFC
/// 6985 leaves it open.
const IMIX_ORDER: [u8; 12] = [0, 1, 0, 0, 1, 0, 2, 0, 1, 0, 0, 1];

/// The longest frame in memory: 1518 bytes without its frame check sequence,
/// with a tag.
pub const FRAME_BYTES_MAX: usize = 1518;

#[derive(Clone, Debug)]
pub struct Frames {
    stream: Stream,
    first: TestFrame,
    sizes: Vec<u32>,
    order: &'static [u8],
    spread: Spread,
}

impl Frames {
    /// For a stream that can be made: a frame of each size was tried.
    ///
    /// # Panics
    /// If it has no destination, too many, or not a power of two: `Addresses`
    /// forbids it.
    pub fn new(stream: &Stream) -> Result<Self, TestFrameError> {
        let (source, destination, count) = ends(stream.addresses);
        let spread = Spread::over(count).filter(|_| count <= DESTINATIONS_MAX);
        let mut first = TestFrame {
            source_ethernet: stream.link.source,
            destination_ethernet: stream.link.destination,
            vlan: stream.link.vlan,
            source,
            destination,
            source_port: SOURCE_PORT,
            frame_bytes: 0,
        };
        let (sizes, order) = sizes(stream, &first);
        first.frame_bytes = sizes[0];
        let frames = Self {
            stream: *stream,
            first,
            sizes,
            order,
            spread: spread.unwrap_or_else(|| panic!("{count} destinations")),
        };
        frames.templates()?;
        Ok(frames)
    }

    /// A frame of each size, to the first destination.
    ///
    /// # Errors
    /// None that [`new`](Self::new) had not.
    pub fn templates(&self) -> Result<Vec<Vec<u8>>, TestFrameError> {
        let frames = self.sizes.iter().map(|&frame_bytes| TestFrame {
            frame_bytes,
            ..self.first
        });
        frames
            .map(|frame| frame.to_bytes(self.stamp(0, 0)))
            .collect()
    }

    /// Which of the [`templates`](Self::templates) is whose turn, repeated.
    pub fn order(&self) -> &'static [u8] {
        self.order
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
        let stamp = self.stamp(sequence, due_ns);
        self.frame(sequence).write(stamp, buffer)
    }

    pub fn memory_bytes(&self, sequence: u64) -> usize {
        self.frame(sequence).memory_bytes()
    }

    fn stamp(&self, sequence: u64, due_ns: u64) -> Stamp {
        Stamp {
            trial: self.stream.trial,
            stream: self.stream.id,
            sequence,
            due_ns,
        }
    }

    fn frame(&self, sequence: u64) -> TestFrame {
        let turn = self.spread.turn(sequence);
        let size = self.order[(sequence % self.order.len() as u64) as usize];
        TestFrame {
            source: self.source(sequence),
            destination: self.destination(turn),
            // One flow a destination, modulo 65,536.
            source_port: SOURCE_PORT.wrapping_add(turn as u16),
            frame_bytes: self.sizes[usize::from(size)],
            ..self.first
        }
    }

    fn source(&self, sequence: u64) -> IpAddr {
        match self.stream.addresses {
            Addresses::V4 {
                source, sources, ..
            } => {
                let turn = self.spread.source_turn(sequence, sources);
                Ipv4Addr::from_bits(source.to_bits().wrapping_add(turn)).into()
            }
            Addresses::V6 { source, .. } => source.into(),
        }
    }

    fn destination(&self, turn: u32) -> IpAddr {
        match self.stream.addresses {
            Addresses::V4 { first, stride, .. } => {
                let bits = first.to_bits().wrapping_add(turn.wrapping_mul(stride));
                Ipv4Addr::from_bits(bits).into()
            }
            Addresses::V6 { first, stride, .. } => {
                let [high, low] = [first.to_bits() >> 64 << 64, first.to_bits() & LOW];
                let distance = u64::from(turn).wrapping_mul(stride.into());
                let low = (low as u64).wrapping_add(distance);
                Ipv6Addr::from_bits(high | u128::from(low)).into()
            }
        }
    }
}

fn ends(addresses: Addresses) -> (IpAddr, IpAddr, u32) {
    match addresses {
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
    }
}

/// Sizes with frame check sequence and tag, and their order.
fn sizes(stream: &Stream, first: &TestFrame) -> (Vec<u32>, &'static [u8]) {
    let tag = stream.link.vlan.map_or(0, |_| TAG_BYTES);
    match stream.size {
        FrameSize::Fixed(bytes) => (vec![bytes.saturating_add(tag)], &[0]),
        FrameSize::Imix => {
            // The smallest grows where an IPv6 header does not fit.
            let least = u32::try_from(first.frame_bytes_min()).unwrap_or(u32::MAX);
            let sizes = IMIX.map(|(_, bytes)| (bytes + tag).max(least));
            (sizes.to_vec(), &IMIX_ORDER)
        }
    }
}

/// The low 64 bits of an IPv6 address.
const LOW: u128 = u64::MAX as u128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tester::testing::stream;
    use std::collections::BTreeMap;

    #[test]
    fn imix_has_seven_four_and_one() {
        for (size, (frames, _)) in (0..).zip(IMIX) {
            let turns = IMIX_ORDER.iter().filter(|&&turn| turn == size).count();
            assert_eq!(turns, frames as usize);
        }
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

    /// A receiver must see each destination and each flow once a round, and the same
    /// ones in the next.
    #[test]
    fn each_destination_has_its_equal_share() {
        let mut many = stream(None);
        many.addresses = Addresses::V4 {
            source: "192.0.2.2".parse().unwrap(),
            sources: 1,
            first: "198.19.0.0".parse().unwrap(),
            count: 256,
            stride: 128,
        };
        let frames = Frames::new(&many).unwrap();
        let mut shares = BTreeMap::new();
        for sequence in 0..3 * 256 {
            let frame = frames.frame(sequence);
            *shares
                .entry((frame.destination, frame.source_port))
                .or_insert(0) += 1;
        }
        assert!(shares.values().all(|&share| share == 3));
        let to: Vec<_> = shares.keys().map(|(to, _)| to.to_string()).collect();
        assert_eq!((to.len(), &to[0][..]), (256, "198.19.0.0"));
        assert_eq!(
            (&to[1][..], &to[255][..]),
            ("198.19.0.128", "198.19.127.128")
        );
        assert_eq!(
            frames.frame(5).destination,
            frames.frame(5 + 256).destination
        );
    }

    #[test]
    fn the_low_half_of_an_address_wraps_by_itself() {
        let mut many = stream(None);
        many.addresses = six(2);
        many.size = FrameSize::Fixed(84);
        let frames = Frames::new(&many).unwrap();
        assert_eq!(frames.destination(1).to_string(), "2001:2:0:1::");
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
