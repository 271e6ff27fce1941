//! Routes that a program follows in part only, since the kernel's answers do not tell
//! all of them: those with an MTU, with several next hops, for some packets, for a time.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use net::monitor::RouteChange;
use net::netlink::{Route, RouteKind};
use xdp::path::{SPECIAL_MAX, Special};

/// A network: its first address, and how many bits of it all have.
pub type Prefix = (IpAddr, u8);

/// The special routes of all tables. Where it is not told whether one is gone, it is
/// taken for there: that costs time only.
#[derive(Debug, Default)]
pub struct Specials {
    held: BTreeMap<Prefix, Vec<Held>>,
    /// One may be taken for there that is gone.
    is_in_doubt: bool,
}

#[derive(Debug)]
struct Held {
    route: Route,
    special: Special,
    /// No other route may be the one that a replacement takes the place of.
    is_alone: bool,
}

impl Held {
    fn is_like(&self, other: &Route) -> bool {
        are_like(&self.route, other)
    }

    fn is_several(&self, removed: &Route) -> bool {
        self.route.hops > 1 && self.is_like(removed)
    }

    fn lose(&mut self, hops: usize) {
        self.route.hops = self.route.hops.saturating_sub(hops);
        self.special = match self.route.hops {
            0 => Special::NONE,
            1 => Special {
                bytes_max: self.route.mtu.unwrap_or(u32::MAX),
                ..self.special
            },
            _ => self.special,
        };
    }
}

/// Whether the kernel takes two for the same when it replaces one (`fib_table_insert`,
/// `fib6_add_rt2node`).
pub fn are_like(one: &Route, other: &Route) -> bool {
    let of = |route: &Route| {
        let within = (route.table, route.type_of_service, metric(route));
        (prefix(route), within)
    };
    of(one) == of(other)
}

/// A message may leave out what is the default.
fn metric(route: &Route) -> u32 {
    let default = if route.destination.is_ipv4() { 0 } else { 1024 };
    route.metric.unwrap_or(default)
}

fn special(route: &Route) -> Special {
    // By a next hop of its own (`ip nexthop`), where the kernel does not tell what that
    // is (`nexthop_compat_mode` 0): it may be several.
    let is_told = route.gateway.is_some() || route.interface.is_some();
    // The kernel takes an ICMP error's next hop from the packet that it is about.
    let is_the_kernels = route.hops > 1 || !is_told && route.kind == RouteKind::Unicast;
    Special {
        bytes_max: match is_the_kernels {
            true => 0,
            false => route.mtu.unwrap_or(u32::MAX),
        },
        is_not_kept: route.is_conditional || route.type_of_service != 0,
    }
}

impl Specials {
    /// Whether something of the route's network is now another.
    pub fn change(&mut self, route: &Route, change: RouteChange) -> bool {
        let network = prefix(route);
        let special = special(route);
        let is_special = special != Special::NONE;
        if !is_special && !self.held.contains_key(&network) {
            return false;
        }
        let held = self.held.entry(network).or_default();
        let is_six = route.destination.is_ipv6();
        let mut is_alone = change != RouteChange::Appended;
        match change {
            // All next hops of IPv6 come with each that is added.
            RouteChange::Added | RouteChange::Appended if is_six && route.hops > 1 => {
                held.retain(|other| !(other.is_like(route) && other.route.hops > 1));
                is_alone = !held.iter().any(|other| other.is_like(route));
            }
            RouteChange::Added | RouteChange::Appended => {
                for other in held.iter_mut().filter(|other| other.is_like(route)) {
                    other.is_alone = false;
                    is_alone = false;
                }
            }
            RouteChange::Replaced => {
                let like = held.iter().filter(|other| other.is_like(route)).count();
                if like == 1 {
                    held.retain(|other| !(other.is_like(route) && other.is_alone));
                }
                is_alone = !held.iter().any(|other| other.is_like(route));
                self.is_in_doubt |= !is_alone;
            }
            // Of IPv6 each next hop is removed for itself, or all at once.
            RouteChange::Removed if is_six && held.iter().any(|it| it.is_several(route)) => {
                for other in held.iter_mut().filter(|other| other.is_several(route)) {
                    other.lose(route.hops);
                }
                held.retain(|other| other.special != Special::NONE);
            }
            RouteChange::Removed => {
                let is_it = |other: &Held| other.is_like(route) && is_same(&other.route, route);
                match held.iter().position(is_it) {
                    Some(place) => drop(held.swap_remove(place)),
                    None => self.is_in_doubt |= held.iter().any(|other| other.is_like(route)),
                }
            }
        }
        if is_special && change != RouteChange::Removed {
            held.push(Held {
                route: *route,
                special,
                is_alone,
            });
        }
        if held.is_empty() {
            self.held.remove(&network);
        }
        true
    }

