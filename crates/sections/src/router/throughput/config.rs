//! The table of such a section in a scenario.

use std::marker::PhantomData;

use forward::bench::{Directions, Setup};
use forward::home;
use forward::tester::line::{Line, Shape};
use forward::tester::stream::{DESTINATIONS_MAX, FrameSize};
use forward::topology::{Attachment, Cpus, Family, Wires};
use serde::{Deserialize, Serialize};

use crate::router::throughput::extra::Extra;
use kit::ConfigError;
use kit::config::checks::{names, pairs, positive, some};
use kit::routers::sizes::{self, Size};
use kit::routers::way::{self, Way};
use kit::routers::wires::{self, Ports};

/// RFC 2544 asks for 60 s, and 120 s for latency.
const SECONDS_MAX: f64 = 120.0;
const LINK_MBIT_PER_S: std::ops::RangeInclusive<f64> = 1.0..=1e6;
const RESOLUTION_PERCENT: std::ops::RangeInclusive<f64> = 0.01..=50.0;
const LOSS_PERCENT_MAX: f64 = 50.0;
/// Routers that stand ready at the same time.
const ROUTERS_MAX: usize = 32;

/// What the sections with such a table differ in.
pub(crate) trait Defaults {
    /// Where routers live: see [`Place`].
    const HOMES: &'static [&'static str];
    /// What is measured besides throughput.
    const EXTRAS: &'static [&'static str];
}

/// The keys, all optional. 0 means: chosen for the time there is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, bound = "D: Defaults")]
pub(crate) struct Table<D> {
    /// `namespace`, `lxc`, `runc`, each also with `:bridged`.
    homes: Vec<String>,
    paths: Vec<String>,
    /// Bytes with the frame check sequence, or "imix".
    frames: Vec<Size>,
    two_way: bool,
    ipv6: bool,
    /// A power of two.
    destinations: u32,
    /// `veth`, `tap`, or two or four devices of this host.
    ports: Ports,
    /// Speed of the links whose theoretical maximum the search starts at.
    link_mbit_per_s: f64,
    /// Frames that the partial drop rate may lose; 0: it is not searched.
    loss_percent: f64,
    /// The search ends when it is so near.
    resolution_percent: f64,
    /// `latency`, `frame-loss`, `back-to-back`.
    extras: Vec<String>,
    /// Seconds of one trial.
    seconds: f64,
    /// Rounds; every two routers give that many interleaved pairs.
    pairs: usize,
    seed: u64,
    #[serde(skip)]
    defaults: PhantomData<D>,
}

impl<D: Defaults> Default for Table<D> {
    fn default() -> Self {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Self {
            homes: owned(D::HOMES),
            paths: owned(&["kernel"]),
            frames: sizes::written(&[64, 512, 1518]),
            two_way: false,
            ipv6: false,
            destinations: 1,
            ports: Ports::default(),
            link_mbit_per_s: kit::routers::source::LINK_MBIT_PER_S,
            loss_percent: 0.1,
            resolution_percent: 1.0,
            extras: owned(D::EXTRAS),
            seconds: 0.0,
            pairs: 0,
            seed: 1,
            defaults: PhantomData,
        }
    }
}

/// Where a router lives, and what lies before it. Its name in a scenario is
/// the home's, with `:bridged` behind where a bridge of the host's is before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) home: home::Kind,
    pub(crate) attachment: Attachment,
}

const BRIDGED: &str = ":bridged";
const HOMES: [home::Kind; 3] = [home::Kind::Namespace, home::Kind::Lxc, home::Kind::Runc];

/// Why a name is no home.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no home '{name}'; there are: {}, each also with {BRIDGED}",
    HOMES.map(home::Kind::name).join(", ")
)]
pub(crate) struct UnknownPlace {
    name: String,
}

impl std::str::FromStr for Place {
    type Err = UnknownPlace;

    fn from_str(name: &str) -> Result<Self, UnknownPlace> {
        let (bare, attachment) = match name.strip_suffix(BRIDGED) {
            Some(bare) => (bare, Attachment::Bridged),
            None => (name, Attachment::Direct),
        };
        let home = HOMES.into_iter().find(|home| home.name() == bare);
        let home = home.ok_or_else(|| UnknownPlace {
            name: name.to_owned(),
        })?;
        Ok(Self { home, attachment })
    }
}

