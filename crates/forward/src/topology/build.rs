//! A topology as it stands.

use std::os::fd::OwnedFd;

use net::device::Lent;
use net::napi::NapiThread;
use net::{Journal, Namespace, Tag};

use super::error::NetworkError;
use super::names::SideNames;
use super::plan::Side;
use super::spec::{Attachment, Spec};
use super::wires::{self, Ends};

/// Ethernet addresses of the tester's ports where a file, which has none, is the
/// port.
const TAP_MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0x1c, 0], [2, 0, 0, 0, 0x1c, 1]];

#[derive(Debug)]
pub struct Built {
    pub names: SideNames,
    /// The tester's end of the wire where that is a tap: it has no link then.
    pub tap: Option<OwnedFd>,
    // Before the namespaces: devices leave them first.
    _lent: Vec<Lent>,
    pub tester: Namespace,
    pub tester_mac: [u8; 6],
    pub router_index: u32,
    pub router_mac: [u8; 6],
    pub sink_threads: Vec<NapiThread>,
    pub router_threads: Vec<NapiThread>,
}

/// A topology as it stands: links up, no addresses yet (see
/// [`address`](super::address)). It is gone when dropped.
#[derive(Debug)]
pub struct Topology {
    spec: Spec,
    tag: Tag,
    router: Namespace,
    sides: [Built; 2],
    _between: Option<Namespace>,
}

impl Topology {
    /// Makes the tester's namespaces and the wires to the router's, which is
    /// given: its home's.
    ///
    /// # Errors
    /// [`NetworkError`]; nothing is left then.
    ///
    /// # Panics
    /// If [`Spec::check`] was not asked before.
    pub fn build(
        journal: &Journal,
        tag: Tag,
        spec: &Spec,
        router: Namespace,
    ) -> Result<Self, NetworkError> {
        assert_eq!(spec.check(), Ok(()), "checked by the caller");
        quiet(&router, spec.ipv6)?;
        let between = match spec.attachment {
            Attachment::Direct => None,
            Attachment::Bridged => Some(Namespace::create(journal, &tag.name("between")?)?),
        };
        if let Some(between) = &between {
            no_ipv6(between)?;
        }
        let side = |side| build_side(journal, &tag, spec, &router, between.as_ref(), side);
        Ok(Self {
            sides: [side(Side::Zero)?, side(Side::One)?],
            spec: spec.clone(),
            tag,
            router,
            _between: between,
        })
    }

    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    pub fn tag(&self) -> &Tag {
        &self.tag
    }

    pub fn router(&self) -> &Namespace {
        &self.router
    }

    pub fn side(&self, side: Side) -> &Built {
        &self.sides[side.index()]
    }

    pub fn sides(&self) -> &[Built; 2] {
        &self.sides
    }

    /// The kernel's threads that receive for the router, all sides.
    pub fn router_threads(&self) -> impl Iterator<Item = &NapiThread> {
        self.sides.iter().flat_map(|side| &side.router_threads)
    }

    /// The kernel's threads that receive for the tester, all sides.
    pub fn sink_threads(&self) -> impl Iterator<Item = &NapiThread> {
        self.sides.iter().flat_map(|side| &side.sink_threads)
    }

    /// The link that carries the router's addresses on that side: its port, or
    /// the VLAN above it.
    pub fn router_link(&self, side: Side) -> &str {
        let names = &self.side(side).names;
        match self.spec.vlan {
            None => &names.router,
            Some(_) => &names.router_vlan,
        }
    }

    /// The link that carries the tester's addresses on that side.
    pub fn tester_link(&self, side: Side) -> &str {
        let names = &self.side(side).names;
        match self.spec.vlan {
            None => &names.tester,
            Some(_) => &names.tester_vlan,
        }
    }
}

fn build_side(
    journal: &Journal,
    tag: &Tag,
    spec: &Spec,
    router: &Namespace,
    between: Option<&Namespace>,
    side: Side,
) -> Result<Built, NetworkError> {
    let names = SideNames::over(tag, side, spec.wires.pair(side))?;
    let tester = Namespace::create(journal, &names.tester_namespace)?;
    silence(&tester, spec.ipv6)?;
    let ends = Ends {
        tester: &tester,
        router,
        between,
    };
    let made = wires::make(journal, spec, (side, &names), &ends)?;
    let tester_mac = match made.tap {
        Some(_) => TAP_MACS[side.index()],
        None => tester.netlink()?.link(&names.tester)?.address,
    };
    let router_link = router.netlink()?.link(&names.router)?;
    Ok(Built {
        names,
        tap: made.tap,
        _lent: made.lent,
        tester,
        tester_mac,
        router_index: router_link.index,
        router_mac: router_link.address,
        sink_threads: made.threads.sink,
        router_threads: made.threads.router,
    })
}

/// For a tester's namespace: its ports send only what the tester gives them.
pub(crate) fn silence(namespace: &Namespace, ipv6: bool) -> Result<(), NetworkError> {
    quiet(namespace, ipv6)?;
    if ipv6 {
        // No link-local address, so no discovery and no reports of groups.
        namespace.set_sysctl("ipv6/conf/default/addr_gen_mode", "1")?;
    }
    Ok(())
}

/// Turns off what a link does on its own when it comes up, which would count as
/// foreign frames, and what depends on the host's own settings.
fn quiet(namespace: &Namespace, ipv6: bool) -> Result<(), NetworkError> {
    for group in ["all", "default"] {
        namespace.set_sysctl(&format!("ipv4/conf/{group}/rp_filter"), "0")?;
    }
    if !ipv6 {
        return no_ipv6(namespace);
    }
    namespace.set_sysctl("ipv6/conf/default/accept_dad", "0")?;
    namespace.set_sysctl("ipv6/conf/default/accept_ra", "0")?;
    Ok(namespace.set_sysctl("ipv6/conf/default/router_solicitations", "0")?)
}

fn no_ipv6(namespace: &Namespace) -> Result<(), NetworkError> {
    // A kernel without IPv6 has no such settings, and needs none.
    if namespace.sysctl("ipv6/conf/all/disable_ipv6").is_ok() {
        for group in ["all", "default"] {
            namespace.set_sysctl(&format!("ipv6/conf/{group}/disable_ipv6"), "1")?;
        }
    }
    Ok(())
}
