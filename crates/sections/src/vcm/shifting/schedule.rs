//! Which controllers, how many rounds, how long each phase.

use std::time::Duration;

use trial::PlanError;
use trial::stats::PAIRS_FOR_A_CLAIM;

use crate::vcm::shifting::config::Config;
use kit::controllers::contender::{Contender, main_ones};
use kit::controllers::fixed::grid;

/// Before the first phase counts: the start is no change.
pub(super) const START: Duration = Duration::from_millis(300);
/// Before a trial of fixed settings counts.
pub(super) const WARM_UP: Duration = Duration::from_millis(8);
/// Such a trial.
pub(super) const SLICE: Duration = Duration::from_millis(70);
/// A trial that finds the best of the fixed settings; how many of them are
/// looked at twice, and how much longer.
pub(super) const SCOUT: Duration = Duration::from_millis(15);
pub(super) const FINALISTS: usize = 4;
pub(super) const FINAL: u32 = 2;
/// New lanes, parking, and a look at the core's clock.
const OVERHEAD_S: f64 = 0.006;
/// Starting the bench.
const BENCH_S: f64 = 0.3;
/// Shorter phases end before a recovery within 300 ms shows; longer ones say
/// no more.
const PHASE_S: (f64, f64) = (0.5, 1.0);
const ROUNDS: [usize; 6] = [PAIRS_FOR_A_CLAIM, 7, 5, 3, 2, 1];
/// Fewer rounds of every controller are worth less than more of the main ones.
const ROUNDS_OF_ALL: usize = 3;

/// What will be measured and how long it takes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schedule {
    pub(super) controllers: Vec<&'static str>,
    pub(super) rounds: usize,
    pub(super) phase_s: f64,
    phases: usize,
    scouting_s: f64,
}

impl Schedule {
    /// The richest schedule within `budget`: rounds first, then controllers,
    /// then long phases.
    ///
    /// # Errors
    /// [`PlanError::Budget`].
    pub(super) fn new(config: &Config, budget: Duration) -> Result<Self, PlanError> {
        let budget_s = budget.as_secs_f64();
        let least_s = config.phase_s.unwrap_or(PHASE_S.0);
        for (rounds, every) in choices(config) {
            let schedule = Self::filling(config, every, rounds, budget_s);
            if schedule.phase_s >= least_s - 1e-9 {
                return Ok(schedule);
            }
        }
        Err(PlanError::Budget {
            needed_s: Self::appetite(config).0.as_secs_f64(),
            budget_s,
        })
    }

    /// The least and the most that make sense.
    pub(super) fn appetite(config: &Config) -> (Duration, Duration) {
        let choices = choices(config);
        let (first, last) = (choices[0], choices[choices.len() - 1]);
        let phase_s = config.phase_s.map_or(PHASE_S, |own| (own, own));
        let least = Self::at(config, last.1, last.0, phase_s.0);
        let most = Self::at(config, first.1, first.0, phase_s.1);
        let seconds = |schedule: Self| Duration::from_secs_f64(schedule.seconds() + 0.01);
        (seconds(least), seconds(most))
    }

    fn at(config: &Config, every: bool, rounds: usize, phase_s: f64) -> Self {
        let controllers = if every {
            config.controllers.clone()
        } else {
            main_ones(&config.controllers)
        };
        Self {
            controllers,
            rounds,
            phase_s,
            phases: config.phases.len(),
            scouting_s: config
                .phases
                .iter()
                .map(|phase| scouting_s(phase.depth))
                .sum(),
        }
    }

    /// With phases that fill the budget.
    fn filling(config: &Config, every: bool, rounds: usize, budget_s: f64) -> Self {
        let empty = Self::at(config, every, rounds, 0.0);
        let count = (empty.controllers.len() * empty.phases * rounds) as f64;
        // A hair less, so that rounding never exceeds the budget.
        let free_s = budget_s - empty.seconds() - 1e-6;
        let most_s = config.phase_s.unwrap_or(PHASE_S.1);
        let phase_s = if count > 0.0 {
            (free_s / count).min(most_s)
        } else {
            most_s
        };
        Self { phase_s, ..empty }
    }

    /// How long it takes.
    pub(super) fn seconds(&self) -> f64 {
        let run_s = START.as_secs_f64() + self.phase_s * self.phases as f64 + OVERHEAD_S;
        let runs_s = run_s * self.controllers.len() as f64;
        let fixed = (self.phases * Contender::FIXED.len()) as f64;
        BENCH_S + self.scouting_s + self.rounds as f64 * (runs_s + fixed * trial_s(SLICE))
    }
}

/// Rounds, and whether of every controller; the richest first.
fn choices(config: &Config) -> Vec<(usize, bool)> {
    let rounds = config.pairs.map_or(ROUNDS.to_vec(), |pairs| vec![pairs]);
    let may_choose = config.has_usual_controllers();
    let of_all = |rounds: &usize| !may_choose || *rounds >= ROUNDS_OF_ALL || config.pairs.is_some();
    let all = rounds
        .iter()
        .copied()
        .filter(of_all)
        .map(|rounds| (rounds, true));
    let main = rounds
        .iter()
        .copied()
        .filter(|_| may_choose)
        .map(|rounds| (rounds, false));
    all.chain(main).collect()
}

fn trial_s(slice: Duration) -> f64 {
    (WARM_UP + slice).as_secs_f64() + OVERHEAD_S
}

fn scouting_s(depth: usize) -> f64 {
    let count = grid(depth).len();
    count as f64 * trial_s(SCOUT) + FINALISTS.min(count) as f64 * trial_s(SCOUT * FINAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vcm::shifting::config::Table;

    fn config(text: &str) -> Config {
        let table = kit::config::from_table::<Table>(text.parse().unwrap()).unwrap();
        Config::try_from(table).unwrap()
    }

    fn schedule(text: &str, budget_s: f64) -> Result<Schedule, PlanError> {
        Schedule::new(&config(text), Duration::from_secs_f64(budget_s))
    }

    #[test]
    fn keeps_within_any_budget_and_its_own_seconds_give_it_again() {
        let least_s = Schedule::appetite(&config("")).0.as_secs_f64();
        for budget_s in [least_s, 24.0, 30.0, 60.0, 150.0, 300.0, 600.0, 2000.0] {
            let own = schedule("", budget_s).unwrap();
            assert!(own.seconds() <= budget_s + 1e-6, "{budget_s}");
            let again = schedule("", own.seconds() + 0.001).unwrap();
            assert_eq!(again.rounds, own.rounds);
            assert_eq!(again.controllers, own.controllers);
        }
        assert!(schedule("", least_s * 0.9).is_err());
        let short = schedule("", 24.0).unwrap();
        assert_eq!((short.rounds, short.controllers.len()), (1, 2));
        let long = schedule("", 600.0).unwrap();
        assert_eq!(long.rounds, PAIRS_FOR_A_CLAIM);
        assert_eq!(long.controllers.len(), policy::controllers::NAMES.len());
    }

    #[test]
    fn what_the_user_fixed_stays() {
        let text = "controllers = ['dim']\npairs = 2\nphase_seconds = 0.25";
        let own = schedule(text, 60.0).unwrap();
        assert_eq!((own.rounds, own.phase_s), (2, 0.25));
        assert_eq!(own.controllers, ["dim"]);
    }
}