impl Place {
    /// The one that everything else is compared with.
    pub(crate) const NATIVE: Self = Self {
        home: home::Kind::Namespace,
        attachment: Attachment::Direct,
    };

    /// For people.
    pub(crate) fn what(self) -> String {
        let home = match self.home {
            home::Kind::Namespace => "native (a namespace)",
            home::Kind::Lxc => "LXC",
            home::Kind::Runc => "runc",
        };
        match self.attachment {
            Attachment::Direct => home.to_owned(),
            Attachment::Bridged => format!("{home}, bridged"),
        }
    }
}

/// One router to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Router {
    pub(crate) place: Place,
    pub(crate) way: Way,
}

impl Router {
    fn setup(&self, cpus: &Cpus) -> Setup {
        let mut setup = Setup::new(cpus.clone());
        setup.path = self.way.path;
        setup.home = self.place.home;
        setup.topology.attachment = self.place.attachment;
        setup.topology.queues = self.way.queues;
        setup
    }

    /// For people: what is not the usual.
    pub(crate) fn what(&self) -> String {
        format!("{}, {}", self.way.what(), self.place.what())
    }
}

/// The configuration, parsed.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) routers: Vec<Router>,
    pub(crate) sizes: Vec<FrameSize>,
    pub(crate) directions: Directions,
    pub(crate) family: Family,
    pub(crate) destinations: u32,
    pub(crate) wires: Wires,
    pub(crate) line: Line,
    /// None: the partial drop rate is not searched.
    pub(crate) loss_ratio_max: Option<f64>,
    pub(crate) resolution: f64,
    pub(crate) extras: Vec<Extra>,
    pub(crate) seconds: Option<f64>,
    pub(crate) pairs: Option<usize>,
    pub(crate) seed: u64,
}

impl<D: Defaults> TryFrom<&Table<D>> for Config {
    type Error = ConfigError;

    fn try_from(table: &Table<D>) -> Result<Self, ConfigError> {
        let link = within("link_mbit_per_s", table.link_mbit_per_s, LINK_MBIT_PER_S)?;
        let resolution = table.resolution_percent;
        let resolution = within("resolution_percent", resolution, RESOLUTION_PERCENT)?;
        let loss = within("loss_percent", table.loss_percent, 0.0..=LOSS_PERCENT_MAX)?;
        let routers = routers(&table.homes, &table.paths)?;
        let wires = table.ports.wires()?;
        if let Some(error) = wires::too_many(&wires, routers.len()) {
            return Err(error);
        }
        Ok(Self {
            routers,
            wires,
            sizes: sizes::parse("frames", &table.frames, table.ipv6)?,
            directions: match table.two_way {
                true => Directions::TwoWay,
                false => Directions::OneWay,
            },
            family: if table.ipv6 { Family::V6 } else { Family::V4 },
            destinations: destinations("destinations", table.destinations)?,
            line: Line {
                speed_bits_per_s: link * 1e6,
            },
            loss_ratio_max: (loss > 0.0).then_some(loss / 100.0),
            resolution: resolution / 100.0,
            extras: names("extras", &table.extras)?,
            seconds: positive("seconds", table.seconds, SECONDS_MAX)?,
            pairs: pairs(table.pairs)?,
            seed: table.seed,
        })
    }
}

impl Config {
    /// A router over these wires, as a bench takes it.
    pub(crate) fn setup(&self, router: Router, cpus: &Cpus) -> Setup {
        router.setup(cpus).over(self.wires.clone())
    }

    /// The same, the throughput alone.
    pub(crate) fn without_extras(&self) -> Self {
        Self {
            extras: Vec::new(),
            ..self.clone()
        }
    }

    /// Ports that send: the theoretical maximum is that of so many links.
    pub(crate) fn ways(&self) -> f64 {
        match self.directions {
            Directions::OneWay => 1.0,
            Directions::TwoWay => 2.0,
        }
    }

    /// What the links together carry at most, frames/s.
    pub(crate) fn line_pps(&self, size: FrameSize) -> f64 {
        let shape = Shape {
            size,
            family: self.family,
            tagged: false,
        };
        self.line.max_pps(shape) * self.ways()
    }
}

