//! From matched points to ratios with intervals.

use trial::stats::{self, Interval};
use trial::{Direction, Metric, Outcome, Verdict};

use super::matching::Pair;
use super::repeats::{Medians, Repeats};
use super::spread::{Spread, geometric_mean, spreads};
use super::{Ignored, Missing, Options, Row, Side};
use crate::number::with_unit;

const SAMPLES_MIN: usize = 5;

#[derive(Default)]
pub(super) struct Figures {
    pub(super) rows: Vec<Row>,
    pub(super) spreads: Vec<Spread>,
    pub(super) ignored: Vec<Ignored>,
    pub(super) missing: Vec<Missing>,
}

pub(super) fn figures(pairs: &[Pair<'_>], repeats: &Repeats<'_>, options: Options) -> Figures {
    let mut figures = Figures::default();
    let mut measured = Vec::new();
    let runs = Runs {
        repeats,
        seed: options.seed,
    };
    for pair in pairs {
        match doubt(&pair.a.verdict, &pair.b.verdict) {
            Some(reason) => figures.ignored.push(Ignored {
                place: pair.place.clone(),
                metric: None,
                reason,
            }),
            None => figures.add(pair, runs, &mut measured),
        }
    }
    figures.spreads = spreads(&measured);
    for it in &measured {
        let of_it = |spread: &&Spread| (&*spread.section, &*spread.metric) == it.name();
        let spread = figures.spreads.iter().find(of_it);
        let spread = spread.expect("`spreads` has every metric that was measured");
        match row(it, spread, options.fail_below) {
            Ok(row) => figures.rows.push(row),
            Err(reason) => figures.leave_out(it.pair, it.metric, reason),
        }
    }
    // Evidence first, then by the size of the effect, whichever way it goes.
    let effect = |row: &Row| row.ratio.ln().abs();
    figures.rows.sort_by(|one, other| {
        let doubtful = |row: &Row| row.outcome == Outcome::NoEvidence;
        doubtful(one)
            .cmp(&doubtful(other))
            .then(effect(other).total_cmp(&effect(one)))
    });
    figures
}

/// Why a pair of points is not compared; None when both are valid.
fn doubt(a: &Verdict, b: &Verdict) -> Option<String> {
    let words = |side: &str, verdict: &Verdict| {
        let kind = verdict.validity.name();
        format!("{kind} in {side}: {}", verdict.reason)
    };
    match (a.is_valid(), b.is_valid()) {
        (true, true) => None,
        (false, true) => Some(words("A", a)),
        (true, false) => Some(words("B", b)),
        (false, false) if a == b => Some(words("both", a)),
        (false, false) => Some(format!("{}; {}", words("A", a), words("B", b))),
    }
}

impl Figures {
    fn add<'a>(&mut self, pair: &'a Pair<'a>, runs: Runs<'_>, measured: &mut Vec<Measured<'a>>) {
        for a in pair
            .a
            .metrics
            .iter()
            .filter(|metric| metric.direction != Direction::Neutral)
        {
            match pair.b.metric(&a.name) {
                Some(b) => self.add_metric(pair, (a, b), runs, measured),
                None => self.lack(pair, Side::A, a),
            }
        }
        let only_b = pair
            .b
            .metrics
            .iter()
            .filter(|metric| metric.direction != Direction::Neutral);
        for b in only_b.filter(|metric| pair.a.metric(&metric.name).is_none()) {
            self.lack(pair, Side::B, b);
        }
    }

    fn lack(&mut self, pair: &Pair<'_>, only_in: Side, metric: &Metric) {
        self.missing.push(Missing {
            only_in,
            place: pair.place.clone(),
            metric: Some(metric.name.clone()),
        });
    }

    fn add_metric<'a>(
        &mut self,
        pair: &'a Pair<'a>,
        (a, b): (&'a Metric, &Metric),
        runs: Runs<'_>,
        measured: &mut Vec<Measured<'a>>,
    ) {
        // Every figure draws its own resamples, whatever stands before it.
        let seed = runs.seed ^ (measured.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        match figure(pair, (a, b), runs.repeats, seed) {
            Ok(figure) => measured.push(figure),
            Err(reason) => self.leave_out(pair, a, reason),
        }
    }

    fn leave_out(&mut self, pair: &Pair<'_>, metric: &Metric, reason: String) {
        self.ignored.push(Ignored {
            place: pair.place.clone(),
            metric: Some(metric.name.clone()),
            reason,
        });
    }
}

/// The runs behind every figure besides A and B, and the seed.
#[derive(Clone, Copy)]
struct Runs<'r> {
    repeats: &'r Repeats<'r>,
    seed: u64,
}

