//! The section's table, parsed.

use std::sync::Arc;

use crypto::{Algorithm, Backend, Kind, Workload};
use policy::controllers::{NAMES, Parameters};
use serde::{Deserialize, Serialize};

use crate::vcm::shifting::phase::{Phase, usual};
use kit::ConfigError;
use kit::config::checks::{names, pairs, positive, within};
use kit::controllers::{controllers, parameters};
use kit::place::Placement;
use probe::calibration;

const BLOCK_BYTES_MAX: usize = 1 << 20;
const DEPTH_MAX: usize = 1024;
/// Each is a thread with memory of its own.
const TENANTS_MAX: usize = 16;
const PHASES_MAX: usize = 64;
const PHASE_SECONDS_MAX: f64 = 60.0;
/// Bytes of all slots of all tenants.
const SLOTS_BYTES_MAX: usize = 1 << 30;

/// The keys, all optional. 0 means: chosen for the budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Table {
    pub(super) algorithm: String,
    /// In order, each `{ block_bytes, depth, tenants }`.
    pub(super) phases: Vec<Phase>,
    /// Seconds of each.
    pub(super) phase_seconds: f64,
    /// A phase is cut into windows of about that length.
    pub(super) window_ms: f64,
    pub(super) placement: String,
    pub(super) controllers: Vec<String>,
    /// Time between two looks of the controllers whose sources have 1 s.
    pub(super) interval_ms: f64,
    pub(super) backend: String,
    /// Rounds: runs of each controller.
    pub(super) pairs: usize,
    pub(super) seed: u64,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Aes128Cbc.name().to_owned(),
            phases: usual(),
            phase_seconds: 0.0,
            window_ms: 20.0,
            placement: Placement::Shared.name().to_owned(),
            controllers: NAMES.map(str::to_owned).to_vec(),
            interval_ms: 100.0,
            backend: calibration::AUTO.to_owned(),
            pairs: 0,
            seed: 1,
        }
    }
}

/// The configuration, parsed.
pub(super) struct Config {
    pub(super) table: Table,
    pub(super) kind: Kind,
    pub(super) phases: Vec<Phase>,
    pub(super) phase_s: Option<f64>,
    pub(super) window_s: f64,
    pub(super) placement: Placement,
    pub(super) controllers: Vec<&'static str>,
    pub(super) parameters: Parameters,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) pairs: Option<usize>,
    pub(super) seed: u64,
}

impl TryFrom<Table> for Config {
    type Error = ConfigError;

    fn try_from(table: Table) -> Result<Self, ConfigError> {
        let one = |name: &String| vec![name.clone()];
        let algorithm: Algorithm = names("algorithm", &one(&table.algorithm))?[0];
        let backend = calibration::backend(&table.backend)
            .map_err(|error| ConfigError::value("backend", error))?;
        let config = Self {
            kind: Kind {
                algorithm,
                operation: algorithm.operations()[0],
            },
            phases: table.phases.clone(),
            phase_s: positive("phase_seconds", table.phase_seconds, PHASE_SECONDS_MAX)?,
            window_s: window_s(table.window_ms)?,
            placement: names("placement", &one(&table.placement))?[0],
            controllers: controllers(&table.controllers)?,
            parameters: parameters(table.interval_ms)?,
            backend,
            pairs: pairs(table.pairs)?,
            seed: table.seed,
            table,
        };
        config.check()?;
        Ok(config)
    }
}

/// Shorter windows hold too few requests, longer ones no recovery.
fn window_s(window_ms: f64) -> Result<f64, ConfigError> {
    if !(1.0..=1000.0).contains(&window_ms) {
        let reason = format!("{window_ms} is outside 1 to 1000");
        return Err(ConfigError::value("window_ms", reason));
    }
    Ok(window_ms / 1e3)
}

impl Config {
    /// Whether the user chose the controllers.
    pub(super) fn has_usual_controllers(&self) -> bool {
        self.table.controllers == Table::default().controllers
    }

    /// The most of all phases.
    pub(super) fn most(&self, of: impl Fn(&Phase) -> usize) -> usize {
        self.phases.iter().map(of).max().unwrap_or(1)
    }

    fn check(&self) -> Result<(), ConfigError> {
        within("phases", &[self.phases.len()], 2, PHASES_MAX)?;
        if self.kind.algorithm.is_public_key() {
            let reason = format!(
                "{} takes no blocks of a size; name a cipher or a hash",
                self.kind.algorithm
            );
            return Err(ConfigError::value("algorithm", reason));
        }
        if !self.backend.supports(self.kind) {
            let (backend, algorithm) = (self.backend.name(), self.kind.algorithm);
            let reason = format!("back-end {backend} has no {algorithm}");
            return Err(ConfigError::value("algorithm", reason));
        }
        for phase in &self.phases {
            within("phases", &[phase.block_bytes], 1, BLOCK_BYTES_MAX)?;
            within("phases", &[phase.depth], 1, DEPTH_MAX)?;
            within("phases", &[phase.tenants], 1, TENANTS_MAX)?;
            Workload::check(self.kind, phase.block_bytes)
                .map_err(|error| ConfigError::value("phases", error))?;
        }
        self.check_memory()
    }

    /// Every tenant has slots of every size, as deep as the deepest phase.
    fn check_memory(&self) -> Result<(), ConfigError> {
        let sizes: usize = crate::vcm::shifting::phase::sizes_bytes(&self.phases)
            .iter()
            .sum();
        let slots = self.most(|phase| phase.depth) * self.most(|phase| phase.tenants);
        let bytes = sizes.saturating_mul(slots);
        if bytes > SLOTS_BYTES_MAX {
            let reason = format!(
                "all sizes at the greatest depth for all tenants need {bytes} bytes, the limit is {SLOTS_BYTES_MAX}; lower one of them"
            );
            return Err(ConfigError::value("phases", reason));
        }
        Ok(())
    }
}
