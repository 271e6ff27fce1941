//! Which spots and controllers, how many rounds, how long each trial.

use std::time::Duration;

use crypto::{Algorithm, RsaBits};
use trial::PlanError;
use trial::stats::PAIRS_FOR_A_CLAIM;

use crate::vcm::controllers::config::Config;
use crate::vcm::controllers::contender::{Contender, main_ones};
use crate::vcm::controllers::fixed::grid;
use crate::vcm::controllers::spot::{RANK_MAX, Spot, spots};
use kit::stopping::Limits;

/// Before a trial counts: a pipeline fills in microseconds, a cap's first
/// intervals take milliseconds.
pub(super) const WARM_UP: Duration = Duration::from_millis(12);
/// New lanes, parking, and a look at the core's clock.
const OVERHEAD_S: f64 = 0.006;
/// Taking back what is in flight takes RSA so long besides.
const DRAIN_S: f64 = 0.02;
/// A trial that finds the best of the fixed settings, and how many of them
/// are looked at twice, and how much longer.
pub(super) const SCOUT: Duration = Duration::from_millis(30);
pub(super) const FINALISTS: usize = 4;
pub(super) const FINAL: u32 = 2;
/// Trials with public keys are so much longer: there are few requests a
/// second.
const PUBLIC_SLICES: f64 = 2.0;
/// Shorter trials mean nothing where a cap is 250/s; longer say no more than
/// another round would.
const SLICE_S: (f64, f64) = (0.03, 0.2);
/// A slice worth having before there are more spots.
const SLICE_S_GOOD: f64 = 0.06;
const ROUNDS: [usize; 4] = [PAIRS_FOR_A_CLAIM, 7, 5, 3];
/// Starting the benches.
const START_S: f64 = 0.2;
/// Most rounds where the user names a precision.
const ROUNDS_MAX: usize = 99;
/// Half width of intervals that is enough where the user names none.
const PRECISION: f64 = 0.02;

/// What will be measured and how long it takes.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    pub(super) spots: Vec<Spot>,
    pub(super) controllers: Vec<&'static str>,
    pub(super) rounds: usize,
    pub(super) slice_s: f64,
    pub(super) limits: Limits,
    settle_s: f64,
}

/// How much of the grid is measured: spots up to a rank, and whether every
/// controller.
const BREADTHS: [(usize, bool); 6] = [
    (RANK_MAX, true),
    (RANK_MAX - 1, true),
    (3, false),
    (2, false),
    (1, false),
    (0, false),
];

impl Schedule {
    /// The richest schedule within `budget`.
    ///
    /// # Errors
    /// [`PlanError::Budget`].
    pub(super) fn new(config: &Config, l2_bytes: u64, budget: Duration) -> Result<Self, PlanError> {
        let budget_s = budget.as_secs_f64();
        let own = config.pairs.map(|pairs| [pairs]);
        let rounds = own.as_ref().map_or(&ROUNDS[..], |pairs| &pairs[..]);
        let breadths = breadths(config);
        // Pairs before spots: a claim rests on them.
        let good = breadths
            .iter()
            .map(|&breadth| (breadth, rounds[0], SLICE_S_GOOD));
        let last = breadths[breadths.len() - 1];
        let poor = rounds.iter().map(|&rounds| (last, rounds, SLICE_S.0));
        for (breadth, rounds, least_s) in good.chain(poor) {
            let schedule = Self::filling((config, l2_bytes), breadth, rounds, budget_s);
            if schedule.slice_s >= config.seconds.unwrap_or(least_s) - 1e-9 {
                return Ok(schedule.limited(config, budget_s));
            }
        }
        Err(PlanError::Budget {
            needed_s: Self::appetite(config).0.as_secs_f64(),
            budget_s,
        })
    }

