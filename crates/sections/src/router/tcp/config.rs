//! The section's table in a scenario.

use serde::{Deserialize, Serialize};

use kit::ConfigError;
use kit::config::checks::{pairs, positive, some};
use kit::routers::way::{Way, ways};

/// TCP needs a second to find its rate; more than a minute says no more.
const SECONDS_MAX: f64 = 60.0;

/// The keys, all optional. 0 means: chosen for the time there is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Table {
    paths: Vec<String>,
    /// Seconds of one connection.
    seconds: f64,
    /// Rounds; every two paths give that many interleaved pairs.
    pairs: usize,
    seed: u64,
}

impl Default for Table {
    fn default() -> Self {
        let paths = ["kernel", "bridge", "xdp-fib", "xdp-fib-cached"];
        Self {
            paths: paths.map(str::to_owned).to_vec(),
            seconds: 0.0,
            pairs: 0,
            seed: 1,
        }
    }
}

/// The configuration, parsed.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) table: Table,
    pub(super) ways: Vec<Way>,
    pub(super) seconds: Option<f64>,
    pub(super) pairs: Option<usize>,
    pub(super) seed: u64,
}

impl TryFrom<Table> for Config {
    type Error = ConfigError;

    fn try_from(table: Table) -> Result<Self, ConfigError> {
        let ways = ways("paths", &table.paths)?;
        some("paths", &ways)?;
        Ok(Self {
            ways,
            seconds: positive("seconds", table.seconds, SECONDS_MAX)?,
            pairs: pairs(table.pairs)?,
            seed: table.seed,
            table,
        })
    }
}
