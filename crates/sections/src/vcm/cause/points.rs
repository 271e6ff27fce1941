//! What was measured, as points.

use std::collections::BTreeMap;

use trial::stats::median;
use trial::validity::over_rounds;
use trial::{Dimension, Direction, Metric, Observed, Point, Validity, Verdict};

use crate::vcm::cause::results::Examined;
use crate::vcm::cause::schedule::Case;
use crate::vcm::cause::setting::{Reading, Setting};
use kit::metric::metric;
use kit::observe::{CpuTimes, drift};
use kit::place::Placement;

/// What a verdict rests on besides the readings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions {
    /// Of a core; 0 when unknown.
    pub(super) l2_bytes: u64,
    /// How fast the cores were in this run: ns of one step.
    pub(super) usual_step_ns: Option<f64>,
}

impl Conditions {
    /// Of everything that was examined.
    pub(super) fn of(examined: &[Examined], l2_bytes: u64) -> Self {
        let readings = examined.iter().flat_map(|one| {
            let scan = one
                .examination
                .scan
                .iter()
                .flat_map(|(_, readings)| readings);
            let fall = one.examination.fall.iter();
            scan.chain(fall.flat_map(|fall| fall.series.iter().flat_map(|one| &one.readings)))
        });
        let steps: Vec<_> = readings
            .filter_map(|reading| reading.disturbance.step_ns)
            .collect();
        Self {
            l2_bytes,
            usual_step_ns: median(&steps),
        }
    }

    /// Whether nothing disturbed them: that bytes exceed a cache may be the
    /// very cause that is looked for.
    pub(super) fn is_quiet(&self, case: &Case, setting: &Setting, readings: &[Reading]) -> bool {
        let validity = self.verdict(case, setting, readings).validity;
        matches!(validity, Validity::Valid | Validity::WorkingSet)
    }

    /// Whether readings of that setting are valid.
    pub(super) fn verdict(&self, case: &Case, setting: &Setting, readings: &[Reading]) -> Verdict {
        if matches!(case, Case::Planted(_)) {
            // Only time of its own counts there, and no byte is in a cache.
            return Verdict::valid();
        }
        let cpus = match setting.placement {
            Placement::Shared => 1,
            Placement::Split => 2,
        };
        let of = |value: &dyn Fn(&Reading) -> f64| readings.iter().map(value).collect::<Vec<_>>();
        let mut times = CpuTimes::default();
        readings
            .iter()
            .for_each(|reading| times.add(reading.disturbance.times));
        let ours = of(&|one| one.worker_cpus + one.client_cpus);
        let ours = ours.iter().sum::<f64>() / ours.len().max(1) as f64;
        let drifts = readings
            .iter()
            .filter_map(|one| Some(drift(one.disturbance.step_ns?, self.usual_step_ns?)));
        let pauses = of(&|one| one.disturbance.pause_ns);
        Observed {
            samples: readings.iter().map(|one| one.requests).sum(),
            steal_ratio: times.steal_ratio(),
            load_elsewhere: times.load_elsewhere(readings.len(), cpus, ours),
            gap_ns_max: over_rounds(&pauses).unwrap_or(0.0) as u64,
            frequency_drift: over_rounds(&drifts.collect::<Vec<_>>()).unwrap_or(0.0),
            in_flight_bytes: setting.in_flight_bytes() as u64,
            l2_bytes: self.l2_bytes,
            busy_threads: cpus,
            cpus,
            shared: setting.placement == Placement::Shared,
            ..Observed::default()
        }
        .verdict()
    }
}

/// Everything of one subject.
pub(super) fn points(examined: &Examined, conditions: Conditions, command: &str) -> Vec<Point> {
    let examination = &examined.examination;
    let point = |experiment: &str, setting: &Setting, readings: &[Reading]| {
        let is_alone = experiment.starts_with("generator");
        (!readings.is_empty()).then(|| Point {
            dimensions: dimensions(&examination.name, experiment, setting),
            metrics: metrics(readings, is_alone),
            verdict: if is_alone {
                Verdict::valid()
            } else {
                conditions.verdict(&examined.case, setting, readings)
            },
            command: command.to_owned(),
            histogram: String::new(),
        })
    };
    let scan = examination
        .scan
        .iter()
        .filter_map(|(setting, readings)| point("scan", setting, readings));
    let series = examination.fall.iter().flat_map(|fall| &fall.series);
    let series = series.filter_map(|one| point(one.experiment.name(), &one.setting, &one.readings));
    scan.chain(series).collect()
}

fn dimensions(subject: &str, experiment: &str, setting: &Setting) -> BTreeMap<String, Dimension> {
    let number = |value: usize| Dimension::from(value as u64);
    [
        ("subject", Dimension::from(subject)),
        ("experiment", experiment.into()),
        ("block_bytes", number(setting.block_bytes)),
        ("depth", number(setting.depth)),
        ("placement", setting.placement.name().into()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn metrics(readings: &[Reading], is_alone: bool) -> Vec<Metric> {
    let of = |value: fn(&Reading) -> f64| readings.iter().map(value).collect::<Vec<_>>();
    let percent = "% of a core";
    let speed = metric(
        "speed_mb_per_s",
        "MB/s",
        Direction::Higher,
        of(|one| one.mb_per_s),
    );
    let rest = [
        metric(
            "notifications_per_request",
            "",
            Direction::Lower,
            of(|one| one.notifications),
        ),
        metric(
            "client_cpu_percent",
            percent,
            Direction::Lower,
            of(|one| one.client_cpus * 100.0),
        ),
        metric(
            "worker_cpu_percent",
            percent,
            Direction::Neutral,
            of(|one| one.worker_cpus * 100.0),
        ),
    ];
    let rest = rest.into_iter().filter(|_| !is_alone);
    std::iter::once(speed).chain(rest).flatten().collect()
}
