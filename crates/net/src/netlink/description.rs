//! What the kernel tells of a link.

use netlink_packet_route::link::{
    InfoData, InfoVlan, LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage, LinkXdp,
    State, Stats64, VlanProtocol, XdpAttached,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    pub index: u32,
    pub name: String,
    /// What made it: `veth`, `bridge`, `tun`, …; empty for hardware.
    pub kind: String,
    /// Whether it carries Ethernet frames, and is no loopback.
    pub is_ethernet: bool,
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
    /// Where it is a VLAN on its `peer`.
    pub vlan: Option<Vlan>,
    pub rx_queues: u32,
    pub tx_queues: u32,
    pub xdp: bool,
    /// Whether it was set to take in frames for any Ethernet address; sockets that
    /// ask for it are not counted.
    pub promiscuous: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// 1 to 4094.
    pub id: u16,
    /// Whether a tag is that of IEEE 802.1Q with this number and nothing else: no
    /// provider's (802.1ad), and no priority made from a packet's.
    pub is_plain: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStatistics {
    pub rx_packets: u64,
    pub tx_packets: u64,
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    pub rx_dropped: u64,
    /// Frames that came and found no room: what a card says of its own queues.
    pub rx_missed: u64,
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
            rx_missed: stats
                .rx_missed_errors
                .max(stats.rx_fifo_errors)
                .max(stats.rx_over_errors),
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
        is_ethernet: message.header.link_layer_type == LinkLayerType::Ether,
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
                    match part {
                        LinkInfo::Kind(kind) => link.kind = kind.to_string(),
                        LinkInfo::Data(InfoData::Vlan(parts)) => link.vlan = vlan(parts),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    link
}

fn vlan(parts: &[InfoVlan]) -> Option<Vlan> {
    let id = parts.iter().find_map(|part| match part {
        InfoVlan::Id(id) => Some(*id),
        _ => None,
    });
    let is_plain = parts.iter().all(|part| match part {
        InfoVlan::Protocol(protocol) => *protocol == VlanProtocol::Ieee8021Q,
        InfoVlan::EgressQos(map) => map.is_empty(),
        _ => true,
    });
    id.map(|id| Vlan { id, is_plain })
}

fn has_program(xdp: &[LinkXdp]) -> bool {
    xdp.iter()
        .any(|part| matches!(part, LinkXdp::Attached(attached) if *attached != XdpAttached::None))
}
