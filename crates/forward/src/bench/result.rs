//! What a trial found.

use std::time::Duration;

use trial::{Validity, Verdict};

use super::offer::Offer;
use crate::router::{Counters, Cpu};
pub use crate::tester::trial::Direction as DirectionResult;
use crate::tester::validity::{Claim, Evidence, OwnCpu, Seen};

/// Of the changes of routes that were asked for.
const CHANGES_MIN: f64 = 0.95;

/// What became of the routes of a router's table while a trial ran.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Changes {
    /// Routes that became others.
    pub made: u64,
    /// In it they were made: the trial, and what it waited for after its last frame.
    pub time: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TrialResult {
    pub offer: Offer,
    /// From port 0 to 1, then, in a two-way trial, from 1 to 0.
    pub directions: Vec<DirectionResult>,
    pub router: Counters,
    pub changes: Changes,
    /// CPU time of the router while frames were sent: what it used before the
    /// first and after the last, spinning or emptying queues, is no part.
    pub router_cpu: Cpu,
    /// CPU time of the generators, ns. With a rate it says how long they ran, not
    /// what frames cost them: until a frame is due they look at the clock.
    pub generator_cpu_ns: u64,
    /// CPU time of the sinks while frames were sent, ns.
    pub sink_cpu_ns: u64,
    pub seen: Seen,
    /// Whether the rate is carried or not is valid; without a rate, whether the
    /// received rate is.
    pub verdict: Verdict,
}

impl TrialResult {
    pub fn received_pps(&self) -> f64 {
        self.sum(DirectionResult::received_pps)
    }

    /// Mbit/s (10^6) received, all directions, as counted: with tags, and with IMIX
    /// over IPv6.
    pub fn received_mbit_per_s(&self) -> f64 {
        self.sum(DirectionResult::received_mbit_per_s)
    }

    pub fn offered_pps(&self) -> f64 {
        self.sum(DirectionResult::offered_pps)
    }

    pub fn offered(&self) -> u64 {
        self.directions.iter().map(|way| way.sent.offered).sum()
    }

    pub fn received(&self) -> u64 {
        self.directions
            .iter()
            .map(|way| way.received.received)
            .sum()
    }

    /// Frames received while frames were sent, all directions: the CPU time of router
    /// and sinks went into these.
    pub fn received_while_sending(&self) -> u64 {
        self.directions.iter().map(|way| way.counting.frames).sum()
    }

    pub fn lost(&self) -> u64 {
        self.directions.iter().map(DirectionResult::lost).sum()
    }

    /// Share of the offered frames that were lost, 0 to 1.
    pub fn loss_ratio(&self) -> f64 {
        ratio(self.lost(), self.offered())
    }

    /// The verdict for that claim: a loss as a figure needs more than a rate that is
    /// carried or not, which `verdict` is about.
    pub fn verdict_for(&self, claim: Claim) -> Verdict {
        self.evidence(claim).verdict()
    }

    /// Maximum number of frames whose loss may have another cause than the router:
    /// see [`Evidence::excusable_frames`].
    pub fn excusable_frames(&self) -> u64 {
        self.evidence(Claim::Loss).excusable_frames()
    }

    fn evidence(&self, claim: Claim) -> Evidence<'_> {
        Evidence {
            claim,
            directions: &self.directions,
            counters: Some(self.router),
            seen: &self.seen,
        }
    }

    /// Why it is not a trial at the changes that were asked for, if so.
    pub(super) fn short_of_changes(&self) -> Option<Verdict> {
        let Changes { made, time } = self.changes;
        let asked = f64::from(self.offer.changes_per_s) * time.as_secs_f64();
        // One more or less is the moment at which it began.
        let is_short = (made as f64) < CHANGES_MIN * asked - 1.0;
        is_short.then(|| {
            Verdict::new(
                Validity::GeneratorBound,
                format!("{made} of {asked:.0} routes became others"),
                "ask for fewer changes, or give them a CPU of their own",
            )
        })
    }

    /// CPU time of the router while frames were sent, ns.
    pub fn router_cpu_ns(&self) -> u64 {
        self.router_cpu.total_ns()
    }

    pub fn own_cpu(&self) -> OwnCpu {
        OwnCpu {
            generators: Duration::from_nanos(self.generator_cpu_ns),
            behind: Duration::from_nanos(self.router_cpu_ns() + self.sink_cpu_ns),
        }
    }

    /// CPU time of the router for each frame received while it was sent to, ns;
    /// `None` if none was.
    pub fn router_ns_per_frame(&self) -> Option<f64> {
        per_frame(self.router_cpu_ns(), self.received_while_sending())
    }

    /// CPU time of the sinks for each frame received meanwhile, ns; `None` if
    /// none was.
    pub fn sink_ns_per_frame(&self) -> Option<f64> {
        per_frame(self.sink_cpu_ns, self.received_while_sending())
    }

    /// CPU time of the generators for each frame offered, ns; `None` if none
    /// was, or with a rate.
    pub fn generator_ns_per_frame(&self) -> Option<f64> {
        match self.offer.rate_pps {
            Some(_) => None,
            None => per_frame(self.generator_cpu_ns, self.offered()),
        }
    }

    /// CPU time, ns, of polls in user space that found no frame, of
    /// [`Self::router_cpu_ns`]; `None` where nothing polls.
    pub fn idle_poll_ns(&self) -> Option<u64> {
        let busy_ns = self.router.own?.busy_ns;
        (busy_ns > 0).then(|| self.router_cpu.own_ns.saturating_sub(busy_ns))
    }

    fn sum(&self, of: impl Fn(&DirectionResult) -> f64) -> f64 {
        self.directions.iter().map(of).sum()
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        as_f64(part) / as_f64(whole)
    }
}

fn per_frame(cpu_ns: u64, frames: u64) -> Option<f64> {
    (frames > 0).then(|| ratio(cpu_ns, frames))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and times stay far below 2^52"
)]
fn as_f64(value: u64) -> f64 {
    value as f64
}
