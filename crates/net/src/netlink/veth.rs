//! Pairs of virtual Ethernet links: veth(4).

use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage,
};

use super::link::check_name;
use super::{Netlink, NetlinkError};
use crate::namespace::Namespace;

/// The most queues of a veth: the kernel's own limit.
const QUEUES_MAX: u32 = 4096;

#[derive(Clone, Copy, Debug)]
pub struct VethEnd<'a> {
    pub namespace: &'a Namespace,
    pub name: &'a str,
    /// Its Ethernet address; `None`: a random one.
    pub address: Option<[u8; 6]>,
    /// Its largest packet, bytes, without the Ethernet header; `None`: 1500.
    pub mtu: Option<u32>,
    /// Its queues of each direction, from 1. XDP wants at least as many here
    /// to receive on as the other end has to send on.
    pub queues: u32,
}

impl<'a> VethEnd<'a> {
    /// With one queue, a random address and an MTU of 1500.
    pub fn new(namespace: &'a Namespace, name: &'a str) -> Self {
        Self {
            namespace,
            name,
            address: None,
            mtu: None,
            queues: 1,
        }
    }
}

/// Makes a pair, each end where it belongs, both down. Removing one end, or
/// its namespace, removes both.
///
/// # Errors
/// [`NetlinkError`], e.g. when a name is taken.
pub fn add_veth(one: &VethEnd<'_>, other: &VethEnd<'_>) -> Result<(), NetlinkError> {
    let mut message = end(one)?;
    message.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(end(other)?))),
    ]));
    let what = format!(
        "make the veth {} in {} with {} in {}",
        one.name,
        one.namespace.name(),
        other.name,
        other.namespace.name()
    );
    let make = || {
        Netlink::open()?.order(
            &what,
            &RouteNetlinkMessage::NewLink(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    };
    one.namespace.run(make)?
}

fn end(end: &VethEnd<'_>) -> Result<LinkMessage, NetlinkError> {
    check_name(end.name)?;
    if !(1..=QUEUES_MAX).contains(&end.queues) {
        return Err(NetlinkError::Argument {
            argument: "a veth's number of queues",
            value: end.queues.to_string(),
            allowed: "1 to 4096",
        });
    }
    let mut message = LinkMessage::default();
    message.attributes = vec![
        LinkAttribute::IfName(end.name.to_owned()),
        LinkAttribute::NetNsFd(end.namespace.as_fd().as_raw_fd()),
        LinkAttribute::NumTxQueues(end.queues),
        LinkAttribute::NumRxQueues(end.queues),
    ];
    let address = end
        .address
        .map(|bytes| LinkAttribute::Address(bytes.to_vec()));
    message.attributes.extend(address);
    message.attributes.extend(end.mtu.map(LinkAttribute::Mtu));
    Ok(message)
}
