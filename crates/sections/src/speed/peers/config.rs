//! The section's table in a scenario.

use std::sync::Arc;

use crypto::{Algorithm, Backend, Kind, Operation, Workload};
use serde::{Deserialize, Serialize};

use crate::speed::peers::arm::Arm;
use kit::ConfigError;
use kit::config::checks::{PRECISION_MAX, pairs, positive};
use probe::calibration;

/// Larger blocks would leave too few in half of L2 to mean anything.
const BLOCK_BYTES_MAX: usize = 1 << 20;
const SIZES_MAX: usize = 16;
/// The name that stands for every algorithm, or every peer.
pub(super) const ALL: &str = "all";

/// The keys, all optional. An empty list and 0 mean: chosen for this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Table {
    /// Names, or `all`.
    pub(super) algorithms: Vec<String>,
    /// Empty: each algorithm's first, and of public keys also verification.
    pub(super) operations: Vec<String>,
    /// Empty: 16 KiB, and where a claim rests on them other sizes too.
    pub(super) sizes_bytes: Vec<usize>,
    pub(super) backend: String,
    /// Names, or `all`.
    pub(super) peers: Vec<String>,
    /// Seconds of one trial of ours.
    pub(super) seconds: f64,
    /// Rounds of every arm.
    pub(super) pairs: usize,
    /// Half width of every ratio's interval that is enough, as a share.
    pub(super) precision: f64,
    pub(super) seed: u64,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            algorithms: vec![ALL.to_owned()],
            operations: Vec::new(),
            sizes_bytes: Vec::new(),
            backend: calibration::AUTO.to_owned(),
            peers: vec![ALL.to_owned()],
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
    pub(super) backend: Arc<dyn Backend>,
    pub(super) peers: Vec<Arm>,
    pub(super) seconds: Option<f64>,
    pub(super) pairs: Option<usize>,
    /// None: the usual, unless the rounds are fixed.
    pub(super) precision: Option<f64>,
    pub(super) seed: u64,
}

impl TryFrom<Table> for Config {
    type Error = ConfigError;

    fn try_from(table: Table) -> Result<Self, ConfigError> {
        let backend = calibration::backend(&table.backend)
            .map_err(|error| ConfigError::value("backend", error))?;
        let kinds = kinds(&table, backend.as_ref())?;
        Ok(Self {
            sizes_bytes: sizes(&table.sizes_bytes, &kinds)?,
            kinds,
            backend,
            peers: names("peers", &table.peers, &Arm::OPTIONAL)?,
            seconds: positive("seconds", table.seconds, 60.0)?,
            pairs: pairs(table.pairs)?,
            precision: positive("precision", table.precision, PRECISION_MAX)?,
            seed: table.seed,
            table,
        })
    }
}

/// The values of those names, or all where `all` is among them.
fn names<T: Copy + std::str::FromStr<Err: std::fmt::Display>>(
    key: &str,
    names: &[String],
    all: &[T],
) -> Result<Vec<T>, ConfigError> {
    let is_all = |name: &String| name.eq_ignore_ascii_case(ALL);
    let parsed = names
        .iter()
        .filter(|name| !is_all(name))
        .map(|name| name.parse().map_err(|error| ConfigError::value(key, error)))
        .collect::<Result<Vec<T>, _>>()?;
    Ok(if names.iter().any(is_all) {
        all.to_vec()
    } else {
        parsed
    })
}

/// What is measured: the operations asked that each algorithm has, or its
/// usual ones. Of all algorithms those that the back-end has; one that was
/// named and that it lacks is an error.
fn kinds(table: &Table, backend: &dyn Backend) -> Result<Vec<Kind>, ConfigError> {
    let algorithms: Vec<Algorithm> = names("algorithms", &table.algorithms, &Algorithm::ALL)?;
    let operations: Vec<Operation> = names("operations", &table.operations, &Operation::ALL)?;
    let is_named = !table
        .algorithms
        .iter()
        .any(|name| name.eq_ignore_ascii_case(ALL));
    let mut kinds = Vec::new();
    for &algorithm in &algorithms {
        let has = algorithm.operations();
        let asked: Vec<_> = match &operations[..] {
            [] => usual(algorithm),
            asked => asked
                .iter()
                .copied()
                .filter(|it| has.contains(it))
                .collect(),
        };
        let of = |&operation: &Operation| Kind {
            algorithm,
            operation,
        };
        let supported: Vec<_> = asked
            .iter()
            .map(of)
            .filter(|&kind| backend.supports(kind))
            .collect();
        if supported.is_empty() && is_named {
            let reason = format!("back-end {} has no {algorithm} so asked", backend.name());
            return Err(ConfigError::value("algorithms", reason));
        }
        kinds.extend(supported);
    }
    kinds.dedup();
    if kinds.is_empty() {
        return Err(ConfigError::value(
            "algorithms",
            "nothing is left to measure; name at least one algorithm with its operations, or 'all'",
        ));
    }
    Ok(kinds)
}