    /// What is special of a network by its own routes and those that it lies in; `None`
    /// where it has none of its own.
    pub fn at(&self, (address, length): Prefix) -> Option<Special> {
        self.held.get(&(address, length))?;
        let around = (0..=length).filter_map(|bits| self.held.get(&(masked(address, bits), bits)));
        let all = around.flatten().map(|held| held.special);
        Some(all.fold(Special::NONE, Special::and))
    }

    /// The networks with special routes that lie in this one, itself among them.
    pub fn within(&self, (first, length): Prefix) -> impl Iterator<Item = Prefix> {
        let last = match first {
            IpAddr::V4(first) => {
                let rest = u32::MAX.checked_shr(length.into()).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(first.to_bits() | rest))
            }
            IpAddr::V6(first) => {
                let rest = u128::MAX.checked_shr(length.into()).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(first.to_bits() | rest))
            }
        };
        self.held
            .range((first, length)..=(last, u8::MAX))
            .map(|(network, _)| *network)
    }

    pub fn networks(&self) -> impl Iterator<Item = Prefix> {
        self.held.keys().copied()
    }

    pub fn are_too_many(&self) -> bool {
        self.held.len() > SPECIAL_MAX
    }

    pub fn is_in_doubt(&self) -> bool {
        self.is_in_doubt
    }

    /// Routes may have gone without a word: with their link, or the address that they
    /// send from (Linux before 6.7).
    pub fn doubt(&mut self) {
        self.is_in_doubt |= !self.held.is_empty();
    }
}

pub fn prefix(route: &Route) -> Prefix {
    let length = route.prefix_length;
    (masked(route.destination, length), length)
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let rest = u32::MAX.checked_shr(bits.into()).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & !rest).into()
        }
        IpAddr::V6(address) => {
            let rest = u128::MAX.checked_shr(bits.into()).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & !rest).into()
        }
    }
}

