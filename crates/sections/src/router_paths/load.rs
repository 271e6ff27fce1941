//! What is measured: which routers, under which loads.

use forward::bench::{Offer, PortKind, Setup};
use forward::router::path::Path;
use forward::topology::{Cpus, Routes};
use kit::routers::options::offer;
use kit::routers::way::Way;

use super::{Config, FEW, Paths};

/// Destinations that a route of a table has.
const PER_ROUTE: u32 = 128;

/// Frames under way: what a veth's ring holds. More would be lost before or behind
/// the router, and what it did for those that are not counted would be in its time.
pub(super) const IN_FLIGHT_MAX: u32 = 256;

/// What a router has to carry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    pub(super) destinations: u32,
    /// Of the kernel's table besides the links'.
    pub(super) routes: Option<u32>,
    /// Hosts that frames come from.
    pub(super) sources: u32,
    /// Of the table, each second.
    pub(super) changes: u32,
}

impl Load {
    /// That many destinations, and no routes but the links'.
    pub(super) const fn to(destinations: u32) -> Self {
        Self {
            destinations,
            routes: None,
            sources: 1,
            changes: 0,
        }
    }

    /// The same from one source, while nothing changes.
    pub(super) const fn quiet(self) -> Self {
        Self {
            sources: 1,
            changes: 0,
            ..self
        }
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).expect("counts of an option are bounded")
}

/// Whether the number of destinations can matter to it, or it is the
/// reference of those to which it can.
fn meets(way: Way) -> bool {
    way.asks_the_table() || way.path == Path::XdpDevmap
}

impl Paths {
    fn ways(&self) -> impl Iterator<Item = Way> {
        self.0.paths.iter().map(|name| name.0)
    }

    /// What every path is measured with.
    pub(super) fn first(&self) -> Load {
        Load::to(self.0.destinations[0].0)
    }

    /// Every subject, in the order of reports.
    pub(super) fn grid(&self) -> Vec<(Load, Way)> {
        let of = |load: Load, is_asked: fn(Way) -> bool| {
            let ways = self.ways().filter(move |way| is_asked(*way));
            ways.map(move |way| (load, way))
        };
        let more = self.0.destinations[1..].iter();
        let more = more.map(|count| Load::to(count.0));
        let tables = self.0.routes.iter().flat_map(|routes| {
            let table = Load {
                routes: Some(routes.0),
                ..Load::to(self.table_destinations())
            };
            let sources = self.0.sources.iter().map(|count| number(count.get()));
            let changes = self.0.changes.iter().map(|count| number(count.get()));
            let of = move |(sources, changes)| Load {
                sources,
                changes,
                ..table
            };
            let all =
                changes.flat_map(move |changes| sources.clone().map(move |one| (one, changes)));
            all.map(of)
        });
        let all = of(self.first(), |_| true)
            .chain(more.flat_map(|load| of(load, meets)))
            .chain(tables.flat_map(|load| of(load, Way::asks_the_table)));
        let mut grid: Vec<(Load, Way)> = Vec::new();
        for one in all {
            if !grid.contains(&one) {
                grid.push(one);
            }
        }
        grid
    }

    /// The most destinations that fit every table, so that tables differ in
    /// nothing else.
    fn table_destinations(&self) -> u32 {
        let routes = self.0.routes.iter().map(|routes| routes.0);
        let smallest = routes.min().unwrap_or(2);
        let counts = self.0.destinations.iter().map(|count| count.0);
        let fits = counts.filter(|count| *count <= smallest / 2 * PER_ROUTE);
        fits.max().unwrap_or(1)
    }

    pub(super) fn rank(&self, way: Way, load: Load) -> u8 {
        let says_most = FEW.contains(&way.to_string().as_str());
        match load {
            _ if load == self.first() => u8::from(!says_most),
            Load { routes: None, .. } => 2,
            // Asked for by name.
            _ if load != load.quiet() => u8::from(!says_most),
            _ => 3,
        }
    }

    pub(super) fn setup(&self, way: Way, load: Load, cpus: &[usize]) -> Setup {
        let mut setup = way.setup(&cpus_of(way, cpus));
        setup.topology.routes = load.routes.map_or(Routes::Networks, Routes::Table);
        setup
    }

    pub(super) fn offer(&self, setup: &Setup, load: Load) -> Offer {
        let Config {
            frame,
            two_way,
            ipv6,
            ..
        } = &self.0;
        Offer {
            in_flight_max: (setup.ports == PortKind::LiveFrame).then_some(IN_FLIGHT_MAX),
            sources: load.sources,
            changes_per_s: load.changes,
            ..offer(frame.0, *two_way, *ipv6, load.destinations)
        }
    }
}

/// A CPU of its own for each queue of the router, where there are enough: the
/// generator keeps one, and the sink one as long as there are three.
pub(super) fn cpus_of(way: Way, allowed: &[usize]) -> Cpus {
    let usual = Cpus::among(allowed);
    let is_free = |cpu: &&usize| **cpu != usual.generator && **cpu != usual.sink;
    let free = allowed.iter().filter(is_free);
    let more: Vec<_> = free.copied().take(way.queues as usize).collect();
    match more.is_empty() {
        true => usual,
        false => Cpus {
            router: more,
            ..usual
        },
    }
}
