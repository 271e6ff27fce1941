//! What of a trial becomes a metric, and what of a router a dimension.

use forward::bench::{Directions, Offer, Setup};
use forward::home;
use forward::router::path::{AfXdp, Path};
use forward::tester::stream::FrameSize;
use forward::topology::{Attachment, Family, Routes, Wires};
use trial::Dimension;

use crate::routers::trial::{Trial, size_name};
use crate::routers::way::{path_words, poll_name};
use crate::spot::Spot;
use crate::subject::{Measure, Reading};

pub const RECEIVED_PPS: Measure = Measure::higher("received_pps", "frames/s");
pub const RECEIVED_MBIT: Measure = Measure::higher("received_mbit_per_s", "Mbit/s");
pub const LOSS: Measure = Measure::fact("loss_percent", "%");
pub const PER_CPU: Measure = Measure::higher("frames_per_cpu_s", "frames/CPU-s");
/// Without CPU time of idle polls.
pub const PER_BUSY_CPU: Measure = Measure::higher("frames_per_busy_cpu_s", "frames/CPU-s");
pub const IDLE_POLLS: Measure = Measure::fact("idle_polls_percent", "%");
pub const ROUTER_CPU: Measure = Measure::lower("router_cpu_ns", "ns/frame");

type Known = fn(&Trial) -> Option<f64>;

/// What a trial gives: rates, loss, and the cost of a frame.
const OF_TRIAL: [(Measure, Known); 10] = [
    (RECEIVED_PPS, |trial| Some(trial.received_pps())),
    (RECEIVED_MBIT, |trial| Some(trial.received_mbit_per_s())),
    (Measure::fact("offered_pps", "frames/s"), |trial| {
        Some(trial.offered_pps())
    }),
    (LOSS, |trial| Some(trial.loss() * 100.0)),
    (ROUTER_CPU, Trial::router_ns_per_frame),
    (PER_CPU, Trial::frames_per_cpu_s),
    (PER_BUSY_CPU, Trial::frames_per_busy_cpu_s),
    (IDLE_POLLS, |trial| Some(trial.idle_polls()? * 100.0)),
    (
        Measure::fact("generator_cpu_ns", "ns/frame"),
        Trial::generator_ns_per_frame,
    ),
    (
        Measure::fact("sink_cpu_ns", "ns/frame"),
        Trial::sink_ns_per_frame,
    ),
];

/// What [`of_trial`] gives, in the order of reports.
pub fn measures() -> Vec<Measure> {
    OF_TRIAL.map(|(measure, _)| measure).to_vec()
}

/// What of a trial is known of those.
pub fn of_trial(trial: &Trial) -> Vec<(Measure, f64)> {
    let known = |(measure, value): (Measure, Known)| value(trial).map(|value| (measure, value));
    OF_TRIAL.into_iter().filter_map(known).collect()
}

impl From<&Trial> for Reading {
    fn from(trial: &Trial) -> Self {
        Self {
            verdict: trial.verdict(),
            ..Self::new(of_trial(trial))
        }
    }
}

