//! Devices that exist in arithmetic only.

use trial::{Histogram, Validity, Verdict};

use super::{Outcome, Request};

#[derive(Clone, Copy, Debug)]
pub(super) struct Device {
    pub(super) capacity_pps: f64,
    pub(super) queue_frames: f64,
    pub(super) seconds: f64,
}

impl Device {
    pub(super) fn trial(&self, request: Request) -> Outcome {
        let offered = match request.frames {
            Some(frames) => frames as f64,
            None => (request.rate_pps * self.seconds).floor(),
        };
        let seconds = offered / request.rate_pps;
        let carried = (self.capacity_pps * seconds).floor() + self.queue_frames;
        let lost = (offered - carried).max(0.0);
        outcome(offered as u64, lost as u64, Verdict::valid())
    }

    /// The rate above which it loses more than `loss_ratio`.
    pub(super) fn throughput_pps(&self, loss_ratio: f64) -> f64 {
        (self.capacity_pps + self.queue_frames / self.seconds) / (1.0 - loss_ratio)
    }
}

pub(super) fn outcome(offered: u64, lost: u64, verdict: Verdict) -> Outcome {
    Outcome {
        offered,
        lost,
        latency: Histogram::new(),
        verdict,
    }
}

pub(super) fn invalid(validity: Validity) -> Outcome {
    outcome(1, 0, Verdict::new(validity, "planted", "none"))
}
