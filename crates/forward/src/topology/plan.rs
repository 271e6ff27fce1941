//! The addresses of a topology: RFC 2544, C.2.2 with the blocks of RFC 6815,
//! section 2, for IPv4, and RFC 5180, section 8, for IPv6. Pure.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::spec::{Family, Routes, Spec, SpecError};
use crate::tester::stream::{Addresses, DESTINATIONS_MAX};

/// Bits of a link's IPv4 network.
pub const LINK_BITS_V4: u8 = 30;
/// Bits of a link's IPv6 network.
pub const LINK_BITS_V6: u8 = 126;
/// Bits of a route of a table, and of one of a table that has more than 131,072.
const TABLE_BITS: [u8; 2] = [25, 28];
/// The most routes that have the shorter prefix.
const SHORTER_MAX: u32 = 1 << 17;
/// Bits of a network of hosts on a link.
pub const HOSTS_BITS: u8 = 16;
/// The most sources of a stream: hosts on a link.
pub const SOURCES_MAX: u32 = 1 << 15;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network {
    pub address: IpAddr,
    pub bits: u8,
}

impl Network {
    /// The most bits of its family.
    pub fn bits_max(self) -> u8 {
        if self.address.is_ipv4() { 32 } else { 128 }
    }

    pub fn contains(self, address: IpAddr) -> bool {
        let is_alike = self.address.is_ipv4() == address.is_ipv4();
        is_alike && (bits(self.address) ^ bits(address)) & mask(self.bits) == 0
    }

    /// Whether they have an address in common.
    pub fn overlaps(self, other: Self) -> bool {
        let bits = self.bits.min(other.bits);
        Self { bits, ..self }.contains(other.address)
    }

