//! The section's table in a scenario.

use std::sync::Arc;

use crypto::{Algorithm, Backend, Kind, Workload};
use engine::DEPTH_MAX;
use policy::Policy;
use serde::{Deserialize, Serialize};

use kit::ConfigError;
use kit::config::checks::{BLOCK_BYTES_MAX, SLOTS_BYTES_MAX, names, pairs, positive, some, within};
use kit::place::Placement;
use kit::words::size;
use probe::calibration;

/// Measured by default where time is short.
const FEW: [usize; 4] = [512, 4096, 16_384, 65_536];

/// The keys, all optional. An empty list and 0 mean: chosen for this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Table {
    algorithms: Vec<String>,
    sizes_bytes: Vec<usize>,
    /// Requests in flight.
    depth: usize,
    policies: Vec<String>,
    placements: Vec<String>,
    backend: String,
    /// Seconds of one trial.
    seconds: f64,
    /// Rounds; every two arms of a place give that many interleaved pairs.
    pairs: usize,
    seed: u64,
}

impl Default for Table {
    fn default() -> Self {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let sizes = model::paper::published::BLOCKS_BYTES;
        Self {
            algorithms: names(&["aes-128-cbc", "aes-128-gcm"]),
            sizes_bytes: sizes.iter().map(|&bytes| bytes as usize).collect(),
            depth: 64,
            policies: names(&["each", "armed", "polled"]),
            placements: Vec::new(),
            backend: calibration::AUTO.to_owned(),
            seconds: 0.0,
            pairs: 0,
            seed: 1,
        }
    }
}

/// The configuration, parsed.
#[derive(Clone)]
pub(super) struct Config {
    pub(super) table: Table,
    pub(super) kinds: Vec<Kind>,
    pub(super) sizes_bytes: Vec<usize>,
    pub(super) depth: usize,
    pub(super) policies: Vec<Policy>,
    /// Empty: shared, and split where there are two CPUs.
    pub(super) placements: Vec<Placement>,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) seconds: Option<f64>,
    pub(super) pairs: Option<usize>,
    pub(super) seed: u64,
}

impl TryFrom<Table> for Config {
    type Error = ConfigError;

    fn try_from(table: Table) -> Result<Self, ConfigError> {
        let algorithms: Vec<Algorithm> = names("algorithms", &table.algorithms)?;
        let kind = |&algorithm: &Algorithm| Kind {
            algorithm,
            operation: algorithm.operations()[0],
        };
        let mut sizes_bytes = within("sizes_bytes", &table.sizes_bytes, 1, BLOCK_BYTES_MAX)?;
        sizes_bytes.sort_unstable();
        sizes_bytes.dedup();
        let config = Self {
            kinds: algorithms.iter().map(kind).collect(),
            sizes_bytes,
            depth: within("depth", &[table.depth], 1, DEPTH_MAX)?[0],
            policies: names("policies", &table.policies)?,
            placements: names("placements", &table.placements)?,
            backend: calibration::backend(&table.backend)
                .map_err(|error| ConfigError::value("backend", error))?,
            seconds: positive("seconds", table.seconds, 60.0)?,
            pairs: pairs(table.pairs)?,
            seed: table.seed,
            table,
        };
        config.check()?;
        Ok(config)
    }
}

impl Config {
    /// With fewer sizes, where the user chose none.
    pub(super) fn with_fewer_sizes(&self) -> Option<Self> {
        let is_usual = self.table.sizes_bytes == Table::default().sizes_bytes;
        is_usual.then(|| Self {
            sizes_bytes: FEW.to_vec(),
            ..self.clone()
        })
    }

    /// What the scenario has and this has not.
    pub(super) fn sizes_left_out(&self) -> Option<String> {
        let kept = |one: &&usize| !self.sizes_bytes.contains(*one);
        let left: Vec<_> = self
            .table
            .sizes_bytes
            .iter()
            .filter(kept)
            .map(|&bytes| size(bytes))
            .collect();
        (!left.is_empty()).then(|| format!("no time for blocks of {}", left.join(", ")))
    }

    fn check(&self) -> Result<(), ConfigError> {
        some("algorithms", &self.kinds)?;
        some("sizes_bytes", &self.sizes_bytes)?;
        some("policies", &self.policies)?;
        for &kind in &self.kinds {
            if !self.backend.supports(kind) {
                let reason = format!("back-end {} has no {}", self.backend.name(), kind.algorithm);
                return Err(ConfigError::value("algorithms", reason));
            }
            for &size in &self.sizes_bytes {
                Workload::check(kind, size)
                    .map_err(|error| ConfigError::value("sizes_bytes", error))?;
            }
        }
        self.check_memory()
    }

    fn check_memory(&self) -> Result<(), ConfigError> {
        let sizes: usize = self.sizes_bytes.iter().sum();
        let bytes = sizes
            .saturating_mul(self.depth)
            .saturating_mul(self.kinds.len());
        if bytes > SLOTS_BYTES_MAX {
            let reason = format!(
                "{} requests in flight of every size and algorithm need {bytes} bytes, the limit is {SLOTS_BYTES_MAX}; lower depth, or name fewer sizes_bytes or algorithms",
                self.depth
            );
            return Err(ConfigError::value("depth", reason));
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
    fn an_empty_table_is_the_papers_figure() {
        let config = parse("").unwrap();
        assert_eq!(config.sizes_bytes.len(), 8);
        assert_eq!((config.kinds.len(), config.depth), (2, 64));
    }

    #[test]
    fn every_wrong_value_is_named() {
        for (text, key, part) in [
            ("algorithms = ['des']", "algorithms", "des"),
            ("algorithms = []", "algorithms", "at least one"),
            ("sizes_bytes = [17]", "sizes_bytes", "multiples of 16"),
            ("depth = 0", "depth", "0 is outside"),
            (
                "depth = 4096\nsizes_bytes = [1048576]",
                "depth",
                "the limit is",
            ),
            ("policies = ['lazy']", "policies", "armed"),
            ("placements = ['near']", "placements", "split, shared"),
            ("backend = 'qat'", "backend", "aws-lc"),
            ("seconds = -1.0", "seconds", "-1"),
            ("pairs = 100000", "pairs", "100000"),
            ("depths = [4]", "depths", "depth"),
        ] {
            let Err(error) = parse(text) else {
                panic!("{text} was taken")
            };
            assert_eq!(error.key(), key, "{error}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }
}
