//! The section's table in a scenario.

use std::sync::Arc;

use crypto::{Algorithm, Backend, Kind, Workload};
use engine::DEPTH_MAX;
use policy::{Quota, Settings, WEIGHT_MAX};
use serde::{Deserialize, Serialize};

use crate::vcm::tenants::case::Hostile;
use crate::vcm::tenants::seats::can_sign;
use kit::ConfigError;
use kit::config::checks::{BLOCK_BYTES_MAX, SLOTS_BYTES_MAX, names, pairs, positive, within};
use probe::calibration;

/// Each has a client thread.
const TENANTS_MAX: usize = 64;
const SECONDS_MAX: f64 = 10.0;

/// The keys, all optional. An empty list leaves its cases out, and 0 means:
/// chosen for this host, or for a limit that its case is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Table {
    /// How many equal ones.
    pub(super) tenants: Vec<usize>,
    /// Of the weighted case.
    pub(super) weights: Vec<u32>,
    pub(super) hostile: Vec<String>,
    pub(super) algorithm: String,
    pub(super) block_bytes: usize,
    /// Requests that each polite one keeps in flight, fewer where many would
    /// not fit the cache together.
    pub(super) depth: usize,
    /// Notifications/s.
    pub(super) cap_per_s: u32,
    /// Requests/s.
    pub(super) quota_per_s: u64,
    pub(super) backend: String,
    /// Seconds of one trial.
    pub(super) seconds: f64,
    /// Rounds of every case.
    pub(super) pairs: usize,
    pub(super) seed: u64,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            tenants: vec![1, 2, 4, 8, 16],
            weights: vec![1, 2, 4],
            hostile: Hostile::ALL
                .map(|hostile| hostile.name().to_owned())
                .to_vec(),
            algorithm: "sha256".to_owned(),
            block_bytes: 8192,
            depth: 32,
            cap_per_s: 2000,
            quota_per_s: 5000,
            // One request after the other: with multi-buffer code the worker's
            // speed would depend on how full lanes are, not only on shares.
            backend: "aws-lc".to_owned(),
            seconds: 0.0,
            pairs: 0,
            seed: 1,
        }
    }
}

/// The configuration, parsed.
pub(super) struct Config {
    pub(super) table: Table,
    pub(super) tenants: Vec<usize>,
    pub(super) weights: Vec<u32>,
    pub(super) hostile: Vec<Hostile>,
    pub(super) kind: Kind,
    pub(super) block_bytes: usize,
    pub(super) depth: usize,
    pub(super) cap_per_s: Option<u32>,
    pub(super) quota_per_s: Option<u64>,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) seconds: Option<f64>,
    pub(super) pairs: Option<usize>,
    pub(super) seed: u64,
}

impl TryFrom<Table> for Config {
    type Error = ConfigError;

