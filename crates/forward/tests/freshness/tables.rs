//! Whatever routes come and go, each frame goes where the kernel's tables say,
//! though one answer is kept for many destinations.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::thread::sleep;

use lockgate_forward::topology::Family;
use lockgate_forward::topology::plan::{self, Side};
use net::netlink::{Route, RouteKind};
use proptest::prelude::*;

use super::{STALE_MAX, bench};
use crate::freshness::bench::{Bench, FRAMES, Outcome};
use crate::freshness::changes::{OTHER_NEIGHBOUR, behind, gateway, others, second_gateway};

#[derive(Clone, Copy, Debug)]
pub enum Way {
    Gateway,
    OtherGateway,
    Neighbours,
    Hole,
}

/// Part of the network behind the router, by its first address and how many
/// more bits it has; `None`: its route goes.
pub type Step = (u64, u8, Option<Way>);

pub fn steps() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let way = prop_oneof![
        3 => Just(Some(Way::Gateway)),
        3 => Just(Some(Way::OtherGateway)),
        1 => Just(Some(Way::Neighbours)),
        2 => Just(Some(Way::Hole)),
        3 => Just(None),
    ];
    // Few different bits, so that one lies in another.
    let place = prop::collection::vec(0..64_u32, 0..4)
        .prop_map(|set| set.into_iter().fold(0, |bits, one| bits | 1 << one));
    let step = (place, 0..=64_u8, way);
    prop::collection::vec(prop::collection::vec(step, 1..5), 4..8)
}

fn network(family: Family) -> (u128, u8, u8) {
    let net = plan::network_behind(Side::One, family);
    match net.address {
        IpAddr::V4(address) => (address.to_bits().into(), net.bits, 32),
        IpAddr::V6(address) => (address.to_bits(), net.bits, 128),
    }
}

fn address(bits: u128, family: Family) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::from_bits(bits as u32).into(),
        Family::V6 => Ipv6Addr::from_bits(bits).into(),
    }
}

fn part((place, more, _): &Step, family: Family) -> (u128, u8) {
    let (first, bits, width) = network(family);
    let own = width - bits;
    let length = bits + more % (own + 1);
    // All of its bits are of use in 16 as well.
    let place = match family {
        Family::V4 => place ^ place >> 16 ^ place >> 32 ^ place >> 48,
        Family::V6 => *place,
    };
    let within = u128::from(place) & ((1 << own) - 1);
    let mask = u128::MAX
        .checked_shl(u32::from(width - length))
        .unwrap_or(0);
    ((first + within) & mask, length)
}

/// Addresses at the edges of these parts, and beyond, as far as they are in the
/// network; the network's own are not sent to.
fn edges(parts: impl Iterator<Item = (u128, u8)>, family: Family) -> Vec<IpAddr> {
    let (begin, bits, width) = network(family);
    let last_of = |first: u128, length: u8| first + ((1 << (width - length)) - 1);
    let all = begin + 1..last_of(begin, bits);
    let around = parts.flat_map(|(first, length)| {
        let last = last_of(first, length);
        [first - 1, first, first + 1, last - 1, last, last + 1]
    });
    let mut inside: Vec<_> = around.filter(|one| all.contains(one)).collect();
    inside.extend([begin + 1, begin + 0x1234]);
    inside.sort_unstable();
    inside.dedup();
    inside.into_iter().map(|one| address(one, family)).collect()
}

/// Where the kernel's tables send it: to one of two gateways, or nowhere.
fn expected(bench: &Bench, destination: IpAddr) -> Outcome {
    let route = bench.inside().route_to(destination).ok();
    let to = route
        .and_then(|route| route.gateway)
        .map(|next| match next {
            next if next == gateway(bench) => "tester".to_owned(),
            _ => format!("{OTHER_NEIGHBOUR:02x?}"),
        });
    to.into_iter().map(|to| (to, "router".to_owned())).collect()
}

/// After each step each frame goes where the tables say; the second of each is
/// by what was kept.
pub fn follows(mut bench: Bench, steps: &[Vec<Step>]) {
    let family = bench.family;
    second_gateway(&bench);
    let (first, bits, _) = network(family);
    let whole = behind(&bench, gateway(&bench));
    let mut table = BTreeMap::from([((first, bits), Some(whole))]);
    for some in steps {
        for step in some {
            let (first, length) = part(step, family);
            let now = step
                .2
                .map(|way| route(&bench, address(first, family), length, way));
            let before = table.insert((first, length), now).flatten();
            if let Some(before) = before {
                bench.inside().remove_route(&before).unwrap();
            }
            if let Some(now) = now {
                bench.inside().add_route(&now).unwrap();
            }
        }
        sleep(STALE_MAX);
        let destinations = edges(table.keys().copied(), family);
        for few in destinations.chunks(bench::BURST) {
            let of_each = few.iter().map(|&one| expected(&bench, one));
            let of_each: Vec<_> = of_each.collect();
            let comes = of_each.iter().filter(|way| !way.is_empty()).count();
            for _ in 0..2 {
                let ways = bench.ways(few, comes);
                for ((one, way), expected) in few.iter().zip(&ways).zip(&of_each) {
                    assert_eq!(way, expected, "{one} after {some:?}");
                }
            }
        }
    }
}

fn route(bench: &Bench, first: IpAddr, length: u8, way: Way) -> Route {
    let by = |gateway| Route::via(first, length, gateway, bench.exit_index());
    match way {
        Way::Gateway => by(gateway(bench)),
        Way::OtherGateway => by(others(bench)[1]),
        Way::Neighbours => Route {
            gateway: None,
            ..by(first)
        },
        Way::Hole => Route::new(first, length, RouteKind::Blackhole),
    }
}

/// Answers are kept for a route, not for a destination: those that no frame went
/// to before are found as well.
pub fn shares(mut bench: Bench) {
    let (first, ..) = network(bench.family);
    let mut next = first + 1;
    let counted = || {
        let new: Vec<_> = (0..u128::from(FRAMES))
            .map(|more| address(next + more, bench.family))
            .collect();
        next += u128::from(FRAMES);
        let before = bench.running.counters();
        bench.ways(&new, new.len());
        (before, bench.running.counters())
    };
    // A busy machine may delay the watcher.
    testing::until(counted, |(before, after)| {
        after.hits - before.hits == FRAMES
    });
}
