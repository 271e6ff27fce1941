//! Shares the seconds of measuring among sections. Pure.

use std::time::Duration;

use kit::config::value::{Value, read_real};
use sys::failure::Failure;

/// The time of measuring where none is given.
pub const DEFAULT_BUDGET: Duration = Duration::from_secs(180);

/// The maximum: a day. A longer budget is a slip of the finger.
pub const BUDGET_MAX: Duration = Duration::from_secs(86_400);

/// What one section gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    Granted(Duration),
    /// Not even its minimum fits.
    Refused {
        needed: Duration,
        left: Duration,
    },
}

/// What one section could use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appetite {
    /// The least that gives an answer at all.
    pub minimum: Duration,
    /// The least that carries a claim; below `minimum` it counts as that.
    pub least: Duration,
    /// More is of no use; below `least` it counts as that.
    pub most: Duration,
}

impl Appetite {
    /// That of a section.
    #[must_use]
    pub fn of(section: &dyn trial::Section) -> Self {
        let (least, most) = section.appetite();
        let minimum = section.minimum();
        Self {
            minimum,
            least,
            most,
        }
    }

    fn least(&self) -> Duration {
        self.least.max(self.minimum)
    }
}

/// Shares `budget` by appetite.
///
/// In order, each section is granted its least as long as that fits, and then
/// each of the others its minimum; what remains is shared in proportion to what
/// each could still use, so that all granted sections are equally content. The
/// sum never exceeds `budget`, and no share its section's most.
/// [`BUDGET_MAX`] bounds the budget.
#[must_use]
pub fn share(budget: Duration, appetites: &[Appetite]) -> Vec<Share> {
    let budget = budget.min(BUDGET_MAX);
    let (mut shares, left) = grant(budget, appetites);
    let wishes: Vec<Duration> = appetites
        .iter()
        .zip(&shares)
        .map(|(appetite, share)| match *share {
            Share::Granted(granted) => appetite.most.min(budget).saturating_sub(granted),
            Share::Refused { .. } => Duration::ZERO,
        })
        .collect();
    let wanted: Duration = wishes.iter().sum();
    for (share, wish) in shares.iter_mut().zip(wishes) {
        if let Share::Granted(granted) = share {
            *granted += portion(wish, left, wanted);
        }
    }
    shares
}

fn grant(budget: Duration, appetites: &[Appetite]) -> (Vec<Share>, Duration) {
    let mut left = budget;
    let mut take = |wanted: Duration| match left.checked_sub(wanted) {
        Some(rest) => {
            left = rest;
            Share::Granted(wanted)
        }
        None => Share::Refused {
            needed: wanted,
            left,
        },
    };
    let whole: Vec<_> = appetites
        .iter()
        .map(|appetite| take(appetite.least()))
        .collect();
    let shares = appetites
        .iter()
        .zip(whole)
        .map(|(appetite, share)| match share {
            Share::Granted(_) => share,
            Share::Refused { .. } => take(appetite.minimum),
        })
        .collect();
    (shares, left)
}

/// What `wish` gets of `left` when all wishes together are `wanted`; rounded
/// down to whole nanoseconds, so that the sum stays within `left`.
fn portion(wish: Duration, left: Duration, wanted: Duration) -> Duration {
    if wanted <= left {
        return wish;
    }
    let nanos = wish.as_nanos() * left.as_nanos() / wanted.as_nanos();
    Duration::from_nanos(u64::try_from(nanos).expect("a budget of at most a day is below 2^64 ns"))
}

/// Reads `90`, `90s`, `1.5m` or `2h`.
///
/// # Errors
/// Names the text and what is allowed.
pub fn parse_budget(text: &str) -> Result<Duration, Failure> {
    let trimmed = text.trim();
    let (number, unit_s) = match trimmed.char_indices().next_back() {
        Some((at, 's')) => (&trimmed[..at], 1.0),
        Some((at, 'm')) => (&trimmed[..at], 60.0),
        Some((at, 'h')) => (&trimmed[..at], 3600.0),
        _ => (trimmed, 1.0),
    };
    let seconds = number.parse().ok().map(|value: f64| value * unit_s);
    seconds.and_then(budget_of_seconds).ok_or_else(|| {
        Failure::new(format!(
            "'{text}' is not a budget; write seconds, minutes or hours: 90, 90s, 1.5m; {} s",
            Seconds::allowed()
        ))
    })
}

/// The budget of that many seconds; `None` outside 0 < s ≤ [`BUDGET_MAX`].
fn budget_of_seconds(seconds: f64) -> Option<Duration> {
    let budget = Duration::try_from_secs_f64(seconds).ok()?;
    (!budget.is_zero() && budget <= BUDGET_MAX).then_some(budget)
}

/// A budget as a scenario has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds(pub Duration);

impl From<Duration> for Seconds {
    fn from(budget: Duration) -> Self {
        Self(budget)
    }
}

impl Value for Seconds {
    fn parse(value: &toml::Value) -> Result<Self, String> {
        let whole = value.as_integer().map(|seconds| seconds as f64);
        let seconds = value.as_float().or(whole);
        let budget = seconds.and_then(budget_of_seconds);
        budget
            .map(Self)
            .ok_or_else(|| format!("{value} is out of range; {}", Self::allowed()))
    }

    fn read(text: &str) -> toml::Value {
        read_real(text)
    }

    fn written(&self) -> toml::Value {
        toml::Value::Float(self.0.as_secs_f64())
    }

    fn allowed() -> String {
        format!("more than 0 and at most {}", BUDGET_MAX.as_secs())
    }
}

#[cfg(test)]
mod tests;
