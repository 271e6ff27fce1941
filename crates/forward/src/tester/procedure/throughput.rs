//! The highest rate that a device carries (RFC 2544, section 26.1) without loss
//! (NDR) or with a stated loss at most (PDR), by binary search.

use trial::{Validity, Verdict};

use super::{GoalError, Outcome, Procedure, RETRIES, Request, Step, check};

/// More trials than any search of a regular device needs: 17 halvings bring 17.6 Mpps
/// to within 1% of 1 kpps, and each may be repeated.
const TRIALS_MAX: u32 = 96;

/// A host that spoils three rates in a row, each [`RETRIES`] times and once, spoils the
/// next one too.
const NOISY_RATES_MAX: u32 = 3;

/// Above this loss the received rate is a better guide than half the rate; below it,
/// following the received rate would creep.
const OVERLOAD_RATIO: f64 = 0.25;

/// What limits the rates that can be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ceiling {
    Line,
    /// The generator's verified rate: a device that carries it all is quicker than
    /// the tester.
    Generator,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThroughputGoal {
    pub floor_pps: f64,
    pub ceiling_pps: f64,
    pub ceiling: Ceiling,
    /// The search ends when the lowest rate that failed is at most this share
    /// above the result: 0.0001 to 0.5.
    pub resolution: f64,
    /// Frames that may be lost, as a share: 0 for the NDR; below 1.
    pub loss_ratio_max: f64,
    /// Further trials that the result must pass: after a lucky pass the search
    /// continues below.
    pub confirmations: u32,
}

impl ThroughputGoal {
    fn checked(self) -> Result<Self, GoalError> {
        let Self {
            floor_pps,
            ceiling_pps,
            resolution,
            loss_ratio_max: loss,
            ..
        } = self;
        check(
            "the lowest rate",
            floor_pps,
            floor_pps > 0.0,
            "above 0 frames/s",
        )?;
        let above = ceiling_pps >= floor_pps;
        check(
            "the highest rate",
            ceiling_pps,
            above,
            "at least the lowest",
        )?;
        let fine = (0.0001..=0.5).contains(&resolution);
        check("the resolution", resolution, fine, "from 0.0001 to 0.5")?;
        let share = (0.0..1.0).contains(&loss);
        check("the tolerated loss", loss, share, "at least 0 and below 1")?;
        Ok(self)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The highest rate that passed, frames/s; `None` if none did.
    pub rate_pps: Option<f64>,
    /// The lowest rate that failed, frames/s; `None` if none did.
    pub failed_pps: Option<f64>,
    /// The trial that passed at `rate_pps`, the last of them.
    pub outcome: Option<Outcome>,
    pub trials: u32,
    pub invalid: u32,
    pub verdict: Verdict,
}

#[derive(Clone, Debug)]
struct Pass {
    rate_pps: f64,
    outcome: Outcome,
}

#[derive(Clone, Debug)]
struct Limit {
    rate_pps: f64,
    /// Why it is not known whether the device carries it.
    doubt: Option<Verdict>,
}

#[derive(Clone, Debug)]
pub struct Throughput {
    goal: ThroughputGoal,
    passed: Vec<Pass>,
    limit: Option<Limit>,
    trying_pps: f64,
    confirmed: u32,
    retried: u32,
    /// Rates in a row at which the host never left a trial alone.
    noisy: u32,
    trials: u32,
    invalid: u32,
    done: Option<Verdict>,
}

impl Throughput {
    pub fn new(goal: ThroughputGoal) -> Result<Self, GoalError> {
        let goal = goal.checked()?;
        Ok(Self {
            goal,
            passed: Vec::new(),
            limit: None,
            trying_pps: goal.ceiling_pps,
            confirmed: 0,
            retried: 0,
            noisy: 0,
            trials: 0,
            invalid: 0,
            done: None,
        })
    }

    fn record_pass(&mut self, outcome: &Outcome) {
        let pass = Pass {
            rate_pps: self.trying_pps,
            outcome: outcome.clone(),
        };
        let again = self.passed.last().map(|last| last.rate_pps) == Some(pass.rate_pps);
        if again {
            self.passed.pop();
            self.confirmed += 1;
        } else {
            self.confirmed = 0;
        }
        self.passed.push(pass);
        self.choose(None);
    }

    fn record_failure(&mut self, doubt: Option<Verdict>, hint_pps: Option<f64>) {
        let rate_pps = self.trying_pps;
        self.passed.retain(|pass| pass.rate_pps < rate_pps);
        self.confirmed = 0;
        self.limit = Some(Limit { rate_pps, doubt });
        self.choose(hint_pps);
    }

