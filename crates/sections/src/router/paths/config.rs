//! The section's table in a scenario.

use forward::bench::Directions;
use forward::tester::stream::FrameSize;
use forward::topology::{Cpus, Family, Routes, Spec};
use serde::{Deserialize, Serialize};

use crate::router::throughput::config::destinations;
use kit::ConfigError;
use kit::config::checks::{pairs, positive, some};
use kit::routers::metrics::direction;
use kit::routers::sizes::{self, Size};
use kit::routers::trial::size_name;
use kit::routers::way::{Way, ways};

const SECONDS_MAX: f64 = 60.0;
/// More is a slip of the finger: each stands ready with namespaces of its own.
const SUBJECTS_MAX: usize = 128;

/// Every path, and AF_XDP in the ways that say what each of its settings gives.
const PATHS: [&str; 16] = [
    "kernel",
    "bridge",
    "xdp-devmap",
    "xdp-fib",
    "xdp-fib-cached",
    "xdp-cpumap",
    "af-xdp:polled:1",
    "af-xdp:polled:8",
    "af-xdp:polled:32",
    "af-xdp:polled:64",
    "af-xdp:interrupt:1",
    "af-xdp:interrupt:32",
    "af-xdp:busy-poll:32",
    "af-xdp:polled:32:2",
    "af-xdp:polled:32:2:unbound",
    "testpmd",
];
/// The paths that say most, where time is short.
const FEW: [&str; 6] = [
    "kernel",
    "xdp-devmap",
    "xdp-fib",
    "xdp-fib-cached",
    "af-xdp:polled:1",
    "af-xdp:polled:32",
];

/// The keys, all optional. 0 means: chosen for the time there is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Table {
    paths: Vec<String>,
    /// Bytes with the frame check sequence, or "imix".
    frame: Size,
    two_way: bool,
    ipv6: bool,
    /// Powers of two. The first is every path's; the others are measured on
    /// the paths to which they can matter.
    destinations: Vec<u32>,
    /// Routes of the kernel's table besides the links'; measured on the paths
    /// that ask it.
    routes: Vec<u32>,
    /// Seconds of one trial.
    seconds: f64,
    /// Rounds; every two subjects give that many interleaved pairs.
    pairs: usize,
    seed: u64,
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

impl Default for Table {
    fn default() -> Self {
        Self {
            paths: owned(&PATHS),
            frame: Size::Bytes(64),
            two_way: false,
            ipv6: false,
            destinations: vec![1, 256, 65_536],
            routes: vec![1000, 100_000],
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
    pub(super) frame: FrameSize,
    pub(super) directions: Directions,
    pub(super) family: Family,
    pub(super) destinations: Vec<u32>,
    pub(super) routes: Vec<u32>,
    pub(super) seconds: Option<f64>,
    pub(super) pairs: Option<usize>,
    pub(super) seed: u64,
}

impl TryFrom<Table> for Config {
    type Error = ConfigError;

    fn try_from(table: Table) -> Result<Self, ConfigError> {
        let ways = ways("paths", &table.paths)?;
        some("paths", &ways)?;
        let frames = sizes::parse("frame", std::slice::from_ref(&table.frame), table.ipv6)?;
        if table.ipv6 && !table.routes.is_empty() {
            let reason = "tables of routes are IPv4's; with ipv6 = true write routes = []";
            return Err(ConfigError::value("routes", reason));
        }
        let config = Self {
            ways,
            frame: frames[0],
            directions: match table.two_way {
                true => Directions::TwoWay,
                false => Directions::OneWay,
            },
            family: if table.ipv6 { Family::V6 } else { Family::V4 },
            destinations: each(&table.destinations, |count| {
                destinations("destinations", count)
            })?,
            routes: each(&table.routes, routes)?,
            seconds: positive("seconds", table.seconds, SECONDS_MAX)?,
            pairs: pairs(table.pairs)?,
            seed: table.seed,
            table,
        };
        some("destinations", &config.destinations)?;
        config.check()?;
        Ok(config)
    }
}

impl Config {
    /// The same with the paths that say most, to one destination; none where
    /// the user chose paths, destinations or routes.
    pub(super) fn few(&self) -> Option<Self> {
        let usual = Table::default();
        let table = &self.table;
        let is_usual = (&table.paths, &table.destinations, &table.routes)
            == (&usual.paths, &usual.destinations, &usual.routes);
        let few = Table {
            paths: owned(&FEW),
            destinations: vec![1],
            routes: Vec::new(),
            ..table.clone()
        };
        is_usual
            .then(|| Self::try_from(few).ok())
            .flatten()
            // The command stays the user's.
            .map(|few| Self {
                table: table.clone(),
                ..few
            })
    }

    /// What is offered, for people.
    pub(super) fn load(&self) -> String {
        let family = match self.family {
            Family::V4 => "",
            Family::V6 => ", IPv6",
        };
        let way = direction(self.directions);
        format!("{}{family}, {way}", size_name(self.frame))
    }

    fn check(&self) -> Result<(), ConfigError> {
        let count = crate::router::paths::grid::grid(self, &[0, 1]).len();
        if count > SUBJECTS_MAX {
            let reason = format!(
                "{count} routers with their loads; the limit is {SUBJECTS_MAX}; name fewer paths, destinations or routes"
            );
            return Err(ConfigError::value("paths", reason));
        }
        Ok(())
    }
}

/// Every value, checked; none twice.
fn each(
    values: &[u32],
    check: impl Fn(u32) -> Result<u32, ConfigError>,
) -> Result<Vec<u32>, ConfigError> {
    let mut kept = Vec::new();
    for &value in values {
        let value = check(value)?;
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    Ok(kept)
}

fn routes(count: u32) -> Result<u32, ConfigError> {
    let spec = Spec {
        routes: Routes::Table(count),
        ..Spec::new(Cpus::among(&[0]))
    };
    let refused = |error| ConfigError::value("routes", error);
    spec.check().map(|()| count).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::try_from(kit::config::from_table::<Table>(text.parse().unwrap())?)
    }

    #[test]
    fn an_empty_table_is_everything_and_has_a_narrower_form() {
        let config = parse("").unwrap();
        assert_eq!(config.ways.len(), PATHS.len());
        let few = config.few().unwrap();
        assert_eq!(few.ways.len(), FEW.len());
        assert_eq!(few.table, config.table);
        assert!(parse("paths = ['kernel']").unwrap().few().is_none());
    }

    #[test]
    fn every_wrong_value_is_named_with_its_limit() {
        for (text, key, part) in [
            ("paths = []", "paths", "at least one"),
            ("paths = ['ovs']", "paths", "testpmd"),
            ("frame = 32", "frame", "64"),
            ("ipv6 = true", "frame", "84"),
            ("ipv6 = true\nframe = 128", "routes", "routes = []"),
            ("destinations = []", "destinations", "at least one"),
            ("destinations = [1, 3]", "destinations", "3"),
            ("routes = [3]", "routes", "even"),
            ("routes = [200000]", "routes", "131072"),
            ("seconds = 61.0", "seconds", "60"),
            ("pairs = 1000", "pairs", "1000"),
            ("queues = 2", "queues", "destinations"),
        ] {
            let Err(error) = parse(text) else {
                panic!("{text} was taken")
            };
            assert_eq!(error.key(), key, "{error}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }
}
