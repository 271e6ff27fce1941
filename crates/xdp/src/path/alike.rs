//! Which addresses go the same way whatever their last bits are: `bpf/alike.h`.

use std::net::IpAddr;

/// As many cells for each family, by the first 16 bits of an IPv4 address and by
/// the first 64 of an IPv6 address, folded.
const CELLS: usize = 1 << 16;
/// The bits of an IPv4 address that do not choose its cell.
const V4_BITS: u8 = 16;
const V6_BITS: u8 = 64;

/// In how many of their last bits addresses may differ and still go the same way, by
/// their first bits. A program that caches answers keeps one for all of them, so that
/// the cache grows with the routes in use, and not with the destinations:
/// [`Control::set_alike`](super::Control::set_alike).
///
/// In a cell with several routes the longest decides: addresses are sometimes
/// distinguished without need, never the other way round.
pub struct Alike {
    /// `struct alike`.
    cells: Vec<u8>,
}

impl Alike {
    /// Without routes: all addresses of a cell are alike.
    pub fn without_routes() -> Self {
        let cells = [V4_BITS, V6_BITS].map(|bits| vec![bits; CELLS]);
        Self {
            cells: cells.concat(),
        }
    }

    /// A route to the addresses whose first `prefix_length` bits are those of
    /// `destination`. `is_one_way`: all of them go to the same place, by a gateway or
    /// nowhere; otherwise each address of a network of neighbours goes to its own.
    /// Returns whether addresses are now distinguished that were alike before.
    pub fn add(&mut self, destination: IpAddr, prefix_length: u8, is_one_way: bool) -> bool {
        if !travels(destination) {
            return false;
        }
        let (first, chosen, most, base) = match destination {
            IpAddr::V4(address) => {
                let cell = usize::from(u16::try_from(address.to_bits() >> V4_BITS).unwrap_or(0));
                (cell, 32 - V4_BITS, V4_BITS, 0)
            }
            IpAddr::V6(address) => {
                let first = u64::try_from(address.to_bits() >> V6_BITS).unwrap_or(0);
                (folded(first), 128 - V6_BITS, V6_BITS, CELLS)
            }
        };
        let bits = match is_one_way {
            true => (chosen + most).saturating_sub(prefix_length),
            false => 0,
        };
        if bits >= most {
            return false;
        }
        // A short prefix reaches into many cells: side by side for IPv4, anywhere
        // for IPv6.
        let open = u32::from(chosen.saturating_sub(prefix_length));
        let reached = match (open, destination) {
            (0, _) => first..first + 1,
            (_, IpAddr::V4(_)) => {
                let count = 1 << open.min(u32::from(chosen));
                let begin = first & !(count - 1);
                begin..begin + count
            }
            (_, IpAddr::V6(_)) => 0..CELLS,
        };
        let mut is_new = false;
        for cell in &mut self.cells[base..][reached] {
            is_new |= bits < *cell;
            *cell = bits.min(*cell);
        }
        is_new
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.cells
    }
}

/// Link-local and multicast addresses of IPv6 do not travel: their frames are the
/// kernel's, and every link has a short route to them.
fn travels(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => true,
        IpAddr::V6(address) => !address.is_unicast_link_local() && !address.is_multicast(),
    }
}

