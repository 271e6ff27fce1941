//! The links of a topology: made, told who works for them, and set up.

use net::napi::{self, NapiThread};
use net::netlink::{VethEnd, add_veth};
use net::{Namespace, Netlink};

use super::error::NetworkError;
use super::names::SideNames;
use super::spec::{Attachment, Spec};

/// `rx-gro` gives a veth NAPI without an XDP program: without NAPI it forwards
/// in the sender's softirq, and takes no frames from XDP at all. Where the
/// other end could segment TCP, a veth keeps NAPI for TCP alone
/// (`veth_skb_is_eligible_for_gro`). Checksums are whole in every frame, as on
/// a wire: an XDP program cannot see that one is still to be made.
const OFFLOADS: [(&str, bool); 6] = [
    ("rx-gro", true),
    ("tx-tcp-segmentation", false),
    ("tx-tcp-ecn-segmentation", false),
    ("tx-tcp-mangleid-segmentation", false),
    ("tx-tcp6-segmentation", false),
    ("tx-checksum-ip-generic", false),
];

/// Where the ends of one side's wires are.
pub struct Ends<'a> {
    pub tester: &'a Namespace,
    pub router: &'a Namespace,
    /// Bridged only.
    pub between: Option<&'a Namespace>,
}

/// The kernel's threads of one side.
#[derive(Debug, Default)]
pub struct Threads {
    /// They receive for the tester: the sink's.
    pub sink: Vec<NapiThread>,
    /// They receive for the router, and for bridges on the way to it.
    pub router: Vec<NapiThread>,
}

/// Makes one side's wires, with threaded NAPI on each link, pinned.
pub fn make(spec: &Spec, names: &SideNames, ends: &Ends<'_>) -> Result<Threads, NetworkError> {
    match (spec.attachment, ends.between) {
        (Attachment::Bridged, Some(between)) => {
            pair(spec, (ends.tester, &names.tester), (between, &names.outer))?;
            pair(spec, (between, &names.inner), (ends.router, &names.router))?;
            bridge(names, between)?;
        }
        _ => pair(
            spec,
            (ends.tester, &names.tester),
            (ends.router, &names.router),
        )?,
    }
    let mut threads = Threads {
        sink: work_for(spec, ends.tester, &names.tester, &[spec.cpus.sink])?,
        router: work_for(spec, ends.router, &names.router, &spec.cpus.router)?,
    };
    if let Some(between) = ends.between {
        for link in [&names.outer, &names.inner] {
            let more = work_for(spec, between, link, &spec.cpus.router)?;
            threads.router.extend(more);
        }
    }
    Ok(threads)
}

/// A veth pair, as the topology wants it.
pub fn pair(
    spec: &Spec,
    one: (&Namespace, &str),
    other: (&Namespace, &str),
) -> Result<(), NetworkError> {
    let [one, other] = [one, other].map(|(namespace, name)| VethEnd {
        namespace,
        name,
        address: None,
        mtu: Some(spec.mtu),
        queues: spec.queues,
    });
    Ok(add_veth(&one, &other)?)
}

fn bridge(names: &SideNames, between: &Namespace) -> Result<(), NetworkError> {
    let mut netlink = between.netlink()?;
    netlink.add_bridge(&names.bridge)?;
    for port in [&names.outer, &names.inner] {
        netlink.set_master(port, Some(&names.bridge))?;
    }
    Ok(netlink.set_up(&names.bridge)?)
}

/// Sets the link up with NAPI in threads of its own, queue by queue on `cpus`.
pub fn work_for(
    spec: &Spec,
    namespace: &Namespace,
    link: &str,
    cpus: &[usize],
) -> Result<Vec<NapiThread>, NetworkError> {
    let mut netlink: Netlink = namespace.netlink()?;
    // In this order: a veth has NAPI only while it is up, and its peer takes
    // redirected frames only if NAPI came after that.
    netlink.set_up(link)?;
    netlink.set_offloads(link, &OFFLOADS)?;
    napi::set_threaded(namespace, link, true)?;
    let queues = usize::try_from(spec.queues).expect("at most 64");
    let threads = napi::threads(link, queues)?;
    for (thread, &cpu) in threads.iter().zip(cpus.iter().cycle()) {
        thread.pin(&[cpu])?;
    }
    Ok(threads)
}
