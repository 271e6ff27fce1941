//! The section's table in a scenario.

use kit::config::checks::{
    BLOCK_BYTES_MAX, PRECISION_MAX, SLOTS_BYTES_MAX, names, pairs, positive, some, within,
};
use std::sync::Arc;

use crypto::{Algorithm, Backend, Kind, Operation};
use engine::DEPTH_MAX;
use policy::Policy;
use serde::{Deserialize, Serialize};

use kit::ConfigError;
use kit::load::fresh::arm::Mode;
use kit::place::Placement;
use probe::calibration;

/// Each has a client thread; a container may allow few.
const LANES_MAX: usize = 256;
const WORKERS_MAX: usize = 256;
/// Most trials of one round: at the shortest they take half an hour.
const TRIALS_MAX: usize = 1 << 16;

/// The keys, all optional. An empty list and 0 mean: chosen for this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Table {
    pub(super) algorithms: Vec<String>,
    pub(super) operations: Vec<String>,
    pub(super) sizes_bytes: Vec<usize>,
    pub(super) modes: Vec<String>,
    pub(super) depths: Vec<usize>,
    pub(super) lanes: Vec<usize>,
    pub(super) workers: Vec<usize>,
    pub(super) placements: Vec<String>,
    pub(super) policies: Vec<String>,
    pub(super) backend: String,
    /// Seconds of one trial.
    pub(super) seconds: f64,
    /// Requests/s of the open loop.
    pub(super) rate_per_s: f64,
    /// Rounds; every two arms of a cell give that many interleaved pairs.
    pub(super) pairs: usize,
    /// Half width of every ratio's interval that is enough, as a share.
    pub(super) precision: f64,
    /// Whether `openssl speed` is measured beside us.
    pub(super) peers: bool,
    pub(super) seed: u64,
}

impl Default for Table {
    fn default() -> Self {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Self {
            algorithms: names(&["aes-128-gcm", "aes-256-xts", "aes-128-cbc", "sha256"]),
            operations: Vec::new(),
            sizes_bytes: vec![64, 256, 1024, 4096, 16_384, 65_536],
            modes: names(&["sync", "batch", "async"]),
            depths: Vec::new(),
            lanes: vec![1],
            workers: vec![1],
            placements: Vec::new(),
            policies: Vec::new(),
            backend: calibration::AUTO.to_owned(),
            seconds: 0.0,
            rate_per_s: 0.0,
            pairs: 0,
            precision: 0.0,
            peers: true,
            seed: 1,
        }
    }
}

/// The configuration, parsed.
pub(super) struct Config {
    pub(super) table: Table,
    pub(super) kinds: Vec<Kind>,
    pub(super) sizes_bytes: Vec<usize>,
    pub(super) modes: Vec<Mode>,
    /// Empty: 16, fewer where half of L2 would not hold them.
    pub(super) depths: Vec<usize>,
    pub(super) lanes: Vec<usize>,
    pub(super) workers: Vec<usize>,
    /// Empty: split where there are two CPUs, and shared.
    pub(super) placements: Vec<Placement>,
    /// Empty: what tells most for each mode.
    pub(super) policies: Vec<Policy>,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) seconds: Option<f64>,
    pub(super) rate_per_s: Option<f64>,
    pub(super) pairs: Option<usize>,
    /// None: the usual, unless the rounds are fixed.
    pub(super) precision: Option<f64>,
    pub(super) peers: bool,
    pub(super) seed: u64,
}

impl TryFrom<Table> for Config {
    type Error = ConfigError;

    fn try_from(table: Table) -> Result<Self, ConfigError> {
        let algorithms: Vec<Algorithm> = names("algorithms", &table.algorithms)?;
        some("algorithms", &algorithms)?;
        let config = Self {
            kinds: kinds(&algorithms, &names("operations", &table.operations)?)?,
            sizes_bytes: within("sizes_bytes", &table.sizes_bytes, 1, BLOCK_BYTES_MAX)?,
            modes: names("modes", &table.modes)?,
            depths: within("depths", &table.depths, 1, DEPTH_MAX)?,
            lanes: within("lanes", &table.lanes, 1, LANES_MAX)?,
            workers: within("workers", &table.workers, 1, WORKERS_MAX)?,
            placements: names("placements", &table.placements)?,
            policies: names("policies", &table.policies)?,
            backend: calibration::backend(&table.backend)
                .map_err(|error| ConfigError::value("backend", error))?,
            seconds: positive("seconds", table.seconds, 60.0)?,
            rate_per_s: positive("rate_per_s", table.rate_per_s, 1e8)?,
            pairs: pairs(table.pairs)?,
            precision: positive("precision", table.precision, PRECISION_MAX)?,
            peers: table.peers,
            seed: table.seed,
            table,
        };
        config.check()?;
        Ok(config)
    }
}

impl Config {
    /// Whether the user chose the sizes: then none is left out.
    pub(super) fn sizes_are_default(&self) -> bool {
        self.table.sizes_bytes == Table::default().sizes_bytes
    }

    fn check(&self) -> Result<(), ConfigError> {
        for (key, is_empty) in [
            ("sizes_bytes", self.sizes_bytes.is_empty()),
            ("modes", self.modes.is_empty()),
            ("lanes", self.lanes.is_empty()),
            ("workers", self.workers.is_empty()),
        ] {
            if is_empty {
                return Err(ConfigError::value(
                    key,
                    "an empty list measures nothing; name at least one",
                ));
            }
        }
        self.check_trials()?;
        self.check_kinds()?;
        self.check_memory()
    }

