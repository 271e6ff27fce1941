//! What is measured: which routers, under which loads.

use forward::bench::{Offer, PortKind, Setup};
use forward::router::path::Path;
use forward::topology::{Cpus, Routes};

use crate::router::paths::config::Config;
use kit::routers::subject::Subject;
use kit::routers::way::Way;

/// Destinations that a route of a table has.
const PER_ROUTE: u32 = 128;

/// Frames under way: what a veth's ring holds. More would be lost before or behind
/// the router, and what it did for those that nobody counts would be in its time.
pub(super) const IN_FLIGHT_MAX: u32 = 256;

/// Every subject, in the order of reports.
pub(super) fn grid(config: &Config, cpus: &[usize]) -> Vec<Subject> {
    let first = config.destinations[0];
    let mut subjects: Vec<_> = (config.ways.iter())
        .map(|way| subject(config, cpus, *way, first, None))
        .collect();
    for &count in &config.destinations[1..] {
        let told = config.ways.iter().filter(|way| meets(**way));
        subjects.extend(told.map(|way| subject(config, cpus, *way, count, None)));
    }
    for &routes in &config.routes {
        let asking = config.ways.iter().filter(|way| way.asks_the_table());
        let count = table_destinations(config);
        subjects.extend(asking.map(|way| subject(config, cpus, *way, count, Some(routes))));
    }
    subjects
}

/// Whether the number of destinations can matter to it, or it is the
/// reference of those to which it can.
fn meets(way: Way) -> bool {
    way.asks_the_table() || way.path == Path::XdpDevmap
}

/// The most destinations of the configuration that fit every table, so that
/// tables differ in nothing else.
pub(super) fn table_destinations(config: &Config) -> u32 {
    let smallest = config.routes.iter().min().copied().unwrap_or(2);
    let fits = |count: &&u32| **count <= smallest / 2 * PER_ROUTE;
    let counts = config.destinations.iter().filter(fits);
    counts.max().copied().unwrap_or(1)
}

fn subject(
    config: &Config,
    cpus: &[usize],
    way: Way,
    destinations: u32,
    routes: Option<u32>,
) -> Subject {
    let mut setup = Setup::new(cpus_of(way, cpus));
    setup.path = way.path;
    setup.topology.queues = way.queues;
    setup.topology.routes = routes.map_or(Routes::Networks, Routes::Table);
    let offer = Offer {
        size: config.frame,
        directions: config.directions,
        family: config.family,
        destinations,
        in_flight_max: (setup.ports == PortKind::LiveFrame).then_some(IN_FLIGHT_MAX),
        ..Offer::default()
    };
    Subject::one(setup, offer)
}

/// A CPU of its own for each queue of the router, where there are enough: the
/// generator keeps one, and the sink one as long as there are three.
pub(super) fn cpus_of(way: Way, allowed: &[usize]) -> Cpus {
    let usual = Cpus::among(allowed);
    let free = allowed
        .iter()
        .filter(|cpu| **cpu != usual.generator && **cpu != usual.sink);
    let more: Vec<_> = free.copied().take(way.queues as usize).collect();
    if more.is_empty() {
        return usual;
    }
    Cpus {
        router: more,
        ..usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::paths::config::Table;
    use forward::bench::Directions;
    use forward::topology::Family;

    fn config(text: &str) -> Config {
        Config::try_from(kit::config::from_table::<Table>(text.parse().unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn destinations_and_routes_are_measured_where_they_can_matter() {
        let text = "paths = ['kernel', 'bridge', 'xdp-devmap', 'af-xdp:polled:32']\nroutes = [1000, 100000]";
        let config = config(text);
        let subjects = grid(&config, &[0, 1]);
        // All four, kernel and devmap to more destinations, kernel's tables.
        assert_eq!(subjects.len(), 4 + 2 * 2 + 2);
        let last = subjects.last().unwrap();
        assert_eq!(last.setups[0].topology.routes, Routes::Table(100_000));
        assert_eq!(last.offer().destinations, 256, "65,536 do not fit 1,000");
        for subject in &subjects {
            subject.offer().check(&subject.setups[0]).unwrap();
        }
    }

    #[test]
    fn both_ways_and_ipv6_are_offered_to_every_path() {
        let text = "paths = ['kernel', 'af-xdp:polled:32']\nipv6 = true\ntwo_way = true\nframe = 128\nroutes = []";
        let config = config(text);
        assert_eq!(config.load(), "128 B, IPv6, two-way");
        for subject in grid(&config, &[0, 1]) {
            let offer = subject.offer();
            assert_eq!(
                (offer.directions, offer.family),
                (Directions::TwoWay, Family::V6)
            );
            offer.check(&subject.setups[0]).unwrap();
        }
    }

    #[test]
    fn a_queue_gets_a_cpu_where_there_are_enough() {
        let way: Way = "xdp-fib:2".parse().unwrap();
        assert_eq!(cpus_of(way, &[0, 1]).router, [1]);
        let many = cpus_of(way, &[0, 1, 2, 3]);
        assert_eq!((many.generator, many.sink), (0, 2));
        assert_eq!(many.router, [1, 3]);
    }
}
