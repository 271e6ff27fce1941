//! The options of both sections: the same keys, with defaults of their own.

use std::marker::PhantomData;

use forward::bench::{Offer, Setup};
use forward::tester::line::{Line, Shape};
use forward::tester::stream::FrameSize;
use forward::topology::{Cpus, Family, Wires};
use kit::config::keys::{Common, Key, Keys, Table};
use kit::prelude::*;
use kit::routers::options::{Destinations, Frame, Home, offer};
use kit::routers::source::LINK_MBIT_PER_S;
use kit::routers::way::Way;
use kit::routers::wires::{Ports, too_many};

use super::{Item, Kind, Procedure, Router};

/// Routers that stand ready at the same time.
const ROUTERS_MAX: usize = 32;

kit::keys! {
    /// What is measured.
    pub struct Options {
        /// Where routers live; with :bridged behind, a bridge of the host is before one
        homes: List<Name<Home>> = ["namespace"],
        /// Paths to forward on
        paths: List<Name<Way>> = ["kernel"],
        /// Bytes of frames with their check sequence, or imix
        frames: List<Frame> = [64, 512, 1518],
        /// Frames go both ways at the same time
        two_way: bool = false,
        /// IPv6 in place of IPv4
        ipv6: bool = false,
        /// Different destinations
        destinations: Destinations = 1,
        /// What lies between tester and router
        ports: Ports = Wires::Veth,
        /// Speed of the links at whose theoretical maximum the search starts, Mbit/s
        link_mbit_per_s: Real<1_000, 1_000_000_000> = LINK_MBIT_PER_S,
        /// Frames that the partial drop rate may lose, percent; 0: it is not searched
        loss_percent: Real<0, 50_000> = 0.1,
        /// The search ends when it is so near, percent
        resolution_percent: Real<10, 50_000> = 1.0,
        /// What is measured besides throughput, once
        extras: Several<Name<Extra>> = Extra::ALL.map(Name),
    }
}

/// The same with the defaults of a kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Config<K> {
    pub(super) options: Options,
    kind: PhantomData<K>,
}

impl<K: Kind> Default for Config<K> {
    fn default() -> Self {
        Self {
            options: Options {
                homes: List::of(K::HOMES.iter().copied()),
                extras: K::EXTRAS.iter().copied().map(Name).collect(),
                ..Options::default()
            },
            kind: PhantomData,
        }
    }
}

impl<K: Kind> Table for Config<K> {
    fn keys() -> Vec<Key> {
        let usual = Self::default().written();
        let own = |key: Key| Key {
            default: usual[key.name].clone(),
            ..key
        };
        Options::keys().into_iter().map(own).collect()
    }

    fn set(&mut self, key: &str, value: &toml::Value) -> Option<Result<(), String>> {
        self.options.set(key, value)
    }

    fn written(&self) -> toml::Table {
        self.options.written()
    }
}

impl<K: Kind> Keys for Config<K> {
    fn common(&self) -> Common {
        self.options.common
    }
}

/// One of the other procedures of RFC 2544, section 26.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// At the throughput and at 10, 50 and 90% of it.
    Latency,
    /// At every tenth of the link's rate.
    FrameLoss,
    /// The longest burst at the link's rate.
    BackToBack,
}

impl Extra {
    pub(super) const ALL: [Self; 3] = [Self::Latency, Self::FrameLoss, Self::BackToBack];

    const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::FrameLoss => "frame-loss",
            Self::BackToBack => "back-to-back",
        }
    }

    fn procedures(self) -> Vec<Procedure> {
        match self {
            Self::Latency => [10, 50, 90, 100].map(Procedure::Latency).to_vec(),
            Self::FrameLoss => (1..=10)
                .rev()
                .map(|tenth| Procedure::FrameLoss(tenth * 10))
                .collect(),
            Self::BackToBack => vec![Procedure::BackToBack],
        }
    }
}

kit::named!(Extra, "procedure");

impl Options {
    /// What no option can see alone.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.ipv6 {
            let mut frames = self.frames.iter();
            frames.try_for_each(|frame| frame.check_v6("frames"))?;
        }
        let count = self.routers().count();
        if count > ROUTERS_MAX {
            let reason =
                format!("{count} routers; the limit is {ROUTERS_MAX}; name fewer homes or paths");
            return Err(ConfigError::value("paths", reason));
        }
        too_many(&self.ports.0, count).map_or(Ok(()), Err)
    }

    pub(super) fn sizes(&self) -> impl Iterator<Item = FrameSize> {
        self.frames.iter().map(|frame| frame.0)
    }

    pub(super) fn routers(&self) -> impl Iterator<Item = Router> {
        let ways = |home: Home| {
            let ways = self.paths.iter().map(|name| name.0);
            ways.map(move |way| Router { home, way })
        };
        self.homes.iter().flat_map(move |home| ways(home.0))
    }

    /// What says most first: where time is short, the last are left out.
    pub(super) fn items(&self) -> Vec<(FrameSize, Item)> {
        let is_lossy = self.loss_percent.get() > 0.0;
        let partial = is_lossy.then_some(Procedure::PartialDrop);
        let mut rows = vec![vec![Procedure::Overload, Procedure::Throughput]];
        rows.extend(partial.map(|procedure| vec![procedure]));
        rows.extend(self.extras.iter().map(|extra| extra.procedures()));
        let mut items = Vec::new();
        for procedures in rows {
            for router in self.routers() {
                for size in self.sizes() {
                    let item = |&procedure: &Procedure| (size, Item { router, procedure });
                    for item in procedures.iter().map(item) {
                        if !items.contains(&item) {
                            items.push(item);
                        }
                    }
                }
            }
        }
        items
    }

    /// A router over these wires, as a bench takes it.
    pub(super) fn setup(&self, router: Router, cpus: &Cpus) -> Setup {
        let mut setup = router.way.setup(cpus);
        setup.home = router.home.kind;
        setup.topology.attachment = router.home.attachment;
        setup.over(self.ports.0.clone())
    }

    /// What is offered at overload; a search or an extra changes rate and length.
    pub(super) fn offer(&self, size: FrameSize) -> Offer {
        offer(size, self.two_way, self.ipv6, self.destinations.0)
    }

    /// Ports that send: the theoretical maximum is that of this many links.
    pub(super) fn ways(&self) -> f64 {
        if self.two_way { 2.0 } else { 1.0 }
    }

    /// What the links together carry at most, frames/s.
    pub(super) fn line_pps(&self, size: FrameSize) -> f64 {
        let line = Line {
            speed_bits_per_s: self.link_mbit_per_s.get() * 1e6,
        };
        let shape = Shape {
            size,
            family: if self.ipv6 { Family::V6 } else { Family::V4 },
            tagged: false,
        };
        line.max_pps(shape) * self.ways()
    }

    /// Trials of a search, about.
    pub(super) fn search_trials(&self) -> f64 {
        /// The ceiling, a confirmation, and one that is repeated.
        const BEYOND_HALVING: f64 = 3.0;
        (100.0 / self.resolution_percent.get()).log2() + BEYOND_HALVING
    }
}
