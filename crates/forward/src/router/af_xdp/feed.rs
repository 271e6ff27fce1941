//! What brings packets to the sockets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustix::io::Errno;
use xdp::Attached;
use xdp::path::{Decided, RouterPort, SocketPort, ToSockets};
use xdp::socket::Receive;

use crate::router::RouterError;
use crate::topology::plan::Side;
use crate::topology::{NetworkError, Topology, address};

/// The program at both ports: it gives plain frames to the sockets and the rest to
/// the kernel.
pub(super) struct Feed {
    attached: Attached<ToSockets>,
    interfaces: [u32; 2],
}

impl Feed {
    /// Describes the plain frames of a topology's router, which gets addresses and
    /// routes: the kernel's part works as without the program. Addresses added later
    /// are not known here.
    pub(super) fn over(topology: &Topology) -> Result<Self, RouterError> {
        let context = || "cannot set up the kernel's part of the router".to_owned();
        match address::assign_router(topology) {
            Err(NetworkError::Netlink(error))
                if error.errno() == Some(Errno::EXIST.raw_os_error()) => {}
            assigned => assigned.map_err(RouterError::of(context()))?,
        }
        let (ports, own) = describe(topology).map_err(RouterError::of(context()))?;
        let interfaces = topology.sides().each_ref().map(|side| side.router_index);
        let attach = || {
            let path = ToSockets::load(&ports, &own)
                .map_err(RouterError::of("cannot load the program at the ports"))?;
            Attached::new(path).map_err(RouterError::of("cannot attach a program to the ports"))
        };
        let inside = topology.router().run(attach);
        let attached = inside.map_err(RouterError::of("cannot enter the router's namespace"))??;
        Ok(Self {
            attached,
            interfaces,
        })
    }

    pub(super) fn feed(&self, port: usize, queue: u32, to: &Receive) -> Result<(), RouterError> {
        (self.attached)
            .feed(self.interfaces[port], queue, to)
            .map_err(RouterError::of(format!(
                "cannot feed queue {queue} of port {port}"
            )))
    }
}

fn describe(topology: &Topology) -> Result<(Vec<SocketPort>, Vec<IpAddr>), NetworkError> {
    let mut netlink = topology.router().netlink()?;
    let (mut ports, mut own) = (Vec::new(), Vec::new());
    for side in Side::BOTH {
        let link = netlink.link(topology.router_link(side))?;
        let carrier = topology.side(side).router_index;
        ports.push(SocketPort {
            port: RouterPort {
                ifindex: link.index,
                address: link.address,
                vlan: topology.spec().vlan.map(|tag| (carrier, tag)),
                strict_source: false,
                no_ipv6: false,
                decided: Decided::default(),
            },
            mtu_out: link.mtu,
        });
        for (address, bits) in netlink.addresses(topology.router_link(side))? {
            own.extend(locals(address, bits));
        }
    }
    Ok((ports, own))
}

/// An address, and those that mean its whole network: IPv4's first and last (RFC
/// 1122, section 3.2.1.3), IPv6's first (RFC 4291, section 2.6.1).
fn locals(address: IpAddr, bits: u8) -> Vec<IpAddr> {
    match address {
        IpAddr::V4(own) => {
            let hosts = u32::MAX.checked_shr(bits.into()).unwrap_or(0);
            if hosts <= 1 {
                return vec![address];
            }
            let first = Ipv4Addr::from_bits(own.to_bits() & !hosts);
            let last = Ipv4Addr::from_bits(own.to_bits() | hosts);
            vec![address, first.into(), last.into()]
        }
        IpAddr::V6(own) => {
            let hosts = u128::MAX.checked_shr(bits.into()).unwrap_or(0);
            let first = Ipv6Addr::from_bits(own.to_bits() & !hosts);
            vec![address, first.into()]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::locals;

    fn text(address: &str, bits: u8) -> Vec<String> {
        let found = locals(address.parse().unwrap(), bits);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_network_as_a_whole_is_local() {
        let link = text("192.0.2.5", 30);
        assert_eq!(link, ["192.0.2.5", "192.0.2.4", "192.0.2.7"]);
        assert_eq!(text("192.0.2.5", 31), ["192.0.2.5"]);
        assert_eq!(text("192.0.2.5", 32), ["192.0.2.5"]);
        assert_eq!(text("10.1.2.3", 0)[1..], ["0.0.0.0", "255.255.255.255"]);
        assert_eq!(text("2001:2::1", 126), ["2001:2::1", "2001:2::"]);
        assert_eq!(text("2001:2::1", 128), ["2001:2::1", "2001:2::1"]);
    }
}
