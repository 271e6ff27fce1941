//! The addresses of both rigs: the same in each, so that what comes out of them
//! can be compared byte for byte. The IP addresses are the topology's.
//!
//! ```text
//!   tester   t0 192.0.2.2/30  ──  d0 192.0.2.1   DUT   d1 192.0.2.5  ──  t1 192.0.2.6/30
//!            198.18.0.0/16                                               198.19.0.0/16
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Ethernet addresses of the tester's ports and of the DUT's.
pub const TESTER: [[u8; 6]; 2] = [[2, 0, 0, 0, 1, 0], [2, 0, 0, 0, 1, 1]];
pub const DUT: [[u8; 6]; 2] = [[2, 0, 0, 0, 2, 0], [2, 0, 0, 0, 2, 1]];

pub const MTU: [u32; 2] = [1500, 1400];

pub const TESTER_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 2), Ipv4Addr::new(192, 0, 2, 6)];
pub const DUT_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 5)];

/// A host behind each of the tester's ports.
pub const HOST_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 7), Ipv4Addr::new(198, 19, 0, 7)];

pub const TESTER_V6: [Ipv6Addr; 2] = [link_v6(0xff00, 2), link_v6(0xff01, 2)];
pub const DUT_V6: [Ipv6Addr; 2] = [link_v6(0xff00, 1), link_v6(0xff01, 1)];
pub const HOST_V6: [Ipv6Addr; 2] = [link_v6(0, 7), link_v6(1, 7)];

const fn link_v6(subnet: u16, host: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 2, 0, subnet, 0, 0, 0, host)
}

/// Addresses that the route table sends nowhere: dropped, unreachable, forbidden, and
/// one on port 1's link that never answers.
pub const BLACKHOLE_V4: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
pub const UNREACHABLE_V4: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 65);
pub const PROHIBITED_V4: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 129);
pub const SILENT_V4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
pub const BLACKHOLE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0xb0, 0, 0, 0, 1);
pub const UNREACHABLE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0xb1, 0, 0, 0, 1);
pub const PROHIBITED_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0xb2, 0, 0, 0, 1);
pub const SILENT_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0xb3, 0, 0, 0, 1);

pub fn network(address: impl Into<IpAddr>, bits: u8) -> (IpAddr, u8) {
    let first: IpAddr = match address.into() {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    };
    (first, bits)
}
