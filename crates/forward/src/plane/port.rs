//! Ports: made, changed and removed.

use std::collections::BTreeSet;
use std::fs::File;

use net::device::Lent;
use net::netlink::{VethEnd, add_veth};
use net::tap::{TapMode, open_tap};
use net::{Journal, Namespace, Netlink, Tag, napi};
use sys::failure::Failure;

use super::PlaneError;
use super::plan::{PortPlan, Source};
use crate::topology::NetworkError;
use crate::topology::wires::OFFLOADS;

/// A port as it stands.
pub(super) struct Port {
    pub plan: PortPlan,
    /// What was lent for it, under its own name: by that it is brought back.
    lent: Option<Lent>,
}

/// Where it is made.
pub(super) struct Place<'a> {
    pub journal: &'a Journal,
    pub host: &'a Namespace,
    pub inside: &'a Namespace,
    /// The other end of a cable.
    pub other: Option<&'a Namespace>,
}

impl Port {
    /// Makes it, down; a cable with both its ends, of which the other one is to be noted
    /// with [`Port::of_cable`].
    ///
    /// # Errors
    /// [`NetworkError`]; nothing is left then.
    pub(super) fn make(
        place: &Place<'_>,
        name: &str,
        plan: &PortPlan,
    ) -> Result<Self, NetworkError> {
        let made = Self::made(place, name, plan);
        // A device went back by itself; of others one part may be there.
        if made.is_err()
            && !matches!(plan.source, Source::Device(_))
            && let Ok(mut netlink) = place.inside.netlink()
        {
            let _ = netlink.remove_link(name);
        }
        made
    }

    fn made(place: &Place<'_>, name: &str, plan: &PortPlan) -> Result<Self, NetworkError> {
        let mut lent = None;
        match &plan.source {
            Source::Veth(host) => {
                let ends = [
                    VethEnd::new(place.inside, name),
                    VethEnd::new(place.host, host),
                ]
                .map(|end| VethEnd {
                    mtu: Some(plan.mtu),
                    ..end
                });
                add_veth(&ends[0], &ends[1])?;
                let mut netlink = place.host.netlink()?;
                netlink.set_up(host)?;
                plain_frames(&mut netlink, host)?;
            }
            Source::Cable { port, .. } => {
                let other = place.other.expect("a cable's other end is known");
                let ends =
                    [VethEnd::new(place.inside, name), VethEnd::new(other, port)].map(|end| {
                        VethEnd {
                            mtu: Some(plan.mtu),
                            ..end
                        }
                    });
                add_veth(&ends[0], &ends[1])?;
            }
            Source::Tap => {
                let mode = TapMode {
                    ethernet: true,
                    virtio_header: false,
                    multi_queue: false,
                    ring_bytes: None,
                };
                let file = File::from(open_tap(place.inside, name, 1, mode)?.remove(0));
                // A guest opens it later.
                sys::tap::keep(&file)
                    .map_err(Failure::of(format!("cannot keep the tap {name}")))?;
            }
            Source::Device(device) => {
                lent = Some(net::device::lend(place.journal, device, place.inside)?);
            }
            Source::Macvlan(parent) => {
                // It is made where its parent is, and moved.
                let passing = Tag::fresh().interface("m")?;
                let mut netlink = place.host.netlink()?;
                netlink.add_macvlan(&passing, parent)?;
                let moved = netlink
                    .move_link(&passing, place.inside)
                    .and_then(|()| place.inside.netlink()?.rename(&passing, name));
                if let Err(error) = moved {
                    let _ = netlink.remove_link(&passing);
                    return Err(error.into());
                }
            }
        }
        Ok(Self {
            plan: PortPlan {
                // Not yet.
                addresses: BTreeSet::new(),
                ..plan.clone()
            },
            lent,
        })
    }

    /// The other end of a cable that was made.
    pub(super) fn of_cable(plan: &PortPlan) -> Self {
        Self {
            plan: PortPlan {
                addresses: BTreeSet::new(),
                ..plan.clone()
            },
            lent: None,
        }
    }

    /// Gives it what is wanted of MTU and addresses, and sets it up.
    pub(super) fn become_(
        &mut self,
        netlink: &mut Netlink,
        name: &str,
        wanted: &PortPlan,
        host: &Namespace,
    ) -> Result<Vec<String>, NetworkError> {
        let mut changes = Vec::new();
        let link = netlink.link(name)?;
        if link.mtu != wanted.mtu {
            netlink.set_mtu(name, wanted.mtu)?;
            if let Source::Veth(other) = &wanted.source {
                host.netlink()?.set_mtu(other, wanted.mtu)?;
            }
            changes.push(format!("{name}: MTU {}", wanted.mtu));
        }
        if !link.up {
            netlink.set_up(name)?;
            if link.kind == "veth" {
                plain_frames(netlink, name)?;
            }
        }
        let own = self.plan.addresses.clone();
        for gone in own.difference(&wanted.addresses) {
            match netlink.remove_address(name, gone.address, gone.bits) {
                // Someone else was quicker.
                Err(error) if error.is_absent() => {}
                removed => removed?,
            }
            self.plan.addresses.remove(gone);
            changes.push(format!("{name}: not {gone}"));
        }
        for new in wanted.addresses.difference(&own) {
            netlink.add_address(name, new.address, new.bits)?;
            self.plan.addresses.insert(*new);
            changes.push(format!("{name}: {new}"));
        }
        self.plan = wanted.clone();
        Ok(changes)
    }

    /// Has kernel threads receive on these CPUs, or none. Taps and macvlans have no NAPI
    /// of their own.
    pub(super) fn receive(
        &self,
        inside: &Namespace,
        netlink: &mut Netlink,
        name: &str,
        cpus: &BTreeSet<usize>,
    ) -> Result<(), NetworkError> {
        if matches!(self.plan.source, Source::Tap | Source::Macvlan(_)) {
            return Ok(());
        }
        napi::set_threaded(inside, name, !cpus.is_empty())?;
        if !cpus.is_empty() {
            let cpus: Vec<_> = cpus.iter().copied().collect();
            for thread in napi::threads(netlink, name, 1)? {
                thread.pin(&cpus)?;
            }
        }
        Ok(())
    }

    /// Takes it away; what was lent goes back.
    pub(super) fn remove(self, inside: &Namespace, name: &str) -> Result<(), NetworkError> {
        match self.lent {
            Some(lent) => {
                drop(lent);
                Ok(())
            }
            None => match inside.netlink()?.remove_link(name) {
                // The other end went, and this one with it.
                Err(error) if error.is_absent() => Ok(()),
                removed => Ok(removed?),
            },
        }
    }
}

/// Whether threads can be on those CPUs.
pub(super) fn check_cpus(router: &str, cpus: &BTreeSet<usize>) -> Result<(), PlaneError> {
    let here = sys::affinity::allowed_cpus().map_err(|error| PlaneError::Router {
        what: "the CPUs are not known".to_owned(),
        source: Failure::as_is(error),
    })?;
    match cpus.iter().find(|cpu| !here.contains(cpu)) {
        None => Ok(()),
        Some(cpu) => Err(PlaneError::Plan(format!(
            "router {router}: threads on CPU {cpu}, and the CPUs here are {here:?}"
        ))),
    }
}

/// Frames of a veth as they are on a wire: whole, and with their checksums, which an XDP
/// program cannot see missing.
fn plain_frames(netlink: &mut Netlink, name: &str) -> Result<(), NetworkError> {
    Ok(netlink.set_offloads(name, &OFFLOADS)?)
}