    /// The least and the most that make sense, on a usual host.
    pub(super) fn appetite(config: &Config) -> (Duration, Duration) {
        let usual = (config, L2_BYTES_USUAL);
        let breadths = breadths(config);
        let (last, first) = (breadths[breadths.len() - 1], breadths[0]);
        let fewest = config.pairs.unwrap_or(ROUNDS[ROUNDS.len() - 1]);
        let most = match config.precision {
            Some(_) => ROUNDS_MAX,
            None => ROUNDS[0],
        };
        let slices = config.seconds.map_or(SLICE_S, |seconds| (seconds, seconds));
        let least = Self::at(usual, last, fewest, slices.0);
        let most = Self::at(usual, first, config.pairs.unwrap_or(most), slices.1);
        let seconds = |schedule: Self| Duration::from_secs_f64(schedule.seconds() + 0.01);
        (seconds(least), seconds(most))
    }

    fn at(
        (config, l2_bytes): (&Config, u64),
        (rank_max, every): (usize, bool),
        rounds: usize,
        slice_s: f64,
    ) -> Self {
        let mut spots = spots(config, l2_bytes);
        spots.retain(|spot| !config.has_usual_spots() || spot.rank() <= rank_max);
        let controllers = if every || !config.has_usual_controllers() {
            config.controllers.clone()
        } else {
            main_ones(&config.controllers)
        };
        Self {
            spots,
            controllers,
            rounds,
            slice_s,
            limits: Limits {
                rounds,
                rounds_max: rounds,
                seconds: 0.0,
                precision: None,
            },
            settle_s: config.settle_s,
        }
    }

    /// With the slice that fills the budget.
    fn filling(
        context: (&Config, u64),
        breadth: (usize, bool),
        rounds: usize,
        budget_s: f64,
    ) -> Self {
        let empty = Self::at(context, breadth, rounds, 0.0);
        let slices: f64 = empty.spots.iter().map(slices).sum();
        let slices = slices * (empty.contenders().len() * rounds) as f64;
        // A hair less, so that rounding never exceeds the budget.
        let free_s = budget_s - empty.seconds() - 1e-6;
        let most_s = context.0.seconds.unwrap_or(SLICE_S.1);
        Self {
            slice_s: (free_s / slices.max(1e-9)).min(most_s),
            ..empty
        }
    }

    /// What its rounds may take of the budget: more than planned only where
    /// the user wants a precision, fewer once all is narrow.
    fn limited(self, config: &Config, budget_s: f64) -> Self {
        let rounds_max = match (config.pairs, config.precision) {
            (None, Some(_)) => ROUNDS_MAX,
            _ => self.rounds,
        };
        let unless_fixed = config.pairs.is_none().then_some(PRECISION);
        let before_s = self.before_s();
        let seconds = match config.precision {
            Some(_) => budget_s,
            None => self.seconds(),
        };
        let limits = Limits {
            rounds: self.rounds,
            rounds_max,
            seconds: seconds - before_s,
            precision: config.precision.or(unless_fixed),
        };
        Self { limits, ..self }
    }

    /// Who is measured at every spot.
    pub(super) fn contenders(&self) -> Vec<Contender> {
        let controlled = self
            .controllers
            .iter()
            .map(|name| Contender::Controlled(name));
        Contender::FIXED.into_iter().chain(controlled).collect()
    }

    /// How long it takes.
    pub(super) fn seconds(&self) -> f64 {
        let contenders = self.contenders().len() as f64;
        let round = |spot: &Spot| contenders * (self.slice_s * slices(spot) + overhead_s(spot));
        let round_s: f64 = self.spots.iter().map(round).sum();
        self.before_s() + round_s * self.rounds as f64
    }

    /// What the plan may take in all.
    pub(super) fn planned_s(&self) -> f64 {
        self.before_s() + self.limits.seconds
    }

    /// Keys, scouting and settling.
    fn before_s(&self) -> f64 {
        let settling = |spot: &Spot| self.settle_s + overhead_s(spot);
        let one = |spot: &Spot| scouting_s(spot) + self.controllers.len() as f64 * settling(spot);
        START_S + self.spots.iter().map(one).sum::<f64>() + keys_s(&self.spots)
    }

