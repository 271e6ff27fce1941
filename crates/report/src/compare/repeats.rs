//! Which runs repeat A and B, and what they measured.

use std::collections::BTreeMap;

use serde_json::Value;
use trial::stats::median;
use trial::{Metric, Point, Run};

use super::environment::differences;
use super::figures::values;
use super::matching::{Key, Pair, keyed};

/// Whether `run` measured a section as `other` did: the same host, program and
/// settings. A copy of a run is no repeat: it adds nothing.
pub fn is_repeat(run: &Run, other: &Run) -> bool {
    let mut sections = other.sections.iter();
    run != other
        && differences(run, other).is_empty()
        && sections.any(|section| same_settings(run, other, &section.name))
}

/// Whether both configured a section alike; unknown settings are not alike.
fn same_settings(run: &Run, other: &Run, section: &str) -> bool {
    let settings = settings(run, section);
    !settings.is_empty() && settings == self::settings(other, section)
}

/// A section as resolved, in each of the run's scenarios. The seed only decides the
/// order and the bytes of what is measured.
fn settings(run: &Run, section: &str) -> Vec<Value> {
    let several = run.scenario.get("scenarios").and_then(Value::as_array);
    let scenarios = several.map_or(std::slice::from_ref(&run.scenario), Vec::as_slice);
    let of_section = |scenario: &Value| {
        let mut settings = scenario.get("sections")?.get(section)?.clone();
        if let Some(settings) = settings.as_object_mut() {
            settings.remove("seed");
        }
        Some(settings)
    };
    scenarios.iter().filter_map(of_section).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    A,
    B,
    /// A and B repeat each other: the run's side is not known.
    Both,
}

/// The repeats of A and B among the runs that were found.
pub(super) struct Repeats<'a> {
    points: Vec<BTreeMap<Key, &'a Point>>,
    /// By section: places in `points`.
    of: BTreeMap<String, Vec<(usize, Of)>>,
}

/// Medians of one figure, one a run; A's and B's own come first.
pub(super) struct Medians {
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
    /// Of runs that repeat both A and B: they show the spread and no side.
    pub(super) both: Vec<f64>,
}

impl<'a> Repeats<'a> {
    pub(super) fn new(a: &Run, b: &Run, found: &'a [Run]) -> Self {
        let fresh =
            |(place, run): &(usize, &Run)| *run != a && *run != b && !found[..*place].contains(run);
        let found: Vec<&Run> = found
            .iter()
            .enumerate()
            .filter(fresh)
            .map(|(_, run)| run)
            .collect();
        let like = |run: &Run, other: &Run| differences(run, other).is_empty();
        let alike: Vec<_> = found
            .iter()
            .map(|run| (like(run, a), like(run, b)))
            .collect();
        let whose = |section: &str| {
            let repeats = |place: usize| {
                let (run, (of_a, of_b)) = (found[place], alike[place]);
                let of_a = of_a && same_settings(run, a, section);
                let of_b = of_b && same_settings(run, b, section);
                match (of_a, of_b) {
                    (true, true) => Some((place, Of::Both)),
                    (true, false) => Some((place, Of::A)),
                    (false, true) => Some((place, Of::B)),
                    (false, false) => None,
                }
            };
            (0..found.len()).filter_map(repeats).collect()
        };
        let sections = a.sections.iter().map(|section| &section.name);
        let points = |run: &&'a Run| {
            let points = keyed(run).into_iter();
            points.map(|(key, _, point)| (key, point)).collect()
        };
        Self {
            of: sections.map(|name| (name.clone(), whose(name))).collect(),
            points: found.iter().map(points).collect(),
        }
    }

    /// The values of `metric` in every run; its medians in A and B are given.
    pub(super) fn medians(&self, pair: &Pair<'_>, metric: &Metric, own: (f64, f64)) -> Medians {
        let mut medians = Medians {
            a: vec![own.0],
            b: vec![own.1],
            both: vec![],
        };
        for (place, of) in self.of.get(&pair.place.section).into_iter().flatten() {
            let point = self.points[*place].get(&pair.key);
            let side = match of {
                Of::A => &mut medians.a,
                Of::B => &mut medians.b,
                Of::Both => &mut medians.both,
            };
            side.extend(point.and_then(|point| median_like(point, metric)));
        }
        medians
    }
}

/// The same metric's median at a point; none where that is not valid.
fn median_like(point: &Point, like: &Metric) -> Option<f64> {
    let metric = point.metric(&like.name)?;
    let same = (&metric.unit, metric.direction) == (&like.unit, like.direction);
    let usable = |value: &f64| value.is_finite() && *value > 0.0;
    (same && point.verdict.is_valid())
        .then(|| median(values(metric)))?
        .filter(usable)
}
