//! Links: bridges, VLANs, dummies, and the settings and counters of any link.

use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    BridgeStpState, InfoBridge, InfoData, InfoKind, InfoMacVlan, InfoVlan, LinkAttribute,
    LinkFlags, LinkInfo, LinkMessage, LinkXdp, MacVlanMode,
};

use super::description::{Link, LinkStatistics, described};
use super::{Netlink, NetlinkError};
use crate::namespace::Namespace;
use crate::setting::{OFF, ON};
use crate::tag::INTERFACE_NAME_BYTES_MAX;

/// The kernel takes up to a second, more on a busy machine.
pub(super) const READY_WAIT: Duration = Duration::from_secs(10);

/// The journal's name for them: other settings have names of files in sysfs.
pub(crate) const ADDRESS: &str = "link:address";
pub(crate) const PROMISCUOUS: &str = "link:promiscuous";
pub(crate) const XDP: &str = "link:xdp";

/// `XDP_FLAGS_SKB_MODE` (`linux/if_link.h`).
const XDP_GENERIC: u32 = 1 << 1;

pub(crate) fn hexadecimal(address: [u8; 6]) -> String {
    address.map(|byte| format!("{byte:02x}")).concat()
}

impl Netlink {
    /// Makes a bridge without spanning tree, multicast snooping or delays: it
    /// forwards as soon as it is up.
    ///
    /// # Errors
    /// [`NetlinkError`], e.g. when the name is taken.
    pub fn add_bridge(&mut self, name: &str) -> Result<(), NetlinkError> {
        let settings = vec![
            InfoBridge::StpState(BridgeStpState::Disabled),
            InfoBridge::ForwardDelay(0),
            InfoBridge::MulticastSnooping(false),
        ];
        self.add_link(
            name,
            InfoKind::Bridge,
            Some(InfoData::Bridge(settings)),
            vec![],
        )
    }

    /// Makes a link that carries the frames of one VLAN (IEEE 802.1Q) of
    /// another.
    ///
    /// # Errors
    /// [`NetlinkError::Argument`] for an `id` outside 1 to 4094;
    /// [`NetlinkError::NoLink`] without `parent`.
    pub fn add_vlan(&mut self, name: &str, parent: &str, id: u16) -> Result<(), NetlinkError> {
        if !(1..=4094).contains(&id) {
            return Err(NetlinkError::Argument {
                argument: "a VLAN",
                value: id.to_string(),
                allowed: "1 to 4094",
            });
        }
        let parent = self.link(parent)?.index;
        let data = InfoData::Vlan(vec![InfoVlan::Id(id)]);
        self.add_link(
            name,
            InfoKind::Vlan,
            Some(data),
            vec![LinkAttribute::Link(parent)],
        )
    }

    /// Makes a link with an Ethernet address of its own on another, in private reach of
    /// the others there (`bridge` mode, `ip-link(8)`).
    ///
    /// # Errors
    /// [`NetlinkError::NoLink`] without `parent`; else e.g. where the kernel has none
    /// (`CONFIG_MACVLAN`).
    pub fn add_macvlan(&mut self, name: &str, parent: &str) -> Result<(), NetlinkError> {
        let parent = self.link(parent)?.index;
        let data = InfoData::MacVlan(vec![InfoMacVlan::Mode(MacVlanMode::Bridge)]);
        self.add_link(
            name,
            InfoKind::MacVlan,
            Some(data),
            vec![LinkAttribute::Link(parent)],
        )
    }

    /// Gives a link that is down another name.
    pub fn rename(&mut self, name: &str, to: &str) -> Result<(), NetlinkError> {
        check_name(to)?;
        let index = self.link(name)?.index;
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes = vec![LinkAttribute::IfName(to.to_owned())];
        self.order(
            &format!("call the link {name} {to}"),
            &RouteNetlinkMessage::SetLink(message),
            0,
        )
    }

