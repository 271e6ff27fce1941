//! The experiments that tell one cause from another.

use engine::DEPTH_MAX;

use crate::vcm::cause::setting::Setting;
use crate::vcm::cause::subject::Subject;
use kit::place::Placement;

/// What is done differently from the load as it is at the fallen size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Experiment {
    /// Nothing, but at the size where the speed is highest.
    Peak,
    /// Nothing: what all others are paired with.
    Plain,
    /// The client polls: no notifications.
    Polled,
    /// Fewer in flight, with as many bytes as at the peak.
    Footprint,
    /// Twice as many in flight.
    Deeper,
    /// Client and worker elsewhere.
    Moved,
    /// The client sends requests of the peak's size, as many bytes in flight.
    Split,
    /// The client without a device.
    Generator,
    /// The peak, polled: what helps there as well explains no fall.
    PolledPeak,
    /// The peak, elsewhere.
    MovedPeak,
    /// The client without a device, at the peak's size.
    GeneratorPeak,
}

impl Experiment {
    /// Every one, in the order of reports.
    pub(super) const ALL: [Self; 11] = [
        Self::Peak,
        Self::Plain,
        Self::Polled,
        Self::Footprint,
        Self::Deeper,
        Self::Moved,
        Self::Split,
        Self::Generator,
        Self::PolledPeak,
        Self::MovedPeak,
        Self::GeneratorPeak,
    ];

    /// In results.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Peak => "peak",
            Self::Plain => "plain",
            Self::Polled => "polled",
            Self::Footprint => "footprint",
            Self::Deeper => "deeper",
            Self::Moved => "moved",
            Self::Split => "split",
            Self::Generator => "generator",
            Self::PolledPeak => "polled-peak",
            Self::MovedPeak => "moved-peak",
            Self::GeneratorPeak => "generator-peak",
        }
    }

    /// In tables.
    pub(super) const fn what(self) -> &'static str {
        match self {
            Self::Peak => "at the size of the peak",
            Self::Plain => "as it is, at the fallen size",
            Self::Polled => "polled, without notifications",
            Self::Footprint => "fewer in flight, bytes as at the peak",
            Self::Deeper => "twice as many in flight",
            Self::Moved => "the other placement",
            Self::Split => "sent as requests of the peak's size",
            Self::Generator => "the client alone, without a device",
            Self::PolledPeak => "the peak, polled",
            Self::MovedPeak => "the peak, in the other placement",
            Self::GeneratorPeak => "the client alone, at the peak's size",
        }
    }

    /// What it is paired with.
    pub(super) const fn reference(self) -> Self {
        match self {
            Self::PolledPeak | Self::MovedPeak | Self::GeneratorPeak => Self::Peak,
            _ => Self::Plain,
        }
    }

    /// Whether no device takes part.
    pub(super) const fn is_generator(self) -> bool {
        matches!(self, Self::Generator | Self::GeneratorPeak)
    }

    /// How the load is run for it; `None` where that cannot be done or would
    /// change nothing.
    pub(super) fn setting(
        self,
        subject: &dyn Subject,
        (peak, fallen): (Setting, Setting),
    ) -> Option<Setting> {
        let polled = |setting| Setting {
            is_polled: true,
            ..setting
        };
        let moved = |setting: Setting| Setting {
            placement: other(setting.placement),
            ..setting
        };
        let with_depth = |depth: usize| Setting { depth, ..fallen };
        let (in_flight_bytes, block_bytes) = (peak.in_flight_bytes(), peak.block_bytes);
        let setting = match self {
            Self::Peak | Self::GeneratorPeak => peak,
            Self::Plain | Self::Generator => fallen,
            Self::Polled => polled(fallen),
            Self::PolledPeak => polled(peak),
            Self::Footprint => with_depth((in_flight_bytes / fallen.block_bytes).max(1)),
            Self::Deeper => with_depth(fallen.depth * 2),
            Self::Moved => moved(fallen),
            Self::MovedPeak => moved(peak),
            Self::Split => Setting {
                block_bytes,
                depth: fallen.in_flight_bytes() / block_bytes,
                ..fallen
            },
        };
        let is_possible = match self {
            Self::Moved | Self::MovedPeak => subject.can_move(),
            Self::Polled | Self::PolledPeak => subject.moderation().client_sleeps(),
            Self::Footprint => setting.depth < fallen.depth,
            _ => setting.depth <= DEPTH_MAX,
        };
        is_possible.then_some(setting)
    }
}

fn other(placement: Placement) -> Placement {
    match placement {
        Placement::Shared => Placement::Split,
        Placement::Split => Placement::Shared,
    }
}