fn routers(homes: &[String], paths: &[String]) -> Result<Vec<Router>, ConfigError> {
    let places: Vec<Place> = names("homes", homes)?;
    let ways = way::ways("paths", paths)?;
    some("homes", &places)?;
    some("paths", &ways)?;
    let mut routers = Vec::new();
    for place in places {
        for &way in &ways {
            let router = Router { place, way };
            if !routers.contains(&router) {
                routers.push(router);
            }
        }
    }
    if routers.len() > ROUTERS_MAX {
        let count = routers.len();
        let reason =
            format!("{count} routers; the limit is {ROUTERS_MAX}; name fewer homes or paths");
        return Err(ConfigError::value("paths", reason));
    }
    Ok(routers)
}

/// A power of two that the tester can count.
///
/// # Errors
/// [`ConfigError`].
pub(crate) fn destinations(key: &str, count: u32) -> Result<u32, ConfigError> {
    if count.is_power_of_two() && count <= DESTINATIONS_MAX {
        return Ok(count);
    }
    let reason = format!("{count} is no power of two from 1 to {DESTINATIONS_MAX}");
    Err(ConfigError::value(key, reason))
}

fn within(
    key: &str,
    value: f64,
    limits: std::ops::RangeInclusive<f64>,
) -> Result<f64, ConfigError> {
    if limits.contains(&value) {
        return Ok(value);
    }
    let reason = format!("{value} is outside {} to {}", limits.start(), limits.end());
    Err(ConfigError::value(key, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Test;

    impl Defaults for Test {
        const HOMES: &'static [&'static str] = &["namespace"];
        const EXTRAS: &'static [&'static str] = &["latency"];
    }

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::try_from(&kit::config::from_table::<Table<Test>>(
            text.parse().unwrap(),
        )?)
    }

    #[test]
    fn an_empty_table_is_the_source_s_test() {
        let config = parse("").unwrap();
        assert_eq!(config.routers.len(), 1);
        assert_eq!(config.sizes.len(), 3);
        assert!((config.line_pps(FrameSize::Fixed(64)) - 1_488_095.0).abs() < 1.0);
        let both = parse("two_way = true").unwrap();
        assert!((both.line_pps(FrameSize::Fixed(64)) - 2_976_190.0).abs() < 1.0);
    }

    #[test]
    fn homes_and_paths_multiply_and_none_is_twice() {
        let text =
            "homes = ['lxc:bridged', 'namespace', 'namespace']\npaths = ['kernel', 'xdp-fib:2']";
        let routers = parse(text).unwrap().routers;
        assert_eq!(routers.len(), 4);
        let setup = routers[1].setup(&Cpus::among(&[0, 1]));
        assert_eq!(setup.topology.attachment, Attachment::Bridged);
        assert_eq!((setup.home, setup.topology.queues), (home::Kind::Lxc, 2));
    }

    #[test]
    fn every_wrong_value_is_named_with_its_limit() {
        for (text, key, part) in [
            ("homes = ['docker']", "homes", "runc"),
            ("homes = []", "homes", "at least one"),
            ("paths = ['ovs']", "paths", "xdp-devmap"),
            ("frames = [63]", "frames", "64 to 1518"),
            ("frames = [64]\nipv6 = true", "frames", "84"),
            ("ports = 'sriov'", "ports", "veth"),
            ("ports = ['eth1']", "ports", "eth1"),
            (
                "ports = ['eth1', 'eth2']\npaths = ['kernel', 'xdp-fib']",
                "ports",
                "name one home and one path",
            ),
            ("destinations = 3", "destinations", "power of two"),
            ("destinations = 131072", "destinations", "65536"),
            ("link_mbit_per_s = 0.0", "link_mbit_per_s", "1 to 1000000"),
            ("loss_percent = -1.0", "loss_percent", "0 to 50"),
            ("resolution_percent = 0.0", "resolution_percent", "0.01"),
            ("extras = ['jitter']", "extras", "back-to-back"),
            ("seconds = 600.0", "seconds", "120"),
            ("pairs = 100000", "pairs", "100000"),
            ("defaults = 1", "defaults", "unknown"),
        ] {
            let Err(error) = parse(text) else {
                panic!("{text} was taken")
            };
            assert_eq!(error.key(), key, "{error}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }
}
