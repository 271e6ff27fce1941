//! What one notification costs on this host: the same work with a
//! notification for every completion and with hardly any.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kit::experiment::{Measure, Reading};
use kit::load::benches::{CLIENT_CPU, NOTIFICATIONS, REQUESTS, WORKER_CPU};
use kit::metric::metric;
use kit::place::Placement;
use kit::results::Results;
use kit::spot::Spot;
use policy::Policy;
use trial::stats::{median, median_interval};
use trial::{Point, Validity, Verdict};

use super::{BlockSize, Place};

/// Small blocks, whose completions come faster than a client can be woken:
/// what is seen is mostly the signal. The larger the block, the more often a
/// signal is a wake-up besides.
pub(super) const SMALL_BYTES_MAX: usize = 4096;
/// With fewer notifications saved a request, little is divided by less.
const SAVED_MIN: f64 = 0.2;

/// How much later a notification makes everything; CPU time of the client for
/// it, and of the worker.
const PARTS: [Measure; 3] = [
    Measure::lower("notification_ns", "ns"),
    Measure::fact("notification_client_ns", "ns"),
    Measure::fact("notification_worker_ns", "ns"),
];

/// What each of the parts is in one round.
pub(super) type Parts = [f64; PARTS.len()];

/// The price in one placement, from blocks small enough to show it.
pub(super) struct Price {
    /// By round.
    rounds: Vec<Parts>,
    /// Whether it rests only on what may be believed.
    pub(super) is_sound: bool,
}

impl Price {
    pub(super) fn of(results: &Results<'_, BlockSize>, placement: Placement) -> Option<Self> {
        let of = |is_sound: bool| {
            let is_small = |place: &Place| {
                place.placement == placement && place.block_bytes <= SMALL_BYTES_MAX
            };
            let counts = |place: &Place| {
                let arms = [Policy::EACH, Policy::ARMED];
                is_small(place)
                    && (!is_sound || arms.iter().all(|arm| results.is_valid(place, arm)))
            };
            let each = results
                .subjects
                .iter()
                .filter(|subject| subject.arm == Policy::EACH);
            let places = each
                .map(|subject| &subject.place)
                .filter(|place| counts(place));
            let rounds = together(
                &places
                    .map(|place| by_round(results, place))
                    .collect::<Vec<_>>(),
            );
            (!rounds.is_empty()).then_some(Self { rounds, is_sound })
        };
        of(true).or_else(|| of(false))
    }

    /// Each of its parts.
    pub(super) fn spreads(&self, seed: u64) -> Option<[Spread; PARTS.len()]> {
        let spread = |part| Spread::of(&self.values(part), seed);
        Some([spread(0)?, spread(1)?, spread(2)?])
    }

    fn values(&self, part: usize) -> Vec<f64> {
        self.rounds.iter().map(|parts| parts[part]).collect()
    }
}

/// Of several places: the median in each round.
fn together(places: &[BTreeMap<usize, Parts>]) -> Vec<Parts> {
    let rounds: BTreeSet<_> = places.iter().flat_map(BTreeMap::keys).collect();
    let of = |round: &usize, part: usize| {
        let seen = places
            .iter()
            .filter_map(|place| Some(place.get(round)?[part]));
        median(&seen.collect::<Vec<_>>())
    };
    let parts = |round| Some([of(round, 0)?, of(round, 1)?, of(round, 2)?]);
    rounds.into_iter().filter_map(parts).collect()
}

/// What one place says, of the rounds in which both ways may be believed.
fn by_round(results: &Results<'_, BlockSize>, place: &Place) -> BTreeMap<usize, Parts> {
    let rounds = |arm| {
        let series = results.series(place, &arm).into_iter();
        let readings = series.flat_map(|series| &series.rounds);
        readings.filter(|(_, reading)| reading.verdict.is_valid())
    };
    let armed: BTreeMap<_, _> = rounds(Policy::ARMED).collect();
    let both = rounds(Policy::EACH)
        .filter_map(|(round, each)| Some((*round, per_notification(each, armed.get(round)?)?)));
    both.collect()
}

/// What a notification costs at one place, elapsed ns by round.
pub(super) fn elapsed_ns(results: &Results<'_, BlockSize>, place: &Place) -> Vec<f64> {
    by_round(results, place)
        .values()
        .map(|parts| parts[0])
        .collect()
}