pub(super) struct Measured<'a> {
    pair: &'a Pair<'a>,
    metric: &'a Metric,
    within: Interval,
    samples: usize,
    pub(super) medians: Medians,
}

impl Measured<'_> {
    pub(super) fn name(&self) -> (&str, &str) {
        (&self.pair.place.section, &self.metric.name)
    }
}

fn figure<'a>(
    pair: &'a Pair<'a>,
    (a, b): (&'a Metric, &Metric),
    repeats: &Repeats<'_>,
    seed: u64,
) -> Result<Measured<'a>, String> {
    if (&a.unit, a.direction) != (&b.unit, b.direction) {
        return Err(format!(
            "A measured it in {:?}, B in {:?}, or another way round",
            a.unit, b.unit
        ));
    }
    let (of_a, of_b) = (values(a), values(b));
    let interval = stats::ratio_of_medians(of_b, of_a, seed)
        .ok()
        .filter(is_usable);
    let within = interval.ok_or_else(|| no_ratio(a.value, b.value, &a.unit))?;
    let median = |values: &[f64]| stats::median(values).unwrap_or(f64::NAN);
    Ok(Measured {
        pair,
        metric: a,
        within,
        samples: of_a.len().min(of_b.len()),
        medians: repeats.medians(pair, a, (median(of_a), median(of_b))),
    })
}

fn no_ratio(a: f64, b: f64, unit: &str) -> String {
    format!(
        "{} in A and {} in B, or one of the values behind them, make no ratio",
        with_unit(a, unit),
        with_unit(b, unit)
    )
}

fn row(it: &Measured<'_>, spread: &Spread, fail_below: Option<f64>) -> Result<Row, String> {
    let Measured {
        pair,
        metric,
        samples,
        ..
    } = *it;
    let (runs_a, runs_b) = (it.medians.a.len(), it.medians.b.len());
    let (a, b) = (geometric_mean(&it.medians.a), geometric_mean(&it.medians.b));
    let interval = widened(b / a, &it.within, spread.half_width(runs_a, runs_b));
    if !is_usable(&interval) {
        return Err(no_ratio(a, b, &metric.unit));
    }
    Ok(Row {
        place: pair.place.clone(),
        metric: metric.name.clone(),
        unit: metric.unit.clone(),
        direction: metric.direction,
        a,
        b,
        samples,
        runs_a,
        runs_b,
        ratio: interval.estimate,
        low: interval.low,
        high: interval.high,
        outcome: match samples >= SAMPLES_MIN {
            true => stats::outcome(&interval, metric.direction),
            false => Outcome::NoEvidence,
        },
        failed: samples >= SAMPLES_MIN
            && fail_below.is_some_and(|limit| best_gain(&interval, metric.direction) < limit),
    })
}

/// The interval of `ratio` from what varied within the runs and between them.
///
/// Both are independent, so the half width is the root of the sum of their squares,
/// in logarithms and on each side. So it is never narrower than either. A measured
/// spread already holds part of the variation within runs: where that is large, the
/// interval is somewhat too wide.
fn widened(ratio: f64, within: &Interval, between: f64) -> Interval {
    let down = between.hypot((within.estimate / within.low).ln());
    let up = between.hypot((within.high / within.estimate).ln());
    Interval {
        estimate: ratio,
        low: ratio * (-down).exp(),
        high: ratio * up.exp(),
        confidence: within.confidence,
    }
}

pub(super) fn values(metric: &Metric) -> &[f64] {
    match metric.samples.as_slice() {
        [] => std::slice::from_ref(&metric.value),
        samples => samples,
    }
}

fn is_usable(interval: &Interval) -> bool {
    [interval.low, interval.estimate, interval.high]
        .iter()
        .all(|ratio| ratio.is_finite() && *ratio > 0.0)
}

fn best_gain(interval: &Interval, direction: Direction) -> f64 {
    match direction {
        Direction::Lower => 1.0 / interval.low,
        Direction::Higher | Direction::Neutral => interval.high,
    }
}
