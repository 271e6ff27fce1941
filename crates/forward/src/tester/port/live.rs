//! Live frames: an XDP program in the kernel makes them, another one counts
//! them. The fastest port there is, and no frame of it exists in user space.

use std::sync::atomic::AtomicBool;

use net::napi::NapiThread;
use trial::Histogram;
use wire::TestFrameError;
use xdp::{Generator, Plan, Sent, Sink, Watch};

use super::frames::Frames;
use super::{Port, PortError, Received, Receiver, Transmitted, Transmitter};
use crate::tester::stream::{Addresses, Stream};

/// Of this many frames one is timed in a flood: latency is then that of full queues,
/// and the clock is a good part of the cost of counting.
const FLOOD_TIMED: u32 = 16;

/// Opens both ends of a port at an interface of the calling thread's network
/// namespace. `receivers` are the kernel's threads that run the counting
/// program: their time is the sink's.
///
/// # Errors
/// [`PortError`], e.g. where the kernel takes no XDP program.
pub fn open(
    interface: &str,
    interface_index: u32,
    address: [u8; 6],
    receivers: &[NapiThread],
) -> Result<Port, PortError> {
    let context = || format!("cannot open the live-frame port {interface}");
    let generator = Generator::load(interface_index).map_err(PortError::of(context()))?;
    let sink = Sink::attach(interface_index).map_err(PortError::of(context()))?;
    Ok(Port {
        kind: "live-frame",
        interface: interface.to_owned(),
        address,
        transmitter: Box::new(LiveTransmitter(generator)),
        receiver: Box::new(LiveReceiver {
            sink,
            receivers: receivers.to_vec(),
        }),
    })
}

pub struct LiveTransmitter(Generator);

impl Transmitter for LiveTransmitter {
    fn transmit(&mut self, stream: &Stream, stop: &AtomicBool) -> Result<Transmitted, PortError> {
        let plan = plan(stream).map_err(PortError::of(CONTEXT.to_owned()))?;
        let sent = self.0.send(&plan, stop);
        sent.map(transmitted)
            .map_err(PortError::of(CONTEXT.to_owned()))
    }

    fn follow(&mut self, receiver: &dyn Receiver) -> Result<(), PortError> {
        let Some(reached) = receiver.reached() else {
            return Ok(());
        };
        let followed = self.0.follow(reached);
        followed.map_err(PortError::of("cannot follow what is counted".to_owned()))
    }

    fn taking_turns(&mut self) -> Option<&mut LiveTransmitter> {
        Some(self)
    }
}

const CONTEXT: &str = "cannot send live frames";

/// Sends a stream by each port from the calling thread, all at the same time. The
/// watcher hears when the first begins and when the last is over.
///
/// # Errors
/// [`PortError`], e.g. where the streams differ in sizes, tag or IP version, or
/// are more than [`xdp::GENERATORS_MAX`].
pub fn transmit_in_turns(
    transmitters: &mut [&mut LiveTransmitter],
    streams: &[Stream],
    watch: Watch<'_>,
) -> Result<Vec<Transmitted>, PortError> {
    let plans = streams.iter().map(plan).collect::<Result<Vec<_>, _>>();
    let plans = plans.map_err(PortError::of(CONTEXT.to_owned()))?;
    if let ([only], [plan]) = (&mut *transmitters, &plans[..]) {
        let sent = only.0.send(plan, watch);
        let sent = sent.map_err(PortError::of(CONTEXT.to_owned()))?;
        return Ok(vec![transmitted(sent)]);
    }
    let mut turns = xdp::Turns::load().map_err(PortError::of(CONTEXT.to_owned()))?;
    let mut generators: Vec<_> = transmitters.iter_mut().map(|one| &mut one.0).collect();
    let sent = turns.send(&mut generators, &plans, watch);
    let sent = sent.map_err(PortError::of(CONTEXT.to_owned()))?;
    Ok(sent.into_iter().map(transmitted).collect())
}

