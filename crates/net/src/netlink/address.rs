//! Addresses of links.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::link::READY_WAIT;
use super::route::RouteKind;
use super::{Netlink, NetlinkError};

pub(super) fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

/// # Errors
/// [`NetlinkError::Argument`] for a prefix longer than the address.
pub(super) fn check_prefix(address: IpAddr, length: u8) -> Result<(), NetlinkError> {
    let (bits, allowed) = match address {
        IpAddr::V4(_) => (32, "0 to 32 for IPv4"),
        IpAddr::V6(_) => (128, "0 to 128 for IPv6"),
    };
    if length <= bits {
        return Ok(());
    }
    Err(NetlinkError::Argument {
        argument: "a prefix length",
        value: length.to_string(),
        allowed,
    })
}

impl Netlink {
    /// Gives a link an address, and the namespace the route to its network once the
    /// link is up. On a running link it is usable on return, on another after
    /// [`Netlink::wait_until_running`]. IPv6's duplicate address detection (RFC 4862,
    /// section 5.4) is off for it.
    ///
    /// # Errors
    /// [`NetlinkError`], e.g. when the link has it already.
    pub fn add_address(
        &mut self,
        link: &str,
        address: IpAddr,
        prefix_length: u8,
    ) -> Result<(), NetlinkError> {
        let message = self.address_message(link, address, prefix_length)?;
        self.order(
            &format!("give {link} the address {address}/{prefix_length}"),
            &RouteNetlinkMessage::NewAddress(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )?;
        if self.link(link)?.running {
            self.wait_until_local(link, address)?;
        }
        Ok(())
    }

    /// The kernel takes an IPv6 address into use later, in a thread: until then it
    /// drops what is sent there.
    pub(super) fn wait_until_local(
        &mut self,
        link: &str,
        address: IpAddr,
    ) -> Result<(), NetlinkError> {
        let deadline = Instant::now() + READY_WAIT;
        loop {
            match self.route_to(address) {
                Ok(route) if route.kind == RouteKind::Local => return Ok(()),
                Err(error) if error.errno().is_none() => return Err(error),
                _ if Instant::now() > deadline => {
                    return Err(NetlinkError::NotReady {
                        what: format!("the address {address} of {link}"),
                        seconds: READY_WAIT.as_secs(),
                    });
                }
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    pub fn remove_address(
        &mut self,
        link: &str,
        address: IpAddr,
        prefix_length: u8,
    ) -> Result<(), NetlinkError> {
        let message = self.address_message(link, address, prefix_length)?;
        self.order(
            &format!("take the address {address}/{prefix_length} from {link}"),
            &RouteNetlinkMessage::DelAddress(message),
            0,
        )
    }

    pub fn addresses(&mut self, link: &str) -> Result<Vec<(IpAddr, u8)>, NetlinkError> {
        let index = self.link(link)?.index;
        let question = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        let answers = self.list(&format!("list the addresses of {link}"), &question)?;
        Ok(answers
            .iter()
            .filter_map(|answer| match answer {
                RouteNetlinkMessage::NewAddress(address) => Some(address),
                _ => None,
            })
            .filter(|message| message.header.index == index)
            .filter_map(described)
            .collect())
    }

    fn address_message(
        &mut self,
        link: &str,
        address: IpAddr,
        prefix_length: u8,
    ) -> Result<AddressMessage, NetlinkError> {
        check_prefix(address, prefix_length)?;
        let mut message = AddressMessage::default();
        message.header.index = self.link(link)?.index;
        message.header.family = family(address);
        message.header.prefix_len = prefix_length;
        message.attributes = vec![
            AddressAttribute::Local(address),
            AddressAttribute::Address(address),
        ];
        if address.is_ipv6() {
            message.header.flags = AddressHeaderFlags::Nodad;
            message
                .attributes
                .push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        Ok(message)
    }
}

pub(crate) fn described(message: &AddressMessage) -> Option<(IpAddr, u8)> {
    let mut found = None;
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Local(address) => found = Some(*address),
            AddressAttribute::Address(address) => {
                found.get_or_insert(*address);
            }
            _ => {}
        }
    }
    Some((found?, message.header.prefix_len))
}
