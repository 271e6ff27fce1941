//! What one notification costs on this host: the same work with a
//! notification for every completion and with hardly any.

use std::collections::BTreeSet;

use kit::experiment::Results;
use kit::load::benches::{Ask, CLIENT_CPU, NOTIFICATIONS, REQUESTS, WORKER_CPU};
use kit::metric::metric;
use kit::place::Placement;
use kit::spot::Spot;
use kit::subject::{Measure, Reading};
use policy::Policy;
use trial::stats::{median, median_interval};
use trial::{Point, Validity, Verdict};

use super::BlockSize;

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

/// In one placement, from blocks small enough to show it.
pub(super) struct Price {
    pub(super) placement: Placement,
    rounds: Vec<[f64; PARTS.len()]>,
    /// Whether it rests only on what is valid.
    pub(super) is_sound: bool,
}

impl Price {
    /// One of its [`PARTS`], by round.
    pub(super) fn part(&self, part: usize) -> Vec<f64> {
        self.rounds.iter().map(|parts| parts[part]).collect()
    }
}

pub(super) fn prices(results: &Results<'_, BlockSize>) -> Vec<Price> {
    let mut placements: Vec<_> = places(results).map(|place| place.placement).collect();
    placements.dedup();
    let price = |placement| {
        let small = places(results).filter(|place| place.block_bytes <= SMALL_BYTES_MAX);
        let small: Vec<_> = small.filter(|one| one.placement == placement).collect();
        let sound = small.iter().copied().filter(|one| is_sound(results, one));
        let of = |places: &[Ask], is_sound| {
            let rounds = by_round(results, places);
            (!rounds.is_empty()).then_some(Price {
                placement,
                rounds,
                is_sound,
            })
        };
        of(&sound.collect::<Vec<_>>(), true).or_else(|| of(&small, false))
    };
    placements.into_iter().filter_map(price).collect()
}

/// Places that have a notification for every completion.
pub(super) fn places(results: &Results<'_, BlockSize>) -> impl Iterator<Item = Ask> {
    let each = results
        .subjects
        .iter()
        .filter(|one| one.arm == Policy::EACH);
    each.map(|subject| subject.place)
}

/// Whether what a price rests on is valid.
pub(super) fn is_sound(results: &Results<'_, BlockSize>, place: &Ask) -> bool {
    [Policy::EACH, Policy::ARMED]
        .iter()
        .all(|arm| results.is_valid(place, arm))
}

/// The median over places, by round.
fn by_round(results: &Results<'_, BlockSize>, places: &[Ask]) -> Vec<[f64; PARTS.len()]> {
    let all = results
        .series
        .iter()
        .flat_map(|series| series.rounds.keys());
    let rounds: BTreeSet<usize> = all.copied().collect();
    let once = |place: &Ask, round: usize| {
        let reading = |arm| {
            let reading = results.series(place, &arm)?.rounds.get(&round)?;
            reading.verdict.is_valid().then_some(reading)
        };
        per_notification(reading(Policy::EACH)?, reading(Policy::ARMED)?)
    };
    let of = |round| {
        let seen: Vec<_> = places
            .iter()
            .filter_map(|place| once(place, round))
            .collect();
        let part = |part: usize| median(&seen.iter().map(|parts| parts[part]).collect::<Vec<_>>());
        Some([part(0)?, part(1)?, part(2)?])
    };
    rounds.into_iter().filter_map(of).collect()
}

/// What it costs at some places: elapsed ns, by round.
pub(super) fn elapsed_ns(results: &Results<'_, BlockSize>, places: &[Ask]) -> Vec<f64> {
    by_round(results, places)
        .iter()
        .map(|parts| parts[0])
        .collect()
}

fn per_notification(each: &Reading, armed: &Reading) -> Option<[f64; PARTS.len()]> {
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
    let point = |price: &Price| {
        let spot = Spot::new()
            .also("what", "price of a notification")
            .also("placement", price.placement.name());
        let metrics = PARTS
            .iter()
            .enumerate()
            .filter_map(|(part, own)| metric(own.name, own.unit, own.direction, price.part(part)));
        let reason = "no place that it could rest on was valid";
        Point {
            dimensions: spot.dimensions(),
            metrics: metrics.collect(),
            verdict: match price.is_sound {
                true => Verdict::valid(),
                false => Verdict::new(Validity::Noisy, reason, "measure on a quiet host"),
            },
            command: results.command.to_owned(),
            histogram: String::new(),
        }
    };
    prices(results).iter().map(point).collect()
}

/// Its lines of the price list.
pub(super) fn list(results: &Results<'_, BlockSize>) -> Vec<trial::Price> {
    let prices = prices(results).into_iter().filter(|price| price.is_sound);
    let line = |price: Price| {
        let place = match price.placement {
            Placement::Shared => "same core",
            Placement::Split => "other core",
        };
        let name = format!("notify under load, {place}");
        trial::Price::of_rounds(name, &price.part(0))
    };
    prices.filter_map(line).collect()
}

/// A median of ns with its 95% interval; where some are below zero, with the
/// least and the greatest.
pub(super) fn spread(values: &[f64]) -> Option<String> {
    let extreme = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
    let (median, low, high) = match median_interval(values) {
        Ok(own) => (own.estimate, own.low, own.high),
        Err(_) => (median(values)?, extreme(f64::min)?, extreme(f64::max)?),
    };
    Some(match median.abs() < 1e3 {
        true => format!("{median:.0} ns ({low:.0} to {high:.0})"),
        false => format!(
            "{:.2} µs ({:.2} to {:.2})",
            median / 1e3,
            low / 1e3,
            high / 1e3
        ),
    })
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
        let told = spread(&[-1.0, 2.0, 3.0]);
        assert_eq!(told.as_deref(), Some("2 ns (-1 to 3)"));
        assert_eq!(spread(&[]), None);
    }
}
