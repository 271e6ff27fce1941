//! Latency at the throughput (RFC 2544, section 26.2) and below it: of every
//! frame, from the time it was due, not of one tagged frame a trial.

use trial::{Histogram, Verdict};

use super::{GoalError, Outcome, Procedure, RETRIES, Request, Step, check};

/// Shares of the throughput at which latency is measured.
pub const LATENCY_SHARES: [f64; 4] = [0.1, 0.5, 0.9, 1.0];

#[derive(Clone, Debug, PartialEq)]
pub struct LatencyPoint {
    pub share: f64,
    pub rate_pps: f64,
    pub loss_ratio: f64,
    pub latency: Histogram,
    pub verdict: Verdict,
}

#[derive(Clone, Debug)]
pub struct Latency {
    throughput_pps: f64,
    points: Vec<LatencyPoint>,
    retried: u32,
}

impl Latency {
    /// At shares of `throughput_pps`.
    ///
    /// # Errors
    /// [`GoalError`] unless the rate is above 0.
    pub fn new(throughput_pps: f64) -> Result<Self, GoalError> {
        let above = throughput_pps > 0.0;
        check("the throughput", throughput_pps, above, "above 0 frames/s")?;
        Ok(Self {
            throughput_pps,
            points: Vec::new(),
            retried: 0,
        })
    }
}

impl Procedure for Latency {
    type Found = Vec<LatencyPoint>;

    fn next(&self) -> Step<Vec<LatencyPoint>> {
        match LATENCY_SHARES.get(self.points.len()) {
            None => Step::Done(self.points.clone()),
            Some(share) => Step::Trial(Request {
                rate_pps: self.throughput_pps * share,
                frames: None,
            }),
        }
    }

    fn record(&mut self, outcome: &Outcome) {
        let Some(share) = LATENCY_SHARES.get(self.points.len()).copied() else {
            return;
        };
        if !outcome.verdict.is_valid() && self.retried < RETRIES {
            self.retried += 1;
            return;
        }
        self.retried = 0;
        self.points.push(LatencyPoint {
            share,
            rate_pps: self.throughput_pps * share,
            loss_ratio: outcome.loss_ratio(),
            latency: outcome.latency.clone(),
            verdict: outcome.verdict.clone(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::{drive, simulated};
    use super::{LATENCY_SHARES, Latency};
    use std::convert::Infallible;
    use trial::{Validity, Verdict};

    #[test]
    fn each_share_is_tried_once_and_invalid_ones_again() {
        let mut asked = Vec::new();
        let mut procedure = Latency::new(1e6).unwrap();
        let Ok(points) = drive(&mut procedure, |request| {
            asked.push(request.rate_pps);
            let mut outcome = simulated::outcome(100, 0, Verdict::valid());
            if asked.len() == 2 {
                outcome = simulated::invalid(Validity::Noisy);
            }
            outcome.latency.record(asked.len() as u64 * 1_000);
            Ok::<_, Infallible>(outcome)
        });
        assert_eq!(asked, [1e5, 5e5, 5e5, 9e5, 1e6]);
        assert_eq!(points.len(), LATENCY_SHARES.len());
        let latency_ns = points[1].latency.max_ns().unwrap();
        assert!(
            (3_000..3_004).contains(&latency_ns),
            "to 0.1%: {latency_ns}"
        );
        assert!(points.iter().all(|point| point.verdict.is_valid()));
    }

    #[test]
    fn nothing_has_no_latency() {
        assert!(Latency::new(0.0).is_err());
    }
}
