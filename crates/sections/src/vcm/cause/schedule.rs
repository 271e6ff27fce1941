//! What is examined, and how much time each subject gets.

use std::time::Duration;

use trial::PlanError;

use crate::vcm::cause::config::Config;
use crate::vcm::cause::examine::Pace;
use crate::vcm::cause::experiment::Experiment;
use crate::vcm::cause::planted::{Plant, SIZES};
use crate::vcm::cause::real::Spec;
use kit::places::Places;

/// Shorter than this a trial is mostly set-up; longer says no more than
/// another round would.
const SLICE_S: (f64, f64) = (0.010, 0.03);
/// Planted faults show at once, and their time hardly depends on the host.
const PLANTED_SLICE_S_MAX: f64 = 0.015;
const PLANTED_ROUNDS: usize = 5;
const ROUNDS: [usize; 3] = [9, 7, 5];
/// Rounds over the sizes, to find the fall.
const SCANS: usize = 2;
/// Around each trial: set-up, warm-up, and what is still in flight.
const OVERHEAD_S: f64 = 0.008;
/// A subject's keys and memory.
const START_S: f64 = 0.05;

/// Whose fall is examined.
#[derive(Clone)]
pub(super) enum Case {
    Planted(Plant),
    Real(Box<Spec>),
}

/// What will be examined, in order, and how.
pub(super) struct Schedule {
    pub(super) cases: Vec<Case>,
    planted: Pace,
    real: Pace,
}

/// Everything that the configuration means on these CPUs.
fn cases(config: &Config, cpus: &[usize]) -> Vec<Case> {
    let mut cases: Vec<_> = config.planted.iter().copied().map(Case::Planted).collect();
    for &kind in &config.kinds {
        for (placement, _) in Places::of(&config.placements, cpus).kept {
            for &moderation in &config.policies {
                cases.push(Case::Real(Box::new(Spec {
                    kind,
                    backend: config.backend.clone(),
                    sizes_bytes: config.sizes_bytes.clone(),
                    depth: config.depth,
                    placement,
                    moderation,
                    cpus: cpus.to_vec(),
                })));
            }
        }
    }
    cases
}

fn pace(slice_s: f64, rounds: usize) -> Pace {
    Pace {
        slice: Duration::from_secs_f64(slice_s),
        scans: SCANS.min(rounds),
        rounds,
        rounds_max: rounds,
    }
}

fn case_s(sizes: usize, pace: &Pace) -> f64 {
    START_S + (pace.scans * sizes) as f64 * trial_s(pace) + pace.rounds as f64 * round_s(pace)
}

fn trial_s(pace: &Pace) -> f64 {
    pace.slice.as_secs_f64() + OVERHEAD_S
}

/// One round of all experiments.
pub(super) fn round_s(pace: &Pace) -> f64 {
    Experiment::ALL.len() as f64 * trial_s(pace)
}

impl Schedule {
    fn at(config: &Config, cpus: &[usize], slice_s: f64, rounds: usize) -> Self {
        let planted_rounds = config.pairs.unwrap_or(PLANTED_ROUNDS);
        let planted_slice_s = config.seconds.unwrap_or(slice_s.min(PLANTED_SLICE_S_MAX));
        Self {
            cases: cases(config, cpus),
            planted: pace(planted_slice_s, planted_rounds),
            real: pace(slice_s, rounds),
        }
    }

    fn slices(config: &Config) -> (f64, f64) {
        config.seconds.map_or(SLICE_S, |fixed| (fixed, fixed))
    }

    /// The least and the most seconds that make sense.
    pub(super) fn appetite(config: &Config, cpus: &[usize]) -> (f64, f64) {
        let (least_s, most_s) = Self::slices(config);
        let least = config.pairs.unwrap_or(ROUNDS[ROUNDS.len() - 1]);
        let most = config.pairs.unwrap_or(ROUNDS[0]);
        let seconds = |slice_s, rounds| Self::at(config, cpus, slice_s, rounds).seconds() + 0.001;
        (seconds(least_s, least), seconds(most_s, most))
    }

    /// Most rounds first, then long trials.
    pub(super) fn new(
        config: &Config,
        cpus: &[usize],
        budget: Duration,
    ) -> Result<Self, PlanError> {
        let (least_s, most_s) = Self::slices(config);
        let budget_s = budget.as_secs_f64();
        let fixed = config.pairs.map(|pairs| [pairs]);
        for &rounds in fixed.as_ref().map_or(&ROUNDS[..], |fixed| &fixed[..]) {
            // Seconds are linear in the slice up to where planted trials stop growing.
            for step in (0..=STEPS).rev() {
                let slice_s = least_s + (most_s - least_s) * f64::from(step) / f64::from(STEPS);
                let schedule = Self::at(config, cpus, slice_s, rounds);
                if schedule.seconds() <= budget_s {
                    return Ok(schedule);
                }
            }
        }
        let needed_s = Self::appetite(config, cpus).0;
        Err(PlanError::Budget { needed_s, budget_s })
    }

    /// How one of the cases is examined, if it is given no more time.
    pub(super) fn pace(&self, case: &Case) -> Pace {
        match case {
            Case::Planted(_) => self.planted,
            Case::Real(_) => self.real,
        }
    }

    /// How long these cases take at most.
    pub(super) fn seconds_of(&self, cases: &[Case]) -> f64 {
        let seconds = cases.iter().map(|case| match case {
            Case::Planted(_) => case_s(SIZES, &self.planted),
            Case::Real(spec) => case_s(spec.sizes_bytes.len(), &self.real),
        });
        seconds.sum()
    }

    /// How long it takes at most.
    pub(super) fn seconds(&self) -> f64 {
        self.seconds_of(&self.cases)
    }

    /// In words.
    pub(super) fn step(&self) -> String {
        let planted = |case: &&Case| matches!(case, Case::Planted(_));
        let planted = self.cases.iter().filter(planted).count();
        format!(
            "{planted} planted faults and {} loads: the sizes {SCANS} times, then, where the speed falls, {} experiments {} times ({} for planted ones), {:.0} ms each",
            self.cases.len() - planted,
            Experiment::ALL.len(),
            self.real.rounds,
            self.planted.rounds,
            self.real.slice.as_secs_f64() * 1e3
        )
    }
}

const STEPS: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vcm::cause::config::Table;

    fn config(table: Table) -> Config {
        Config::try_from(table).unwrap()
    }

    #[test]
    fn keeps_within_any_budget() {
        let config = config(Table::default());
        let (least_s, most_s) = Schedule::appetite(&config, &[0, 1]);
        assert!(least_s < 15.0, "{least_s}");
        let mut rounds = 0;
        for share in 0..=10 {
            let budget_s = least_s + (most_s - least_s) * f64::from(share) / 10.0;
            let budget = Duration::from_secs_f64(budget_s);
            let schedule = Schedule::new(&config, &[0, 1], budget).unwrap();
            assert!(schedule.seconds() <= budget_s);
            assert!(schedule.real.rounds >= rounds, "more time, no fewer rounds");
            rounds = schedule.real.rounds;
        }
        assert_eq!(rounds, 9);
        let too_little = Duration::from_secs_f64(least_s * 0.9);
        assert!(Schedule::new(&config, &[0, 1], too_little).is_err());
    }

    #[test]
    fn one_cpu_examines_the_shared_core_only() {
        let config = config(Table::default());
        let shared = cases(&config, &[0]).len();
        assert_eq!(cases(&config, &[0, 1]).len(), shared + 2);
    }
}
