//! Points of every validity.

use std::collections::BTreeMap;

use trial::{Dimension, Direction, Histogram, Metric, Point, Validity, Verdict};

use super::COMMAND;

pub const SIZES: [u64; 5] = [64, 1024, 4096, 16384, 65536];

pub fn sample_points() -> Vec<Point> {
    let modes = [
        ("sync", 1_u64, 1.0),
        ("batch", 16, 9.0),
        ("async", 16, 14.0),
    ];
    modes
        .into_iter()
        .flat_map(|(mode, depth, gain)| SIZES.map(|size| point(mode, depth, size, gain)))
        .collect()
}

fn point(mode: &str, depth: u64, size: u64, gain: f64) -> Point {
    let verdict = verdict(mode, size);
    let metrics = match verdict.validity {
        Validity::NotSupported => vec![],
        _ => metrics(size, gain),
    };
    Point {
        dimensions: BTreeMap::from([
            ("algorithm".to_owned(), Dimension::from("AES-128-GCM")),
            ("block_bytes".to_owned(), Dimension::from(size)),
            ("depth".to_owned(), Dimension::from(depth)),
            ("mode".to_owned(), Dimension::from(mode)),
        ]),
        metrics,
        verdict,
        command: format!("{COMMAND} --mode {mode} --depth {depth}"),
        histogram: histogram(size),
    }
}

fn metrics(size: u64, gain: f64) -> Vec<Metric> {
    let requests = 110_000.0 * gain / (1.0 + size as f64 / 16384.0);
    let metric = |name: &str, unit: &str, direction, value: f64| Metric {
        name: name.into(),
        unit: unit.into(),
        direction,
        value,
        samples: [0.98, 1.03, 1.0, 0.99, 1.01]
            .iter()
            .map(|share| share * value)
            .collect(),
    };
    vec![
        metric("requests_per_s", "requests/s", Direction::Higher, requests),
        metric(
            "speed_mb_per_s",
            "MB/s",
            Direction::Higher,
            requests * size as f64 / 1e6,
        ),
        metric("latency_p50_us", "µs", Direction::Lower, 1e6 / requests),
        metric("client_cpu_percent", "%", Direction::Neutral, 42.5),
    ]
}

fn histogram(size: u64) -> String {
    if size != 4096 {
        return String::new();
    }
    let mut histogram = Histogram::new();
    (0..10_000_u64).for_each(|index| histogram.record(9_000 + index % 97 * 40));
    histogram.encode()
}

fn verdict(mode: &str, size: u64) -> Verdict {
    let (validity, reason, remedy) = match (mode, size) {
        ("async" | "batch", 65536) => (
            Validity::WorkingSet,
            "2048 KiB in flight exceed the 1024 KiB of L2",
            "lower --depth to 4",
        ),
        ("sync", 64) => (
            Validity::Noisy,
            "steal of 4.2% exceeds 1%",
            "run on a quiet host",
        ),
        ("sync", 1024) => (
            Validity::GeneratorBound,
            "offered 90,000 of 110,000 requests/s, \"late\" & <slow>",
            "give the generator a core",
        ),
        ("batch", 64) => (
            Validity::TooFewSamples,
            "12 samples, p99.9 needs 10,000",
            "raise --seconds",
        ),
        ("batch", 1024) => (
            Validity::NotSupported,
            "the back-end has no batch of\nthat size",
            "use | another back-end",
        ),
        _ => return Verdict::valid(),
    };
    Verdict::new(validity, reason, remedy)
}
