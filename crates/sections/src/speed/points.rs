//! Measured arms as points.

use kit::metric::metric;
use std::collections::{BTreeMap, BTreeSet};

use trial::stats::median;
use trial::validity::over_rounds;
use trial::{Dimension, Direction, Metric, Observed, Point, Validity, Verdict};

use crate::speed::config::Config;
use crate::speed::invocation::of_arm;
use crate::speed::measure::{Measured, Series};
use kit::host::Host;
use kit::load::fresh::arm::{Arm, Cell};
use kit::load::fresh::pump::is_busy_client;
use kit::place::{Cpus, Placement};

/// Every arm that was measured, as a point.
pub(super) fn points(config: &Config, host: &Host, measured: &Measured) -> Vec<Point> {
    measured
        .arms
        .iter()
        .map(|(arm, series)| Point {
            dimensions: dimensions(config, &measured.cell, *arm),
            metrics: metrics(measured, *arm, series),
            verdict: verdict(host, measured, *arm, series),
            command: of_arm(&config.table, &measured.cell, *arm),
            histogram: series
                .latency
                .as_ref()
                .filter(|latency| !latency.is_empty())
                .map_or_else(String::new, |latency| latency.encode()),
        })
        .collect()
}

/// What tells an arm's point from every other.
pub(super) fn dimensions(config: &Config, cell: &Cell, arm: Arm) -> BTreeMap<String, Dimension> {
    let Cell {
        placement,
        kind,
        block_bytes,
        lanes,
        workers,
        ..
    } = *cell;
    let number = |value: usize| Dimension::from(value as u64);
    let mut dimensions = vec![
        ("algorithm", Dimension::from(kind.algorithm.name())),
        ("operation", kind.operation.name().into()),
        ("block_bytes", number(block_bytes)),
        ("placement", placement.name().into()),
        ("mode", arm.mode().into()),
    ];
    if arm != Arm::OpenSsl {
        dimensions.extend([
            ("backend", config.backend.name().into()),
            ("depth", number(arm.depth(cell))),
        ]);
    }
    if let Some(policy) = arm.policy() {
        dimensions.extend([
            ("policy", policy.to_string().as_str().into()),
            ("lanes", number(lanes)),
            ("workers", number(workers)),
        ]);
    }
    dimensions
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn metrics(measured: &Measured, arm: Arm, series: &Series) -> Vec<Metric> {
    let block_bytes = measured.block_bytes as f64;
    let mut metrics = vec![
        metric(
            "requests_per_s",
            "requests/s",
            Direction::Higher,
            series.values(|one| one.requests_per_s),
        ),
        metric(
            "speed_mb_per_s",
            "MB/s",
            Direction::Higher,
            series.values(|one| one.requests_per_s * block_bytes / 1e6),
        ),
    ];
    if arm.policy().is_some() {
        metrics.extend([
            metric(
                "notifications_per_s",
                "1/s",
                Direction::Lower,
                series.values(|one| one.notifications_per_s),
            ),
            metric(
                "doorbells_per_s",
                "1/s",
                Direction::Lower,
                series.values(|one| one.doorbells_per_s),
            ),
            metric(
                "client_cpu_percent",
                "% of a core",
                Direction::Lower,
                series.values(|one| one.client_cpus * 100.0),
            ),
        ]);
    }
    if arm != Arm::OpenSsl {
        metrics.push(metric(
            "worker_cpu_percent",
            "% of a core",
            Direction::Neutral,
            series.values(|one| one.worker_cpus * 100.0),
        ));
    }
    if let Arm::Paced(_) = arm {
        metrics.push(metric(
            "offered_per_s",
            "requests/s",
            Direction::Neutral,
            measured.paced_per_s.into_iter().collect(),
        ));
    }
    metrics.extend(places(measured, arm));
    let latency = series
        .latency
        .as_ref()
        .map(|latency| latency.metrics())
        .unwrap_or_default();
    metrics.into_iter().flatten().chain(latency).collect()
}

/// Which CPUs took part: the first worker's and the first client's.
fn places(measured: &Measured, arm: Arm) -> Vec<Option<Metric>> {
    let Some(cpus) = &measured.cpus else {
        return Vec::new();
    };
    let place = |name: &str, cpus: &[usize]| {
        metric(
            name,
            "CPU number",
            Direction::Neutral,
            cpus.iter().take(1).map(|&cpu| cpu as f64).collect(),
        )
    };
    let client = arm.policy().map(|_| place("client_cpu", &cpus.clients));
    [Some(place("worker_cpu", &cpus.workers)), client]
        .into_iter()
        .flatten()
        .collect()
}

/// Whether an arm was measured and is valid.
pub(super) fn is_valid(host: &Host, measured: &Measured, arm: Arm) -> bool {
    measured
        .arm(arm)
        .is_some_and(|series| verdict(host, measured, arm, series).is_valid())
}

/// Whether an arm's figures are valid.
pub(super) fn verdict(host: &Host, measured: &Measured, arm: Arm, series: &Series) -> Verdict {
    let Some(cpus) = &measured.cpus else {
        let reason = "split placement needs two CPUs, this process may use one";
        return Verdict::new(
            Validity::NotSupported,
            reason,
            "allow more CPUs (taskset, cpuset), or measure placement `shared`",
        );
    };
    if series.samples.is_empty() {
        let reason = if arm == Arm::OpenSsl {
            "openssl speed gave no figure"
        } else {
            "no round reached this point"
        };
        return Verdict::new(
            Validity::TooFewSamples,
            reason,
            "let the run finish; a larger --budget measures more",
        );
    }
    let used_cpus = if arm.policy().is_some() {
        cpus.all().len()
    } else {
        1
    };
    let observed = Observed {
        samples: series.samples.values().map(|sample| sample.requests).sum(),
        offered_per_s: measured
            .paced_per_s
            .filter(|_| matches!(arm, Arm::Paced(_)))
            .unwrap_or(0.0),
        achieved_per_s: median(&series.values(|sample| sample.sent_per_s)).unwrap_or(0.0),
        in_flight_bytes: in_flight_bytes(measured, arm),
        l2_bytes: host.l2_bytes,
        // No CPU counts as spare: our own time is taken off the load already,
        // and what else ran where a thread slept woke it late.
        busy_threads: used_cpus + crowd(cpus, arm),
        cpus: used_cpus,
        shared: measured.cell.placement == Placement::Shared,
        ..disturbance(measured, arm, series)
    };
    observed.verdict()
}

/// Threads meant to be busy that found no CPU of their own.
fn crowd(cpus: &Cpus, arm: Arm) -> usize {
    let distinct = |cpus: &[usize]| cpus.iter().collect::<BTreeSet<_>>().len();
    let Some(policy) = arm.policy() else {
        return 0;
    };
    let workers = cpus.workers.len() - distinct(&cpus.workers);
    // Clients that sleep may take turns.
    let clients = if is_busy_client(policy) {
        cpus.clients.len() - distinct(&cpus.clients)
    } else {
        0
    };
    workers + clients
}

fn in_flight_bytes(measured: &Measured, arm: Arm) -> u64 {
    let per_worker = measured.in_flight_bytes / measured.cell.workers;
    let bytes = match arm {
        Arm::OpenSsl => 0,
        arm if arm.mode() == "sync" => per_worker / measured.cell.depth,
        _ => per_worker,
    };
    bytes as u64
}

/// Steal and other programs, over all rounds. `openssl speed` counts its own
/// CPU time, so that neither touches it.
fn disturbance(measured: &Measured, arm: Arm, series: &Series) -> Observed {
    let mut times = kit::observe::CpuTimes::default();
    series
        .samples
        .values()
        .for_each(|sample| times.add(sample.times));
    let cpus = match (&measured.cpus, arm.policy()) {
        (Some(cpus), Some(_)) => cpus.all().len(),
        _ => 1,
    };
    let mean = |value: fn(&kit::load::fresh::trial_run::Sample) -> f64| {
        let values = series.values(value);
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    let ours = mean(|sample| sample.client_cpus + sample.worker_cpus);
    let elsewhere = if arm == Arm::OpenSsl {
        0.0
    } else {
        times.load_elsewhere(series.samples.len(), cpus, ours)
    };
    Observed {
        steal_ratio: times.steal_ratio(),
        load_elsewhere: elsewhere,
        gap_ns_max: over_rounds(&series.gaps_ns).unwrap_or(0.0) as u64,
        frequency_drift: clock_drift(measured, series),
        ..Observed::default()
    }
}

/// How far the core was off its usual speed, over all rounds.
fn clock_drift(measured: &Measured, series: &Series) -> f64 {
    let Some(usual_ns) = measured.usual_step_ns else {
        return 0.0;
    };
    let drifts: Vec<_> = series
        .step_ns
        .iter()
        .map(|&step_ns| kit::observe::drift(step_ns, usual_ns))
        .collect();
    over_rounds(&drifts).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use policy::Policy;

    use super::*;
    use kit::load::fresh::arm::Role;
    use kit::load::fresh::trial_run::Sample;
    use kit::observe::CpuTimes;

    /// The verdict over a second in which our two threads took 0.7 CPUs and
    /// all programs `busy` hundredths.
    fn validity(arm: Arm, cpus: Cpus, busy: u64) -> Validity {
        judged(arm, cpus, busy, Series::default()).validity
    }

    /// The same of a series that saw other things too.
    fn judged(arm: Arm, cpus: Cpus, busy: u64, seen: Series) -> Verdict {
        let measured = Measured {
            cell: Cell {
                placement: Placement::Split,
                kind: crypto::Kind {
                    algorithm: crypto::Algorithm::Sha256,
                    operation: crypto::Algorithm::Sha256.operations()[0],
                },
                block_bytes: 64,
                depth: 1,
                lanes: cpus.clients.len(),
                workers: cpus.workers.len(),
                role: Role::Grid,
            },
            block_bytes: 64,
            in_flight_bytes: 64,
            paced_per_s: None,
            usual_step_ns: Some(1.0),
            arms: Vec::new(),
            cpus: Some(cpus.clone()),
        };
        let sample = Sample {
            requests: 1000,
            client_cpus: 0.2,
            worker_cpus: 0.5,
            times: CpuTimes {
                busy,
                idle: cpus.all().len() as u64 * 100 - busy,
                steal: 0,
            },
            ..Sample::default()
        };
        let series = Series {
            samples: BTreeMap::from([(0, sample)]),
            ..seen
        };
        let host = Host::with_cpus(cpus.all());
        verdict(&host, &measured, arm, &series)
    }

    #[test]
    fn a_clock_that_moved_and_a_pause_are_noise() {
        let of = |step_ns: &[f64], gaps_ns: &[f64]| {
            let seen = Series {
                step_ns: step_ns.to_vec(),
                gaps_ns: gaps_ns.to_vec(),
                ..Series::default()
            };
            judged(Arm::ASYNC, cpus(&[1], &[0]), 75, seen)
        };
        assert!(of(&[1.0, 1.04, 0.96], &[9e6]).is_valid());
        let drifted = of(&[1.0, 1.08], &[0.0]);
        assert_eq!(drifted.validity, Validity::Noisy);
        assert!(drifted.reason.contains("clock drift"), "{}", drifted.reason);
        assert!(drifted.reason.contains("-7.4%"), "{}", drifted.reason);
        let paused = of(&[1.0], &[25e6]);
        assert_eq!(paused.validity, Validity::Noisy);
        assert!(paused.reason.contains("25.0 ms"), "{}", paused.reason);
        let mut once = [1.0; 9];
        once[4] = 1.3;
        assert!(of(&once, &[]).is_valid(), "one round of nine");
    }

    fn cpus(workers: &[usize], clients: &[usize]) -> Cpus {
        Cpus {
            workers: workers.to_vec(),
            clients: clients.to_vec(),
        }
    }

    #[test]
    fn a_foreign_process_is_seen_under_every_policy() {
        for arm in [Arm::SYNC, Arm::ASYNC, Arm::EACH, Arm::POLLED] {
            let of = |busy| validity(arm, cpus(&[1], &[0]), busy);
            assert_eq!(of(75), Validity::Valid, "{arm}");
            assert_eq!(of(170), Validity::Noisy, "{arm}");
        }
    }

    #[test]
    fn only_threads_meant_to_be_busy_crowd_a_cpu() {
        let of =
            |arm, workers: &[usize], clients: &[usize]| validity(arm, cpus(workers, clients), 70);
        assert_eq!(of(Arm::ASYNC, &[1], &[0, 0, 0]), Validity::Valid);
        assert_eq!(of(Arm::POLLED, &[1], &[0, 0, 0]), Validity::Noisy);
        assert_eq!(of(Arm::POLLED, &[3], &[0, 1, 2]), Validity::Valid);
        assert_eq!(of(Arm::ASYNC, &[1, 1], &[0]), Validity::Noisy);
        assert_eq!(
            of(Arm::Paced(Policy::POLLED), &[2], &[0, 0]),
            Validity::Noisy
        );
    }
}