fn is_same(one: &Route, other: &Route) -> bool {
    let metric = Some(metric(one));
    Route { metric, ..*one }
        == Route {
            metric: Some(self::metric(other)),
            ..*other
        }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The kernel's table of IPv4 (`fib_table_insert`): what it does, and what it tells.
    #[derive(Default)]
    struct Kernel(Vec<Route>);

    impl Kernel {
        fn position(&self, route: &Route) -> Option<usize> {
            self.0.iter().position(|other| are_like(other, route))
        }

        /// `None`: refused, and nobody is told.
        fn change(&mut self, route: Route, change: RouteChange) -> Option<Route> {
            let first = self.position(&route);
            match change {
                RouteChange::Added => self.0.insert(first.unwrap_or(self.0.len()), route),
                RouteChange::Appended => {
                    let last = self.0.iter().rposition(|other| are_like(other, &route));
                    let after = last.map_or(self.0.len(), |last| last + 1);
                    self.0.insert(after, route);
                }
                RouteChange::Replaced => match first {
                    Some(first) => self.0[first] = route,
                    None => return None,
                },
                RouteChange::Removed => {
                    let place = self.0.iter().position(|other| is_same(other, &route))?;
                    return Some(self.0.remove(place));
                }
            }
            Some(route)
        }

        /// Of the routes that an address may take.
        fn special(&self, address: IpAddr) -> Special {
            let around = self.0.iter().filter(|route| {
                let (network, length) = prefix(route);
                masked(address, length) == network
            });
            around.map(special).fold(Special::NONE, Special::and)
        }
    }

    impl Specials {
        fn of(&self, address: IpAddr) -> Special {
            let bits = if address.is_ipv4() { 32 } else { 128 };
            let longest = (0..=bits).rev();
            longest
                .filter_map(|length| self.at((masked(address, length), length)))
                .next()
                .unwrap_or(Special::NONE)
        }
    }

    fn route() -> impl Strategy<Value = Route> {
        let length = prop::sample::select(vec![0_u8, 8, 9, 24, 32]);
        let of = (0..4_u32, length, 0..2_u32, 0..2_u8, 1..4_usize);
        (
            of,
            prop::sample::select(vec![None, None, Some(700), Some(1400)]),
        )
            .prop_map(|((place, length, metric, type_of_service, hops), mtu)| {
                let address = IpAddr::from((0x0a00_0000 + (place << 22)).to_be_bytes());
                let mut route = Route::new(masked(address, length), length, RouteKind::Unicast);
                route.metric = Some(metric).filter(|metric| *metric > 0);
                route.type_of_service = type_of_service * 8;
                route.hops = hops;
                route.interface = (hops == 1).then_some(3);
                route.mtu = mtu;
                route
            })
    }

    fn change() -> impl Strategy<Value = RouteChange> {
        use RouteChange::{Added, Appended, Removed, Replaced};
        prop::sample::select(vec![Added, Appended, Replaced, Replaced, Removed, Removed])
    }

    proptest! {
        /// What is taken for special is at least what is; and exactly that, if there is no
        /// doubt.
        #[test]
        fn nothing_special_is_missed(
            changes in prop::collection::vec((route(), change(), any::<prop::sample::Index>()), 1..60),
            addresses in prop::collection::vec(0..8_u32, 1..8),
        ) {
            let mut kernel = Kernel::default();
            let mut specials = Specials::default();
            for (route, change, which) in changes {
                let route = match change {
                    RouteChange::Removed if !kernel.0.is_empty() => *which.get(&kernel.0),
                    _ => route,
                };
                if let Some(told) = kernel.change(route, change) {
                    specials.change(&told, change);
                }
                for place in &addresses {
                    let address = IpAddr::from((0x0a00_0001 + (place << 21)).to_be_bytes());
                    let (is, taken) = (kernel.special(address), specials.of(address));
                    prop_assert_eq!(is.and(taken), taken, "{} after {:?}", address, route);
                    if !specials.is_in_doubt() {
                        prop_assert_eq!(is, taken, "{} after {:?}", address, route);
                    }
                }
            }
        }
    }

    fn six(hops: usize) -> Route {
        let destination = "2001:2:0:1::".parse().unwrap();
        Route {
            hops,
            metric: Some(1024),
            ..Route::new(destination, 64, RouteKind::Unicast)
        }
    }

    #[test]
    fn next_hops_of_ipv6_come_and_go_one_by_one() {
        let mut specials = Specials::default();
        let by_one = Route {
            gateway: Some("fe80::1".parse().unwrap()),
            interface: Some(2),
            ..six(1)
        };
        let network = prefix(&by_one);
        assert!(!specials.change(&by_one, RouteChange::Added));
        assert!(specials.change(&six(2), RouteChange::Appended));
        assert!(specials.change(&six(3), RouteChange::Appended));
        let all_the_kernels = Some(0);
        let bytes_max = |specials: &Specials| specials.at(network).map(|it| it.bytes_max);
        assert_eq!(bytes_max(&specials), all_the_kernels);
        specials.change(&by_one, RouteChange::Removed);
        assert_eq!(bytes_max(&specials), all_the_kernels);
        specials.change(&by_one, RouteChange::Removed);
        assert_eq!(bytes_max(&specials), None);
        specials.change(&six(2), RouteChange::Added);
        specials.change(&six(2), RouteChange::Removed);
        assert_eq!(
            (bytes_max(&specials), specials.is_in_doubt()),
            (None, false)
        );
        specials.change(&six(2), RouteChange::Added);
        specials.change(&by_one, RouteChange::Replaced);
        assert_eq!(
            (bytes_max(&specials), specials.is_in_doubt()),
            (None, false)
        );
    }

    #[test]
    fn what_lies_within_is_found() {
        let mut specials = Specials::default();
        let mut add = |destination: &str, length, mtu| {
            let route = Route {
                mtu: Some(mtu),
                interface: Some(2),
                ..Route::new(destination.parse().unwrap(), length, RouteKind::Unicast)
            };
            specials.change(&route, RouteChange::Added);
        };
        add("0.0.0.0", 0, 1400);
        add("10.0.0.0", 8, 1300);
        add("10.255.255.255", 32, 1500);
        add("11.0.0.0", 8, 700);
        add("::", 0, 1280);
        let within = |network: &str, length| {
            let network = (network.parse().unwrap(), length);
            specials.within(network).count()
        };
        assert_eq!(within("0.0.0.0", 0), 4);
        assert_eq!(within("10.0.0.0", 8), 2);
        assert_eq!(within("10.0.0.0", 9), 0);
        assert_eq!(within("::", 0), 1);
        let last = specials.at(("10.255.255.255".parse().unwrap(), 32));
        assert_eq!(last.map(|last| last.bytes_max), Some(1300));
    }
}
