//! How many rounds of how long trials, within the budget.

use std::time::Duration;

use trial::PlanError;
use trial::stats::{PAIRS_FOR_A_CLAIM, PAIRS_MIN};

use crate::kspeed::cell::{Cell, call, grid};
use crate::kspeed::config::Config;
use crate::kspeed::method::Method;

/// Nine pairs are a claim, five the least evidence.
const ROUNDS: [usize; 3] = [PAIRS_FOR_A_CLAIM, 7, PAIRS_MIN];
/// Shorter and a guest's timer tick weighs; longer says no more than another
/// round would.
const SLICE_S: (f64, f64) = (0.04, 0.15);
/// QEMU, kernel and first script of an emulated guest, and its end.
const BOOT_S: f64 = 8.0;
/// The command into the guest, a program started there, the module's own
/// warm-up and clean-up.
const OVERHEAD_S: f64 = 0.06;
/// Loading and unloading the modules of one driver.
const PREPARE_S: f64 = 0.15;
/// Starting lockgate in the guest, its checks and set-up, and what it measures
/// longer than a slice.
const PROGRAM_S: f64 = 1.0;

/// What will be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Schedule {
    pub(super) rounds: usize,
    pub(super) slice: Duration,
    /// Trials of a slice each, in a round.
    trials: usize,
    /// Seconds of a round that no slice changes.
    fixed_s: f64,
}

impl Schedule {
    fn of(config: &Config, rounds: usize, slice_s: f64) -> Self {
        let cells = grid(config);
        Self {
            rounds,
            slice: Duration::from_secs_f64(slice_s),
            trials: trials(&cells),
            fixed_s: fixed_s(config, &cells),
        }
    }

    /// How long it takes. One round more than counts warms up.
    pub(super) fn seconds(&self) -> f64 {
        let trials_s = self.trials as f64 * (self.slice.as_secs_f64() + OVERHEAD_S);
        BOOT_S + (self.rounds + 1) as f64 * (trials_s + self.fixed_s)
    }

    /// The least and the most seconds that make sense.
    pub(super) fn appetite(config: &Config) -> (Duration, Duration) {
        let (least_s, most_s) = slices(config);
        let of = |rounds: usize, slice_s| {
            let rounds = config.pairs.unwrap_or(rounds);
            let seconds = Self::of(config, rounds, slice_s).seconds();
            Duration::from_secs_f64(seconds + 0.001)
        };
        (of(PAIRS_MIN, least_s), of(PAIRS_FOR_A_CLAIM, most_s))
    }

    /// Most rounds first, then long trials.
    ///
    /// # Errors
    /// [`PlanError::Budget`].
    pub(super) fn within(config: &Config, budget: Duration) -> Result<Self, PlanError> {
        let (least_s, most_s) = slices(config);
        let fixed = config.pairs.map(|pairs| [pairs]);
        let rounds = fixed.as_ref().map_or(&ROUNDS[..], |pairs| &pairs[..]);
        for &rounds in rounds {
            let bare = Self::of(config, rounds, 0.0);
            let slices = ((rounds + 1) * bare.trials).max(1) as f64;
            let free_s = budget.as_secs_f64() - bare.seconds();
            // A hair less, so that rounding never exceeds the budget.
            let slice_s = (free_s / slices - 1e-8).min(most_s);
            if slice_s >= least_s - 1e-6 {
                return Ok(Self::of(config, rounds, slice_s));
            }
        }
        Err(PlanError::Budget {
            needed_s: Self::appetite(config).0.as_secs_f64(),
            budget_s: budget.as_secs_f64(),
        })
    }

    /// In words.
    pub(super) fn step(&self) -> String {
        format!(
            "{} rounds of {} trials of {:.0} ms, every method of every driver and size once a round in shuffled order, after one that warms up",
            self.rounds,
            self.trials,
            self.slice.as_secs_f64() * 1e3
        )
    }
}

fn slices(config: &Config) -> (f64, f64) {
    config.seconds.map_or(SLICE_S, |fixed| (fixed, fixed))
}

/// tcrypt takes its own time; everything else a slice.
fn trials(cells: &[Cell]) -> usize {
    let is_sliced = |method: &Method| !matches!(method, Method::Tcrypt | Method::TcryptMb);
    let of = |cell: &Cell| {
        cell.arms
            .iter()
            .filter(|(method, _)| is_sliced(method))
            .count()
    };
    cells.iter().map(of).sum()
}

fn fixed_s(config: &Config, cells: &[Cell]) -> f64 {
    let mut fixed_s = 0.0;
    for &driver in &config.drivers {
        fixed_s += PREPARE_S;
        for &method in &config.methods {
            let has = |cell: &&Cell| cell.place.driver == driver && cell.has(method);
            let places = cells.iter().filter(has).count();
            if places == 0 {
                continue;
            }
            fixed_s += match call(config, method) {
                Some(call) => call.expected_s(driver) + OVERHEAD_S,
                None if method.module_mode().is_none() => PROGRAM_S * places as f64,
                None => 0.0,
            };
        }
    }
    fixed_s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kspeed::config::Table;

    fn config(text: &str) -> Config {
        Config::try_from(kit::config::from_table::<Table>(text.parse().unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn keeps_within_any_budget_and_uses_it() {
        let config = config("drivers = ['virtio_crypto_aes_cbc']\nsizes_bytes = [64, 512]");
        let (least, most) = Schedule::appetite(&config);
        let mut rounds = 0;
        for tenths in 10..=30 {
            let budget = least * tenths / 10;
            let schedule = Schedule::within(&config, budget).unwrap();
            assert!(schedule.seconds() <= budget.as_secs_f64());
            assert!(schedule.rounds >= rounds, "more time, no fewer rounds");
            rounds = schedule.rounds;
        }
        let rich = Schedule::within(&config, most * 2).unwrap();
        assert_eq!(rich.rounds, PAIRS_FOR_A_CLAIM);
        assert!(rich.seconds() <= most.as_secs_f64());
        let poor = Schedule::within(&config, least / 2);
        assert!(matches!(poor, Err(PlanError::Budget { .. })));
    }

    #[test]
    fn its_own_seconds_give_it_again() {
        let config = config("drivers = ['sha256-generic']");
        let planned = Schedule::within(&config, Duration::from_secs(240)).unwrap();
        let budget = Duration::from_secs_f64(planned.seconds() + 0.001);
        let again = Schedule::within(&config, budget).unwrap();
        assert_eq!(again.rounds, planned.rounds);
        assert!(again.slice.abs_diff(planned.slice) < Duration::from_micros(100));
    }

    #[test]
    fn what_the_user_fixed_stays() {
        let config = config("pairs = 2\nseconds = 0.05\ndrivers = ['cbc-aes-aesni']");
        let schedule = Schedule::within(&config, Duration::from_secs(600)).unwrap();
        assert_eq!(schedule.rounds, 2);
        assert_eq!(schedule.slice, Duration::from_millis(50));
    }

    #[test]
    fn seconds_of_tcrypt_are_counted() {
        let of = |text: &str| Schedule::appetite(&config(text)).0;
        let text = "drivers = ['cbc-aes-aesni']\nmethods = ['sync', 'tcrypt']\npairs = 1";
        let long = format!("{text}\ntcrypt_seconds = 1");
        assert!(of(&long) > of(text) + Duration::from_secs(80));
    }
}