fn transmitted(sent: Sent) -> Transmitted {
    Transmitted {
        due: sent.due,
        offered: sent.offered,
        // A frame that finds the ring full was lost by the side that did not empty
        // it: the router.
        refused: 0,
        elapsed_ns: sent.elapsed_ns,
        behind_ns_max: sent.behind_ns_max,
        gap_ns_max: sent.gap_ns_max,
        given_up: sent.given_up,
        cpu_ns: sent.cpu_ns,
    }
}

struct LiveReceiver {
    sink: Sink,
    receivers: Vec<NapiThread>,
}

impl Receiver for LiveReceiver {
    fn begin(&mut self, stream: &Stream) -> Result<(), PortError> {
        let is_flood = stream.rate_pps.is_none() && stream.frames_max.is_none();
        self.sink.time_every(if is_flood { FLOOD_TIMED } else { 1 });
        let begun = self.sink.begin(stream.trial, stream.id);
        begun.map_err(PortError::of(
            "cannot begin to count live frames".to_owned(),
        ))
    }

    fn counts(&mut self) -> Result<Received, PortError> {
        let counts = self.sink.counts();
        let counts = counts.map_err(PortError::of(
            "cannot read what live frames were counted".to_owned(),
        ))?;
        let mut latency = Histogram::new();
        for (latency_ns, frames) in counts.latency.recorded() {
            latency.record_many(latency_ns, frames);
        }
        Ok(Received {
            received: counts.received,
            duplicates: counts.duplicates,
            reordered: counts.reordered,
            late: counts.late,
            foreign: counts.foreign,
            bytes: counts.bytes,
            elapsed_ns: counts.elapsed_ns,
            latency,
        })
    }

    fn reached(&self) -> Option<&xdp::Reached> {
        Some(self.sink.reached())
    }

    fn cpu_ns(&mut self) -> Result<u64, PortError> {
        let mut sum = 0;
        for thread in &self.receivers {
            let cpu_ns = thread.cpu_ns();
            sum += cpu_ns.map_err(PortError::of(
                "cannot read the time that counting takes".to_owned(),
            ))?;
        }
        Ok(sum)
    }
}

fn plan(stream: &Stream) -> Result<Plan, TestFrameError> {
    let frames = Frames::new(stream)?;
    let (destinations, stride) = match stream.addresses {
        Addresses::V4 { count, stride, .. } | Addresses::V6 { count, stride, .. } => {
            (count, stride)
        }
    };
    Ok(Plan {
        frames: frames.templates()?,
        order: frames.order().to_vec(),
        destinations,
        stride,
        sources: match stream.addresses {
            Addresses::V4 { sources, .. } => sources,
            Addresses::V6 { .. } => 1,
        },
        trial: stream.trial,
        stream: stream.id,
        rate_pps: stream.rate_pps,
        duration: stream.duration,
        frames_max: stream.frames_max,
        in_flight_max: stream.in_flight_max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tester::stream::{FCS_BYTES, FrameSize};
    use crate::tester::testing::stream;

    #[test]
    fn sizes_count_the_check_sequence_and_not_the_tag() {
        for (vlan, memory_bytes) in [(None, 60), (Some(7), 64)] {
            let mut stream = stream(None);
            stream.size = FrameSize::Fixed(60 + FCS_BYTES);
            stream.link.vlan = vlan;
            let plan = plan(&stream).unwrap();
            assert_eq!(plan.frames.len(), 1);
            assert_eq!(plan.frames[0].len(), memory_bytes);
        }
    }

    #[test]
    fn imix_is_seven_four_and_one_of_twelve() {
        let mut stream = stream(None);
        stream.size = FrameSize::Imix;
        let plan = plan(&stream).unwrap();
        let of = |size: u8| plan.order.iter().filter(|&&one| one == size).count();
        assert_eq!([of(0), of(1), of(2)], [7, 4, 1]);
        let sizes: Vec<usize> = plan.frames.iter().map(Vec::len).collect();
        assert_eq!(sizes, [60, 566, 1514]);
    }
}
