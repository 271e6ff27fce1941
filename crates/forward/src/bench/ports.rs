//! The tester's ports, of the kind that was asked for.

use std::os::fd::OwnedFd;

use net::Namespace;
use net::napi::NapiThread;

use super::{BenchError, PortKind};
use crate::tester::port::{Port, PortError, af_packet, tap};
#[cfg(feature = "bpf")]
use crate::tester::port::{af_xdp, live};
use crate::tester::stream::Stream;
use crate::tester::trial::Way;
use crate::topology::{Built, NetworkError, Spec};

pub struct Place<'a> {
    pub namespace: &'a Namespace,
    pub interface: &'a str,
    #[cfg_attr(
        not(feature = "bpf"),
        expect(dead_code, reason = "only programs in the kernel are run by them")
    )]
    pub threads: &'a [NapiThread],
    pub sink_cpu: usize,
    /// Of a tap, which is no link here: its file, and the port's address.
    pub tap: Option<(&'a OwnedFd, [u8; 6])>,
}

impl<'a> Place<'a> {
    pub fn of(side: &'a Built, spec: &Spec) -> Self {
        Self {
            namespace: &side.tester,
            interface: &side.names.tester,
            threads: &side.sink_threads,
            sink_cpu: spec.cpus.sink,
            tap: side.tap.as_ref().map(|file| (file, side.tester_mac)),
        }
    }
}

pub fn open_both(kind: PortKind, places: [Place<'_>; 2]) -> Result<[Port; 2], BenchError> {
    let [zero, one] = places;
    let [mut zero, mut one] = [open(kind, &zero)?, open(kind, &one)?];
    zero.transmitter.follow(&*one.receiver)?;
    one.transmitter.follow(&*zero.receiver)?;
    Ok([zero, one])
}

fn open(kind: PortKind, place: &Place<'_>) -> Result<Port, BenchError> {
    let interface = place.interface;
    let sink_cpu = Some(place.sink_cpu);
    if let Some((file, address)) = place.tap {
        let file = file.try_clone().map_err(PortError::of(format!(
            "cannot open the tap {interface} again; raise ulimit -n"
        )))?;
        return Ok(tap::open(interface, file, address, sink_cpu)?);
    }
    let link = place
        .namespace
        .netlink()
        .and_then(|mut net| net.link(interface));
    let link = link.map_err(NetworkError::from)?;
    let inside = || match kind {
        #[cfg(feature = "bpf")]
        PortKind::LiveFrame => live::open(interface, link.index, link.address, place.threads),
        #[cfg(feature = "bpf")]
        PortKind::AfXdp => {
            let queues = link.rx_queues;
            af_xdp::open(interface, link.index, link.address, queues, sink_cpu)
        }
        #[cfg(not(feature = "bpf"))]
        PortKind::LiveFrame | PortKind::AfXdp => {
            unreachable!("refused when the bench was started")
        }
        PortKind::AfPacket => af_packet::open(&link, sink_cpu),
        PortKind::Tap => unreachable!("refused when the bench was started"),
    };
    let opened = place.namespace.run(inside).map_err(NetworkError::from)?;
    Ok(opened?)
}

pub fn ways(ports: &mut [Port; 2], streams: Vec<Stream>, generator_cpu: usize) -> Vec<Way<'_>> {
    let [zero, one] = ports;
    let ends = [
        (&mut zero.transmitter, &mut one.receiver),
        (&mut one.transmitter, &mut zero.receiver),
    ];
    let ways = ends.into_iter().zip(streams);
    ways.map(|((transmitter, receiver), stream)| Way {
        transmitter: transmitter.as_mut(),
        receiver: receiver.as_mut(),
        stream,
        generator_cpu,
    })
    .collect()
}