    /// Lists multiply: a few short lines could ask for more than memory holds.
    fn check_trials(&self) -> Result<(), ConfigError> {
        let lists = [
            ("algorithms", self.kinds.len()),
            ("sizes_bytes", self.sizes_bytes.len()),
            ("depths", self.depths.len()),
            ("lanes", self.lanes.len()),
            ("workers", self.workers.len()),
            ("placements", self.placements.len()),
            ("modes", self.modes.len()),
            ("policies", self.policies.len()),
        ];
        let trials = lists.iter().fold(1_usize, |trials, (_, len)| {
            trials.saturating_mul((*len).max(1))
        });
        let (key, len) = lists
            .into_iter()
            .max_by_key(|(_, len)| *len)
            .expect("there are eight");
        if trials > TRIALS_MAX {
            let reason = format!(
                "with its {len} values a round has {trials} trials, the limit is {TRIALS_MAX}; name fewer"
            );
            return Err(ConfigError::value(key, reason));
        }
        Ok(())
    }

    fn check_kinds(&self) -> Result<(), ConfigError> {
        for &kind in &self.kinds {
            if !self.backend.supports(kind) {
                let reason = format!(
                    "back-end {} has no {} {:?}",
                    self.backend.name(),
                    kind.algorithm,
                    kind.operation
                );
                return Err(ConfigError::value("algorithms", reason));
            }
            for &size in &self.sizes_bytes {
                crypto::Workload::check(kind, size)
                    .map_err(|error| ConfigError::value("sizes_bytes", error))?;
            }
        }
        Ok(())
    }

    fn check_memory(&self) -> Result<(), ConfigError> {
        let most = |list: &[usize]| list.iter().copied().max().unwrap_or(1);
        let slots = most(&self.depths).saturating_mul(most(&self.lanes));
        let bytes = slots.saturating_mul(most(&self.sizes_bytes));
        if bytes > SLOTS_BYTES_MAX {
            let reason = format!(
                "{slots} requests in flight of {} bytes need {bytes} bytes, the limit is {SLOTS_BYTES_MAX}; lower depths, lanes or sizes_bytes",
                most(&self.sizes_bytes)
            );
            return Err(ConfigError::value("depths", reason));
        }
        Ok(())
    }
}

/// The operations asked that an algorithm has; its first one by default.
fn kinds(algorithms: &[Algorithm], operations: &[Operation]) -> Result<Vec<Kind>, ConfigError> {
    let mut kinds = Vec::new();
    for &algorithm in algorithms {
        let has = algorithm.operations();
        let asked: Vec<_> = operations
            .iter()
            .filter(|operation| has.contains(operation))
            .collect();
        if operations.is_empty() {
            kinds.push(Kind {
                algorithm,
                operation: has[0],
            });
        } else if asked.is_empty() {
            let reason = format!(
                "{algorithm} has none of these operations; it has {}",
                list(has)
            );
            return Err(ConfigError::value("operations", reason));
        }
        kinds.extend(asked.into_iter().map(|&operation| Kind {
            algorithm,
            operation,
        }));
    }
    Ok(kinds)
}

fn list(operations: &[Operation]) -> String {
    operations
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
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
        assert!(config.sizes_are_default() && config.peers && config.depths.is_empty());
        assert_eq!(config.kinds.len(), 4);
    }

    #[test]
    fn every_wrong_value_is_named_with_its_limit() {
        let many = format!("sizes_bytes = {:?}\nlanes = {:?}", [64; 300], [1; 299]);
        for (text, key, part) in [
            ("algorithms = ['aes-512-gcm']", "algorithms", "aes-512-gcm"),
            ("algorithms = []", "algorithms", "at least one"),
            ("sizes_bytes = [0]", "sizes_bytes", "1 to"),
            (
                "sizes_bytes = [17]\nalgorithms = ['aes-128-cbc']",
                "sizes_bytes",
                "multiples of 16",
            ),
            ("modes = ['burst']", "modes", "sync, batch, async"),
            ("depths = [5000]", "depths", "4096"),
            (
                "depths = [4096]\nsizes_bytes = [1048576]",
                "depths",
                "limit",
            ),
            (many.as_str(), "sizes_bytes", "the limit is 65536"),
            ("lanes = [0]", "lanes", "0 is outside"),
            ("workers = [999]", "workers", "999"),
            ("placements = ['near']", "placements", "split, shared"),
            ("policies = ['lazy']", "policies", "armed"),
            ("backend = 'qat'", "backend", "aws-lc"),
            ("operations = ['sign']", "operations", "encrypt"),
            ("operations = ['munge']", "operations", "munge"),
            ("seconds = -1.0", "seconds", "-1"),
            ("rate_per_s = 1e12", "rate_per_s", "1000000000000"),
            ("pairs = 100000", "pairs", "100000"),
            ("precision = 2.0", "precision", "0 to 0.5"),
            ("deep = 4", "deep", "depths"),
        ] {
            let Err(error) = parse(text) else {
                panic!("{text} was taken")
            };
            assert_eq!(error.key(), key, "{error}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn operations_apply_where_an_algorithm_has_them() {
        let config =
            parse("algorithms = ['aes-256-gcm', 'rsa-2048']\noperations = ['decrypt', 'verify']")
                .unwrap();
        let operations: Vec<_> = config.kinds.iter().map(|kind| kind.operation).collect();
        assert_eq!(
            operations,
            [Operation::Decrypt, Operation::Decrypt, Operation::Verify]
        );
    }
}
