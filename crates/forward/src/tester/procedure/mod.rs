//! The procedures of RFC 2544, section 26, as state machines: each says which
//! trial it wants next and gets its outcome. No clock, no port, no
//! randomness: a simulated device drives them in the tests.
//!
//! A trial that is not valid is neither a pass nor a loss. It is repeated, and
//! if it stays invalid, its verdict is the procedure's.

mod back_to_back;
mod frame_loss;
mod latency;
#[cfg(test)]
mod simulated;
mod throughput;

pub use back_to_back::{BackToBack, Bursts, BurstsGoal};
pub use frame_loss::{FrameLoss, LossPoint};
pub use latency::{LATENCY_SHARES, Latency, LatencyPoint};
pub use throughput::{Ceiling, Found, Throughput, ThroughputGoal};

use trial::{Histogram, Verdict};

/// Times that an invalid trial is repeated.
pub const RETRIES: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    pub rate_pps: f64,
    /// Number of frames, of all ports together; `None`: for the trial's length.
    pub frames: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
#[must_use = "it says what was found, and whether it is valid"]
pub struct Outcome {
    pub offered: u64,
    pub lost: u64,
    pub latency: Histogram,
    pub verdict: Verdict,
}

impl Outcome {
    /// Frames lost as a share of those sent (RFC 2544, section 26.3); 1 where
    /// none was sent.
    pub fn loss_ratio(&self) -> f64 {
        if self.offered == 0 {
            return 1.0;
        }
        self.lost as f64 / self.offered as f64
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Step<R> {
    /// This trial, then [`Procedure::record`].
    Trial(Request),
    Done(R),
}

pub trait Procedure {
    type Found;

    /// The next request; the same until something is recorded.
    fn next(&self) -> Step<Self::Found>;

    fn record(&mut self, outcome: &Outcome);
}

/// Runs a procedure to its end.
pub fn drive<P: Procedure, E>(
    procedure: &mut P,
    mut trial: impl FnMut(Request) -> Result<Outcome, E>,
) -> Result<P::Found, E> {
    loop {
        match procedure.next() {
            Step::Done(found) => return Ok(found),
            Step::Trial(request) => procedure.record(&trial(request)?),
        }
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GoalError {
    #[error("{what} is {value}, it must be {limits}")]
    Outside {
        what: &'static str,
        value: f64,
        limits: &'static str,
    },
}

/// `value`, if it satisfies `fits`; what is not a number fits nothing.
fn check(
    what: &'static str,
    value: f64,
    fits: bool,
    limits: &'static str,
) -> Result<(), GoalError> {
    if fits && value.is_finite() {
        Ok(())
    } else {
        Err(GoalError::Outside {
            what,
            value,
            limits,
        })
    }
}
