//! A router's XDP programs: on which ports they are, and what they count.

use net::{Namespace, Netlink};

use super::show::{DeciderShown, XdpShown};
#[cfg(feature = "bpf")]
use crate::router::xdp::Standing;
use crate::router::{Firewall, RouterError};
use crate::topology::NetworkError;

#[cfg(feature = "bpf")]
pub(super) struct OnPorts {
    programs: Standing<xdp::path::Fib>,
    links: Vec<String>,
    firewall: Firewall,
}

/// There are none in a build without BPF; a plan that wants some was refused before.
#[cfg(not(feature = "bpf"))]
pub(super) enum OnPorts {}

#[cfg(not(feature = "bpf"))]
impl OnPorts {
    pub(super) fn start(_: &Namespace, _: Vec<String>, _: Firewall) -> Result<Self, RouterError> {
        Err(RouterError::new(
            "this program is built without the cargo feature 'bpf'",
        ))
    }

    pub(super) fn are_as(&self, _: &[String], _: Firewall) -> bool {
        match *self {}
    }

    pub(super) fn counters(&self) -> XdpShown {
        match *self {}
    }

    pub(super) fn counters_of(&self, _: u32) -> Option<XdpShown> {
        match *self {}
    }

    pub(super) fn deciders(&self, _: &mut Netlink) -> Result<Vec<DeciderShown>, NetworkError> {
        match *self {}
    }
}

#[cfg(feature = "bpf")]
impl OnPorts {
    pub(super) fn start(
        namespace: &Namespace,
        links: Vec<String>,
        firewall: Firewall,
    ) -> Result<Self, RouterError> {
        Ok(Self {
            programs: Standing::fib_cached(namespace, links.clone(), firewall)?,
            links,
            firewall,
        })
    }

    pub(super) fn are_as(&self, links: &[String], firewall: Firewall) -> bool {
        self.links == links && self.firewall == firewall
    }

    /// Returns what the program counted on all ports.
    pub(super) fn counters(&self) -> XdpShown {
        XdpShown::of(self.programs.counters("xdp"))
    }

    /// Returns what the program counted of the frames that came in by that link.
    pub(super) fn counters_of(&self, index: u32) -> Option<XdpShown> {
        let counted = self.programs.counters_of(index);
        Some(XdpShown::of(counted.transpose()?))
    }

    /// What else decides about the frames of these ports.
    pub(super) fn deciders(
        &self,
        netlink: &mut Netlink,
    ) -> Result<Vec<DeciderShown>, NetworkError> {
        let links = netlink.links()?;
        let deciders = self.programs.deciders();
        let shown = |one| DeciderShown::of(one, self.firewall, &links);
        Ok(deciders.iter().map(shown).collect())
    }
}