    /// How long a trial measures there.
    pub(super) fn slice(&self, spot: &Spot) -> Duration {
        Duration::from_secs_f64(self.slice_s * slices(spot))
    }
}

/// What is planned for before the host is known.
const L2_BYTES_USUAL: u64 = 1 << 20;

fn breadths(config: &Config) -> Vec<(usize, bool)> {
    if config.has_usual_spots() {
        return BREADTHS.to_vec();
    }
    vec![BREADTHS[0], (RANK_MAX, false)]
}

pub(super) fn slices(spot: &Spot) -> f64 {
    if spot.is_public() { PUBLIC_SLICES } else { 1.0 }
}

fn overhead_s(spot: &Spot) -> f64 {
    let drain_s = if spot.is_public() { DRAIN_S } else { 0.0 };
    WARM_UP.as_secs_f64() + OVERHEAD_S + drain_s
}

fn scouting_s(spot: &Spot) -> f64 {
    let count = grid(spot.depth).len();
    let again = FINALISTS.min(count) as f64;
    let trial_s = |times: f64| times * slices(spot) * SCOUT.as_secs_f64() + overhead_s(spot);
    count as f64 * trial_s(1.0) + again * trial_s(f64::from(FINAL))
}

/// Making keys.
fn keys_s(spots: &[Spot]) -> f64 {
    let one = |spot: &Spot| match spot.kind.algorithm {
        Algorithm::Rsa(RsaBits::B4096, _) => 1.0,
        Algorithm::Rsa(RsaBits::B3072, _) => 0.4,
        Algorithm::Rsa(..) => 0.1,
        _ => 0.0,
    };
    spots.iter().map(one).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vcm::controllers::config::Table;

    fn config(text: &str) -> Config {
        let table = kit::config::from_table::<Table>(text.parse().unwrap()).unwrap();
        Config::try_from(table).unwrap()
    }

    fn schedule(text: &str, budget_s: f64) -> Result<Schedule, PlanError> {
        Schedule::new(&config(text), 1 << 20, Duration::from_secs_f64(budget_s))
    }

    #[test]
    fn more_time_is_more_spots_and_controllers_and_never_too_much() {
        let (mut spots, mut controllers) = (0, 0);
        for budget_s in [8.0, 15.0, 22.0, 30.0, 60.0, 200.0, 600.0, 2000.0] {
            let schedule = schedule("", budget_s).unwrap();
            assert!(schedule.planned_s() <= budget_s + 1e-6, "{budget_s}");
            assert!(schedule.spots.len() >= spots && schedule.controllers.len() >= controllers);
            (spots, controllers) = (schedule.spots.len(), schedule.controllers.len());
            let again = Schedule::new(
                &config(""),
                1 << 20,
                Duration::from_secs_f64(schedule.planned_s() + 0.001),
            )
            .unwrap();
            assert_eq!((again.spots.len(), again.rounds), (spots, schedule.rounds));
        }
        assert_eq!(controllers, policy::controllers::NAMES.len());
        assert_eq!(spots, 8 + 8 + 6);
        let (least, _) = Schedule::appetite(&config(""));
        assert!(schedule("", least.as_secs_f64()).is_ok());
        assert!(schedule("", least.as_secs_f64() * 0.8).is_err());
    }

    #[test]
    fn what_the_user_fixed_stays() {
        let text = "sizes_bytes = [512]\nalgorithms = ['sha256']\ncontrollers = ['dim']\npairs = 2\nseconds = 0.05\nsettle_seconds = 0.1";
        let schedule = schedule(text, 20.0).unwrap();
        assert_eq!((schedule.rounds, schedule.spots.len()), (2, 1));
        assert_eq!(schedule.controllers, ["dim"]);
        assert!((schedule.slice_s - 0.05).abs() < 1e-9);
    }
}
