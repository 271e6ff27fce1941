//! What the kernel tells of a link.

use netlink_packet_route::link::{
    LinkAttribute, LinkFlags, LinkInfo, LinkMessage, LinkXdp, State, Stats64, XdpAttached,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    pub index: u32,
    pub name: String,
    /// What made it: `veth`, `bridge`, `tun`, …; empty for hardware.
    pub kind: String,
    /// Its Ethernet address; zeros where it has none.
    pub address: [u8; 6],
    pub mtu: u32,
    pub up: bool,
    /// Whether its operational state is up (RFC 2863, section 3.1.13): both ends are,
    /// and frames pass. Never known for the loopback.
    pub running: bool,
    pub master: Option<u32>,
    /// The link that this is a part of or, where both ends are in one
    /// namespace, the other end of.
    pub peer: Option<u32>,
    pub rx_queues: u32,
    pub tx_queues: u32,
    pub xdp: bool,
    /// Whether it was set to take in frames for any Ethernet address; sockets that
    /// ask for it are not counted.
    pub promiscuous: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStatistics {
    pub rx_packets: u64,
    pub tx_packets: u64,
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    pub rx_dropped: u64,
    /// Frames that were to go out and were dropped, e.g. at a full ring.
    pub tx_dropped: u64,
    pub rx_errors: u64,
    pub tx_errors: u64,
}

impl From<&Stats64> for LinkStatistics {
    fn from(stats: &Stats64) -> Self {
        Self {
            rx_packets: stats.rx_packets,
            tx_packets: stats.tx_packets,
            rx_bytes: stats.rx_bytes,
            tx_bytes: stats.tx_bytes,
            rx_dropped: stats.rx_dropped,
            tx_dropped: stats.tx_dropped,
            rx_errors: stats.rx_errors,
            tx_errors: stats.tx_errors,
        }
    }
}

pub(crate) fn described(message: &LinkMessage) -> Link {
    let flags = message.header.flags;
    let mut link = Link {
        index: message.header.index,
        up: flags.contains(LinkFlags::Up),
        promiscuous: flags.contains(LinkFlags::Promisc),
        ..Link::default()
    };
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name.clone_from(name),
            LinkAttribute::Address(bytes) => {
                link.address = bytes.as_slice().try_into().unwrap_or_default();
            }
            LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
            LinkAttribute::Controller(index) => link.master = Some(*index),
            LinkAttribute::Link(index) => link.peer = Some(*index),
            LinkAttribute::NumRxQueues(queues) => link.rx_queues = *queues,
            LinkAttribute::NumTxQueues(queues) => link.tx_queues = *queues,
            LinkAttribute::OperState(state) => link.running = *state == State::Up,
            LinkAttribute::Xdp(xdp) => link.xdp = has_program(xdp),
            LinkAttribute::LinkInfo(info) => {
                for part in info {
                    if let LinkInfo::Kind(kind) = part {
                        link.kind = kind.to_string();
                    }
                }
            }
            _ => {}
        }
    }
    link
}

fn has_program(xdp: &[LinkXdp]) -> bool {
    xdp.iter()
        .any(|part| matches!(part, LinkXdp::Attached(attached) if *attached != XdpAttached::None))
}