    fn try_from(table: Table) -> Result<Self, ConfigError> {
        let algorithm: Vec<Algorithm> = names("algorithm", std::slice::from_ref(&table.algorithm))?;
        let kind = Kind {
            algorithm: algorithm[0],
            operation: algorithm[0].operations()[0],
        };
        let mut tenants = within("tenants", &table.tenants, 1, TENANTS_MAX)?;
        tenants.sort_unstable();
        tenants.dedup();
        let mut hostile: Vec<Hostile> = names("hostile", &table.hostile)?;
        hostile.sort_unstable();
        hostile.dedup();
        let config = Self {
            tenants,
            weights: table.weights.clone(),
            hostile,
            kind,
            block_bytes: within("block_bytes", &[table.block_bytes], 1, BLOCK_BYTES_MAX)?[0],
            depth: within("depth", &[table.depth], 1, DEPTH_MAX)?[0],
            cap_per_s: (table.cap_per_s > 0).then_some(table.cap_per_s),
            quota_per_s: (table.quota_per_s > 0).then_some(table.quota_per_s),
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
    /// What limits the first tenant's requests.
    pub(super) fn quota(&self) -> Quota {
        self.quota_per_s.map_or(Quota::UNLIMITED, |per_s| {
            Quota::UNLIMITED
                .and_requests(per_s)
                .expect("the configuration keeps to a quota's range")
        })
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.check_limits()?;
        self.check_kind()?;
        let most = self.tenants.iter().copied().max().unwrap_or(0);
        let most = most.max(self.weights.len());
        if most * self.depth * self.block_bytes > SLOTS_BYTES_MAX {
            let reason = format!(
                "{most} tenants with {} requests each of {} bytes need more than {SLOTS_BYTES_MAX} bytes; lower depth, block_bytes or tenants",
                self.depth, self.block_bytes
            );
            return Err(ConfigError::value("depth", reason));
        }
        if crate::vcm::tenants::case::Case::all(self).is_empty() {
            let reason = "with no hostile tenant, weights or limits either nothing is measured";
            return Err(ConfigError::value("tenants", reason));
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<(), ConfigError> {
        if let Some(weight) = self
            .weights
            .iter()
            .find(|one| !(1..=WEIGHT_MAX).contains(one))
        {
            let reason = format!("{weight} is outside 1 to {WEIGHT_MAX}");
            return Err(ConfigError::value("weights", reason));
        }
        if self.weights.len() > TENANTS_MAX {
            let reason = format!("{} weights, the limit is {TENANTS_MAX}", self.weights.len());
            return Err(ConfigError::value("weights", reason));
        }
        if let Some(cap) = self.cap_per_s {
            Settings::cap(cap).map_err(|error| ConfigError::value("cap_per_s", error))?;
        }
        if let Some(per_s) = self.quota_per_s {
            Quota::UNLIMITED
                .and_requests(per_s)
                .map_err(|error| ConfigError::value("quota_per_s", error))?;
        }
        Ok(())
    }

    fn check_kind(&self) -> Result<(), ConfigError> {
        let (kind, backend) = (self.kind, &self.backend);
        if kind.algorithm.is_public_key() {
            let reason = format!("{} has no block sizes", kind.algorithm);
            return Err(ConfigError::value("algorithm", reason));
        }
        if !backend.supports(kind) {
            let reason = format!("back-end {} has no {}", backend.name(), kind.algorithm);
            return Err(ConfigError::value("algorithm", reason));
        }
        if self.hostile.contains(&Hostile::Signer) && !can_sign(backend.as_ref()) {
            let reason = format!(
                "back-end {} has no RSA for the signer; leave it out, or use aws-lc",
                backend.name()
            );
            return Err(ConfigError::value("hostile", reason));
        }
        Workload::check(kind, self.block_bytes)
            .map_err(|error| ConfigError::value("block_bytes", error))
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
        assert_eq!(crate::vcm::tenants::case::Case::all(&config).len(), 12);
    }

    #[test]
    fn every_wrong_value_is_named() {
        for (text, key, part) in [
            ("tenants = [0]", "tenants", "0 is outside"),
            ("weights = [0, 1]", "weights", "0 is outside"),
            ("hostile = ['troll']", "hostile", "signer"),
            ("algorithm = 'aes-512'", "algorithm", "aes-512"),
            ("algorithm = 'rsa-2048'", "algorithm", "no block sizes"),
            (
                "algorithm = 'aes-128-cbc'\nblock_bytes = 17",
                "block_bytes",
                "multiples of 16",
            ),
            ("depth = 5000", "depth", "4096"),
            (
                "depth = 4096\nblock_bytes = 1048576",
                "depth",
                "lower depth",
            ),
            (
                "quota_per_s = 999999999999999999",
                "quota_per_s",
                "999999999999999999",
            ),
            ("backend = 'qat'", "backend", "aws-lc"),
            ("seconds = -1.0", "seconds", "-1"),
            ("pairs = 100000", "pairs", "100000"),
            (
                "tenants = []\nweights = []\nhostile = []\ncap_per_s = 0\nquota_per_s = 0",
                "tenants",
                "nothing is measured",
            ),
            ("guests = 4", "guests", "tenants"),
        ] {
            let Err(error) = parse(text) else {
                panic!("{text} was taken")
            };
            assert_eq!(error.key(), key, "{error}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }
}
