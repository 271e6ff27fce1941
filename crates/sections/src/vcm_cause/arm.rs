//! The changes to a load that tell one cause from another.

use kit::place::Placement;
use policy::Policy;

use super::place::{Ends, Place, Setting};

/// A load as it is, or with one thing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// As it is, at that size.
    Scan(usize),
    /// As it is, where the speed is highest.
    Peak,
    /// As it is, at the slowest size beyond: what the changes are paired with.
    Plain,
    Polled,
    /// Fewer in flight, with as many bytes as at the peak.
    Footprint,
    Deeper,
    /// Client and worker in the other placement.
    Moved,
    /// Requests of the peak's size, with as many bytes in flight.
    Split,
    /// The client without a device.
    Alone,
    /// What helps at the peak as well explains no fall.
    PolledPeak,
    MovedPeak,
    AlonePeak,
}

/// What is run where the speed falls: its name in results, and in words.
#[rustfmt::skip]
pub const AT_FALL: [(Arm, &str, &str); 11] = [
    (Arm::Peak, "peak", "at the size of the peak"),
    (Arm::Plain, "plain", "as it is, at the fallen size"),
    (Arm::Polled, "polled", "polled, without notifications"),
    (Arm::Footprint, "footprint", "fewer in flight, bytes as at the peak"),
    (Arm::Deeper, "deeper", "twice as many in flight"),
    (Arm::Moved, "moved", "the other placement"),
    (Arm::Split, "split", "sent as requests of the peak's size"),
    (Arm::Alone, "generator", "the client alone, without a device"),
    (Arm::PolledPeak, "polled-peak", "the peak, polled"),
    (Arm::MovedPeak, "moved-peak", "the peak, in the other placement"),
    (Arm::AlonePeak, "generator-peak", "the client alone, at the peak's size"),
];

impl Arm {
    /// What it is paired with.
    pub const fn reference(self) -> Option<Self> {
        match self {
            Self::Scan(_) | Self::Peak => None,
            Self::Plain | Self::PolledPeak | Self::MovedPeak | Self::AlonePeak => Some(Self::Peak),
            _ => Some(Self::Plain),
        }
    }

    pub const fn is_alone(self) -> bool {
        matches!(self, Self::Alone | Self::AlonePeak)
    }

    /// Whether it changes anything there; the other placement needs two CPUs.
    pub fn is_possible(self, place: Place, can_move: bool) -> bool {
        match self {
            Self::Moved | Self::MovedPeak => can_move,
            Self::Polled | Self::PolledPeak => place.setting(1).policy.moderation.client_sleeps(),
            _ => true,
        }
    }

    pub fn placement(self, usual: Placement) -> Placement {
        match (self, usual) {
            (Self::Moved | Self::MovedPeak, Placement::Shared) => Placement::Split,
            (Self::Moved | Self::MovedPeak, Placement::Split) => Placement::Shared,
            _ => usual,
        }
    }

    /// How the load is run for it.
    pub fn setting(self, (peak, fallen): Ends) -> Setting {
        let mut setting = match self {
            Self::Peak | Self::PolledPeak | Self::MovedPeak | Self::AlonePeak => peak,
            _ => fallen,
        };
        setting.placement = self.placement(setting.placement);
        match self {
            Self::Polled | Self::PolledPeak => setting.policy = Policy::POLLED,
            Self::Footprint => {
                let depth = peak.in_flight_bytes() / fallen.block_bytes;
                setting.depth = depth.clamp(1, fallen.depth);
            }
            Self::Deeper => setting.depth *= 2,
            Self::Split => {
                setting.depth = fallen.in_flight_bytes() / peak.block_bytes;
                setting.block_bytes = peak.block_bytes;
            }
            _ => {}
        }
        setting
    }
}

/// Where the speed is highest, and where beyond that it is lowest; where it is
/// highest at the largest size, that size and the best of the others.
pub fn fall(speeds: &[f64]) -> Option<(usize, usize)> {
    let by_speed = |a: &usize, b: &usize| speeds[*a].total_cmp(&speeds[*b]);
    let last = speeds.len().checked_sub(1)?;
    let best = (0..=last).max_by(by_speed)?;
    if best == last {
        return Some(((0..last).max_by(by_speed)?, last));
    }
    Some((best, (best + 1..=last).min_by(by_speed)?))
}
