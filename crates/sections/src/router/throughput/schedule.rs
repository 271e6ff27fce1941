//! How long trials are, and how many rounds there is time for.

use std::time::Duration;

use trial::PlanError;
use trial::stats::PAIRS_FOR_A_CLAIM;

use crate::router::throughput::config::Config;

/// Shorter and one scheduler gap decides; RFC 2544's own is 60 s.
const SLICE_S: (f64, f64) = (0.15, 1.0);
/// Starting the port, waiting for frames on their way, counting.
const OVERHEAD_S: f64 = 0.15;
/// Namespaces, interfaces, and until a frame passes; containers take longer.
const START_S: f64 = 1.0;
/// Rounds that are wanted before trials get longer.
const ROUNDS_WANTED: f64 = 3.0;
/// A search that ends does so within so many trials beyond its halvings: the
/// ceiling, a confirmation, and one that is repeated.
const EXTRA_TRIALS: f64 = 3.0;

/// What will be measured. A search ends when it has found its rate, so time
/// decides how many rounds there are, unless the user did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Schedule {
    /// One trial.
    pub(crate) slice: Duration,
    /// Rounds that the user fixed.
    pub(crate) pairs: Option<usize>,
    /// All of it, seconds.
    pub(crate) seconds: f64,
    /// Of these, kept for the extras.
    pub(crate) extras_s: f64,
}

/// Trials of a round in which no rate is the link's, about.
fn trials(config: &Config) -> f64 {
    let search = (1.0 / config.resolution).log2() + EXTRA_TRIALS;
    let searches = if config.loss_ratio_max.is_some() {
        2.0
    } else {
        1.0
    };
    let cases = config.routers.len() * config.sizes.len();
    (1.0 + searches * search) * cases as f64
}

fn extra_trials(config: &Config) -> f64 {
    let each: usize = config.extras.iter().map(|extra| extra.trials()).sum();
    (each * config.routers.len() * config.sizes.len()) as f64
}

impl Schedule {
    fn of(config: &Config, rounds: f64, slice_s: f64) -> Self {
        let trial_s = slice_s + OVERHEAD_S;
        let extras_s = extra_trials(config) * trial_s;
        let start_s = START_S * config.routers.len() as f64;
        Self {
            slice: Duration::from_secs_f64(slice_s),
            pairs: config.pairs,
            seconds: start_s + extras_s + rounds * trials(config) * trial_s,
            extras_s,
        }
    }

    fn slices(config: &Config) -> (f64, f64) {
        config.seconds.map_or(SLICE_S, |fixed| (fixed, fixed))
    }

    /// The least and the most seconds that make sense.
    pub(crate) fn appetite(config: &Config) -> (Duration, Duration) {
        let (least_s, most_s) = Self::slices(config);
        let of = |rounds: usize, slice_s| {
            let rounds = config.pairs.unwrap_or(rounds) as f64;
            let seconds = Self::of(config, rounds, slice_s).seconds;
            Duration::from_secs_f64(seconds + 0.001)
        };
        (of(1, least_s), of(PAIRS_FOR_A_CLAIM, most_s))
    }

    /// Trials as long as leaves time for the rounds that are wanted; then the
    /// whole budget, up to what makes sense.
    ///
    /// # Errors
    /// [`PlanError::Budget`].
    pub(crate) fn within(config: &Config, budget: Duration) -> Result<Self, PlanError> {
        let (least, most) = Self::appetite(config);
        let budget_s = budget.as_secs_f64();
        if budget < least {
            return Err(PlanError::Budget {
                needed_s: least.as_secs_f64(),
                budget_s,
            });
        }
        let (least_s, most_s) = Self::slices(config);
        let wanted = config.pairs.map_or(ROUNDS_WANTED, |pairs| pairs as f64);
        let (none, one) = (Self::of(config, wanted, 0.0), Self::of(config, wanted, 1.0));
        let slice_s = (budget_s - none.seconds) / (one.seconds - none.seconds).max(1e-9);
        let schedule = Self::of(config, wanted, slice_s.clamp(least_s, most_s));
        Ok(Self {
            seconds: budget_s.min(most.as_secs_f64()),
            ..schedule
        })
    }

    /// What there is time for: throughput comes before the rest.
    ///
    /// # Errors
    /// [`PlanError::Budget`].
    pub(crate) fn choose(config: &Config, budget: Duration) -> Result<(Config, Self), PlanError> {
        let config = match Self::within(config, budget) {
            Ok(schedule) => return Ok((config.clone(), schedule)),
            Err(_) => config.without_extras(),
        };
        let schedule = Self::within(&config, budget)?;
        Ok((config, schedule))
    }

    /// In words.
    pub(crate) fn step(&self, config: &Config) -> String {
        let rounds = match self.pairs {
            Some(pairs) => format!("{pairs} rounds"),
            None => "as many rounds as the time allows".to_owned(),
        };
        format!(
            "{rounds} of RFC 2544 throughput: {} by {}, in shuffled order, trials of {:.0} ms (the RFC's: 60 s)",
            counted(config.routers.len(), "router"),
            counted(config.sizes.len(), "frame size"),
            self.slice.as_secs_f64() * 1e3
        )
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("one {what}"),
        count => format!("{count} {what}s"),
    }
}
