//! What generator and sink can do without a router.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use net::{Journal, Namespace, Tag};

use super::BenchError;
use super::offer::{Directions, Offer};
use super::ports::{self, Place};
use super::setup::{PortKind, Setup};
use super::together::RESIDUAL;
use crate::tester::port::Port;
use crate::tester::stream::{FrameSize, Link};
use crate::tester::trial::{Direction, Placement, run};
use crate::tester::validity::CEILING_RATIO_MAX;
use crate::topology::plan::Side;
use crate::topology::{Cable, Cpus, End, Family, NetworkError, Topology, Wires};

/// Long enough for 100,000 frames of the slowest port.
const DURATION: Duration = Duration::from_millis(100);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    ports: PortKind,
    cpus: Cpus,
    queues: u32,
    size: FrameSize,
    family: Family,
    directions: Directions,
    in_flight_max: Option<u32>,
    tagged: bool,
}

impl Key {
    fn of(setup: &Setup, offer: &Offer) -> Self {
        Self {
            ports: setup.ports,
            cpus: setup.topology.cpus.clone(),
            queues: setup.topology.queues,
            size: offer.size,
            family: offer.family,
            directions: offer.directions,
            in_flight_max: offer.in_flight_max,
            tagged: setup.topology.vlan.is_some(),
        }
    }
}

/// Times that a ceiling is measured again when a result comes near it. A disturbed
/// ceiling is too low, and would make every later result doubtful.
const MEASURED_MAX: u32 = 4;

#[derive(Clone, Copy, Default)]
struct Known {
    pps: f64,
    measured: u32,
}

/// Frames/s that come over a cable, as many as the generator can send, for a
/// result of `received_pps`. A disturbance makes it lower, and so more results
/// doubtful, never fewer.
pub fn pps(
    journal: &Journal,
    setup: &Setup,
    offer: &Offer,
    received_pps: f64,
) -> Result<f64, BenchError> {
    // It holds as long as the process: the host does not change.
    static KNOWN: Mutex<Option<HashMap<Key, Known>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    let known = known.entry(Key::of(setup, offer)).or_default();
    while is_near(received_pps, known.pps) && known.measured < MEASURED_MAX {
        known.pps = known.pps.max(measure(journal, setup, offer)?);
        known.measured += 1;
    }
    Ok(known.pps)
}

fn is_near(received_pps: f64, ceiling_pps: f64) -> bool {
    received_pps >= ceiling_pps * CEILING_RATIO_MAX
}

fn measure(journal: &Journal, setup: &Setup, offer: &Offer) -> Result<f64, BenchError> {
    let flood = Offer {
        rate_pps: None,
        duration: DURATION,
        frames_max: None,
        ..*offer
    };
    match setup.topology.wires {
        Wires::Tap => over_taps(journal, setup, &flood),
        // What devices lack of a veth's speed is not the generator's.
        Wires::Veth | Wires::Devices { .. } => over_cable(journal, setup, &flood),
    }
}

fn over_cable(journal: &Journal, setup: &Setup, flood: &Offer) -> Result<f64, BenchError> {
    let cable = Cable::lay(journal, &setup.topology)?;
    let [zero, one] = &cable.ends;
    let places = [place(setup, zero), place(setup, one)];
    let mut ports = ports::open_both(setup.ports, places)?;
    let directions = send(
        setup,
        flood,
        &mut ports,
        [[zero.mac, one.mac], [one.mac, zero.mac]],
    )?;
    Ok(directions.iter().map(Direction::received_pps).sum())
}

/// Taps have no cable: the maximum of a router's links without a router that
/// forwards. The sink's part is not in it.
fn over_taps(journal: &Journal, setup: &Setup, flood: &Offer) -> Result<f64, BenchError> {
    let tag = Tag::fresh();
    let name = tag.name("dut").map_err(NetworkError::from)?;
    let empty = Namespace::create(journal, &name).map_err(NetworkError::from)?;
    let topology = Topology::build(journal, tag, &setup.topology, empty)?;
    let [zero, one] = topology.sides();
    let places = [zero, one].map(|side| Place::of(side, &setup.topology));
    let mut ports = ports::open_both(setup.ports, places)?;
    let macs = [zero, one].map(|side| [side.tester_mac, side.router_mac]);
    let directions = send(setup, flood, &mut ports, macs)?;
    let mut netlink = topology.router().netlink().map_err(NetworkError::from)?;
    let mut sum = 0.0;
    for (direction, side) in directions.iter().zip([zero, one]) {
        let counted = netlink.statistics(&side.names.router);
        let taken = counted.map_err(NetworkError::from)?.rx_packets;
        let share = taken as f64 / direction.sent.offered.max(1) as f64;
        sum += direction.offered_pps() * share;
    }
    Ok(sum)
}

fn send(
    setup: &Setup,
    flood: &Offer,
    ports: &mut [Port; 2],
    macs: [[[u8; 6]; 2]; 2],
) -> Result<Vec<Direction>, BenchError> {
    let stream = |from: Side| {
        let [source, destination] = macs[from.index()];
        let link = Link {
            source,
            destination,
            vlan: setup.topology.vlan,
        };
        flood.stream(&setup.topology, from, link, 1)
    };
    let streams = match flood.directions {
        Directions::OneWay => vec![stream(Side::Zero)?],
        Directions::TwoWay => vec![stream(Side::Zero)?, stream(Side::One)?],
    };
    let mut ways = ports::ways(ports, streams, setup.topology.cpus.generator);
    let nothing = &mut || ();
    let placement = Placement::default();
    let ran = run(&mut ways, &placement, RESIDUAL, nothing, &|| true)?;
    Ok(ran.directions)
}

fn place<'a>(setup: &Setup, end: &'a End) -> Place<'a> {
    Place {
        namespace: &end.namespace,
        interface: &end.link,
        threads: &end.threads,
        sink_cpu: setup.topology.cpus.sink,
        tap: None,
    }
}
