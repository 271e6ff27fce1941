//! What the sections share that compare controllers with the best of a grid of
//! fixed settings, the oracle.

pub mod contender;
pub mod fixed;
pub mod shares;
pub mod warm;

use policy::controllers::{Parameters, departure};

use crate::ConfigError;
use crate::config::checks::positive;

/// `adaptive` reaches this share of the oracle, and of no moderation.
pub const OF_ORACLE: f64 = 0.93;
pub const OF_UNCAPPED: f64 = 0.95;
/// What to change where it gains over no moderation.
pub const MODERATE: &str = "Let the controller adaptive moderate";

/// Longest time between two looks, ms.
const INTERVAL_MS_MAX: f64 = 10_000.0;

/// What controllers are given: how often those look whose sources have 1 s, which
/// 0 leaves as it is.
///
/// # Errors
/// [`ConfigError`] at `interval_ms`.
pub fn parameters(interval_ms: f64) -> Result<Parameters, ConfigError> {
    let interval_ms = positive("interval_ms", interval_ms, INTERVAL_MS_MAX)?;
    let interval_ns = interval_ms.unwrap_or(1000.0) * 1e6;
    Parameters::default()
        .with_interval_ns(interval_ns as u64)
        .map_err(|error| ConfigError::value("interval_ms", error))
}

/// For the note of a figure that shows names alone: those of controllers that
/// depart from what the name is of, each with what in.
pub fn departures<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let of = |name| Some(format!(" {name} is {}.", departure(name)?));
    names.into_iter().filter_map(of).collect()
}

/// As many in flight as half of L2 holds (0: unknown).
#[must_use]
pub fn depth(wanted: usize, block_bytes: usize, l2_bytes: u64) -> usize {
    let half = usize::try_from(l2_bytes / 2).unwrap_or(usize::MAX);
    if l2_bytes == 0 || block_bytes == 0 {
        return wanted;
    }
    wanted.min((half / block_bytes).max(1))
}

#[cfg(test)]
mod tests {
    use super::contender::ControllerName;
    use super::*;
    use crate::config::value::{Name, Value};

    #[test]
    fn a_note_says_what_departs_from_its_name() {
        assert_eq!(departures(["dim", "adaptive"]), "");
        let note = departures(policy::controllers::NAMES);
        assert!(note.starts_with(" vic is vIC's ratio") && note.ends_with('.'));
        let help = Name::<ControllerName>::allowed();
        assert!(help.contains("vic (vIC's ratio"), "{help}");
    }

    #[test]
    fn half_of_l2_bounds_what_is_in_flight() {
        assert_eq!(depth(32, 65_536, 1 << 20), 8);
        assert_eq!(depth(32, 16_384, 1 << 20), 32);
        assert_eq!(depth(32, 1 << 20, 1 << 20), 1);
        assert_eq!(depth(32, 65_536, 0), 32);
    }
}
