//! What rtnetlink(7) and ethtool's netlink make and show, in the namespace in
//! which the socket was opened.

mod address;
mod attribute;
mod channel;
mod description;
mod error;
mod ethtool;
mod generic;
mod link;
mod neighbour;
mod netdev;
pub(crate) mod netfilter;
mod route;
mod rule;
pub(crate) mod traffic;
mod veth;
mod xfrm;

use netlink_packet_core::{NLM_F_DUMP, NetlinkDeserializable, NetlinkHeader, NetlinkSerializable};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;

use channel::{Channel, Request};
pub use description::{Link, LinkStatistics, Vlan};
pub use error::NetlinkError;
pub(crate) use ethtool::OFFLOAD;
use generic::Family;
pub(crate) use link::{ADDRESS, PROMISCUOUS, XDP, hexadecimal};
pub use neighbour::Neighbour;
pub use route::{Route, RouteKind};
pub use rule::{Rule, Selector};
pub use veth::{VethEnd, add_veth};
pub(crate) use xfrm::Policies;

use crate::journal::Loans;

/// How often a list is read again because it changed while it was read.
const DUMPS_MAX: usize = 10;

/// A socket. Every request is answered, or has failed, when the call returns. It
/// belongs to the namespace in which it was opened, and keeps that alive.
pub struct Netlink {
    route: Channel,
    /// `None` where the kernel has none.
    ethtool: Option<Family>,
    netdev: Option<Family>,
    pub(crate) loans: Loans,
}

impl Netlink {
    /// Opens a socket in the calling thread's namespace; see also
    /// [`Namespace::netlink`](crate::Namespace::netlink).
    ///
    /// # Errors
    /// [`NetlinkError::Open`].
    pub fn open() -> Result<Self, NetlinkError> {
        let [ethtool, netdev] = ["ethtool", "netdev"].map(Family::open);
        Ok(Self {
            route: Channel::open(NETLINK_ROUTE)?,
            ethtool: ethtool?,
            netdev: netdev?,
            loans: Loans::default(),
        })
    }

    /// Sends one order; `flags` besides request and ack.
    fn order(
        &mut self,
        what: &str,
        message: &RouteNetlinkMessage,
        flags: u16,
    ) -> Result<(), NetlinkError> {
        let request = encode(message, flags);
        self.route.exchange(what, &request, &mut |_, _| Ok(()))
    }

    /// Asks one question, or with [`NLM_F_DUMP`] for a list.
    fn ask(
        &mut self,
        what: &str,
        message: &RouteNetlinkMessage,
        flags: u16,
    ) -> Result<Vec<RouteNetlinkMessage>, NetlinkError> {
        let request = encode(message, flags);
        until_whole(|| {
            let mut answers = Vec::new();
            self.route.exchange(what, &request, &mut |kind, payload| {
                answers.push(decode(kind, payload)?);
                Ok(())
            })?;
            Ok(answers)
        })
    }

    fn list(
        &mut self,
        what: &str,
        message: &RouteNetlinkMessage,
    ) -> Result<Vec<RouteNetlinkMessage>, NetlinkError> {
        self.ask(what, message, NLM_F_DUMP)
    }
}

/// Reads a list again as long as it changed while it was read, ten times at most.
///
/// # Errors
/// [`NetlinkError`], of the last time.
pub fn until_whole<T>(
    mut read: impl FnMut() -> Result<T, NetlinkError>,
) -> Result<T, NetlinkError> {
    let mut last = read();
    for _ in 1..DUMPS_MAX {
        match last {
            Err(NetlinkError::Changed { .. }) => last = read(),
            other => return other,
        }
    }
    last
}

fn encode(message: &RouteNetlinkMessage, flags: u16) -> Request {
    let mut body = vec![0; message.buffer_len()];
    message.serialize(&mut body);
    Request {
        kind: message.message_type(),
        flags,
        body,
    }
}

pub(crate) fn decode(kind: u16, payload: &[u8]) -> Result<RouteNetlinkMessage, String> {
    let mut header = NetlinkHeader::default();
    header.message_type = kind;
    RouteNetlinkMessage::deserialize(&header, payload).map_err(|error| error.to_string())
}

/// Messages as they come, for readers that send no requests.
pub(crate) mod wire {
    pub(crate) use super::address::described as address;
    pub(crate) use super::channel::messages;
    pub(crate) use super::decode;
    pub(crate) use super::description::described as link;
    pub(crate) use super::neighbour::described as neighbour;
    pub(crate) use super::route::described as route;
}
