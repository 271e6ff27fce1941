//! The addresses of a topology: RFC 2544, C.2.2 with the blocks of RFC 6815,
//! section 2, for IPv4, and RFC 5180, section 8, for IPv6. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::spec::{Family, Routes, Spec, SpecError};
use crate::tester::stream::{Addresses, DESTINATIONS_MAX};

/// Bits of a link's IPv4 network.
pub const LINK_BITS_V4: u8 = 30;
/// Bits of a link's IPv6 network.
pub const LINK_BITS_V6: u8 = 126;
/// Bits of a route of a table.
pub const TABLE_BITS: u8 = 25;
const TABLE_STRIDE: u32 = 1 << (32 - TABLE_BITS);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    Zero,
    One,
}

impl Side {
    pub const BOTH: [Self; 2] = [Self::Zero, Self::One];

    pub const fn index(self) -> usize {
        match self {
            Self::Zero => 0,
            Self::One => 1,
        }
    }

    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Zero => Self::One,
            Self::One => Self::Zero,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    pub address: IpAddr,
    pub bits: u8,
}

pub fn router_address(side: Side, family: Family) -> IpAddr {
    link_address(side, family, 1)
}

pub fn tester_address(side: Side, family: Family) -> IpAddr {
    link_address(side, family, 2)
}

fn link_address(side: Side, family: Family, host: u8) -> IpAddr {
    match family {
        Family::V4 => {
            let base = if side == Side::Zero { 0 } else { 4 };
            Ipv4Addr::new(192, 0, 2, base + host).into()
        }
        Family::V6 => {
            let subnet = if side == Side::Zero { 0xff00 } else { 0xff01 };
            Ipv6Addr::new(0x2001, 2, 0, subnet, 0, 0, 0, host.into()).into()
        }
    }
}

pub const fn link_bits(family: Family) -> u8 {
    match family {
        Family::V4 => LINK_BITS_V4,
        Family::V6 => LINK_BITS_V6,
    }
}

pub fn network_behind(side: Side, family: Family) -> Network {
    let (address, bits): (IpAddr, u8) = match (family, side) {
        (Family::V4, Side::Zero) => (Ipv4Addr::new(198, 18, 0, 0).into(), 16),
        (Family::V4, Side::One) => (Ipv4Addr::new(198, 19, 0, 0).into(), 16),
        (Family::V6, Side::Zero) => (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0).into(), 64),
        (Family::V6, Side::One) => (Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, 0).into(), 64),
    };
    Network { address, bits }
}

pub fn table_behind(side: Side, count: u32) -> impl Iterator<Item = Network> {
    let first = table_start(side);
    (0..count / 2).map(move |index| Network {
        address: Ipv4Addr::from(first + index * TABLE_STRIDE).into(),
        bits: TABLE_BITS,
    })
}

fn table_start(side: Side) -> u32 {
    let second = if side == Side::One { 0 } else { 128 };
    Ipv4Addr::new(10, second, 0, 0).to_bits()
}

/// The addresses of a stream that enters on side `from`: from the tester's own
/// address there to `count` hosts behind the other side, spread evenly over the
/// routes of the table if there is one.
///
/// # Errors
/// [`SpecError::Destinations`], [`SpecError::TableTooSmall`] and
/// [`SpecError::NoIpv6`].
pub fn addresses(
    spec: &Spec,
    from: Side,
    family: Family,
    count: u32,
) -> Result<Addresses, SpecError> {
    if !count.is_power_of_two() || count > DESTINATIONS_MAX {
        return Err(SpecError::Destinations(count));
    }
    let to = from.other();
    match (
        tester_address(from, family),
        network_behind(to, family).address,
    ) {
        (IpAddr::V4(source), IpAddr::V4(network)) => {
            let (first, stride) = match spec.routes {
                Routes::Networks => (network, 1),
                Routes::Table(routes) => {
                    let stride = routes / 2 * TABLE_STRIDE / count;
                    if stride == 0 {
                        return Err(SpecError::TableTooSmall { count, routes });
                    }
                    (Ipv4Addr::from(table_start(to)), stride)
                }
            };
            Ok(Addresses::V4 {
                source,
                first,
                count,
                stride,
            })
        }
        (IpAddr::V6(source), IpAddr::V6(first)) if spec.ipv6 => Ok(Addresses::V6 {
            source,
            first,
            count,
            stride: 1,
        }),
        _ => Err(SpecError::NoIpv6),
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::Cpus;
    use super::*;
    use proptest::prelude::*;

    fn spec(routes: Routes) -> Spec {
        Spec {
            routes,
            ..Spec::new(Cpus::among(&[0, 1]))
        }
    }

    #[test]
    fn links_are_the_blocks_of_the_standards() {
        let all: Vec<String> = Side::BOTH
            .into_iter()
            .flat_map(|side| [Family::V4, Family::V6].map(|family| (side, family)))
            .flat_map(|(side, family)| [router_address(side, family), tester_address(side, family)])
            .map(|address| address.to_string())
            .collect();
        assert_eq!(
            all,
            [
                "192.0.2.1",
                "192.0.2.2",
                "2001:2:0:ff00::1",
                "2001:2:0:ff00::2",
                "192.0.2.5",
                "192.0.2.6",
                "2001:2:0:ff01::1",
                "2001:2:0:ff01::2",
            ]
        );
    }

    proptest! {
        #[test]
        fn every_destination_of_a_table_has_a_route(
            half in 1..=65_536_u32,
            bits in 0..=16_u32,
            zero: bool,
        ) {
            let from = if zero { Side::Zero } else { Side::One };
            let count = 1 << bits;
            let asked = addresses(&spec(Routes::Table(half * 2)), from, Family::V4, count);
            let start = table_start(from.other());
            let end = start + half * TABLE_STRIDE;
            match asked {
                Ok(Addresses::V4 { first, stride, .. }) => {
                    prop_assert_eq!(first.to_bits(), start);
                    prop_assert!(start + (count - 1) * stride < end);
                }
                other => {
                    let error = SpecError::TableTooSmall { count, routes: half * 2 };
                    prop_assert_eq!(other, Err(error));
                    prop_assert!(end - start < count);
                }
            }
        }
    }

    #[test]
    fn a_table_is_two_halves_of_distinct_networks() {
        let table: Vec<Network> = Side::BOTH
            .into_iter()
            .flat_map(|side| table_behind(side, 4))
            .collect();
        let text: Vec<String> = table.iter().map(|net| net.address.to_string()).collect();
        assert_eq!(
            text,
            ["10.128.0.0", "10.128.0.128", "10.0.0.0", "10.0.0.128"]
        );
    }

    #[test]
    fn too_many_destinations_are_refused() {
        let ask = |count| addresses(&spec(Routes::Networks), Side::Zero, Family::V4, count);
        assert_eq!(ask(3), Err(SpecError::Destinations(3)));
        assert_eq!(ask(0), Err(SpecError::Destinations(0)));
        assert_eq!(ask(131_072), Err(SpecError::Destinations(131_072)));
        let Ok(Addresses::V4 {
            first,
            count,
            stride,
            ..
        }) = ask(65_536)
        else {
            panic!("65,536 are possible")
        };
        assert_eq!(
            (first, count, stride),
            (Ipv4Addr::new(198, 19, 0, 0), 65_536, 1)
        );
    }
}