/// Where a router under an offer is in the space of these sections; what goes
/// without saying has no words.
pub fn spot(setup: &Setup, offer: &Offer) -> Spot {
    let topology = &setup.topology;
    let number = u64::from;
    let but = |is_usual: bool, words: String| if is_usual { String::new() } else { words };
    let mut spot = Spot::new().with("path", setup.path.name(), path_words(setup.path));
    if let Path::AfXdp(AfXdp { poll, batch, .. }) = setup.path {
        spot = spot.named("poll", poll_name(poll)).with(
            "batch",
            number(batch),
            format!("batch {batch}"),
        );
    }
    let queues = topology.queues;
    spot = spot.with(
        "queues",
        number(queues),
        but(queues == 1, format!("{queues} queues")),
    );
    if let Path::AfXdp(AfXdp { queues_bound, .. }) = setup.path
        && queues > 1
    {
        spot = match queues_bound {
            true => spot.also("binding", "bound"),
            false => spot.with("binding", "unbound", "on one thread"),
        };
    }
    let home = setup.home;
    let is_usual = home == home::Kind::Namespace;
    let (direction, both_or_one) = directions(offer.directions);
    spot = spot
        .with("home", home.name(), but(is_usual, home.name().to_owned()))
        .with("frame", frame(offer.size), size_name(offer.size))
        .with("direction", direction, both_or_one);
    spot = match offer.family {
        Family::V4 => spot.also("protocol", "ipv4"),
        Family::V6 => spot.with("protocol", "ipv6", "IPv6"),
    };
    spot = match topology.attachment {
        Attachment::Direct => spot.also("attachment", "direct"),
        Attachment::Bridged => spot.with("attachment", "bridged", "bridged"),
    };
    let destinations = offer.destinations;
    let words = but(destinations == 1, format!("{destinations} destinations"));
    spot = spot
        .with("destinations", number(destinations), words)
        .also("ports", setup.ports.name());
    if let Routes::Table(routes) = topology.routes {
        spot = spot.with("routes", number(routes), format!("{routes} routes"));
    }
    if offer.sources > 1 {
        let words = format!("{} sources", offer.sources);
        spot = spot.with("sources", number(offer.sources), words);
    }
    if offer.changes_per_s > 0 {
        let words = format!("{} changes/s", offer.changes_per_s);
        spot = spot.with("changes_per_s", number(offer.changes_per_s), words);
    }
    match topology.wires {
        Wires::Veth => spot,
        Wires::Tap => spot.with("wires", "tap", "over taps"),
        Wires::Devices { .. } => spot.with("wires", "devices", "over devices"),
    }
}

fn frame(size: FrameSize) -> Dimension {
    match size {
        FrameSize::Fixed(bytes) => u64::from(bytes).into(),
        FrameSize::Imix => "imix".into(),
    }
}

/// In dimensions, and for people.
pub const fn directions(directions: Directions) -> (&'static str, &'static str) {
    match directions {
        Directions::OneWay => ("one-way", "one way"),
        Directions::TwoWay => ("two-way", "both ways"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routers::way::Way;
    use forward::topology::Cpus;

    #[test]
    fn spots_say_what_sets_routers_apart() {
        let of = |way: &str| {
            let way: Way = way.parse().unwrap();
            let setup = way.setup(&Cpus::among(&[0, 1]));
            spot(&setup, &Offer::default())
        };
        let (kernel, polled) = (of("kernel"), of("af-xdp:polled:32"));
        assert_eq!(kernel.words(), "kernel routing, 64 B, one way");
        let (common, own, others) = polled.apart(&kernel);
        assert_eq!(common, "64 B, one way");
        let words = (
            "AF_XDP two-port patch (asks no table), polled, batch 32",
            "kernel routing",
        );
        assert_eq!((own.as_str(), others.as_str()), words);
        let (common, own, others) = polled.apart(&of("af-xdp:interrupt:32"));
        let words = "AF_XDP two-port patch (asks no table), batch 32, 64 B, one way";
        assert_eq!(common, words);
        assert_eq!((own.as_str(), others.as_str()), ("polled", "interrupt"));
        let (_, own, others) = of("kernel:2").apart(&kernel);
        assert_eq!((own.as_str(), others.as_str()), ("2 queues", "queues 1"));
    }

    #[test]
    fn a_point_has_every_dimension() {
        let setup = Way::KERNEL.setup(&Cpus::among(&[0, 1]));
        let dimensions = spot(&setup, &Offer::default()).dimensions();
        let names: Vec<_> = dimensions.keys().map(String::as_str).collect();
        let wanted = "attachment destinations direction frame home path ports protocol queues";
        assert_eq!(names, wanted.split(' ').collect::<Vec<_>>());
        assert_eq!(dimensions["queues"], Dimension::Number(1));
    }
}
