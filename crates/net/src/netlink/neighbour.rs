//! Neighbours: which Ethernet address an IP address has on a link.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};

use super::address::family;
use super::{Netlink, NetlinkError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    pub interface: u32,
    pub address: IpAddr,
    pub link_address: Option<[u8; 6]>,
    pub permanent: bool,
    pub valid: bool,
    /// Whether it was not heard of for a while: its address may be used, and a user
    /// asks whether it is still there (RFC 4861, section 7.3.2).
    pub stale: bool,
}

impl Netlink {
    /// Sets a permanent neighbour in place of what was known.
    ///
    /// # Errors
    /// [`NetlinkError`], e.g. while the link is down.
    pub fn set_neighbour(
        &mut self,
        link: &str,
        address: IpAddr,
        link_address: [u8; 6],
    ) -> Result<(), NetlinkError> {
        self.add_neighbour(link, address, link_address, NeighbourState::Permanent)
    }

    /// Sets a stale neighbour in place of what was known.
    ///
    /// # Errors
    /// [`NetlinkError`], e.g. while the link is down.
    pub fn set_stale_neighbour(
        &mut self,
        link: &str,
        address: IpAddr,
        link_address: [u8; 6],
    ) -> Result<(), NetlinkError> {
        self.add_neighbour(link, address, link_address, NeighbourState::Stale)
    }

    fn add_neighbour(
        &mut self,
        link: &str,
        address: IpAddr,
        link_address: [u8; 6],
        state: NeighbourState,
    ) -> Result<(), NetlinkError> {
        let mut message = self.neighbour_message(link, address)?;
        message.header.state = state;
        message
            .attributes
            .push(NeighbourAttribute::LinkLayerAddress(link_address.to_vec()));
        self.order(
            &format!("set the neighbour {address} on {link}"),
            &RouteNetlinkMessage::NewNeighbour(message),
            NLM_F_CREATE | NLM_F_REPLACE,
        )
    }

    /// Removes a neighbour.
    ///
    /// # Errors
    /// [`NetlinkError`]; [`NetlinkError::is_absent`] where there is none.
    pub fn remove_neighbour(&mut self, link: &str, address: IpAddr) -> Result<(), NetlinkError> {
        let message = self.neighbour_message(link, address)?;
        self.order(
            &format!("remove the neighbour {address} on {link}"),
            &RouteNetlinkMessage::DelNeighbour(message),
            0,
        )
    }

    pub fn neighbours(&mut self) -> Result<Vec<Neighbour>, NetlinkError> {
        let question = RouteNetlinkMessage::GetNeighbour(NeighbourMessage::default());
        let answers = self.list("list the neighbours", &question)?;
        Ok(answers
            .iter()
            .filter_map(|answer| match answer {
                RouteNetlinkMessage::NewNeighbour(message) => described(message),
                _ => None,
            })
            .collect())
    }

    fn neighbour_message(
        &mut self,
        link: &str,
        address: IpAddr,
    ) -> Result<NeighbourMessage, NetlinkError> {
        let mut message = NeighbourMessage::default();
        message.header.ifindex = self.link(link)?.index;
        message.header.family = family(address);
        message
            .attributes
            .push(NeighbourAttribute::Destination(match address {
                IpAddr::V4(address) => NeighbourAddress::Inet(address),
                IpAddr::V6(address) => NeighbourAddress::Inet6(address),
            }));
        Ok(message)
    }
}

/// `None` for an entry that is not about an IP address, e.g. a bridge's.
pub(crate) fn described(message: &NeighbourMessage) -> Option<Neighbour> {
    let mut address = None;
    let mut link_address = None;
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(v4)) => {
                address = Some(IpAddr::V4(*v4));
            }
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(v6)) => {
                address = Some(IpAddr::V6(*v6));
            }
            NeighbourAttribute::LinkLayerAddress(bytes) => {
                link_address = bytes.as_slice().try_into().ok();
            }
            _ => {}
        }
    }
    let state = message.header.state;
    Some(Neighbour {
        interface: message.header.ifindex,
        address: address?,
        link_address,
        permanent: state == NeighbourState::Permanent,
        valid: !matches!(
            state,
            NeighbourState::Incomplete | NeighbourState::Failed | NeighbourState::None
        ),
        stale: state == NeighbourState::Stale,
    })
}
