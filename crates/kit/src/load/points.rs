//! A series as the metrics of a point.

use trial::{Direction, Metric};

use crate::load::cell::Series;
use crate::load::rig::Cores;
use crate::metric::metric;

/// Everything that a series of one tenant says; `block_bytes` a request.
pub fn metrics(series: &Series, cores: Cores, block_bytes: usize) -> Vec<Metric> {
    let block = block_bytes as f64;
    let requests = series.values(|window| window.requests_per_s(0));
    let speed = requests.iter().map(|rate| rate * block / 1e6).collect();
    let percent = "% of a core";
    let cpu = |cpu: usize| vec![cpu as f64];
    let metrics = [
        metric("requests_per_s", "requests/s", Direction::Higher, requests),
        metric("speed_mb_per_s", "MB/s", Direction::Higher, speed),
        metric(
            "notifications_per_s",
            "1/s",
            Direction::Lower,
            series.values(|window| window.notifications_per_s(0)),
        ),
        metric(
            "client_cpu_percent",
            percent,
            Direction::Lower,
            series.values(|window| window.client_cpus(0) * 100.0),
        ),
        metric(
            "worker_cpu_percent",
            percent,
            Direction::Neutral,
            series.values(|window| window.worker_cpus() * 100.0),
        ),
        metric(
            "worker_cpu",
            "CPU number",
            Direction::Neutral,
            cpu(cores.worker),
        ),
        metric(
            "client_cpu",
            "CPU number",
            Direction::Neutral,
            cpu(cores.client),
        ),
    ];
    metrics.into_iter().flatten().collect()
}

/// Its latencies: the metrics and the histogram of a point.
pub fn latency(series: &Series) -> (Vec<Metric>, String) {
    let histogram = series.latency().histogram();
    if histogram.is_empty() {
        return (Vec::new(), String::new());
    }
    (histogram.metrics(), histogram.encode())
}
