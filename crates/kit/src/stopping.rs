//! After each round: another one, or not.

use trial::Comparison;
use trial::stats::{Decision, ERROR, Looks, PAIRS_FOR_A_CLAIM, Precision};

/// A run that takes this many times as long as planned ends after the round in hand.
const LATE: f64 = 1.25;
/// Start-up that no plan counts, seconds.
const START_S: f64 = 1.0;

/// What the rounds may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Rounds planned: they are measured unless every interval is narrow.
    pub rounds: usize,
    /// The most, where intervals stay wide and time is left.
    pub rounds_max: usize,
    /// Seconds that all rounds together may take.
    pub seconds: f64,
    /// Half width of every ratio's interval that is enough, as a share of the
    /// ratio; none where the number of rounds is fixed.
    pub precision: Option<f64>,
}

/// Why measuring ended with whole rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The number of rounds was fixed, whatever the widths.
    Planned,
    /// Every interval is narrow enough.
    Precise,
    /// No time for another round.
    BudgetSpent,
    /// No more rounds are allowed.
    RoundsSpent,
    /// It took far longer than planned.
    Late,
}

/// How measuring ended, where widths had a say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closing {
    pub stop: Stop,
    pub precision: Precision,
}

impl Limits {
    /// What to say about a stop; nothing where only the plan decided.
    pub fn closing(&self, stop: Stop) -> Option<Closing> {
        let precision = self.rule().filter(|_| stop != Stop::Planned)?;
        Some(Closing { stop, precision })
    }

    /// The rule for widths; none where the number of rounds is fixed.
    pub fn rule(&self) -> Option<Precision> {
        self.precision
            .map(|share| Precision::new(share, self.rounds_max))
    }

    /// How often an interval may miss, given why measuring ended after this many
    /// rounds; none: something else than the rounds ended it.
    pub fn error(&self, stop: Option<Stop>, rounds: usize) -> f64 {
        match (self.precision, stop) {
            (None, _) => ERROR,
            (_, Some(Stop::Precise)) => Looks::of_a_look(),
            _ => Looks::of_the_end(rounds),
        }
    }

    /// Whether and why to stop after this many rounds in this many seconds.
    /// Another one takes `round_s`. `comparisons` is asked only where widths
    /// decide, with how often their intervals may miss.
    pub fn stop(
        &self,
        rounds: usize,
        (elapsed_s, round_s): (f64, f64),
        comparisons: impl FnOnce(f64) -> Vec<Comparison>,
    ) -> Option<Stop> {
        let Some(rule) = self.rule() else {
            let is_spent = || self.spent(elapsed_s, round_s).is_some();
            return match rounds >= self.rounds {
                true => (rounds >= self.rounds_max || is_spent()).then_some(Stop::Planned),
                false => self.late(elapsed_s),
            };
        };
        if rounds < self.rounds.min(PAIRS_FOR_A_CLAIM) {
            return self.late(elapsed_s);
        }
        let comparisons = comparisons(Looks::of_a_look());
        if comparisons.is_empty() {
            let is_planned = (rounds >= self.rounds).then_some(Stop::Planned);
            return is_planned.or_else(|| self.late(elapsed_s));
        }
        let decision = match Looks::is_at(rounds) {
            true => rule.decide(&comparisons),
            false => Decision::More,
        };
        match decision {
            Decision::Enough => Some(Stop::Precise),
            _ if rounds >= self.rounds_max => Some(Stop::RoundsSpent),
            Decision::Exhausted => Some(Stop::RoundsSpent),
            Decision::More if rounds < self.rounds => self.late(elapsed_s),
            Decision::More => self.spent(elapsed_s, round_s),
        }
    }

    /// When a run is far behind, seconds.
    pub fn late_s(&self) -> f64 {
        self.seconds * LATE + START_S
    }

    /// Before the planned rounds are whole, only a run far behind ends.
    fn late(&self, elapsed_s: f64) -> Option<Stop> {
        (elapsed_s > self.late_s()).then_some(Stop::Late)
    }

