//! How many rounds of how long trials, within the budget.

use std::time::Duration;

use trial::PlanError;
use trial::stats::PAIRS_FOR_A_CLAIM;

/// Warm-up before each trial counts.
pub const WARM_UP: Duration = Duration::from_millis(3);
/// New lanes, warm-up, parking, and a look at the core's clock.
pub const OVERHEAD_S: f64 = 0.006;
/// Nine pairs are a claim; fewer than three rounds are no measurement.
const ROUNDS: [usize; 4] = [PAIRS_FOR_A_CLAIM, 7, 5, 3];

/// What a section asks of a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wishes {
    /// Trials of one round.
    pub trials: usize,
    /// Seconds of a trial: the least that means anything, and what is enough.
    pub slice_s: (f64, f64),
    /// Rounds that the user fixed.
    pub pairs: Option<usize>,
    /// Seconds of a trial that the user fixed.
    pub seconds: Option<f64>,
    /// Starting and filling the benches, seconds.
    pub start_s: f64,
    /// What each trial takes besides its slice, seconds.
    pub overhead_s: f64,
}

/// What will be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    pub trials: usize,
    pub rounds: usize,
    pub slice: Duration,
    start_s: f64,
    overhead_s: f64,
}

impl Wishes {
    fn slices(&self) -> (f64, f64) {
        self.seconds.map_or(self.slice_s, |fixed| (fixed, fixed))
    }

    fn at(&self, rounds: usize, slice_s: f64) -> Schedule {
        Schedule {
            trials: self.trials,
            rounds,
            slice: Duration::from_secs_f64(slice_s),
            start_s: self.start_s,
            overhead_s: self.overhead_s,
        }
    }

    /// The least and the most seconds that make sense: both are claims.
    pub fn appetite(&self) -> (Duration, Duration) {
        let (least_s, most_s) = self.slices();
        let rounds = self.pairs.unwrap_or(PAIRS_FOR_A_CLAIM);
        let seconds = |schedule: Schedule| Duration::from_secs_f64(schedule.seconds() + 0.001);
        (
            seconds(self.at(rounds, least_s)),
            seconds(self.at(rounds, most_s)),
        )
    }

    /// Most rounds first, then long trials.
    ///
    /// # Errors
    /// [`PlanError::Budget`].
    pub fn schedule(&self, budget: Duration) -> Result<Schedule, PlanError> {
        self.schedule_of(&ROUNDS, budget)
    }

    /// The same with rounds enough for a claim.
    ///
    /// # Errors
    /// [`PlanError::Budget`].
    pub fn claim(&self, budget: Duration) -> Result<Schedule, PlanError> {
        self.schedule_of(&ROUNDS[..1], budget)
    }

    fn schedule_of(&self, rounds: &[usize], budget: Duration) -> Result<Schedule, PlanError> {
        let (least_s, most_s) = self.slices();
        let fixed = self.pairs.map(|pairs| [pairs]);
        let rounds = fixed.as_ref().map_or(rounds, |pairs| &pairs[..]);
        for &rounds in rounds {
            let trials = (rounds * self.trials) as f64;
            let free_s = budget.as_secs_f64() - self.at(rounds, 0.0).seconds();
            // A hair less, so that rounding never exceeds the budget.
            let slice_s = (free_s / trials.max(1.0) - 1e-8).min(most_s);
            if slice_s >= least_s - 1e-6 {
                return Ok(self.at(rounds, slice_s));
            }
        }
        Err(PlanError::Budget {
            needed_s: self.appetite().0.as_secs_f64(),
            budget_s: budget.as_secs_f64(),
        })
    }
}

impl Schedule {
    /// How long it takes.
    pub fn seconds(&self) -> f64 {
        let trials = (self.rounds * self.trials) as f64;
        self.start_s + trials * (self.slice.as_secs_f64() + self.overhead_s)
    }

    /// In words.
    pub fn step(&self) -> String {
        format!(
            "{} rounds of {} trials of {:.0} ms, every arm of every place once a round in shuffled order",
            self.rounds,
            self.trials,
            self.slice.as_secs_f64() * 1e3
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WISHES: Wishes = Wishes {
        trials: 96,
        slice_s: (0.012, 0.02),
        pairs: None,
        seconds: None,
        start_s: 0.3,
        overhead_s: OVERHEAD_S,
    };

    #[test]
    fn keeps_within_any_budget_and_uses_it() {
        let (least, most) = WISHES.appetite();
        let mut rounds = 0;
        for tenths in 5..=20 {
            let budget = least * tenths / 10;
            let schedule = WISHES.schedule(budget).unwrap();
            assert_eq!(WISHES.claim(budget).is_ok(), schedule.rounds == 9);
            assert!(schedule.seconds() <= budget.as_secs_f64());
            assert!(schedule.rounds >= rounds, "more time, no fewer rounds");
            rounds = schedule.rounds;
        }
        assert!(WISHES.schedule(least.mul_f64(0.2)).is_err());
        let rich = WISHES.schedule(most * 2).unwrap();
        assert_eq!((rich.rounds, rich.slice), (9, Duration::from_millis(20)));
        assert!(rich.seconds() <= most.as_secs_f64());
    }

    #[test]
    fn its_own_seconds_give_it_again() {
        let planned = WISHES.schedule(Duration::from_secs(12)).unwrap();
        let budget = Duration::from_secs_f64(planned.seconds() + 0.001);
        let again = WISHES.schedule(budget).unwrap();
        assert_eq!(again.rounds, planned.rounds);
        let apart = again.slice.abs_diff(planned.slice);
        assert!(apart < Duration::from_micros(10), "{apart:?}");
    }

    #[test]
    fn what_the_user_fixed_stays() {
        let fixed = Wishes {
            pairs: Some(2),
            seconds: Some(0.1),
            ..WISHES
        };
        let schedule = fixed.schedule(Duration::from_secs(60)).unwrap();
        assert_eq!(schedule.rounds, 2);
        assert_eq!(schedule.slice, Duration::from_millis(100));
        assert!(fixed.schedule(Duration::from_secs(5)).is_err());
    }
}
