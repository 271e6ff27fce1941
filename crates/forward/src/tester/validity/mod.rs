//! Whether a trial is valid (RFC 2544 says nothing of this; every check
//! here is a way in which a tester has deceived its user).
//!
//! Pure: what was seen goes in, a verdict with its reasons and remedies comes
//! out. Each check is a function of its own in `generator`, `noise` or
//! `counts`.

mod counts;
mod generator;
pub(crate) mod noise;

#[cfg(test)]
mod tests;

use std::time::Duration;

use trial::{Validity, Verdict};

use super::trial::{Direction, HostUse, Placement};
use crate::router::Counters;

pub use counts::{STRANGERS_MAX, WINDOW_LOSS_MAX};
pub use generator::{CEILING_RATIO_MAX, SENT_RATIO_MIN, WAITED_RATIO_MAX};
pub use noise::{ELSEWHERE_RATIO_MAX, GAP_RATIO_MAX, LOSS_ERROR_MAX};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claim {
    /// Whether a rate is carried: the generator must hold the rate, and where a loss
    /// decides, it must be the device's. Other use of the device's CPU does not make
    /// a pass invalid.
    Carried {
        /// Share of the frames that may be lost: 0 for the NDR, a PDR's own loss.
        loss_ratio_max: f64,
    },
    /// How much is lost at a rate, to a tenth of it ([`LOSS_ERROR_MAX`]): as
    /// above, and the loss must be nearly all the device's.
    Loss,
    /// How long frames take at a rate, and what CPU time: as for
    /// [`Self::WITHOUT_LOSS`], and no other program may use the CPUs.
    Latency,
    /// The received rate at overload: frames may be lost anywhere behind the
    /// generator, unless only this many may be under way ([`WINDOW_LOSS_MAX`]).
    Rate,
}

impl Claim {
    /// That a rate is carried with no frame lost.
    pub const WITHOUT_LOSS: Self = Self::Carried {
        loss_ratio_max: 0.0,
    };
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnCpu {
    pub generators: Duration,
    /// Those that forward and those that count: of every device, where several
    /// are tried side by side.
    pub behind: Duration,
}

/// Observations besides the frames. Unknown ones are `None` or empty, and not judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub host: HostUse,
    pub placement: Placement,
    /// Frames a second, of all ports together, that the generator reaches at this
    /// size unhindered.
    pub ceiling_pps: Option<f64>,
    /// Whether the device forwards in threads of its own: threaded NAPI, a
    /// process, a guest. If not, it forwards in the sender's softirq.
    pub threaded: Option<bool>,
    pub own_cpu: Option<OwnCpu>,
    /// Total time in which threads that forward or count were ready while another
    /// thread, possibly one of themselves, had their CPU.
    pub waited_behind: Option<Duration>,
    /// Of a device that is not ours and lives on this host: the time in which its
    /// threads waited for a CPU, be it for the tester's own.
    pub kept_waiting: Option<Duration>,
    /// Frames that the tester's own ports lost, as their drivers count.
    pub lost_by_ports: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    pub claim: Claim,
    pub directions: &'a [Direction],
    pub counters: Option<Counters>,
    pub seen: &'a Seen,
}

impl Evidence<'_> {
    /// The verdict. Where several things are wrong the kind is the gravest's
    /// (too few frames, then the generator, then noise), and the reason names
    /// them all.
    pub fn verdict(&self) -> Verdict {
        let mut found: Vec<Verdict> = self.directions.iter().filter_map(too_few).collect();
        found.extend(generator::check(self));
        found.extend(counts::check(self));
        found.extend(noise::check(self));
        combine(&found)
    }

    /// Maximum number of frames whose loss may have another cause than the device.
    /// These are frames that a late generator sent at once beyond its usual batches,
    /// and frames that came while the device's threads waited for a CPU. 0 where the
    /// pauses were too short for that.
    pub fn excusable_frames(&self) -> u64 {
        (noise::excusable_frames(self).ceil() as u64).min(self.offered())
    }

    /// Whether a loss that may have another cause than the device decides: `excusable`
    /// frames of it.
    fn is_doubtful(&self, excusable: f64) -> bool {
        let lost = self.lost() as f64;
        // Whether it would be too much, and would not without what is excusable.
        let decides = |loss_ratio_max: f64| {
            let share = |lost| ratio(lost, self.offered() as f64);
            share(lost) > loss_ratio_max && share(lost - excusable) <= loss_ratio_max
        };
        match self.claim {
            Claim::Rate => false,
            Claim::Carried { loss_ratio_max } => decides(loss_ratio_max),
            Claim::Latency => decides(0.0),
            Claim::Loss => lost > 0.0 && excusable > 0.0 && excusable >= lost * LOSS_ERROR_MAX,
        }
    }

    fn offered(&self) -> u64 {
        self.sum(|direction| direction.sent.offered)
    }

    fn lost(&self) -> u64 {
        self.directions.iter().map(Direction::lost).sum()
    }

    fn received(&self) -> u64 {
        self.sum(|direction| direction.received.received)
    }

    fn sum(&self, of: fn(&Direction) -> u64) -> u64 {
        self.directions.iter().map(of).sum()
    }
}

fn too_few(direction: &Direction) -> Option<Verdict> {
    let offered = direction.sent.offered;
    let is_burst = direction.stream.frames_max.is_some();
    let needed = if is_burst {
        1
    } else {
        trial::validity::SAMPLES_MIN
    };
    (offered < needed).then(|| {
        Verdict::new(
            Validity::TooFewSamples,
            format!("{offered} frames were sent, a loss needs {needed}"),
            "use longer trials or a higher rate",
        )
    })
}

pub(crate) fn combine(found: &[Verdict]) -> Verdict {
    let Some(validity) = found.iter().map(|one| one.validity).min_by_key(gravity) else {
        return Verdict::valid();
    };
    let join = |part: fn(&Verdict) -> &str| {
        let mut parts: Vec<&str> = Vec::new();
        for one in found.iter().map(part) {
            if !parts.contains(&one) {
                parts.push(one);
            }
        }
        parts.join("; ")
    };
    Verdict::new(validity, join(|one| &one.reason), join(|one| &one.remedy))
}

fn gravity(validity: &Validity) -> u8 {
    match validity {
        Validity::TooFewSamples => 0,
        Validity::GeneratorBound => 1,
        _ => 2,
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
