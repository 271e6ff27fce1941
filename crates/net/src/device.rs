//! Devices of the host that are lent to one of our namespaces, and come back.

mod settings;
mod sysctls;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub use settings::Settings;
use sys::failure::Failure;

use crate::deciders::{About, Decider, Deciders};
use crate::journal::{Entry, Journal, Record};
use crate::namespace::Namespace;
use crate::netlink::{Link, Netlink, NetlinkError, Route, RouteKind, until_whole};

#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    #[error("there is no device '{name}' here; 'ip link' shows the existing ones")]
    Absent { name: String },
    #[error(
        "the device {name} is in use: it {how}; Lockgate takes only devices that carry no address and no route, and belong to nothing: name another, or free this one"
    )]
    InUse { name: String, how: String },
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// A device of the host in a namespace of ours, under its own name. When this is
/// dropped it goes back to where it came from, with its settings, and is up if
/// it was; after a crash the next sweep brings it back.
#[derive(Debug)]
pub struct Lent {
    _record: Record,
}

/// Moves a device of the calling thread's namespace to one that was made with
/// [`Namespace::create`](crate::Namespace::create). It is down there.
/// # Errors
/// [`DeviceError`], also for a device that carries an address or a route, has filters or a
/// queueing discipline, or belongs to another device: such a one is never touched.
pub fn lend(journal: &Journal, name: &str, to: &Namespace) -> Result<Lent, DeviceError> {
    let link = find(name)?;
    check_free(&link)?;
    let mut netlink = Netlink::open().map_err(unseen(name))?;
    let entry = Entry::Device {
        name: name.to_owned(),
        namespace: to.name().to_owned(),
        home: home().map_err(Failure::of(format!(
            "cannot read the namespace of the device {name}"
        )))?,
        settings: Settings::of(&mut netlink, &link).map_err(Failure::of(format!(
            "cannot read the settings of the device {name}, which stays where it is"
        )))?,
    };
    let record = journal.record(entry).map_err(Failure::of(format!(
        "cannot journal that the device {name} is lent"
    )))?;
    match netlink.move_link(name, to) {
        Ok(()) => Ok(Lent { _record: record }),
        Err(source) => {
            // It stayed as it was.
            record.forget();
            Err(Failure::of(format!(
                "cannot move the device {name} to {}; a loopback, a bridge and other devices that belong to their namespace stay there: name another",
                to.name()
            ))(source)
            .into())
        }
    }
}

/// A device of the calling thread's namespace. Reading needs no privilege.
/// # Errors
/// [`DeviceError`], also where there is none of that name.
pub fn find(name: &str) -> Result<Link, DeviceError> {
    let links = Netlink::open().and_then(|mut netlink| netlink.links());
    let mut links = links.map_err(unseen(name))?.into_iter();
    links
        .find(|link| link.name == name)
        .ok_or_else(|| DeviceError::Absent {
            name: name.to_owned(),
        })
}

/// Whether [`lend`] takes it. Reading needs no privilege.
/// # Errors
/// [`DeviceError::InUse`] says how it is in use.
pub fn check_free(link: &Link) -> Result<(), DeviceError> {
    let used = Netlink::open().and_then(|mut netlink| {
        let links = netlink.links()?;
        use_of(&mut netlink, &links, link)
    });
    match used.map_err(unseen(&link.name))? {
        None => Ok(()),
        Some(how) => Err(DeviceError::InUse {
            name: link.name.clone(),
            how,
        }),
    }
}

fn unseen(name: &str) -> impl FnOnce(NetlinkError) -> Failure {
    Failure::of(format!("cannot look at the device {name}"))
}

fn use_of(
    netlink: &mut Netlink,
    links: &[Link],
    link: &Link,
) -> Result<Option<String>, NetlinkError> {
    let name_of = |index| {
        let known = links.iter().find(|other| other.index == index);
        known.map_or_else(|| format!("link {index}"), |other| other.name.clone())
    };
    if let Some(master) = link.master {
        return Ok(Some(format!("is a port of {}", name_of(master))));
    }
    let above = |other: &&Link| other.peer == Some(link.index) && other.kind != "veth";
    if let Some(above) = links.iter().find(above) {
        return Ok(Some(format!("carries {}", above.name)));
    }
    if link.xdp {
        return Ok(Some("runs an XDP program".to_owned()));
    }
    // Filters and queues end where a device leaves its namespace. Only root may list them,
    // and only root lends.
    if rustix::process::geteuid().is_root() {
        let deciders = Deciders::open()?.find(netlink, &[link.index])?;
        let is_at_it =
            |one: &&Decider| matches!(one.about, About::Incoming(_) | About::Outgoing(_));
        if let Some(decider) = deciders.iter().find(is_at_it) {
            return Ok(Some(format!("has {}, which would be lost", decider.name)));
        }
    }
    let addresses = netlink.addresses(&link.name)?;
    if let Some((address, bits)) = addresses
        .iter()
        .find(|(address, _)| !is_automatic(*address))
    {
        return Ok(Some(format!("has the address {address}/{bits}")));
    }
    for family in [
        IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    ] {
        let mut meant = None;
        let mut note = |route: Route| {
            let is_meant = route.interface == Some(link.index)
                && route.kind == RouteKind::Unicast
                && !is_automatic(route.destination);
            if is_meant {
                meant.get_or_insert(route);
            }
        };
        until_whole(|| netlink.each_route(family, &mut note))?;
        if let Some(route) = meant {
            let what = match route.prefix_length {
                0 => "the default route".to_owned(),
                bits => format!("the route to {}/{bits}", route.destination),
            };
            return Ok(Some(format!("carries {what}")));
        }
    }
    Ok(None)
}

fn is_automatic(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local() || v6.is_multicast())
}

pub(crate) fn home() -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    Ok(std::fs::metadata("/proc/thread-self/ns/net")?.ino())
}