    /// Its lowest address.
    pub fn first(self) -> IpAddr {
        let first = bits(self.address) & mask(self.bits);
        match self.address {
            IpAddr::V4(_) => IpAddr::V4(((first >> 96) as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(first.into()),
        }
    }
}

/// The bits of an address, of which an IPv4 address has the highest 32.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn mask(bits: u8) -> u128 {
    match bits {
        0 => 0,
        bits => u128::MAX << (128 - u32::from(bits).min(128)),
    }
}

impl fmt::Display for Network {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(text, "{}/{}", self.address, self.bits)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not address/bits, e.g. 192.0.2.2/30 or 2001:db8::1/64")]
pub struct NotANetwork(String);

impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let wrong = || NotANetwork(text.to_owned());
        let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
        let network = Self {
            address: address.parse().map_err(|_| wrong())?,
            bits: bits.parse().map_err(|_| wrong())?,
        };
        match network.bits <= network.bits_max() {
            true => Ok(network),
            false => Err(wrong()),
        }
    }
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

/// The `index`th route of a table of `count`, of which each side has a half.
pub fn table_route(side: Side, count: u32, index: u32) -> Network {
    Network {
        address: Ipv4Addr::from(table_start(side) + index * table_stride(count)).into(),
        bits: table_bits(count),
    }
}

pub fn table_behind(side: Side, count: u32) -> impl Iterator<Item = Network> {
    (0..count / 2).map(move |index| table_route(side, count, index))
}

/// Addresses behind each side of a table of that many routes.
pub fn table_addresses(count: u32) -> u64 {
    u64::from(count / 2) * u64::from(table_stride(count))
}

fn table_bits(count: u32) -> u8 {
    TABLE_BITS[usize::from(count > SHORTER_MAX)]
}

fn table_stride(count: u32) -> u32 {
    1 << (32 - table_bits(count))
}

/// The router's address in a network of hosts on the link, besides the tester, whose
/// network has no room for them (RFC 6598).
pub fn hosts_router(side: Side) -> Ipv4Addr {
    Ipv4Addr::new(100, 64 + u8::from(side == Side::One), 0, 1)
}

/// A second gateway, which the tester is as well.
pub fn second_gateway(side: Side) -> Ipv4Addr {
    let [a, b, ..] = hosts_router(side).octets();
    Ipv4Addr::new(a, b, 0, 2)
}

/// Where the hosts of that network begin that frames come from.
fn hosts_start(side: Side) -> Ipv4Addr {
    let [a, b, ..] = hosts_router(side).octets();
    Ipv4Addr::new(a, b, 1, 0)
}

fn table_start(side: Side) -> u32 {
    let second = if side == Side::One { 0 } else { 128 };
    Ipv4Addr::new(10, second, 0, 0).to_bits()
}

/// The addresses of a stream that enters on side `from`: from the tester's own
/// address there, or from several hosts on its link, to `count` hosts behind the
/// other side, spread evenly over the routes of the table if there is one.
///
/// # Errors
/// [`SpecError::Destinations`], [`SpecError::Sources`], [`SpecError::TableTooSmall`]
/// and [`SpecError::NoIpv6`].
pub fn addresses(
    spec: &Spec,
    from: Side,
    family: Family,
    (sources, count): (u32, u32),
) -> Result<Addresses, SpecError> {
    let sources_max = if family == Family::V4 { SOURCES_MAX } else { 1 };
    if !sources.is_power_of_two() || sources > sources_max {
        return Err(SpecError::Sources(sources));
    }
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
                    let all = table_addresses(routes);
                    let stride = u32::try_from(all / u64::from(count)).unwrap_or(u32::MAX);
                    if stride == 0 {
                        return Err(SpecError::TableTooSmall { count, routes });
                    }
                    (Ipv4Addr::from(table_start(to)), stride)
                }
            };
            Ok(Addresses::V4 {
                source: match sources {
                    1 => source,
                    _ => hosts_start(from),
                },
                sources,
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
    fn networks_are_read_and_written() {
        for text in ["192.0.2.2/30", "0.0.0.0/0", "2001:db8::1/64", "::/0"] {
            assert_eq!(text.parse::<Network>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "x",
            "192.0.2.2",
            "192.0.2.2/33",
            "::/129",
            "192.0.2.2/-1",
            "/8",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(crate::testing::cases())]

        /// By counting: two networks overlap when one has the other's first address.
        #[test]
        fn networks_overlap_as_their_addresses_do(one: u32, other: u32, bits in (8..=32_u8, 8..=32_u8)) {
            // Near each other, or hardly any pair overlaps.
            let other = one ^ (other >> 8);
            let network = |address: u32, bits: u8| Network {
                address: IpAddr::V4((address & (mask(bits) >> 96) as u32).into()),
                bits,
            };
            let (a, b) = (network(one, bits.0), network(other, bits.1));
            let range = |net: Network| {
                let start = (super::bits(net.address) >> 96) as u64;
                start..start + (1_u64 << (32 - net.bits))
            };
            let (ra, rb) = (range(a), range(b));
            let expected = ra.start < rb.end && rb.start < ra.end;
            prop_assert_eq!(a.overlaps(b), expected);
            prop_assert_eq!(b.overlaps(a), expected);
            prop_assert_eq!(a.first(), a.address);
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
            half in prop_oneof![1..=65_536_u32, 65_537..=524_288_u32],
            bits in 0..=16_u32,
            zero: bool,
        ) {
            let from = if zero { Side::Zero } else { Side::One };
            let count = 1 << bits;
            let asked = addresses(&spec(Routes::Table(half * 2)), from, Family::V4, (1, count));
            let start = table_start(from.other());
            let end = start + half * table_stride(half * 2);
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
        let ask = |count| addresses(&spec(Routes::Networks), Side::Zero, Family::V4, (1, count));
        assert_eq!(ask(3), Err(SpecError::Destinations(3)));
        assert_eq!(ask(0), Err(SpecError::Destinations(0)));
        assert_eq!(ask(131_072), Err(SpecError::Destinations(131_072)));
        let from = |sources| {
            addresses(
                &spec(Routes::Networks),
                Side::Zero,
                Family::V4,
                (sources, 1),
            )
        };
        for sources in [0, 3, 65_536] {
            assert_eq!(from(sources), Err(SpecError::Sources(sources)));
        }
        assert!(from(32_768).is_ok());
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
