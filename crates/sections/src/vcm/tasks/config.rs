//! The section's table in a scenario.

use std::sync::Arc;

use crypto::{Algorithm, Backend, Kind, Workload};
use engine::DEPTH_MAX;
use policy::Policy;
use serde::{Deserialize, Serialize};

use kit::ConfigError;
use kit::config::checks::{BLOCK_BYTES_MAX, SLOTS_BYTES_MAX, names, pairs, positive, some, within};
use kit::place::Placement;
use probe::calibration;

/// Each has a thread, a lane, and for a moment the next one.
const TASKS_MAX: usize = engine::FUNCTION_LANES_MAX / 2;

/// Measured by default where time is short.
const FEW: [usize; 4] = [1, 2, 4, 8];

/// The keys, all optional. An empty list and 0 mean: chosen for this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Table {
    algorithm: String,
    block_bytes: usize,
    /// Requests that each task keeps in flight.
    depth: usize,
    tasks: Vec<usize>,
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
        Self {
            algorithm: "aes-128-cbc".to_owned(),
            block_bytes: 4096,
            depth: 16,
            tasks: (1..=8).collect(),
            policies: vec!["each".to_owned(), "armed".to_owned()],
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
    pub(super) kind: Kind,
    pub(super) block_bytes: usize,
    pub(super) depth: usize,
    /// Rising, none twice.
    pub(super) tasks: Vec<usize>,
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
        let algorithms: Vec<Algorithm> =
            names("algorithm", std::slice::from_ref(&table.algorithm))?;
        let kind = Kind {
            algorithm: algorithms[0],
            operation: algorithms[0].operations()[0],
        };
        let mut tasks = within("tasks", &table.tasks, 1, TASKS_MAX)?;
        tasks.sort_unstable();
        tasks.dedup();
        let config = Self {
            kind,
            block_bytes: within("block_bytes", &[table.block_bytes], 1, BLOCK_BYTES_MAX)?[0],
            depth: within("depth", &[table.depth], 1, DEPTH_MAX)?[0],
            tasks,
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
    /// With fewer tasks, where the user chose none.
    pub(super) fn with_fewer_tasks(&self) -> Option<Self> {
        let is_usual = self.table.tasks == Table::default().tasks;
        is_usual.then(|| Self {
            tasks: FEW.to_vec(),
            ..self.clone()
        })
    }

    /// What the scenario has and this has not.
    pub(super) fn tasks_left_out(&self) -> Option<String> {
        let kept = |one: &&usize| !self.tasks.contains(*one);
        let left: Vec<_> = self
            .table
            .tasks
            .iter()
            .filter(kept)
            .map(ToString::to_string)
            .collect();
        (!left.is_empty()).then(|| format!("no time for {} tasks", left.join(", ")))
    }

    /// The most tasks at once.
    pub(super) fn tasks_max(&self) -> usize {
        self.tasks.last().copied().unwrap_or(1)
    }

    fn check(&self) -> Result<(), ConfigError> {
        some("tasks", &self.tasks)?;
        some("policies", &self.policies)?;
        if !self.backend.supports(self.kind) {
            let (backend, algorithm) = (self.backend.name(), self.kind.algorithm);
            let reason = format!("back-end {backend} has no {algorithm}");
            return Err(ConfigError::value("algorithm", reason));
        }
        Workload::check(self.kind, self.block_bytes)
            .map_err(|error| ConfigError::value("block_bytes", error))?;
        let slots = self.depth.saturating_mul(self.tasks_max());
        let bytes = slots.saturating_mul(self.block_bytes);
        if bytes > SLOTS_BYTES_MAX {
            let reason = format!(
                "{slots} requests in flight of {} bytes need {bytes} bytes, the limit is {SLOTS_BYTES_MAX}; lower depth, tasks or block_bytes",
                self.block_bytes
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
        assert_eq!(config.tasks, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(parse("tasks = [4, 1, 4]").unwrap().tasks, [1, 4]);
    }

    #[test]
    fn every_wrong_value_is_named() {
        for (text, key, part) in [
            ("algorithm = 'des'", "algorithm", "des"),
            ("block_bytes = 17", "block_bytes", "multiples of 16"),
            ("depth = 0", "depth", "0 is outside"),
            (
                "depth = 4096\nblock_bytes = 1048576",
                "depth",
                "the limit is",
            ),
            ("tasks = []", "tasks", "at least one"),
            ("tasks = [999]", "tasks", "999"),
            ("policies = ['lazy']", "policies", "armed"),
            ("placements = ['near']", "placements", "split, shared"),
            ("backend = 'qat'", "backend", "aws-lc"),
            ("seconds = -1.0", "seconds", "-1"),
            ("pairs = 100000", "pairs", "100000"),
            ("task = 4", "task", "tasks"),
        ] {
            let Err(error) = parse(text) else {
                panic!("{text} was taken")
            };
            assert_eq!(error.key(), key, "{error}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }
}