    fn record_invalid(&mut self, outcome: &Outcome) {
        self.invalid += 1;
        if self.retried < RETRIES {
            self.retried += 1;
            return;
        }
        self.noisy += u32::from(outcome.verdict.validity != Validity::GeneratorBound);
        if self.noisy == NOISY_RATES_MAX {
            self.done = Some(outcome.verdict.clone());
            return;
        }
        // A lower rate may be within the generator's reach, or the host's: what is
        // carried there is carried, and the verdict is that of the doubt.
        self.retried = 0;
        self.record_failure(Some(outcome.verdict.clone()), self.hint(outcome));
    }

    /// Where to look next, if much was lost.
    fn hint(&self, outcome: &Outcome) -> Option<f64> {
        let loss = outcome.loss_ratio();
        (loss > OVERLOAD_RATIO).then_some(self.trying_pps * (1.0 - loss))
    }

    fn choose(&mut self, hint_pps: Option<f64>) {
        let Some(limit) = &self.limit else {
            // Passed at the ceiling.
            self.confirm_or_finish();
            return;
        };
        let high = limit.rate_pps;
        let low = self.passed.last().map(|pass| pass.rate_pps);
        let floor = self.goal.floor_pps;
        let is_close = |low: f64| high - low <= low * self.goal.resolution;
        match low {
            Some(low) if is_close(low) => self.confirm_or_finish(),
            None if high <= floor => self.finish_below(),
            None if is_close(floor) => self.trying_pps = floor,
            _ => {
                let low = low.unwrap_or(floor);
                let hint = hint_pps.filter(|hint| *hint > low && *hint < high);
                self.trying_pps = hint.unwrap_or(f64::midpoint(low, high));
            }
        }
    }

    fn confirm_or_finish(&mut self) {
        let Some(highest) = self.passed.last() else {
            return;
        };
        self.trying_pps = highest.rate_pps;
        if self.confirmed >= self.goal.confirmations {
            let verdict = self.verdict(highest.rate_pps);
            self.done = Some(verdict);
        }
    }

    fn verdict(&self, rate_pps: f64) -> Verdict {
        match &self.limit {
            Some(Limit {
                doubt: Some(verdict),
                ..
            }) => verdict.clone(),
            Some(_) => Verdict::valid(),
            None if self.goal.ceiling == Ceiling::Line => Verdict::valid(),
            None => Verdict::new(
                Validity::GeneratorBound,
                format!(
                    "the device passed at {rate_pps:.0} frames/s, the most that the generator can vouch for"
                ),
                "use a quicker port (live-frame XDP), larger frames, or a second generator",
            ),
        }
    }

    fn finish_below(&mut self) {
        let doubt = self.limit.as_ref().and_then(|limit| limit.doubt.clone());
        self.done = Some(doubt.unwrap_or_else(Verdict::valid));
    }

    fn found(&self, verdict: &Verdict) -> Found {
        let best = self.passed.last();
        Found {
            rate_pps: best.map(|pass| pass.rate_pps),
            failed_pps: self.limit.as_ref().map(|limit| limit.rate_pps),
            outcome: best.map(|pass| pass.outcome.clone()),
            trials: self.trials,
            invalid: self.invalid,
            verdict: verdict.clone(),
        }
    }

    fn has_passed(&self, outcome: &Outcome) -> bool {
        outcome.offered > 0 && outcome.loss_ratio() <= self.goal.loss_ratio_max
    }
}

impl Procedure for Throughput {
    type Found = Found;

    fn next(&self) -> Step<Found> {
        match &self.done {
            Some(verdict) => Step::Done(self.found(verdict)),
            None => Step::Trial(Request {
                rate_pps: self.trying_pps,
                frames: None,
            }),
        }
    }

    fn record(&mut self, outcome: &Outcome) {
        if self.done.is_some() {
            return;
        }
        self.trials += 1;
        if !outcome.verdict.is_valid() {
            self.record_invalid(outcome);
        } else {
            (self.retried, self.noisy) = (0, 0);
            if self.has_passed(outcome) {
                self.record_pass(outcome);
            } else {
                self.record_failure(None, self.hint(outcome));
            }
        }
        if self.trials >= TRIALS_MAX && self.done.is_none() {
            self.done = Some(Verdict::new(
                Validity::Noisy,
                format!("after {TRIALS_MAX} trials no rate passed twice"),
                "measure when the host is quiet, use longer trials, or tolerate a loss (PDR)",
            ));
        }
    }
}

#[cfg(test)]
mod tests;