/// The first operation, and verification where there is one: a signature is
/// made once and verified by everybody.
fn usual(algorithm: Algorithm) -> Vec<Operation> {
    let has = algorithm.operations();
    let is_usual = |operation: &Operation| {
        *operation == has[0] || (*operation == Operation::Verify && algorithm.is_public_key())
    };
    has.iter().copied().filter(is_usual).collect()
}

fn sizes(sizes: &[usize], kinds: &[Kind]) -> Result<Vec<usize>, ConfigError> {
    let refuse = |reason: String| Err(ConfigError::value("sizes_bytes", reason));
    if sizes.len() > SIZES_MAX {
        return refuse(format!("{} sizes, the limit is {SIZES_MAX}", sizes.len()));
    }
    for &size in sizes {
        if !(1..=BLOCK_BYTES_MAX).contains(&size) {
            return refuse(format!("{size} is outside 1 to {BLOCK_BYTES_MAX}"));
        }
        for &kind in kinds {
            Workload::check(kind, size)
                .map_err(|error| ConfigError::value("sizes_bytes", error))?;
        }
    }
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

#[cfg(test)]
pub(super) fn configured(text: &str) -> Result<Config, ConfigError> {
    Config::try_from(kit::config::from_table::<Table>(
        text.parse().expect("TOML"),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_every_algorithm_that_the_back_end_has() {
        let config = configured("").unwrap();
        for algorithm in Algorithm::ALL {
            let kind = Kind {
                algorithm,
                operation: algorithm.operations()[0],
            };
            assert_eq!(
                config.kinds.contains(&kind),
                config.backend.supports(kind),
                "{algorithm}"
            );
        }
        assert_eq!(config.peers, Arm::OPTIONAL);
        let verify = |kind: &&Kind| kind.operation == Operation::Verify;
        assert!(config.kinds.iter().any(|kind| verify(&kind)));
    }

    #[test]
    fn what_is_named_is_what_is_measured() {
        let config =
            configured("algorithms = ['sha256']\npeers = ['ring']\nsizes_bytes = [64, 64, 32]")
                .unwrap();
        assert_eq!(
            (config.kinds.len(), &config.peers[..]),
            (1, &[Arm::Ring][..])
        );
        assert_eq!(config.sizes_bytes, [32, 64]);
        assert!(configured("peers = []").unwrap().peers.is_empty());
    }

    #[test]
    fn every_wrong_value_is_named_with_its_limit() {
        for (text, key, part) in [
            ("algorithms = ['aes-512-gcm']", "algorithms", "aes-512-gcm"),
            ("algorithms = []", "algorithms", "at least one"),
            ("operations = ['munge']", "operations", "munge"),
            (
                "algorithms = ['sha256']\noperations = ['sign']",
                "algorithms",
                "sha256",
            ),
            ("sizes_bytes = [0]", "sizes_bytes", "1 to"),
            ("sizes_bytes = [17]", "sizes_bytes", "multiples of 16"),
            ("backend = 'qat'", "backend", "aws-lc"),
            ("peers = ['nss']", "peers", "openssl, dpdk-32"),
            ("seconds = -1.0", "seconds", "-1"),
            ("pairs = 100000", "pairs", "100000"),
            ("precision = 2.0", "precision", "0 to 0.5"),
            ("modes = ['sync']", "modes", "peers"),
        ] {
            let Err(error) = configured(text) else {
                panic!("{text} was taken")
            };
            assert_eq!(error.key(), key, "{error}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }
}
