//! What is compared with what, and what a target asks.

use forward::router::path::{AfXdp, Path, Poll};
use kit::routers::metrics::{PER_BUSY_CPU, PER_CPU, RECEIVED_PPS};
use kit::routers::options::Frame;
use kit::routers::way::Way;
use kit::subject::{Measure, Pair, Subject};

use super::Paths;
use super::load::Load;

pub(super) const CACHED: Way = Way::of(Path::XdpFibCached);
const DEVMAP: Way = Way::of(Path::XdpDevmap);
const TESTPMD: Way = Way::of(Path::Testpmd);
/// What is like `testpmd`, as far as the two can be alike.
pub(super) const PEER: Way = Way::af_xdp(Poll::Polled, 32);

/// What a ratio answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// What a path gives over kernel routing.
    Path,
    /// How near a router comes to a redirect that looks at nothing.
    Redirect,
    /// What taking many frames at once gives.
    Batching,
    /// What not sleeping gives.
    Polling,
    /// What a thread for each queue gives over one for all.
    Binding,
    /// How we stand beside DPDK, by CPU time and by rate.
    Peer,
    /// What many destinations cost.
    Destinations,
    /// What a large table costs.
    Routes,
    /// What changes of the table, and many sources, cost.
    Churn,
}

impl Asked {
    pub(super) fn by(pair: &Pair<Load, Way>) -> Self {
        let ((load, way), (other, reference)) = (pair.arm, pair.reference);
        match (way.path, reference.path) {
            _ if load.routes != other.routes => Self::Routes,
            _ if load.quiet() == other.quiet() && load != other => Self::Churn,
            _ if load != other => Self::Destinations,
            (_, Path::Kernel) => Self::Path,
            (_, Path::XdpDevmap) => Self::Redirect,
            (Path::AfXdp(own), Path::AfXdp(others)) if own.batch != others.batch => Self::Batching,
            (Path::AfXdp(own), Path::AfXdp(others)) if own.poll != others.poll => Self::Polling,
            (_, Path::AfXdp(_)) => Self::Binding,
            _ => Self::Peer,
        }
    }

    /// What to change for what it shows.
    fn change(self, way: Way) -> &'static str {
        match self {
            Self::Path if way.path == CACHED.path => "Route by XDP with a FIB cache",
            Self::Batching => "Take frames from AF_XDP in batches",
            _ => "",
        }
    }
}

/// Every ratio that is told.
pub(super) fn pairs(paths: &Paths, subjects: &[Subject<Load, Way>]) -> Vec<Pair<Load, Way>> {
    let is_there = |(load, way): (Load, Way)| {
        let same = |one: &Subject<Load, Way>| one.place == load && one.arm == way;
        subjects.iter().any(same)
    };
    let told = subjects.iter().flat_map(|subject| {
        let own = (subject.place, subject.arm);
        let others = references(paths, own).into_iter();
        let others = others.filter(move |(other, _)| *other != own && is_there(*other));
        others.map(move |(other, measure)| pair(paths, Pair::new(own, other, measure)))
    });
    told.collect()
}

/// What one is compared with, whether it is measured or not, and by what.
fn references(paths: &Paths, (load, way): (Load, Way)) -> Vec<((Load, Way), Measure)> {
    let mut others = vec![(load, Way::KERNEL)];
    if way == CACHED {
        others.push((load, DEVMAP));
    }
    match load.routes {
        Some(_) if load == load.quiet() => others.push((Load::to(load.destinations), way)),
        Some(_) => others.push((load.quiet(), way)),
        None if way.asks_the_table() => others.push((paths.first(), way)),
        None => {}
    }
    if let Path::AfXdp(own) = way.path {
        let with = |settings| {
            let path = Path::AfXdp(settings);
            (load, Way { path, ..way })
        };
        others.push(with(AfXdp { batch: 1, ..own }));
        others.push(with(AfXdp {
            poll: Poll::Interrupt,
            ..own
        }));
        if way.queues > 1 {
            others.push(with(AfXdp {
                queues_bound: false,
                ..own
            }));
        }
    }
    let mut all: Vec<_> = others.into_iter().map(|one| (one, RECEIVED_PPS)).collect();
    if way == PEER {
        let peer = (load, TESTPMD);
        all.extend([PER_CPU, PER_BUSY_CPU, RECEIVED_PPS].map(|measure| (peer, measure)));
    }
    all
}

fn pair(paths: &Paths, plain: Pair<Load, Way>) -> Pair<Load, Way> {
    let asked = Asked::by(&plain);
    let (load, way) = plain.arm;
    let change = match load.routes {
        None => asked.change(way),
        Some(_) => "",
    };
    let target = target(paths, asked, &plain);
    plain.wanting(target).changed_by(change)
}

/// The lower bound that a ratio is to reach. Targets are of 64-byte IPv4 frames,
/// one way.
fn target(paths: &Paths, asked: Asked, pair: &Pair<Load, Way>) -> Option<f64> {
    let config = &paths.0;
    let (load, way) = pair.arm;
    if config.frame != Frame::from(64) || config.ipv6 || config.two_way {
        return None;
    }
    if load.routes.is_some() {
        let is_asked = asked == Asked::Churn && way == CACHED && load.changes == 100;
        return is_asked.then_some(0.8);
    }
    match (asked, way.path) {
        (Asked::Path, Path::XdpFibCached) if way == CACHED => match load.destinations {
            1 | 256 => Some(2.5),
            65_536 => Some(2.0),
            _ => None,
        },
        (Asked::Path, Path::XdpDevmap) if load.destinations == 1 => Some(2.8),
        (Asked::Batching, _) if way == PEER => Some(2.0),
        (Asked::Peer, _) if pair.measure == PER_CPU => Some(1.1),
        _ => None,
    }
}
