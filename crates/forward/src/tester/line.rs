//! What a link of a stated speed could carry at most: the figures of RFC 2544,
//! sections 9 and 20, and of the source's tables. A veth has no speed of its own, so
//! the speed is always stated.

use super::stream::{FrameSize, TAG_BYTES, WIRE_OVERHEAD_BYTES};
use crate::topology::Family;

/// How many frames of which size make one round of [`FrameSize::Imix`]
/// (RFC 6985, section 4: the sequence is stated with the result).
pub const IMIX: [(u32, u32); 3] = [(7, 64), (4, 570), (1, 1518)];

/// Bytes of the shortest frame, with its frame check sequence: Ethernet's, or
/// what headers and stamp need.
pub const fn bytes_min(family: Family) -> u32 {
    match family {
        Family::V4 => 64,
        Family::V6 => 84,
    }
}

/// The parts of a stream that decide the lengths of its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    pub size: FrameSize,
    pub family: Family,
    /// Whether they have an 802.1Q tag, which sizes do not count.
    pub tagged: bool,
}

impl Shape {
    /// Bytes of a frame on average, with its frame check sequence and tag.
    pub fn mean_bytes(self) -> f64 {
        let tag = if self.tagged { TAG_BYTES } else { 0 };
        let mean = match self.size {
            FrameSize::Fixed(bytes) => f64::from(bytes),
            FrameSize::Imix => {
                let least = bytes_min(self.family);
                let frames: u32 = IMIX.iter().map(|(count, _)| count).sum();
                let bytes = IMIX.iter().map(|(count, bytes)| count * least.max(*bytes));
                f64::from(bytes.sum::<u32>()) / f64::from(frames)
            }
        };
        mean + f64::from(tag)
    }
}

impl FrameSize {
    /// Bytes of a frame on average, with its frame check sequence, as the size is
    /// defined: over IPv4, without a tag.
    pub fn mean_bytes(self) -> f64 {
        let shape = Shape {
            size: self,
            family: Family::V4,
            tagged: false,
        };
        shape.mean_bytes()
    }
}

impl std::fmt::Display for FrameSize {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(bytes) => write!(formatter, "{bytes}"),
            Self::Imix => formatter.write_str("imix"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Bits a second, each way.
    pub speed_bits_per_s: f64,
}

impl Line {
    /// Frames a second that the link carries one way at most: each takes
    /// [`WIRE_OVERHEAD_BYTES`] besides its own.
    pub fn max_pps(self, shape: Shape) -> f64 {
        let bytes = shape.mean_bytes() + f64::from(WIRE_OVERHEAD_BYTES);
        self.speed_bits_per_s / (bytes * 8.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Family, FrameSize, Line, Shape, bytes_min};
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    const GIGABIT: Line = Line {
        speed_bits_per_s: 1e9,
    };

    fn plain(size: FrameSize) -> Shape {
        Shape {
            size,
            family: Family::V4,
            tagged: false,
        }
    }

    #[test]
    fn the_maxima_are_those_of_the_standard_tables() {
        let expected = [
            1_488_095, 844_594, 452_898, 234_962, 119_731, 96_153, 81_274,
        ];
        // The sizes of RFC 2544, section 9.1, for Ethernet.
        let sizes = [64, 128, 256, 512, 1024, 1280, 1518];
        for (size, expected) in sizes.into_iter().zip(expected) {
            let most = GIGABIT.max_pps(plain(FrameSize::Fixed(size)));
            assert_eq!(most as u64, expected, "{size}");
        }
    }

    #[test]
    fn the_sources_native_figure_is_its_share() {
        // Source 004, table 2: two ports, 778,898 frames/s of 64 bytes, 26.171%.
        let share = 778_898.0 / 2.0 / GIGABIT.max_pps(plain(FrameSize::Fixed(64)));
        assert!((share - 0.26171).abs() < 1e-5, "{share}");
    }

    #[test]
    fn a_tag_takes_its_share_of_the_link() {
        let tagged = Shape {
            tagged: true,
            ..plain(FrameSize::Fixed(64))
        };
        // 64 + 4 + 20 bytes.
        assert_eq!(GIGABIT.max_pps(tagged) as u64, 1_420_454);
    }

    #[test]
    fn an_imix_frame_has_354_bytes_on_average_and_366_over_ipv6() {
        let four = plain(FrameSize::Imix);
        assert!((four.mean_bytes() - 4246.0 / 12.0).abs() < 1e-9);
        assert!((FrameSize::Imix.mean_bytes() - four.mean_bytes()).abs() < 1e-9);
        let six = Shape {
            family: Family::V6,
            ..four
        };
        assert!((six.mean_bytes() - (7.0 * 84.0 + 4.0 * 570.0 + 1518.0) / 12.0).abs() < 1e-9);
        assert_eq!(FrameSize::Imix.to_string(), "imix");
    }

    #[test]
    fn the_shortest_frames_are_those_that_can_be_made() {
        let least = |address: IpAddr, tag: Option<u16>| {
            let frame = wire::TestFrame {
                source_ethernet: [2; 6],
                destination_ethernet: [4; 6],
                vlan: tag,
                source: address,
                destination: address,
                source_port: 1,
                frame_bytes: 0,
            };
            u32::try_from(frame.frame_bytes_min()).unwrap()
        };
        let six = least(Ipv6Addr::LOCALHOST.into(), None);
        assert_eq!(six, bytes_min(Family::V6));
        assert!(least(Ipv4Addr::LOCALHOST.into(), None) <= bytes_min(Family::V4));
    }
}
