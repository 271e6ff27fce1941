//! Frame loss at falling rates (RFC 2544, section 26.3): 100% of the maximum,
//! then steps of 10% down until two trials in a row lose nothing.

use trial::Verdict;

use super::{GoalError, Outcome, Procedure, RETRIES, Request, Step, check};

/// "A maximum granularity of 10% of the maximum rate."
const STEPS: u32 = 10;

/// "Until there are two successive trials in which no frames are lost."
const LOSSLESS_TRIALS: u32 = 2;

#[derive(Clone, Debug, PartialEq)]
pub struct LossPoint {
    pub share: f64,
    pub rate_pps: f64,
    pub loss_ratio: f64,
    pub verdict: Verdict,
}

#[derive(Clone, Debug)]
pub struct FrameLoss {
    max_pps: f64,
    points: Vec<LossPoint>,
    lossless: u32,
    retried: u32,
}

impl FrameLoss {
    /// From `max_pps` down.
    ///
    /// # Errors
    /// [`GoalError`] unless the rate is above 0.
    pub fn new(max_pps: f64) -> Result<Self, GoalError> {
        check(
            "the maximum rate",
            max_pps,
            max_pps > 0.0,
            "above 0 frames/s",
        )?;
        Ok(Self {
            max_pps,
            points: Vec::new(),
            lossless: 0,
            retried: 0,
        })
    }

    fn share(&self) -> f64 {
        f64::from(STEPS.saturating_sub(self.points.len() as u32)) / f64::from(STEPS)
    }

    fn is_done(&self) -> bool {
        self.lossless == LOSSLESS_TRIALS || self.points.len() as u32 == STEPS
    }
}

impl Procedure for FrameLoss {
    type Found = Vec<LossPoint>;

    fn next(&self) -> Step<Vec<LossPoint>> {
        if self.is_done() {
            return Step::Done(self.points.clone());
        }
        Step::Trial(Request {
            rate_pps: self.max_pps * self.share(),
            frames: None,
        })
    }

    fn record(&mut self, outcome: &Outcome) {
        if self.is_done() {
            return;
        }
        let is_valid = outcome.verdict.is_valid();
        if !is_valid && self.retried < RETRIES {
            self.retried += 1;
            return;
        }
        self.retried = 0;
        let lossless = is_valid && outcome.lost == 0 && outcome.offered > 0;
        self.lossless = if lossless { self.lossless + 1 } else { 0 };
        self.points.push(LossPoint {
            share: self.share(),
            rate_pps: self.max_pps * self.share(),
            loss_ratio: outcome.loss_ratio(),
            verdict: outcome.verdict.clone(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Step, drive, simulated};
    use super::{FrameLoss, Procedure};
    use std::convert::Infallible;
    use trial::Validity;

    const DEVICE: simulated::Device = simulated::Device {
        capacity_pps: 500_000.0,
        queue_frames: 0.0,
        seconds: 1.0,
    };

    #[test]
    fn it_falls_until_two_trials_lose_nothing() {
        let mut procedure = FrameLoss::new(1e6).unwrap();
        let Ok(points) = drive(&mut procedure, |request| {
            Ok::<_, Infallible>(DEVICE.trial(request))
        });
        let shares: Vec<_> = points.iter().map(|point| point.share).collect();
        assert_eq!(shares, [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4]);
        assert!((points[0].loss_ratio - 0.5).abs() < 1e-9);
        assert_eq!(points[6].loss_ratio, 0.0);
    }

    #[test]
    fn an_invalid_trial_is_repeated_and_never_ends_it() {
        let mut procedure = FrameLoss::new(1e6).unwrap();
        let Ok(points) = drive(&mut procedure, |_| {
            Ok::<_, Infallible>(simulated::invalid(Validity::Noisy))
        });
        assert_eq!(points.len(), 10);
        assert!(points.iter().all(|point| !point.verdict.is_valid()));
    }

    #[test]
    fn a_rate_of_nothing_is_refused() {
        let error = FrameLoss::new(f64::NAN).unwrap_err();
        assert!(error.to_string().contains("NaN"), "{error}");
        assert!(matches!(
            FrameLoss::new(1.0).unwrap().next(),
            Step::Trial(_)
        ));
    }
}
