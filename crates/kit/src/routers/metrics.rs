//! What of a trial becomes a metric, and what of a router a dimension.

use std::collections::BTreeMap;

use forward::bench::{Directions, Offer, Setup};
use forward::router::path::{AfXdp, Path};
use forward::tester::stream::FrameSize;
use forward::topology::{Attachment, Family, Routes, Wires};
use trial::{Dimension, Direction, Metric};

use crate::metric::metric;
use crate::routers::series::Series;
use crate::routers::way::poll_name;

/// Where a router under an offer is in the space of these sections.
pub fn dimensions(setup: &Setup, offer: &Offer, procedure: &str) -> BTreeMap<String, Dimension> {
    let number = |number: u32| Dimension::from(u64::from(number));
    let spec = &setup.topology;
    let mut dimensions = vec![
        ("path", Dimension::from(setup.path.name())),
        ("home", setup.home.name().into()),
        ("attachment", attachment(spec.attachment).into()),
        ("frame", frame(offer.size)),
        ("direction", direction(offer.directions).into()),
        ("protocol", family(offer.family).into()),
        ("destinations", number(offer.destinations)),
        ("queues", number(spec.queues)),
        ("ports", setup.ports.name().into()),
        ("procedure", procedure.into()),
    ];
    if let Routes::Table(routes) = spec.routes {
        dimensions.push(("routes", number(routes)));
    }
    match spec.wires {
        Wires::Veth => {}
        Wires::Tap => dimensions.push(("wires", "tap".into())),
        Wires::Devices { .. } => dimensions.push(("wires", "devices".into())),
    }
    if let Path::AfXdp(AfXdp {
        poll,
        batch,
        queues_bound,
    }) = setup.path
    {
        dimensions.push(("poll", poll_name(poll).into()));
        dimensions.push(("batch", number(batch)));
        if spec.queues > 1 {
            let binding = if queues_bound { "bound" } else { "unbound" };
            dimensions.push(("binding", binding.into()));
        }
    }
    dimensions
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn frame(size: FrameSize) -> Dimension {
    match size {
        FrameSize::Fixed(bytes) => u64::from(bytes).into(),
        FrameSize::Imix => "imix".into(),
    }
}

const fn attachment(attachment: Attachment) -> &'static str {
    match attachment {
        Attachment::Direct => "direct",
        Attachment::Bridged => "bridged",
    }
}

const fn family(family: Family) -> &'static str {
    match family {
        Family::V4 => "ipv4",
        Family::V6 => "ipv6",
    }
}

/// In dimensions and for people.
pub const fn direction(directions: Directions) -> &'static str {
    match directions {
        Directions::OneWay => "one-way",
        Directions::TwoWay => "two-way",
    }
}

/// Of trials: rates, loss, and what a frame costs whom.
pub fn of_series(series: &Series) -> Vec<Metric> {
    let values = |value: fn(&crate::routers::trial::Trial) -> Option<f64>| series.values(value);
    let received = values(|trial| Some(trial.received_pps()));
    let mbit = values(|trial| Some(trial.received_mbit_per_s()));
    let ns = "ns/frame";
    let metrics = [
        metric("received_pps", "frames/s", Direction::Higher, received),
        metric("received_mbit_per_s", "Mbit/s", Direction::Higher, mbit),
        metric(
            "offered_pps",
            "frames/s",
            Direction::Neutral,
            values(|trial| Some(trial.offered_pps())),
        ),
        metric(
            "loss_percent",
            "%",
            Direction::Neutral,
            values(|trial| Some(trial.loss() * 100.0)),
        ),
        metric(
            "router_cpu_ns",
            ns,
            Direction::Lower,
            values(crate::routers::trial::Trial::router_ns_per_frame),
        ),
        metric(
            "frames_per_cpu_s",
            "frames/CPU-s",
            Direction::Higher,
            values(crate::routers::trial::Trial::frames_per_cpu_s),
        ),
        metric(
            "generator_cpu_ns",
            ns,
            Direction::Neutral,
            values(crate::routers::trial::Trial::generator_ns_per_frame),
        ),
        metric(
            "sink_cpu_ns",
            ns,
            Direction::Neutral,
            values(crate::routers::trial::Trial::sink_ns_per_frame),
        ),
    ];
    metrics.into_iter().flatten().collect()
}
