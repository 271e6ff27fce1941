//! The longest burst at the line's rate that a device takes without loss
//! (RFC 2544, section 26.4), searched for several times, and the buffer that it
//! speaks of (RFC 9004, section 6).

use trial::Verdict;

use super::{GoalError, Outcome, Procedure, RETRIES, Request, Step, check};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstsGoal {
    /// The rate of the frames in a burst, frames/s: the line's maximum.
    pub rate_pps: f64,
    /// The longest burst tried, frames: two seconds of them, for the RFC.
    pub frames_max: u64,
    /// Two bursts that differ by at most this many frames are equal: at least 1.
    pub resolution_frames: u64,
    /// Times that the search is repeated: 50, for the RFC; at least 1.
    pub repetitions: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Bursts {
    pub frames: Vec<u64>,
    pub verdict: Verdict,
    goal: BurstsGoal,
}

impl Bursts {
    /// The mean burst, frames; `None` if there is none.
    pub fn mean_frames(&self) -> Option<f64> {
        let count = self.frames.len();
        let sum: u64 = self.frames.iter().sum();
        (count > 0).then(|| sum as f64 / count as f64)
    }

    /// How long the device's buffer holds what it cannot forward yet, s: the time of
    /// the mean burst, less what was forwarded meanwhile at the device's throughput
    /// (RFC 9004, section 6, "corrected DUT buffer time").
    pub fn buffer_s(&self, throughput_pps: f64) -> Option<f64> {
        let implied_s = self.mean_frames()? / self.goal.rate_pps;
        Some(implied_s * (1.0 - throughput_pps / self.goal.rate_pps).max(0.0))
    }
}

#[derive(Clone, Debug)]
pub struct BackToBack {
    goal: BurstsGoal,
    found: Vec<u64>,
    passed: u64,
    failed: u64,
    retried: u32,
    ended: Option<Verdict>,
}

impl BackToBack {
    pub fn new(goal: BurstsGoal) -> Result<Self, GoalError> {
        check(
            "the rate",
            goal.rate_pps,
            goal.rate_pps > 0.0,
            "above 0 frames/s",
        )?;
        let counts = [
            ("the longest burst", goal.frames_max),
            ("the resolution", goal.resolution_frames),
            ("repetitions", u64::from(goal.repetitions)),
        ];
        for (what, count) in counts {
            check(
                what,
                count as f64,
                (1..u64::MAX).contains(&count),
                "at least 1",
            )?;
        }
        Ok(Self {
            goal,
            found: Vec::new(),
            passed: 0,
            failed: goal.frames_max + 1,
            retried: 0,
            ended: None,
        })
    }

    fn trying_frames(&self) -> u64 {
        if self.passed == 0 && self.failed == self.goal.frames_max + 1 {
            return self.goal.frames_max;
        }
        u64::midpoint(self.passed, self.failed)
    }

    fn next_repetition(&mut self) {
        self.found.push(self.passed);
        self.passed = 0;
        self.failed = self.goal.frames_max + 1;
    }

    fn verdict(&self) -> Option<Verdict> {
        if self.ended.is_some() {
            return self.ended.clone();
        }
        let is_done = self.found.len() as u64 == u64::from(self.goal.repetitions);
        is_done.then(Verdict::valid)
    }
}

impl Procedure for BackToBack {
    type Found = Bursts;

    fn next(&self) -> Step<Bursts> {
        match self.verdict() {
            Some(verdict) => Step::Done(Bursts {
                frames: self.found.clone(),
                verdict,
                goal: self.goal,
            }),
            None => Step::Trial(Request {
                rate_pps: self.goal.rate_pps,
                frames: Some(self.trying_frames()),
            }),
        }
    }

    fn record(&mut self, outcome: &Outcome) {
        if self.verdict().is_some() {
            return;
        }
        if !outcome.verdict.is_valid() {
            self.retried += 1;
            if self.retried > RETRIES {
                self.ended = Some(outcome.verdict.clone());
            }
            return;
        }
        self.retried = 0;
        let tried = self.trying_frames();
        if outcome.lost == 0 && outcome.offered > 0 {
            self.passed = tried;
        } else {
            self.failed = tried;
        }
        if self.failed - self.passed <= self.goal.resolution_frames {
            self.next_repetition();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Procedure, Step, drive, simulated};
    use super::{BackToBack, Bursts, BurstsGoal};
    use proptest::prelude::*;
    use std::convert::Infallible;
    use trial::Validity;

    const GOAL: BurstsGoal = BurstsGoal {
        rate_pps: 1_488_095.0,
        frames_max: 2_976_190,
        resolution_frames: 1,
        repetitions: 3,
    };

    fn search(goal: BurstsGoal, device: simulated::Device) -> Bursts {
        let mut procedure = BackToBack::new(goal).unwrap();
        let Ok(found) = drive(&mut procedure, |request| {
            Ok::<_, Infallible>(device.trial(request))
        });
        found
    }

    fn device(capacity_pps: f64, queue_frames: f64) -> simulated::Device {
        simulated::Device {
            capacity_pps,
            queue_frames,
            seconds: 1.0,
        }
    }

    #[test]
    fn a_queue_and_half_the_rate_take_twice_the_queue() {
        let found = search(GOAL, device(GOAL.rate_pps / 2.0, 256.0));
        assert!(found.verdict.is_valid());
        assert_eq!(found.frames.len(), 3);
        assert!(
            (found.mean_frames().unwrap() - 512.0).abs() <= 2.0,
            "{found:?}"
        );
        let buffer_s = found.buffer_s(GOAL.rate_pps / 2.0).unwrap();
        assert!((buffer_s * GOAL.rate_pps - 256.0).abs() < 2.0, "{buffer_s}");
    }

    #[test]
    fn a_device_that_carries_the_line_has_no_longest_burst() {
        let found = search(GOAL, device(GOAL.rate_pps * 2.0, 0.0));
        assert!(found.verdict.is_valid());
        assert_eq!(found.frames, [GOAL.frames_max; 3]);
    }

    #[test]
    fn a_dead_device_takes_no_burst() {
        assert_eq!(search(GOAL, device(0.0, 0.0)).frames, [0, 0, 0]);
    }

    #[test]
    fn invalid_trials_are_repeated_then_end_it() {
        let mut procedure = BackToBack::new(GOAL).unwrap();
        for _ in 0..3 {
            procedure.record(&simulated::invalid(Validity::Noisy));
        }
        let Step::Done(found) = procedure.next() else {
            panic!("it goes on")
        };
        assert_eq!(
            (found.verdict.validity, found.mean_frames()),
            (Validity::Noisy, None)
        );
    }

    #[test]
    fn goals_outside_the_limits_are_refused() {
        type Change = fn(&mut BurstsGoal);
        let changes: [(&str, Change); 5] = [
            ("the rate is 0,", |goal| goal.rate_pps = 0.0),
            ("longest burst is 0,", |goal| goal.frames_max = 0),
            ("longest burst is 18446744073709552000,", |goal| {
                goal.frames_max = u64::MAX
            }),
            ("resolution is 0,", |goal| goal.resolution_frames = 0),
            ("repetitions is 0,", |goal| goal.repetitions = 0),
        ];
        for (says, change) in changes {
            let mut goal = GOAL;
            change(&mut goal);
            let error = BackToBack::new(goal).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("must be"), "{error}");
        }
    }

    proptest! {
        #![proptest_config(crate::testing::cases())]

        #[test]
        fn the_burst_is_the_longest_without_loss(
            share in 0.0..0.99f64,
            queue in 1u32..100_000,
            resolution_frames in 1u64..100,
        ) {
            let device = device(GOAL.rate_pps * share, f64::from(queue));
            let goal = BurstsGoal { resolution_frames, repetitions: 1, ..GOAL };
            let found = search(goal, device);
            let truth = (f64::from(queue) / (1.0 - share)).min(GOAL.frames_max as f64);
            let frames = found.frames[0] as f64;
            let slack = resolution_frames as f64 + 1.0 / (1.0 - share) + 1.0;
            prop_assert!((frames - truth).abs() <= slack, "{frames}, {truth}");
        }
    }
}
