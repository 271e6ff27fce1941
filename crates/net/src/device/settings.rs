//! How a device was, and how it becomes so again.

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sys::failure::Failure;

use super::sysctls;
use crate::namespace::Namespace;
use crate::napi::{self, Scheduling};
use crate::netlink::{ADDRESS, Link, Netlink, OFFLOAD, PROMISCUOUS, XDP, hexadecimal};
use crate::setting::{Changes, Kept, OFF, ON, Values, are_plain};
use crate::sysfs::Sysfs;

/// Below `/sys/class/net/<device>`. NAPI threads come first: a veth without the
/// offload `rx-gro` has none, and keeps this setting as it is.
const FILES: [&str; 5] = [
    "threaded",
    "napi_defer_hard_irqs",
    "gro_flush_timeout",
    "tx_queue_len",
    "mtu",
];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    pub index: u32,
    pub up: bool,
    /// Settings that stay with it wherever it goes: files of its sysfs, offloads, its
    /// address.
    pub changes: Changes,
    /// Its sysctls that were not the default: it loses them when it moves.
    pub sysctls: Values,
    /// Its NAPI threads, in the order of their NAPIs: they end when it is set down.
    pub threads: Vec<Scheduling>,
}

impl Settings {
    pub(crate) fn of(netlink: &mut Netlink, link: &Link) -> Result<Self, Failure> {
        let sysfs = Sysfs::of(&Namespace::current()?)?;
        let threads = napi::threads_now(netlink, &link.name);
        Ok(Self {
            index: link.index,
            up: link.up,
            changes: Changes {
                before: values(netlink, &sysfs, link)?,
                ..Changes::default()
            },
            sysctls: sysctls::of(&link.name, link.mtu).map_err(in_proc)?,
            threads: threads
                .iter()
                .map(|thread| Scheduling::of(thread.pid))
                .collect::<io::Result<_>>()
                .map_err(in_proc)?,
        })
    }

    /// Whether they are plausible as read from a journal.
    pub(crate) fn are_plain(&self) -> bool {
        self.changes.are_plain()
            && are_plain(self.sysctls.iter())
            && self.threads.iter().all(Scheduling::is_plain)
    }

    /// Restores, where the device is lent to, the settings that stay with it.
    ///
    /// # Errors
    /// [`Failure`] when it cannot be told how they are. What the kernel
    /// refuses is among the settings that are returned: a device that comes back
    /// changed is better than one that does not.
    pub(crate) fn put_back(
        &self,
        there: &Namespace,
        netlink: &mut Netlink,
        name: &str,
    ) -> Result<Vec<Kept>, Failure> {
        let sysfs = Sysfs::of(there)?;
        let link = netlink.link(name)?;
        let now = values(netlink, &sysfs, &link)?;
        let (due, mut kept) = self.changes.due(&now);
        let mut refused = |setting: &str, value: &str, why: &dyn std::fmt::Display| {
            let now = now.get(setting).map_or(OFF, String::as_str);
            kept.push(Kept::of(setting, now, value).refused(why));
        };
        let is_first = |(setting, _): &&(String, String)| setting == FILES[0];
        if let Some((_, value)) = due.iter().find(is_first)
            && let Err(why) = put_threads(netlink, &sysfs, name, value)
        {
            refused(FILES[0], value, &why);
        }
        let mut offloads = vec![];
        for (setting, value) in due.iter().filter(|one| !is_first(one)) {
            let written = match setting.strip_prefix(OFFLOAD) {
                Some(offload) => {
                    offloads.push((offload, value == ON));
                    Ok(())
                }
                None => write(netlink, &sysfs, name, (setting, value)),
            };
            if let Err(why) = written {
                refused(setting, value, &why);
            }
        }
        if !offloads.is_empty() {
            await_programs(netlink, name)?;
        }
        // At once, as some go only with others. One that was wanted and not had,
        // for want of another, is an error here, and is as it was. One that is
        // not even wanted may be refused because the peer, in whatever namespace,
        // still has a program, which goes in its own time: it is asked for again.
        let mut looks = 0..PROGRAM_LOOKS;
        while !offloads.is_empty()
            && let Err(why) = netlink.set_offloads(name, &offloads)
        {
            let is = netlink.wanted_offloads(name)?;
            offloads.retain(|&(one, on)| is.contains(one) != on);
            if looks.next().is_some() {
                std::thread::sleep(PROGRAM_PAUSE);
                continue;
            }
            for (offload, on) in std::mem::take(&mut offloads) {
                let value = if on { ON } else { OFF };
                refused(&format!("{OFFLOAD}{offload}"), value, &why);
            }
        }
        Ok(kept)
    }

