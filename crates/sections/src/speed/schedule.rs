//! How many rounds, how long each trial, within the budget.

use std::time::Duration;

use trial::PlanError;
use trial::stats::PAIRS_FOR_A_CLAIM;

use crate::speed::config::Config;
use crate::speed::grid::{Row, grid};
use kit::host::Host;
use kit::load::fresh::arm::Arm;
use kit::openssl;
use kit::stopping::Limits;

/// Set-up, warm-up and clean-up of one trial.
pub(super) const OVERHEAD_S: f64 = 0.012;
/// Shorter than this a trial holds too few scheduler decisions to mean anything.
const SLICE_S_MIN: f64 = 0.02;
/// A slice long enough that the richer of two schedules is worth it.
const SLICE_S_GOOD: f64 = 0.05;
/// Longer says no more than another round would.
const SLICE_S_MAX: f64 = 0.25;
/// Open-loop trials need the counts for their high percentiles.
const PACED_SLICES: f64 = 4.0;
/// The wake-up cost: one trial a round.
const WAKE_UP_S: f64 = 0.05;
/// The way of a cache line: once a cell and round.
const LINE_S: f64 = 0.003;

/// The peers' block sizes by default: the last alone if time is short.
const PEER_BLOCK_BYTES: &[usize] = &[1024, 16_384];
const ROUNDS: [usize; 5] = [9, 7, 5, 3, 1];
/// Most rounds where the user names a precision, and where none is named and
/// rounds end sooner than planned.
const ROUNDS_MAX: usize = 99;
const ROUNDS_UNASKED_MAX: usize = 36;
/// Half width of intervals that is enough where the user names none.
pub(super) const PRECISION: f64 = 0.02;

/// What will be measured and how long it takes.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    pub(super) rows: Vec<Row>,
    pub(super) rounds: usize,
    pub(super) slice_s: f64,
    pub(super) limits: Limits,
}

impl Schedule {
    /// The richest schedule within `budget`.
    pub(super) fn new(config: &Config, host: &Host, budget: Duration) -> Result<Self, PlanError> {
        let budget_s = budget.as_secs_f64();
        let rounds = config.pairs.map_or(ROUNDS.to_vec(), |pairs| vec![pairs]);
        // Peers before long trials, and rounds before peers: a claim rests on
        // pairs, and figures without a peer say little.
        for (peers, slice_s) in peer_choices(config) {
            for &rounds in &rounds {
                let schedule = Self::with(config, host, rounds, peers, budget_s);
                let is_claim =
                    rounds >= PAIRS_FOR_A_CLAIM || peers == Some(&[]) || config.pairs.is_some();
                if is_claim && schedule.slice_s >= config.seconds.unwrap_or(slice_s) - 1e-9 {
                    return Ok(schedule.limited(config, budget_s));
                }
            }
        }
        Err(PlanError::Budget {
            needed_s: Self::least_s(config, host),
            budget_s,
        })
    }

    /// What its rounds may take of the budget: more than planned only where
    /// the user wants a precision.
    fn limited(self, config: &Config, budget_s: f64) -> Self {
        let round_s = self.seconds() / self.rounds as f64;
        let rounds_max = match (config.pairs, config.precision) {
            (Some(pairs), _) => pairs,
            (None, Some(_)) => ROUNDS_MAX,
            (None, None) => ROUNDS_UNASKED_MAX,
        };
        let fits = (budget_s / round_s).floor() as usize;
        let seconds = match config.precision {
            Some(_) => round_s * fits.clamp(self.rounds, rounds_max.max(self.rounds)) as f64,
            None => self.seconds(),
        };
        let unless_fixed = config.pairs.is_none().then_some(PRECISION);
        let limits = Limits {
            rounds: self.rounds,
            rounds_max: rounds_max.max(self.rounds),
            seconds,
            precision: config.precision.or(unless_fixed),
        };
        Self { limits, ..self }
    }

    /// The least and the most that make sense.
    pub(super) fn appetite(config: &Config, host: &Host) -> (f64, f64) {
        let rounds_max = match config.precision {
            Some(_) => ROUNDS_MAX,
            None => ROUNDS[0],
        };
        let rounds = config.pairs.unwrap_or(rounds_max);
        let most = Self::at(
            config,
            host,
            rounds,
            None,
            config.seconds.unwrap_or(SLICE_S_MAX),
        );
        (Self::least_s(config, host), most.seconds())
    }

    fn least_s(config: &Config, host: &Host) -> f64 {
        let rounds = config.pairs.unwrap_or(ROUNDS[ROUNDS.len() - 1]);
        Self::at(
            config,
            host,
            rounds,
            Some(&[]),
            config.seconds.unwrap_or(SLICE_S_MIN),
        )
        .seconds()
            + 0.01
    }

