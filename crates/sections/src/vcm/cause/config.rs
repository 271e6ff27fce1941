//! The section's table in a scenario.

use std::sync::Arc;

use crypto::{Algorithm, Backend, Kind, Workload};
use engine::DEPTH_MAX;
use policy::Moderation;
use serde::{Deserialize, Serialize};

use crate::vcm::cause::planted::Plant;
use kit::ConfigError;
use kit::config::checks::{BLOCK_BYTES_MAX, SLOTS_BYTES_MAX, names, pairs, positive, within};
use kit::place::Placement;
use probe::calibration;

/// Loads that one section can examine within reason.
const LOADS_MAX: usize = 64;
const SECONDS_MAX: f64 = 10.0;

/// The keys, all optional. An empty list and 0 mean: chosen for this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Table {
    pub(super) algorithms: Vec<String>,
    pub(super) sizes_bytes: Vec<usize>,
    /// Requests in flight.
    pub(super) depth: usize,
    /// Empty: shared, and split where there are two CPUs.
    pub(super) placements: Vec<String>,
    /// Policies of the loads.
    pub(super) policies: Vec<String>,
    /// Faults that are planted to test the diagnosis.
    pub(super) planted: Vec<String>,
    pub(super) backend: String,
    /// Seconds of one trial.
    pub(super) seconds: f64,
    /// Rounds of every experiment.
    pub(super) pairs: usize,
    pub(super) seed: u64,
}

impl Default for Table {
    fn default() -> Self {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Self {
            algorithms: names(&["aes-128-cbc", "aes-128-gcm"]),
            sizes_bytes: (9..=16).map(|bits| 1 << bits).collect(),
            depth: 64,
            placements: Vec::new(),
            policies: names(&["each"]),
            planted: names(&Plant::ALL.map(Plant::name)),
            backend: calibration::AUTO.to_owned(),
            seconds: 0.0,
            pairs: 0,
            seed: 1,
        }
    }
}

/// The configuration, parsed.
pub(super) struct Config {
    pub(super) table: Table,
    pub(super) kinds: Vec<Kind>,
    pub(super) sizes_bytes: Vec<usize>,
    pub(super) depth: usize,
    pub(super) placements: Vec<Placement>,
    pub(super) policies: Vec<Moderation>,
    pub(super) planted: Vec<Plant>,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) seconds: Option<f64>,
    pub(super) pairs: Option<usize>,
    pub(super) seed: u64,
}

impl TryFrom<Table> for Config {
    type Error = ConfigError;

    fn try_from(table: Table) -> Result<Self, ConfigError> {
        let algorithms: Vec<Algorithm> = names("algorithms", &table.algorithms)?;
        let mut sizes_bytes = within("sizes_bytes", &table.sizes_bytes, 1, BLOCK_BYTES_MAX)?;
        sizes_bytes.sort_unstable();
        sizes_bytes.dedup();
        let kind = |algorithm: Algorithm| Kind {
            algorithm,
            operation: algorithm.operations()[0],
        };
        let config = Self {
            kinds: algorithms.into_iter().map(kind).collect(),
            sizes_bytes,
            depth: within("depth", &[table.depth], 1, DEPTH_MAX / 2)?[0],
            placements: names("placements", &table.placements)?,
            policies: names("policies", &table.policies)?,
            planted: names("planted", &table.planted)?,
            backend: calibration::backend(&table.backend)
                .map_err(|error| ConfigError::value("backend", error))?,
            seconds: positive("seconds", table.seconds, SECONDS_MAX)?,
            pairs: pairs(table.pairs)?,
            seed: table.seed,
            table,
        };
        config.check()?;
        Ok(config)
    }
}

impl Config {
    fn check(&self) -> Result<(), ConfigError> {
        self.check_lists()?;
        self.check_kinds()?;
        let deepest = self.depth * 2;
        let largest = self.sizes_bytes.last().copied().unwrap_or(0);
        if deepest.saturating_mul(largest) > SLOTS_BYTES_MAX {
            let reason = format!(
                "twice as many in flight of {largest} bytes need more than {SLOTS_BYTES_MAX} bytes; lower depth or sizes_bytes"
            );
            return Err(ConfigError::value("depth", reason));
        }
        Ok(())
    }

    fn check_lists(&self) -> Result<(), ConfigError> {
        if self.kinds.is_empty() && self.planted.is_empty() {
            let reason = "no load and no planted fault leave nothing to examine; name one";
            return Err(ConfigError::value("algorithms", reason));
        }
        if self.kinds.is_empty() {
            return Ok(());
        }
        if self.sizes_bytes.len() < 2 {
            let reason = "a fall with size needs two sizes at least";
            return Err(ConfigError::value("sizes_bytes", reason));
        }
        if self.policies.is_empty() {
            let reason = "an empty list examines nothing; name at least one";
            return Err(ConfigError::value("policies", reason));
        }
        let loads = self.kinds.len() * self.policies.len() * self.placements.len().max(2);
        if loads > LOADS_MAX {
            let reason =
                format!("{loads} loads to examine, the limit is {LOADS_MAX}; name fewer values");
            return Err(ConfigError::value("algorithms", reason));
        }
        Ok(())
    }

    fn check_kinds(&self) -> Result<(), ConfigError> {
        for &kind in &self.kinds {
            if kind.algorithm.is_public_key() {
                let reason = format!("{} has no block sizes", kind.algorithm);
                return Err(ConfigError::value("algorithms", reason));
            }
            if !self.backend.supports(kind) {
                let reason = format!("back-end {} has no {}", self.backend.name(), kind.algorithm);
                return Err(ConfigError::value("algorithms", reason));
            }
            for &size in &self.sizes_bytes {
                Workload::check(kind, size)
                    .map_err(|error| ConfigError::value("sizes_bytes", error))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::try_from(kit::config::from_table::<Table>(text.parse().unwrap())?)
    }

    #[test]
    fn an_empty_table_is_the_default_scenario() {
        let config = parse("").unwrap();
        assert_eq!((config.kinds.len(), config.depth), (2, 64));
        assert_eq!(config.planted, Plant::ALL);
        assert_eq!(config.sizes_bytes.last(), Some(&65_536));
    }

    #[test]
    fn every_wrong_value_is_named() {
        for (text, key, part) in [
            ("algorithms = ['aes-512-gcm']", "algorithms", "aes-512-gcm"),
            ("algorithms = ['rsa-2048']", "algorithms", "no block sizes"),
            ("algorithms = []\nplanted = []", "algorithms", "nothing"),
            ("sizes_bytes = [1024]", "sizes_bytes", "two sizes"),
            ("sizes_bytes = [17, 32]", "sizes_bytes", "multiples of 16"),
            ("depth = 0", "depth", "0 is outside"),
            (
                "depth = 2048\nsizes_bytes = [16, 1048576]",
                "depth",
                "lower",
            ),
            ("placements = ['near']", "placements", "split, shared"),
            ("policies = ['lazy']", "policies", "armed"),
            ("policies = []", "policies", "at least one"),
            ("planted = ['gremlin']", "planted", "cache-cliff"),
            ("backend = 'qat'", "backend", "aws-lc"),
            ("seconds = 99.0", "seconds", "99"),
            ("pairs = 100000", "pairs", "100000"),
            ("deep = 4", "deep", "depth"),
        ] {
            let Err(error) = parse(text) else {
                panic!("{text} was taken")
            };
            assert_eq!(error.key(), key, "{error}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }
}
