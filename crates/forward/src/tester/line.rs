//! What a link of a stated speed could carry at most, and what share of that a
//! rate is: the figures of RFC 2544, sections 9 and 20, and of the source's
//! tables. A veth has no speed of its own, so the speed is always stated.

use super::stream::{FrameSize, WIRE_OVERHEAD_BYTES};

/// The sizes of RFC 2544, section 9.1, for Ethernet.
pub const SIZES: [FrameSize; 7] = [
    FrameSize::Fixed(64),
    FrameSize::Fixed(128),
    FrameSize::Fixed(256),
    FrameSize::Fixed(512),
    FrameSize::Fixed(1024),
    FrameSize::Fixed(1280),
    FrameSize::Fixed(1518),
];

/// How many frames of which size make one round of [`FrameSize::Imix`]
/// (RFC 6985, section 4: the sequence is stated with the result).
pub const IMIX: [(u32, u32); 3] = [(7, 64), (4, 570), (1, 1518)];

impl FrameSize {
    /// Bytes of a frame on average, with its frame check sequence.
    #[must_use]
    pub fn mean_bytes(self) -> f64 {
        match self {
            Self::Fixed(bytes) => f64::from(bytes),
            Self::Imix => {
                let frames: u32 = IMIX.iter().map(|(count, _)| count).sum();
                let bytes: u32 = IMIX.iter().map(|(count, bytes)| count * bytes).sum();
                f64::from(bytes) / f64::from(frames)
            }
        }
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

/// A link of a stated speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Bits a second, each way.
    pub speed_bits_per_s: f64,
}

impl Line {
    /// The source's links.
    pub const GIGABIT: Self = Self {
        speed_bits_per_s: 1e9,
    };

    /// Frames a second that the link carries one way at most: each takes
    /// [`WIRE_OVERHEAD_BYTES`] besides its own.
    #[must_use]
    pub fn max_pps(self, size: FrameSize) -> f64 {
        let bytes = size.mean_bytes() + f64::from(WIRE_OVERHEAD_BYTES);
        self.speed_bits_per_s / (bytes * 8.0)
    }

    /// `rate_pps` one way as a share of the maximum; above 1 where no such link
    /// was in the way.
    #[must_use]
    pub fn share(self, rate_pps: f64, size: FrameSize) -> f64 {
        rate_pps / self.max_pps(size)
    }
}

/// Megabits (10^6) a second of frames, frame check sequences counted and what
/// only the wire adds not.
#[must_use]
pub fn mbit_per_s(rate_pps: f64, size: FrameSize) -> f64 {
    rate_pps * size.mean_bytes() * 8.0 / 1e6
}

#[cfg(test)]
mod tests {
    use super::{FrameSize, Line, SIZES, mbit_per_s};

    #[test]
    fn the_maxima_are_those_of_the_standard_tables() {
        let expected = [
            1_488_095, 844_594, 452_898, 234_962, 119_731, 96_153, 81_274,
        ];
        for (size, expected) in SIZES.into_iter().zip(expected) {
            assert_eq!(Line::GIGABIT.max_pps(size) as u64, expected, "{size}");
        }
    }

    #[test]
    fn the_sources_native_figure_is_its_share() {
        // Source 004, table 2: two ports, 778,898 frames/s of 64 bytes, 26.171%.
        let share = Line::GIGABIT.share(778_898.0 / 2.0, FrameSize::Fixed(64));
        assert!((share - 0.26171).abs() < 1e-5, "{share}");
    }

    #[test]
    fn an_imix_frame_has_354_bytes_on_average() {
        assert!((FrameSize::Imix.mean_bytes() - 4246.0 / 12.0).abs() < 1e-9);
        assert_eq!(FrameSize::Imix.to_string(), "imix");
    }

    #[test]
    fn megabits_count_the_frame_alone() {
        let rate = Line::GIGABIT.max_pps(FrameSize::Fixed(64));
        assert!((mbit_per_s(rate, FrameSize::Fixed(64)) - 761.9).abs() < 0.1);
    }
}
