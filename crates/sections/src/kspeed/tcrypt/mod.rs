//! The kernel's own benchmark: how it is called so that it measures a driver,
//! and the rates in what it prints.

mod lines;

use std::collections::BTreeMap;

use trial::stats::median;

use super::catalogue::{Chosen, Kind};
use lines::{Entry, Figure, parse};

/// Lengths of ciphers, rounded up to whole blocks; all are compiled in.
const CBC_BYTES: &[usize] = &[16, 64, 128, 256, 1024, 1424, 4096];
const GCM_BYTES: &[usize] = &[16, 64, 256, 512, 1024, 1420, 4096, 8192];
/// Of hashes, those in which the whole request is handed over at once.
const HASH_BYTES: &[usize] = &[16, 64, 256, 1024, 2048, 4096, 8192];
/// Cycles are counted over this many operations.
const OPERATIONS: u64 = 8;

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// Requests in flight; none: one after the other.
    pub(super) num_mb: Option<usize>,
    /// Seconds for each length; 0: cycles of eight operations.
    pub(super) seconds: usize,
}

/// What is known of one length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    pub(super) requests_per_s: f64,
    /// How many requests that rests on.
    pub(super) completed: u64,
}

/// By length of a request.
type Rates = BTreeMap<usize, Rate>;

impl Call {
    /// Whether it measures requests of that length on that driver.
    pub(super) fn measures(self, driver: Chosen, bytes: usize) -> bool {
        match (driver.kind, self.num_mb) {
            (Kind::Cbc, _) => CBC_BYTES.contains(&bytes),
            (Kind::Gcm, _) => GCM_BYTES.contains(&bytes),
            (Kind::Sha256, None) => HASH_BYTES.contains(&bytes),
            // It had that once, and no longer has.
            (Kind::Sha256, Some(_)) => false,
        }
    }

    /// The script; it prints what the calls printed. Each ends with an error,
    /// so that nothing need be unloaded.
    pub(super) fn script(self, driver: Chosen) -> String {
        let mode = match (driver.kind, self.num_mb) {
            (Kind::Cbc, None) => "mode=500".to_owned(),
            (Kind::Cbc, Some(num_mb)) => format!("mode=600 num_mb={num_mb}"),
            (Kind::Gcm, None) => "mode=211".to_owned(),
            (Kind::Gcm, Some(num_mb)) => format!("mode=215 num_mb={num_mb}"),
            // Of hashes it takes a driver's name.
            (Kind::Sha256, _) => format!("mode=400 alg=\"{driver}\""),
        };
        let one = format!("modprobe tcrypt {mode} sec={} 2>/dev/null\n", self.seconds);
        format!("dmesg -c > /dev/null\n{}dmesg", one.repeat(self.times()))
    }

    /// How often it is called in a round: eight operations say little.
    fn times(self) -> usize {
        match (self.seconds, self.num_mb) {
            (0, None) => 2,
            _ => 1,
        }
    }

    /// How long its calls of a round take, seconds, about. Each runs twice,
    /// since busybox loads again what ended with an error, as tcrypt always
    /// does.
    pub(super) fn expected_s(self, driver: Chosen) -> f64 {
        let (tests, pass_s) = match (driver.kind, self.num_mb) {
            (Kind::Cbc, None) => (42, 0.1),
            (Kind::Cbc, Some(_)) => (42, 0.4),
            (Kind::Gcm, None) => (64, 0.15),
            (Kind::Gcm, Some(_)) => (64, 0.6),
            (Kind::Sha256, _) => (22, 0.2),
        };
        2.0 * self.times() as f64 * (pass_s + (tests * self.seconds) as f64)
    }

    /// What it found of that driver: encryption with a 128-bit key, or the
    /// digest of the whole request. Where a length has several figures, their
    /// median.
    ///
    /// # Errors
    /// In words, where there is none: with the drivers that it chose instead.
    pub(super) fn rates(
        self,
        text: &str,
        driver: Chosen,
        cycles_per_ns: f64,
    ) -> Result<Rates, String> {
        let entries = parse(text).map_err(|error| error.to_string())?;
        let mut found: BTreeMap<usize, Vec<Rate>> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| self.is_own(entry, driver)) {
            if let Ok(bytes) = usize::try_from(entry.bytes) {
                let rate = self.rate(entry.figure, cycles_per_ns);
                found.entry(bytes).or_default().extend(rate);
            }
        }
        if found.is_empty() {
            return Err(absence(&entries, driver));
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

    fn is_own(self, entry: &Entry, driver: Chosen) -> bool {
        let is_asked = match driver.kind {
            Kind::Sha256 => entry.algorithm == driver.name && entry.update_bytes == entry.bytes,
            Kind::Cbc | Kind::Gcm => {
                entry.algorithm == driver.kind.facts().kernel_name
                    && entry.is_encryption
                    && entry.key_bits == driver.kind.facts().key_bytes as u64 * 8
            }
        };
        is_asked && entry.driver == driver.name && entry.is_multibuffer == self.num_mb.is_some()
    }

    /// None of a figure that is no rate.
    fn rate(self, figure: Figure, cycles_per_ns: f64) -> Option<Rate> {
        let (requests_per_s, completed) = match figure {
            Figure::Cycles(cycles) => {
                let at_once = self.num_mb.unwrap_or(1) as u64;
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
}

fn absence(entries: &[Entry], driver: Chosen) -> String {
    let mut others: Vec<_> = entries
        .iter()
        .filter(|entry| entry.algorithm == driver.kind.facts().kernel_name)
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
