//! From matched points to ratios with intervals.

use trial::stats::{self, Interval, PAIRS_MIN};
use trial::{Direction, Metric, Outcome, Verdict};

use super::matching::Pair;
use super::{Ignored, Missing, Options, Row, Side};
use crate::number::with_unit;
use crate::words;

#[derive(Default)]
pub(super) struct Figures {
    pub(super) rows: Vec<Row>,
    pub(super) ignored: Vec<Ignored>,
    pub(super) missing: Vec<Missing>,
}

/// Every metric that has a better side, of every point valid in both runs.
pub(super) fn figures(pairs: &[Pair<'_>], options: Options) -> Figures {
    let mut figures = Figures::default();
    for pair in pairs {
        match doubt(&pair.a.verdict, &pair.b.verdict) {
            Some(reason) => figures.ignored.push(Ignored {
                place: pair.place.clone(),
                metric: None,
                reason,
            }),
            None => figures.add(pair, options),
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
        let kind = words::validity(verdict.validity);
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
    fn add(&mut self, pair: &Pair<'_>, options: Options) {
        for a in pair
            .a
            .metrics
            .iter()
            .filter(|metric| metric.direction != Direction::Neutral)
        {
            match pair.b.metric(&a.name) {
                Some(b) => self.add_metric(pair, a, b, options),
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

    fn add_metric(&mut self, pair: &Pair<'_>, a: &Metric, b: &Metric, options: Options) {
        // Every figure draws its own resamples, whatever stands before it.
        let seed = options.seed ^ (self.rows.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        match row(pair, a, b, options.fail_below, seed) {
            Ok(row) => self.rows.push(row),
            Err(reason) => {
                let (place, metric) = (pair.place.clone(), Some(a.name.clone()));
                self.ignored.push(Ignored {
                    place,
                    metric,
                    reason,
                });
            }
        }
    }
}

fn row(
    pair: &Pair<'_>,
    a: &Metric,
    b: &Metric,
    fail_below: Option<f64>,
    seed: u64,
) -> Result<Row, String> {
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
    let interval = interval.ok_or_else(|| {
        let write = |metric: &Metric| with_unit(metric.value, &metric.unit);
        format!(
            "{} in A and {} in B, or one of the values behind them, make no ratio",
            write(a),
            write(b)
        )
    })?;
    let samples = of_a.len().min(of_b.len());
    let median = |values: &[f64]| stats::median(values).unwrap_or(f64::NAN);
    Ok(Row {
        place: pair.place.clone(),
        metric: a.name.clone(),
        unit: a.unit.clone(),
        direction: a.direction,
        a: median(of_a),
        b: median(of_b),
        samples,
        ratio: interval.estimate,
        low: interval.low,
        high: interval.high,
        outcome: stats::outcome(&interval, a.direction, samples),
        failed: samples >= PAIRS_MIN
            && fail_below.is_some_and(|limit| best_gain(&interval, a.direction) < limit),
    })
}

/// One value a repetition, or the one value.
fn values(metric: &Metric) -> &[f64] {
    match metric.samples.as_slice() {
        [] => std::slice::from_ref(&metric.value),
        samples => samples,
    }
}

/// Huge over tiny overflows, tiny over huge vanishes.
fn is_usable(interval: &Interval) -> bool {
    [interval.low, interval.estimate, interval.high]
        .iter()
        .all(|ratio| ratio.is_finite() && *ratio > 0.0)
}

/// The end of the interval that speaks most for B.
fn best_gain(interval: &Interval, direction: Direction) -> f64 {
    match direction {
        Direction::Lower => 1.0 / interval.low,
        Direction::Higher | Direction::Neutral => interval.high,
    }
}
