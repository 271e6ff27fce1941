//! The section's table, parsed.

use std::sync::Arc;

use crypto::{Algorithm, Backend, Kind, Operation, Workload};
use policy::controllers::{NAMES, Parameters};
use serde::{Deserialize, Serialize};

use crate::vcm::controllers::contender::known;
use kit::ConfigError;
use kit::config::checks::{names, pairs, positive, some, within};
use kit::place::Placement;
use probe::calibration;

/// Largest block, and most in flight.
const BLOCK_BYTES_MAX: usize = 1 << 20;
const DEPTH_MAX: usize = 1024;
/// Longest settling and longest trial, s, and longest interval, ms.
const SECONDS_MAX: f64 = 60.0;
const INTERVAL_MS_MAX: f64 = 10_000.0;

/// The keys, all optional. 0 means: chosen for the budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Table {
    pub(super) algorithms: Vec<String>,
    /// Empty: an algorithm's first one; of RSA signing and encrypting.
    pub(super) operations: Vec<String>,
    pub(super) sizes_bytes: Vec<usize>,
    /// Requests in flight; fewer where half of L2 would not hold them.
    pub(super) depth: usize,
    pub(super) placements: Vec<String>,
    pub(super) controllers: Vec<String>,
    /// Time between two looks of the controllers whose sources have 1 s.
    pub(super) interval_ms: f64,
    /// What the time in which clients look costs, as a part of the worker's
    /// (0 to 1): `adaptive` chooses whether they do. Without it they sleep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpu_price: Option<f64>,
    /// How long each controller is at work before anything counts.
    pub(super) settle_seconds: f64,
    pub(super) backend: String,
    /// Seconds of one trial.
    pub(super) seconds: f64,
    /// Rounds; every two contenders of a spot give that many pairs.
    pub(super) pairs: usize,
    /// Half width of every ratio's interval that is enough, as a share.
    pub(super) precision: f64,
    pub(super) seed: u64,
}

impl Default for Table {
    fn default() -> Self {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Self {
            algorithms: names(&["aes-128-cbc", "sha256", "rsa-2048", "rsa-3072", "rsa-4096"]),
            operations: Vec::new(),
            sizes_bytes: vec![512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536],
            depth: 32,
            placements: names(&["shared"]),
            controllers: names(&NAMES),
            interval_ms: 100.0,
            cpu_price: None,
            settle_seconds: 0.6,
            backend: calibration::AUTO.to_owned(),
            seconds: 0.0,
            pairs: 0,
            precision: 0.0,
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
    pub(super) controllers: Vec<&'static str>,
    pub(super) parameters: Parameters,
    pub(super) settle_s: f64,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) seconds: Option<f64>,
    pub(super) pairs: Option<usize>,
    pub(super) precision: Option<f64>,
    pub(super) seed: u64,
}

impl TryFrom<Table> for Config {
    type Error = ConfigError;

    fn try_from(table: Table) -> Result<Self, ConfigError> {
        let algorithms: Vec<Algorithm> = names("algorithms", &table.algorithms)?;
        let backend = calibration::backend(&table.backend)
            .map_err(|error| ConfigError::value("backend", error))?;
        let config = Self {
            kinds: kinds(&algorithms, &names("operations", &table.operations)?),
            sizes_bytes: within("sizes_bytes", &table.sizes_bytes, 1, BLOCK_BYTES_MAX)?,
            depth: within("depth", &[table.depth], 1, DEPTH_MAX)?[0],
            placements: names("placements", &table.placements)?,
            controllers: controllers(&table.controllers)?,
            parameters: parameters(table.interval_ms)?
                .with_cpu_price(table.cpu_price)
                .map_err(|error| ConfigError::value("cpu_price", error))?,
            settle_s: positive("settle_seconds", table.settle_seconds, SECONDS_MAX)?.unwrap_or(0.0),
            backend,
            seconds: positive("seconds", table.seconds, SECONDS_MAX)?,
            pairs: pairs(table.pairs)?,
            precision: positive("precision", table.precision, 0.5)?,
            seed: table.seed,
            table,
        };
        config.check()?;
        Ok(config)
    }
}

/// Controllers by name.
pub(crate) fn controllers(names: &[String]) -> Result<Vec<&'static str>, ConfigError> {
    let own = names.iter().map(|name| known(name));
    own.collect::<Result<_, _>>()
        .map_err(|error| ConfigError::value("controllers", error))
}

/// What controllers are told: how often those look whose sources have 1 s.
pub(crate) fn parameters(interval_ms: f64) -> Result<Parameters, ConfigError> {
    let interval_ms = positive("interval_ms", interval_ms, INTERVAL_MS_MAX)?;
    let interval_ns = interval_ms.unwrap_or(1000.0) * 1e6;
    Parameters::default()
        .with_interval_ns(interval_ns as u64)
        .map_err(|error| ConfigError::value("interval_ms", error))
}

fn kinds(algorithms: &[Algorithm], operations: &[Operation]) -> Vec<Kind> {
    let of = |&algorithm: &Algorithm| {
        let has = algorithm.operations();
        let usual = |operation: &Operation| {
            *operation == has[0]
                || matches!(algorithm, Algorithm::Rsa(..)) && *operation == Operation::Encrypt
        };
        let is_wanted = move |operation: &&Operation| match operations {
            [] => usual(operation),
            some => some.contains(operation),
        };
        let wanted: Vec<_> = has.iter().filter(is_wanted).collect();
        wanted.into_iter().map(move |&operation| Kind {
            algorithm,
            operation,
        })
    };
    algorithms.iter().flat_map(of).collect()
}

impl Config {
    /// Whether the user chose the places: then none is left out.
    pub(super) fn has_usual_spots(&self) -> bool {
        let (own, usual) = (&self.table, Table::default());
        (&own.algorithms, &own.operations, &own.sizes_bytes)
            == (&usual.algorithms, &usual.operations, &usual.sizes_bytes)
    }

    /// Whether the user chose the controllers.
    pub(super) fn has_usual_controllers(&self) -> bool {
        self.table.controllers == Table::default().controllers
    }

    fn check(&self) -> Result<(), ConfigError> {
        some("algorithms", &self.table.algorithms)?;
        some("operations", &self.kinds)?;
        some("sizes_bytes", &self.sizes_bytes)?;
        some("placements", &self.placements)?;
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
                Workload::check(kind, size)
                    .map_err(|error| ConfigError::value("sizes_bytes", error))?;
            }
        }
        Ok(())
    }
}