    /// Restores, in the calling thread's namespace, the settings lost on the way
    /// there and back. Unless it `has_just_come`, another program may have set it.
    ///
    /// # Errors
    /// [`Failure`]; else as [`put_back`](Self::put_back).
    pub(crate) fn settle(
        &self,
        netlink: &mut Netlink,
        name: &str,
        has_just_come: bool,
    ) -> Result<Vec<Kept>, Failure> {
        let restore = || sysctls::put_back(name, &self.sysctls, has_just_come).map_err(in_proc);
        let mut kept = restore()?;
        if self.up && !netlink.link(name)?.up {
            netlink.set_up(name)?;
            // Some follow others when it comes up.
            kept = restore()?;
        }
        if self.threads.is_empty() {
            return Ok(kept);
        }
        let threads = match napi::threads(netlink, name, self.threads.len()) {
            Ok(threads) if threads.len() == self.threads.len() => threads,
            other => {
                let now = other.map_or(0, |threads| threads.len()).to_string();
                let before = self.threads.len().to_string();
                let why = "they cannot be told apart";
                kept.push(Kept::of("number of NAPI threads", &now, &before).refused(&why));
                return Ok(kept);
            }
        };
        for (thread, before) in threads.iter().zip(&self.threads) {
            if let Err(why) = before.put_back(thread.pid) {
                let setting = format!("thread napi/{name}-{}", thread.napi);
                let now = Scheduling::of(thread.pid).map_err(in_proc)?;
                kept.push(Kept::of(&setting, &now.to_string(), &before.to_string()).refused(&why));
            }
        }
        Ok(kept)
    }
}

/// Waits, for a limited time, until no other link there has an XDP program: while a
/// veth's peer has one, the kernel accepts requests to segment and forgets them. A
/// program of Lockgate's goes a moment after its process: a child that another thread
/// has forked holds it until it executes.
fn await_programs(netlink: &mut Netlink, name: &str) -> Result<(), Failure> {
    for _ in 0..PROGRAM_LOOKS {
        let mut links = netlink.links()?;
        links.retain(|link| link.xdp && link.name != name);
        if links.is_empty() {
            break;
        }
        for link in links {
            // Not of a program that is held by a descriptor.
            let _ = netlink.detach_xdp(&link.name);
        }
        std::thread::sleep(PROGRAM_PAUSE);
    }
    Ok(())
}

/// A second in all.
fn in_proc(error: io::Error) -> Failure {
    Failure::of("cannot read settings in /proc; it must be mounted")(error)
}

const PROGRAM_LOOKS: u32 = 100;
const PROGRAM_PAUSE: Duration = Duration::from_millis(10);

fn values(netlink: &mut Netlink, sysfs: &Sysfs, link: &Link) -> Result<Values, Failure> {
    let mut values = Values::new();
    for file in FILES {
        match sysfs.read(&format!("{}/{file}", link.name)) {
            Ok(value) => drop(values.insert(file.to_owned(), value)),
            // Younger than this kernel.
            Err(error) if error.is_absent() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let on = netlink.wanted_offloads(&link.name)?.into_iter();
    values.extend(on.map(|offload| (format!("{OFFLOAD}{offload}"), ON.to_owned())));
    values.insert(ADDRESS.to_owned(), hexadecimal(link.address));
    let switches = [(PROMISCUOUS, link.promiscuous), (XDP, link.xdp)];
    let on = switches.into_iter().filter(|(_, on)| *on);
    values.extend(on.map(|(switch, _)| (switch.to_owned(), ON.to_owned())));
    Ok(values)
}

fn write(
    netlink: &mut Netlink,
    sysfs: &Sysfs,
    name: &str,
    (setting, value): (&str, &str),
) -> Result<(), Failure> {
    match setting {
        ADDRESS => {
            let number = u64::from_str_radix(value, 16).unwrap_or_default();
            let [_, _, address @ ..] = number.to_be_bytes();
            Ok(netlink.set_address(name, address)?)
        }
        // One that is in use is not lent: it was off.
        XDP => Ok(netlink.detach_xdp(name)?),
        PROMISCUOUS => Ok(netlink.set_promiscuous(name, value == ON)?),
        file => Ok(sysfs.write(&format!("{name}/{file}"), value)?),
    }
}

/// A veth takes it only while it has NAPI: set up, with `rx-gro` on. Both are
/// restored afterwards.
fn put_threads(
    netlink: &mut Netlink,
    sysfs: &Sysfs,
    name: &str,
    value: &str,
) -> Result<(), Failure> {
    let path = format!("{name}/{}", FILES[0]);
    if sysfs.write(&path, value).is_ok() {
        return Ok(());
    }
    let gro = netlink.wanted_offloads(name)?.contains("rx-gro");
    netlink.set_up(name)?;
    netlink.set_offloads(name, &[("rx-gro", true)])?;
    let written = sysfs.write(&path, value);
    netlink.set_offloads(name, &[("rx-gro", gro)])?;
    Ok(written?)
}