fn folded(first: u64) -> usize {
    let low = |shift: u32| usize::from((first >> shift) as u16);
    low(0) ^ low(16) ^ low(32) ^ low(48)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::*;

    impl Alike {
        fn deciding(&self, address: IpAddr) -> IpAddr {
            match address {
                IpAddr::V4(address) => {
                    let bits = self.cells[(address.to_bits() >> 16) as usize];
                    Ipv4Addr::from_bits(address.to_bits() & u32::MAX << bits).into()
                }
                IpAddr::V6(address) => {
                    let bits = self.cells[CELLS + folded((address.to_bits() >> 64) as u64)];
                    Ipv6Addr::from_bits(address.to_bits() & u128::MAX << bits).into()
                }
            }
        }
    }

    type Routed = (IpAddr, u8, bool);

    fn bits(address: IpAddr) -> (u128, u32) {
        match address {
            IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
            IpAddr::V6(address) => (address.to_bits(), 128),
        }
    }

    /// The number of the route that an address takes; without a gateway, its
    /// neighbour as well (RFC 1812, section 5.2.4.3: the longest match).
    fn way(routes: &[Routed], address: IpAddr) -> Option<(usize, Option<IpAddr>)> {
        let (own, width) = bits(address);
        let reaches = |&(destination, length, _): &Routed| {
            let (other, others_width) = bits(destination);
            let differ = own ^ other;
            width == others_width && differ.checked_shr(width - u32::from(length)).unwrap_or(0) == 0
        };
        let reaching = routes
            .iter()
            .enumerate()
            .filter(|(_, route)| reaches(route));
        // Of equal ones the first, as by its metric.
        let (number, route) =
            reaching.min_by_key(|(number, route)| (u8::MAX - route.1, *number))?;
        Some((number, (!route.2).then_some(address)))
    }

    /// Few different bits, so that routes lie in each other and addresses in them.
    fn address() -> impl Strategy<Value = IpAddr> {
        let sparse = prop::collection::vec(0..128_u32, 0..4)
            .prop_map(|set| set.into_iter().fold(0, |bits, one| bits | 1_u128 << one));
        (sparse, any::<bool>()).prop_map(|(bits, is_v4)| match is_v4 {
            true => Ipv4Addr::from_bits((bits >> 96) as u32 ^ 0x0a00_0000).into(),
            false => Ipv6Addr::from_bits(bits ^ 0x2001 << 112).into(),
        })
    }

    fn route() -> impl Strategy<Value = Routed> {
        let bits = prop_oneof![4 => 0..=128_u8, 1 => Just(0_u8)];
        (address(), bits, prop::bool::weighted(0.8)).prop_map(|(address, length, is_by_gateway)| {
            let most = if address.is_ipv4() { 32 } else { 128 };
            (address, length % (most + 1), is_by_gateway)
        })
    }

    proptest! {
        #[test]
        fn what_is_taken_for_alike_goes_the_same_way(
            routes in prop::collection::vec(route(), 0..12),
            addresses in prop::collection::vec(address(), 2..40),
        ) {
            let mut alike = Alike::without_routes();
            for &(destination, length, is_by_gateway) in &routes {
                alike.add(destination, length, is_by_gateway);
            }
            let travelling = addresses.iter().copied().filter(|&one| travels(one));
            let named: Vec<_> = travelling.map(|one| (alike.deciding(one), one)).collect();
            for (name, one) in &named {
                for (_, other) in named.iter().filter(|(others, _)| others == name) {
                    prop_assert_eq!(way(&routes, *one), way(&routes, *other), "{} {}", one, other);
                }
            }
        }
    }

    #[test]
    fn a_route_is_one_answer_and_its_neighbours_are_many() {
        let mut alike = Alike::without_routes();
        let mut add = |net: &str, length, is_one_way| {
            alike.add(net.parse().unwrap(), length, is_one_way);
        };
        add("0.0.0.0", 0, true);
        add("10.0.0.0", 8, true);
        add("10.7.0.0", 22, true);
        add("10.8.0.0", 15, false);
        add("2001:db8:1:2::", 72, true);
        add("fe80::", 64, false);
        add("ff00::", 8, false);
        let told_apart = |address: &str| {
            let address: IpAddr = address.parse().unwrap();
            alike.deciding(address).to_string()
        };
        assert_eq!(told_apart("9.9.9.9"), "9.9.0.0");
        assert_eq!(told_apart("10.7.5.5"), "10.7.4.0");
        assert_eq!(told_apart("10.8.9.9"), "10.8.9.9");
        assert_eq!(told_apart("10.9.9.9"), "10.9.9.9");
        assert_eq!(told_apart("10.10.9.9"), "10.10.0.0");
        assert_eq!(told_apart("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(told_apart("2001:db8:1:2:ffff::6"), "2001:db8:1:2:ff00::");
        assert_eq!(told_apart("2001:db8:1:3:3:4:5:6"), "2001:db8:1:3::");
    }
}