    /// Whether another round would exceed the budget.
    fn spent(&self, elapsed_s: f64, round_s: f64) -> Option<Stop> {
        (elapsed_s + round_s > self.seconds).then_some(Stop::BudgetSpent)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trial::Direction;
    use trial::stats::{Arms, compare};

    use super::*;

    /// A comparison of this many pairs that vary by this much.
    fn comparison(pairs: usize, noise: f64) -> Comparison {
        let pairs = (0..pairs).map(|at| (1.0 + noise * (at % 5) as f64, 1.0));
        compare(Arms::default(), Direction::Higher, pairs.collect()).expect("all are positive")
    }

    const LIMITS: Limits = Limits {
        rounds: 9,
        rounds_max: 40,
        seconds: 90.0,
        precision: Some(0.02),
    };

    fn stop(limits: Limits, rounds: usize, elapsed_s: f64, noise: f64) -> Option<Stop> {
        let round_s = elapsed_s / rounds as f64;
        limits.stop(rounds, (elapsed_s, round_s), |_| {
            vec![comparison(rounds, noise)]
        })
    }

    #[test]
    fn rounds_go_on_while_intervals_are_wide_and_time_is_left() {
        assert_eq!(stop(LIMITS, 9, 45.0, 0.2), None);
        assert_eq!(stop(LIMITS, 17, 85.0, 0.2), None);
        assert_eq!(stop(LIMITS, 18, 90.0, 0.2), Some(Stop::BudgetSpent));
        assert_eq!(stop(LIMITS, 40, 45.0, 0.2), Some(Stop::RoundsSpent));
        assert_eq!(stop(LIMITS, 9, 45.0, 0.0), Some(Stop::Precise));
        assert_eq!(stop(LIMITS, 8, 45.0, 0.0), None, "eight pairs are too few");
        assert_eq!(stop(LIMITS, 10, 45.0, 0.0), None, "there is no look");
        assert_eq!(stop(LIMITS, 14, 45.0, 0.0), Some(Stop::Precise));
        let many = Limits {
            rounds: 30,
            ..LIMITS
        };
        assert_eq!(stop(many, 9, 27.0, 0.0), Some(Stop::Precise), "early");
        assert_eq!(stop(many, 29, 87.0, 0.2), None, "as planned");
        assert_eq!(stop(many, 20, 200.0, 0.2), Some(Stop::Late));
    }

    #[test]
    fn without_a_precision_or_a_ratio_the_plan_holds() {
        let fixed = Limits {
            rounds_max: 9,
            precision: None,
            ..LIMITS
        };
        assert_eq!(stop(fixed, 8, 45.0, 0.0), None);
        assert_eq!(stop(fixed, 9, 45.0, 0.2), Some(Stop::Planned));
        assert_eq!(stop(fixed, 3, 200.0, 0.2), Some(Stop::Late));
        assert_eq!(
            LIMITS.stop(9, (45.0, 5.0), |_| Vec::new()),
            Some(Stop::Planned)
        );
        assert_eq!(LIMITS.stop(8, (45.0, 5.6), |_| Vec::new()), None);
    }

    /// A plan of few rounds may use what time is left, to come to nine pairs.
    #[test]
    fn a_small_plan_grows_where_time_is_left() {
        let small = Limits {
            rounds: 3,
            ..LIMITS
        };
        assert_eq!(stop(small, 3, 30.0, 0.0), None);
        assert_eq!(stop(small, 9, 85.0, 0.0), Some(Stop::Precise));
        assert_eq!(stop(small, 3, 80.0, 0.0), Some(Stop::BudgetSpent));
        let searches = Limits {
            rounds_max: 9,
            precision: None,
            ..small
        };
        assert_eq!(stop(searches, 3, 30.0, 0.2), None);
        assert_eq!(stop(searches, 3, 80.0, 0.2), Some(Stop::Planned));
        assert_eq!(stop(searches, 9, 45.0, 0.2), Some(Stop::Planned));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// However it goes, measuring ends, with one round at least.
        #[test]
        fn it_always_ends(
            rounds in 1_usize..12,
            more in 0_usize..12,
            seconds in 0.1..50.0_f64,
            round_s in 0.01..20.0_f64,
            noise in 0.0..0.5_f64,
            precision in proptest::option::of(0.001..0.2_f64),
        ) {
            let limits = Limits { rounds, rounds_max: rounds + more, seconds, precision };
            let ends = (1..=rounds + more).find_map(|done| {
                let stop = stop(limits, done, done as f64 * round_s, noise)?;
                Some((done, stop))
            });
            let (done, stop) = ends.expect("it ends within the most rounds");
            match stop {
                Stop::Precise => prop_assert!(done >= 9 && precision.is_some()),
                Stop::Planned => prop_assert!(done >= rounds),
                Stop::BudgetSpent => prop_assert!(done >= rounds),
                Stop::RoundsSpent => prop_assert_eq!(done, rounds + more),
                Stop::Late => prop_assert!(done as f64 * round_s > seconds),
            }
        }
    }
}
