//! The links of a topology: made, told who works for them, and set up.

use std::os::fd::OwnedFd;

use net::device::Lent;
use net::napi::{self, NapiThread};
use net::netlink::{VethEnd, add_veth};
use net::tap::{TapMode, open_tap};
use net::{Journal, Namespace, Netlink};

use super::error::NetworkError;
use super::names::SideNames;
use super::plan::Side;
use super::spec::{Spec, Wires};

/// Frames that wait in a tap for the router: about 256 short ones, as in a veth, in
/// the kernel's memory, of which a long frame takes more.
const TAP_RING_BYTES: i32 = 256 * 1024;

/// Frames that wait in a tap for the tester: as many as a busy sink may be late with,
/// since frames without room there would count as the router's loss.
const TAP_OUT_FRAMES: u32 = 8192;

/// `rx-gro` gives a veth NAPI without an XDP program. Without NAPI it forwards in the
/// sender's softirq, and takes no frames from XDP. Where the other end could segment
/// TCP, a veth keeps NAPI for TCP alone (`veth_skb_is_eligible_for_gro`). Checksums
/// are complete in every frame, as on a wire: an XDP program cannot see a missing
/// one, nor a tag that lies beside the frame.
pub(crate) const OFFLOADS: [(&str, bool); 8] = [
    ("rx-gro", true),
    ("tx-tcp-segmentation", false),
    ("tx-tcp-ecn-segmentation", false),
    ("tx-tcp-mangleid-segmentation", false),
    ("tx-tcp6-segmentation", false),
    ("tx-checksum-ip-generic", false),
    ("tx-vlan-hw-insert", false),
    ("rx-vlan-hw-parse", false),
];

/// Where the ends of one side's wires are.
pub struct Ends<'a> {
    pub tester: &'a Namespace,
    pub router: &'a Namespace,
    pub between: Option<&'a Namespace>,
}

#[derive(Debug, Default)]
pub struct Threads {
    pub sink: Vec<NapiThread>,
    /// They receive for the router, and for bridges on the way to it.
    pub router: Vec<NapiThread>,
}

/// What one side's wires are made of besides links, and who receives on them.
#[derive(Debug, Default)]
pub struct Made {
    pub threads: Threads,
    pub tap: Option<OwnedFd>,
    pub lent: Vec<Lent>,
}

/// Makes one side's wires, with threaded NAPI on each link, pinned.
pub fn make(
    journal: &Journal,
    spec: &Spec,
    (side, names): (Side, &SideNames),
    ends: &Ends<'_>,
) -> Result<Made, NetworkError> {
    let mut made = Made::default();
    match (&spec.wires, spec.wires.pair(side), ends.between) {
        (Wires::Tap, ..) => {
            made.tap = Some(tap(spec, names, ends)?);
            made.threads.router = work_for(spec, ends.router, &names.router, &spec.cpus.router)?;
            return Ok(made);
        }
        (_, Some(pair), _) => {
            for (name, to) in [(&pair.tester, ends.tester), (&pair.router, ends.router)] {
                made.lent.push(lend(journal, spec, name, to)?);
            }
        }
        (.., Some(between)) => bridged(spec, names, ends, between)?,
        _ => pair(
            spec,
            (ends.tester, &names.tester),
            (ends.router, &names.router),
        )?,
    }
    made.threads = threads(spec, names, ends)?;
    Ok(made)
}

fn threads(spec: &Spec, names: &SideNames, ends: &Ends<'_>) -> Result<Threads, NetworkError> {
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

/// The router's port, a tap with a ring as a veth has, and the tester's file.
fn tap(spec: &Spec, names: &SideNames, ends: &Ends<'_>) -> Result<OwnedFd, NetworkError> {
    let mode = TapMode {
        ethernet: true,
        virtio_header: false,
        multi_queue: false,
        ring_bytes: Some(TAP_RING_BYTES),
    };
    let file = open_tap(ends.router, &names.router, 1, mode)?.remove(0);
    let mut netlink = ends.router.netlink()?;
    netlink.set_mtu(&names.router, spec.mtu)?;
    netlink.set_queue_length(&names.router, TAP_OUT_FRAMES)?;
    Ok(file)
}

fn lend(journal: &Journal, spec: &Spec, name: &str, to: &Namespace) -> Result<Lent, NetworkError> {
    let lent = net::device::lend(journal, name, to)?;
    let mut netlink = to.netlink()?;
    let link = netlink.link(name)?;
    let queues = link.rx_queues.min(link.tx_queues);
    if queues < spec.queues {
        return Err(NetworkError::Queues {
            name: name.to_owned(),
            queues,
            wanted: spec.queues,
        });
    }
    if link.mtu != spec.mtu {
        netlink.set_mtu(name, spec.mtu)?;
    }
    Ok(lent)
}

fn bridged(
    spec: &Spec,
    names: &SideNames,
    ends: &Ends<'_>,
    between: &Namespace,
) -> Result<(), NetworkError> {
    pair(spec, (ends.tester, &names.tester), (between, &names.outer))?;
    pair(spec, (between, &names.inner), (ends.router, &names.router))?;
    bridge(names, between)
}

pub fn pair(
    spec: &Spec,
    one: (&Namespace, &str),
    other: (&Namespace, &str),
) -> Result<(), NetworkError> {
    let [one, other] = [one, other].map(|(namespace, name)| VethEnd {
        mtu: Some(spec.mtu),
        queues: spec.queues,
        ..VethEnd::new(namespace, name)
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
    let threads = napi::threads(&mut netlink, link, queues)?;
    for (thread, &cpu) in threads.iter().zip(cpus.iter().cycle()) {
        thread.pin(&[cpu])?;
    }
    Ok(threads)
}