    fn at(
        config: &Config,
        host: &Host,
        rounds: usize,
        peers: Option<&[usize]>,
        slice_s: f64,
    ) -> Self {
        Self {
            rows: rows(config, host, peers),
            rounds,
            slice_s,
            limits: Limits {
                rounds,
                rounds_max: rounds,
                seconds: 0.0,
                precision: None,
            },
        }
    }

    /// With the slice that fills the budget.
    fn with(
        config: &Config,
        host: &Host,
        rounds: usize,
        peers: Option<&[usize]>,
        budget_s: f64,
    ) -> Self {
        let empty = Self::at(config, host, rounds, peers, 0.0);
        let weight: f64 = empty
            .rows
            .iter()
            .flat_map(|row| &row.arms)
            .map(|&arm| slices(arm))
            .sum();
        // A hair less, so that rounding never exceeds the budget.
        let free_s = budget_s - empty.seconds() - 1e-6;
        let slice_s = free_s / (weight * rounds as f64).max(1e-9);
        let most = config.seconds.unwrap_or(SLICE_S_MAX);
        Self {
            slice_s: slice_s.min(most),
            ..empty
        }
    }

    /// How long it takes.
    pub(super) fn seconds(&self) -> f64 {
        let arms = self
            .rows
            .iter()
            .flat_map(|row| row.arms.iter().map(move |&arm| (row, arm)));
        let round: f64 = arms.map(|(row, arm)| self.arm_s(row, arm)).sum();
        let distances = self.rows.len() as f64 * LINE_S;
        (round + distances + WAKE_UP_S) * self.rounds as f64
    }

    fn arm_s(&self, row: &Row, arm: Arm) -> f64 {
        match arm {
            Arm::OpenSsl => openssl::seconds(row.cell.kind),
            _ => self.slice_s * slices(arm) + OVERHEAD_S,
        }
    }

    /// How many trials one round has.
    pub(super) fn trials(&self) -> usize {
        self.rows.iter().map(|row| row.arms.len()).sum()
    }
}

fn slices(arm: Arm) -> f64 {
    match arm {
        Arm::OpenSsl => 0.0,
        Arm::Paced(_) => PACED_SLICES,
        Arm::Lane(..) | Arm::Raw => 1.0,
    }
}

/// How long a trial of that arm measures.
pub(super) fn slice(schedule: &Schedule, arm: Arm) -> Duration {
    Duration::from_secs_f64(schedule.slice_s * slices(arm))
}

/// At which sizes the peers take part (`None` is all of them), and how long
/// a trial must be for that.
fn peer_choices(config: &Config) -> Vec<(Option<&'static [usize]>, f64)> {
    let all = (!config.sizes_are_default()).then_some((None, SLICE_S_MIN));
    let some = [
        (Some(PEER_BLOCK_BYTES), SLICE_S_GOOD),
        (Some(&PEER_BLOCK_BYTES[1..]), SLICE_S_MIN),
        (Some(&[][..]), SLICE_S_MIN),
    ];
    all.into_iter().chain(some).collect()
}

fn rows(config: &Config, host: &Host, peers: Option<&[usize]>) -> Vec<Row> {
    let mut rows = grid(config, host);
    for row in &mut rows {
        let is_peer_size = peers.is_none_or(|sizes| sizes.contains(&row.cell.block_bytes));
        row.arms.retain(|arm| *arm != Arm::OpenSsl || is_peer_size);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::config::Table;

    fn config(text: &str) -> Config {
        Config::try_from(kit::config::from_table::<Table>(text.parse().unwrap()).unwrap()).unwrap()
    }

    fn host() -> Host {
        Host {
            l2_bytes: 1 << 20,
            ..Host::with_cpus([0, 1])
        }
    }

    #[test]
    fn keeps_within_any_budget_and_uses_it() {
        let config = config("");
        let mut rounds = 0;
        for budget_s in [10, 20, 45, 90, 180, 1000] {
            let schedule = Schedule::new(&config, &host(), Duration::from_secs(budget_s)).unwrap();
            assert!(schedule.seconds() <= budget_s as f64 + 1e-6, "{budget_s}");
            assert!(schedule.rounds >= rounds, "more time, no fewer rounds");
            rounds = schedule.rounds;
        }
        assert_eq!(rounds, 9);
        let (least, most) = Schedule::appetite(&config, &host());
        assert!(Schedule::new(&config, &host(), Duration::from_secs_f64(least)).is_ok());
        assert!(Schedule::new(&config, &host(), Duration::from_secs_f64(least * 0.8)).is_err());
        assert!(most > 180.0);
    }

    #[test]
    fn what_the_user_fixed_stays() {
        let config = config("seconds = 0.1\npairs = 4\nsizes_bytes = [4096]");
        let schedule = Schedule::new(&config, &host(), Duration::from_secs(60)).unwrap();
        assert_eq!(schedule.rounds, 4);
        assert!((schedule.slice_s - 0.1).abs() < 1e-9);
        assert!(matches!(
            Schedule::new(&config, &host(), Duration::from_secs(2)),
            Err(PlanError::Budget { .. })
        ));
    }
}