fn per_notification(each: &Reading, armed: &Reading) -> Option<Parts> {
    let per_request = |reading: &Reading| {
        let requests_per_s = reading.value(REQUESTS).filter(|rate| *rate > 0.0)?;
        let ns = 1e9 / requests_per_s;
        let busy_ns = |measure| Some(reading.value(measure)? / 100.0 * ns);
        let parts = [ns, busy_ns(CLIENT_CPU)?, busy_ns(WORKER_CPU)?];
        Some((reading.value(NOTIFICATIONS)? / requests_per_s, parts))
    };
    let ((more, slow), (fewer, fast)) = (per_request(each)?, per_request(armed)?);
    let saved = more - fewer;
    (saved >= SAVED_MIN).then(|| std::array::from_fn(|part| (slow[part] - fast[part]) / saved))
}

/// A point a placement.
pub(super) fn points(results: &Results<'_, BlockSize>) -> Vec<Point> {
    let point = |placement: Placement| {
        let price = Price::of(results, placement)?;
        let spot = Spot::new()
            .also("what", "price of a notification")
            .also("placement", placement.name());
        let metrics = PARTS.iter().enumerate().filter_map(|(part, measure)| {
            metric(
                measure.name,
                measure.unit,
                measure.direction,
                price.values(part),
            )
        });
        let doubt = || {
            let reason = "no place that it could rest on was valid";
            Verdict::new(Validity::Noisy, reason, "measure on a quiet host")
        };
        Some(Point {
            dimensions: spot.dimensions(),
            metrics: metrics.collect(),
            verdict: if price.is_sound {
                Verdict::valid()
            } else {
                doubt()
            },
            command: results.command.to_owned(),
            histogram: String::new(),
        })
    };
    placements(results).into_iter().filter_map(point).collect()
}

/// Where something was measured.
pub(super) fn placements(results: &Results<'_, BlockSize>) -> Vec<Placement> {
    let all = results
        .subjects
        .iter()
        .map(|subject| subject.place.placement);
    let mut placements: Vec<_> = all.collect();
    placements.dedup();
    placements
}

/// A median, ns, with what it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    median: f64,
    low: f64,
    high: f64,
}

impl Spread {
    /// Of one value a round: the 95% interval of their median; where some
    /// are below zero, from the least to the greatest.
    pub(super) fn of(values: &[f64], seed: u64) -> Option<Self> {
        if let Ok(interval) = median_interval(values, seed) {
            return Some(Self {
                median: interval.estimate,
                low: interval.low,
                high: interval.high,
            });
        }
        let extreme = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
        Some(Self {
            median: median(values)?,
            low: extreme(f64::min)?,
            high: extreme(f64::max)?,
        })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, low, high } = self;
        if median.abs() < 1000.0 {
            return write!(f, "{median:.0} ns ({low:.0} to {high:.0})");
        }
        let us = |ns: f64| ns / 1e3;
        write!(
            f,
            "{:.2} µs ({:.2} to {:.2})",
            us(*median),
            us(*low),
            us(*high)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(requests: f64, notifications: f64, client_ms: f64) -> Reading {
        Reading::new(vec![
            (REQUESTS, requests),
            (NOTIFICATIONS, notifications),
            (CLIENT_CPU, client_ms / 10.0),
            (WORKER_CPU, (1000.0 - client_ms) / 10.0),
        ])
    }

    #[test]
    fn a_planted_price_is_found() {
        // A request takes 1000 ns, and 700 more with a notification, of
        // which the client pays 300.
        let each = reading(588_235.0, 588_235.0, 176.0);
        let armed = reading(978_560.0, 30_580.0, 9.0);
        let [elapsed, client, worker] = per_notification(&each, &armed).unwrap();
        assert!((elapsed - 700.0).abs() < 5.0, "{elapsed}");
        assert!((client - 300.0).abs() < 5.0, "{client}");
        assert!((worker - 400.0).abs() < 5.0, "{worker}");
    }

    #[test]
    fn nothing_saved_is_no_price() {
        let armed = reading(1000.0, 900.0, 1.0);
        assert_eq!(
            per_notification(&reading(1000.0, 1000.0, 1.0), &armed),
            None
        );
        assert_eq!(per_notification(&reading(0.0, 0.0, 1.0), &armed), None);
    }

    #[test]
    fn a_spread_below_zero_is_still_told() {
        let spread = Spread::of(&[-1.0, 2.0, 3.0], 1).unwrap();
        assert_eq!((spread.median, spread.low, spread.high), (2.0, -1.0, 3.0));
        assert_eq!(Spread::of(&[], 1), None);
    }
}
