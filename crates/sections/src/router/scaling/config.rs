//! The section's table in a scenario.

use forward::tester::stream::FrameSize;
use serde::{Deserialize, Serialize};

use kit::ConfigError;
use kit::config::checks::{names, pairs, positive, some, within};
use kit::routers::sizes::{self, Size};
use kit::routers::way::Way;

/// Each has six interfaces and three namespaces.
const ROUTERS_MAX: usize = 32;
const SECONDS_MAX: f64 = 60.0;

/// The keys, all optional. 0 means: chosen for the time there is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Table {
    /// What every router is.
    path: String,
    /// How many stand side by side.
    routers: Vec<usize>,
    /// Of so many, one is offered all that the generator can; 0: none.
    beside: usize,
    /// Bytes with the frame check sequence, or "imix".
    frame: Size,
    /// Seconds of one trial.
    seconds: f64,
    /// Rounds; every two subjects give that many interleaved pairs.
    pairs: usize,
    seed: u64,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            path: "kernel".to_owned(),
            routers: vec![1, 2, 4, 8],
            beside: 4,
            frame: Size::Bytes(64),
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
    pub(super) way: Way,
    /// Rising, none twice.
    pub(super) routers: Vec<usize>,
    /// None: nobody is overloaded.
    pub(super) beside: Option<usize>,
    pub(super) frame: FrameSize,
    pub(super) seconds: Option<f64>,
    pub(super) pairs: Option<usize>,
    pub(super) seed: u64,
}

impl TryFrom<Table> for Config {
    type Error = ConfigError;

    fn try_from(table: Table) -> Result<Self, ConfigError> {
        let way = names::<Way>("path", std::slice::from_ref(&table.path))?[0];
        let mut routers = within("routers", &table.routers, 1, ROUTERS_MAX)?;
        some("routers", &routers)?;
        routers.sort_unstable();
        routers.dedup();
        let beside = match table.beside {
            0 => None,
            count => Some(within("beside", &[count], 2, ROUTERS_MAX)?[0]),
        };
        let frames = sizes::parse("frame", std::slice::from_ref(&table.frame), false)?;
        if way.spins() && routers.last() > Some(&1) {
            let reason = format!(
                "{way} keeps a CPU busy while it waits: several would only fight for it; name a path of the kernel or XDP"
            );
            return Err(ConfigError::value("path", reason));
        }
        if beside.is_some() && !way.can_be_limited() {
            let reason = format!(
                "{way} works in kernel threads that are bound to their CPUs and that no control group takes: a limit would not reach them; name another path, or beside = 0"
            );
            return Err(ConfigError::value("path", reason));
        }
        Ok(Self {
            way,
            routers,
            beside,
            frame: frames[0],
            seconds: positive("seconds", table.seconds, SECONDS_MAX)?,
            pairs: pairs(table.pairs)?,
            seed: table.seed,
            table,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::try_from(kit::config::from_table::<Table>(text.parse().unwrap())?)
    }

    #[test]
    fn an_empty_table_is_the_source_s_figures() {
        let config = parse("routers = [8, 1, 8]").unwrap();
        assert_eq!(config.routers, [1, 8]);
        assert_eq!(parse("").unwrap().beside, Some(4));
        assert_eq!(parse("beside = 0").unwrap().beside, None);
        assert!(parse("path = 'xdp-cpumap'\nbeside = 0").is_ok());
    }

    #[test]
    fn every_wrong_value_is_named_with_its_limit() {
        for (text, key, part) in [
            ("routers = []", "routers", "at least one"),
            ("routers = [0]", "routers", "1 to 32"),
            ("beside = 1", "beside", "2 to 32"),
            ("path = 'ovs'", "path", "xdp-fib"),
            ("path = 'af-xdp:polled:32'", "path", "busy"),
            ("path = 'xdp-cpumap'", "path", "beside = 0"),
            ("frame = 32", "frame", "64"),
            ("seconds = 61.0", "seconds", "60"),
            ("limit = 1", "limit", "beside"),
        ] {
            let Err(error) = parse(text) else {
                panic!("{text} was taken")
            };
            assert_eq!(error.key(), key, "{error}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }
}
