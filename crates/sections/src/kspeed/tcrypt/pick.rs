//! From what tcrypt printed to rates of one driver.

use std::collections::BTreeMap;

use trial::stats::median;

use crate::kspeed::catalogue::{Driver, Kind};
use crate::kspeed::tcrypt::lines::{Entry, Figure};
use crate::kspeed::tcrypt::sizes::Call;

/// Cycles are counted over so many operations.
const OPERATIONS: u64 = 8;

/// What is known of one length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Rate {
    pub(in super::super) requests_per_s: f64,
    /// How many requests that rests on.
    pub(in super::super) completed: u64,
}

/// By length of a request.
pub(in super::super) type Rates = BTreeMap<usize, Rate>;

/// What tcrypt found of that driver: encryption with a 128-bit key, or the
/// digest of the whole request. Where a length has several figures, their
/// median.
///
/// # Errors
/// In words, where there is none: with the drivers that tcrypt chose instead.
pub(in super::super) fn rates(
    entries: &[Entry],
    call: Call,
    driver: &Driver,
    cycles_per_ns: f64,
) -> Result<Rates, String> {
    let mut found: BTreeMap<usize, Vec<Rate>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| is_own(entry, call, driver)) {
        let Ok(bytes) = usize::try_from(entry.bytes) else {
            continue;
        };
        found
            .entry(bytes)
            .or_default()
            .extend(rate(entry.figure, call, cycles_per_ns));
    }
    if found.is_empty() {
        return Err(absence(entries, driver));
    }
    let middle = |(bytes, rates): (usize, Vec<Rate>)| {
        let all: Vec<_> = rates.iter().map(|rate| rate.requests_per_s).collect();
        let middle = Rate {
            requests_per_s: median(&all)?,
            completed: rates.iter().map(|rate| rate.completed).sum(),
        };
        Some((bytes, middle))
    };
    Ok(found.into_iter().filter_map(middle).collect())
}

fn is_own(entry: &Entry, call: Call, driver: &Driver) -> bool {
    let is_asked = match driver.kind {
        Kind::Sha256 => entry.algorithm == driver.name && entry.update_bytes == entry.bytes,
        Kind::Cbc | Kind::Gcm => {
            entry.algorithm == driver.kind.kernel_name()
                && entry.is_encryption
                && entry.key_bits == driver.kind.key_bytes() as u64 * 8
        }
    };
    is_asked && entry.driver == driver.name && entry.is_multibuffer == call.num_mb.is_some()
}

/// None of a figure that is no rate.
fn rate(figure: Figure, call: Call, cycles_per_ns: f64) -> Option<Rate> {
    let (requests_per_s, completed) = match figure {
        Figure::Cycles(cycles) => {
            let at_once = call.num_mb.unwrap_or(1) as u64;
            (cycles_per_ns * 1e9 / cycles as f64, OPERATIONS * at_once)
        }
        Figure::Operations { count, seconds } => (count as f64 / seconds as f64, count),
    };
    let is_rate = requests_per_s.is_finite() && requests_per_s > 0.0;
    is_rate.then_some(Rate {
        requests_per_s,
        completed,
    })
}

fn absence(entries: &[Entry], driver: &Driver) -> String {
    let mut others: Vec<_> = entries
        .iter()
        .filter(|entry| entry.algorithm == driver.kind.kernel_name())
        .map(|entry| entry.driver.as_str())
        .collect();
    others.dedup();
    if others.is_empty() {
        return format!("tcrypt printed no figure of {driver}");
    }
    format!(
        "tcrypt measured {} instead of {driver}: it takes the driver of the highest priority",
        others.join(" and ")
    )
}