    fn add_link(
        &mut self,
        name: &str,
        kind: InfoKind,
        data: Option<InfoData>,
        more: Vec<LinkAttribute>,
    ) -> Result<(), NetlinkError> {
        check_name(name)?;
        let what = format!("make the link {name} ({kind})");
        let mut info = vec![LinkInfo::Kind(kind)];
        info.extend(data.map(LinkInfo::Data));
        let mut message = LinkMessage::default();
        message.attributes = more;
        message
            .attributes
            .push(LinkAttribute::IfName(name.to_owned()));
        message.attributes.push(LinkAttribute::LinkInfo(info));
        self.order(
            &what,
            &RouteNetlinkMessage::NewLink(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Removes a link, and with it the other end of a veth.
    ///
    /// # Errors
    /// [`NetlinkError`]; [`NetlinkError::is_absent`] where there is none.
    pub fn remove_link(&mut self, name: &str) -> Result<(), NetlinkError> {
        let message = named(name)?;
        self.order(
            &format!("remove the link {name}"),
            &RouteNetlinkMessage::DelLink(message),
            0,
        )
    }

    pub fn set_up(&mut self, name: &str) -> Result<(), NetlinkError> {
        self.set_flags(name, LinkFlags::Up, LinkFlags::Up, "up")
    }

    /// Waits until frames pass and addresses are in use. The kernel does both some
    /// time after the second end of a veth is set up, and drops frames until then.
    ///
    /// # Errors
    /// [`NetlinkError::NotReady`] when that takes more than ten seconds.
    pub fn wait_until_running(&mut self, name: &str) -> Result<(), NetlinkError> {
        let deadline = Instant::now() + READY_WAIT;
        while !self.link(name)?.running {
            if Instant::now() > deadline {
                return Err(NetlinkError::NotReady {
                    what: format!("the link {name}"),
                    seconds: READY_WAIT.as_secs(),
                });
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        for (address, _) in self.addresses(name)? {
            if !is_link_local(address) {
                self.wait_until_local(name, address)?;
            }
        }
        Ok(())
    }

    pub fn set_down(&mut self, name: &str) -> Result<(), NetlinkError> {
        self.set_flags(name, LinkFlags::empty(), LinkFlags::Up, "down")
    }

    /// Whether a link takes in frames for any Ethernet address.
    pub fn set_promiscuous(&mut self, name: &str, on: bool) -> Result<(), NetlinkError> {
        let (flags, value) = if on {
            (LinkFlags::Promisc, ON)
        } else {
            (LinkFlags::empty(), OFF)
        };
        self.loans.note(name, PROMISCUOUS, value)?;
        self.set_flags(name, flags, LinkFlags::Promisc, "promiscuous mode of")
    }

    fn set_flags(
        &mut self,
        name: &str,
        flags: LinkFlags,
        mask: LinkFlags,
        what: &str,
    ) -> Result<(), NetlinkError> {
        let mut message = named(name)?;
        message.header.flags = flags;
        message.header.change_mask = mask;
        self.order(
            &format!("set {what} the link {name}"),
            &RouteNetlinkMessage::SetLink(message),
            0,
        )
    }

    /// Removes an XDP program that stayed when its owner ended: one that a socket
    /// library attached by netlink, not by a link of its own.
    ///
    /// # Errors
    /// [`NetlinkError`], e.g. when its owner lives and holds it by a BPF link.
    pub(crate) fn detach_xdp(&mut self, name: &str) -> Result<(), NetlinkError> {
        [0, XDP_GENERIC].into_iter().try_for_each(|mode| {
            let nothing = vec![LinkXdp::Fd(-1), LinkXdp::Flags(mode)];
            self.change(name, "no XDP program", LinkAttribute::Xdp(nothing))
        })
    }

    pub fn set_address(&mut self, name: &str, address: [u8; 6]) -> Result<(), NetlinkError> {
        self.loans.note(name, ADDRESS, &hexadecimal(address))?;
        self.change(
            name,
            "the address",
            LinkAttribute::Address(address.to_vec()),
        )
    }

    /// Sets the largest packet of a link, bytes, without the Ethernet header.
    ///
    /// # Errors
    /// [`NetlinkError`], e.g. where the driver, or its XDP program, allows less.
    pub fn set_mtu(&mut self, name: &str, mtu: u32) -> Result<(), NetlinkError> {
        self.loans.note(name, "mtu", &mtu.to_string())?;
        self.change(name, "the MTU", LinkAttribute::Mtu(mtu))
    }

    /// How many frames may wait in the queue before a link that has one.
    pub fn set_queue_length(&mut self, name: &str, frames: u32) -> Result<(), NetlinkError> {
        self.loans.note(name, "tx_queue_len", &frames.to_string())?;
        self.change(name, "the queue length", LinkAttribute::TxQueueLen(frames))
    }

    /// Makes a link a port of a bridge, or takes it out of its bridge.
    pub fn set_master(&mut self, name: &str, bridge: Option<&str>) -> Result<(), NetlinkError> {
        let index = match bridge {
            Some(bridge) => self.link(bridge)?.index,
            None => 0,
        };
        self.change(name, "the bridge", LinkAttribute::Controller(index))
    }

    /// Moves a link into a namespace; it is down there, without its addresses.
    pub fn move_link(&mut self, name: &str, to: &Namespace) -> Result<(), NetlinkError> {
        let file = to.as_fd().as_raw_fd();
        self.change(name, "the namespace", LinkAttribute::NetNsFd(file))
    }

    /// As [`move_link`](Self::move_link), with the number that it had there, if that
    /// is free: since Linux 5.12 one may ask for it.
    pub(crate) fn move_back(
        &mut self,
        name: &str,
        to: &Namespace,
        index: u32,
    ) -> Result<(), NetlinkError> {
        let file = LinkAttribute::NetNsFd(to.as_fd().as_raw_fd());
        let index = LinkAttribute::NewIfIndex(index.cast_signed());
        self.change_all(name, "the namespace", vec![file, index])
            .or_else(|_| self.move_link(name, to))
    }

    fn change(
        &mut self,
        name: &str,
        what: &str,
        attribute: LinkAttribute,
    ) -> Result<(), NetlinkError> {
        self.change_all(name, what, vec![attribute])
    }

    fn change_all(
        &mut self,
        name: &str,
        what: &str,
        mut attributes: Vec<LinkAttribute>,
    ) -> Result<(), NetlinkError> {
        let mut message = named(name)?;
        message.attributes.append(&mut attributes);
        self.order(
            &format!("set {what} of the link {name}"),
            &RouteNetlinkMessage::SetLink(message),
            0,
        )
    }

    pub fn link(&mut self, name: &str) -> Result<Link, NetlinkError> {
        self.link_message(name).map(|message| described(&message))
    }

    pub fn links(&mut self) -> Result<Vec<Link>, NetlinkError> {
        let message = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let answers = self.list("list the links", &message)?;
        Ok(answers.iter().filter_map(link_of).map(described).collect())
    }

    /// What a link counted since it was made.
    ///
    /// # Errors
    /// [`NetlinkError::NoLink`].
    pub fn statistics(&mut self, name: &str) -> Result<LinkStatistics, NetlinkError> {
        let message = self.link_message(name)?;
        let counted = message
            .attributes
            .iter()
            .find_map(|attribute| match attribute {
                LinkAttribute::Stats64(stats) => Some(LinkStatistics::from(stats)),
                _ => None,
            });
        counted.ok_or_else(|| NetlinkError::Malformed {
            what: format!("read the counters of the link {name}"),
            reason: "they are missing".to_owned(),
        })
    }

    fn link_message(&mut self, name: &str) -> Result<LinkMessage, NetlinkError> {
        let what = format!("look at the link {name}");
        let answers = self.ask(&what, &RouteNetlinkMessage::GetLink(named(name)?), 0);
        let absent = || NetlinkError::NoLink {
            name: name.to_owned(),
        };
        match answers {
            Err(error) if error.is_absent() => Err(absent()),
            Err(error) => Err(error),
            Ok(answers) => answers.iter().find_map(link_of).cloned().ok_or_else(absent),
        }
    }
}

/// # Errors
/// [`NetlinkError::Argument`] for what no link can be named.
pub(super) fn check_name(name: &str) -> Result<(), NetlinkError> {
    let fits = (1..=INTERFACE_NAME_BYTES_MAX).contains(&name.len());
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'/' && byte != b':');
    if fits && is_plain && name != "." && name != ".." {
        return Ok(());
    }
    Err(NetlinkError::Argument {
        argument: "a link's name",
        value: format!("'{name}'"),
        allowed: "1 to 15 letters, digits or '-'",
    })
}

fn named(name: &str) -> Result<LinkMessage, NetlinkError> {
    check_name(name)?;
    let mut message = LinkMessage::default();
    message
        .attributes
        .push(LinkAttribute::IfName(name.to_owned()));
    Ok(message)
}

/// Addresses that the kernel assigns itself. It asks for duplicates first, which
/// takes a second or two, and they are the same on several links.
fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

fn link_of(message: &RouteNetlinkMessage) -> Option<&LinkMessage> {
    match message {
        RouteNetlinkMessage::NewLink(link) => Some(link),
        _ => None,
    }
}
