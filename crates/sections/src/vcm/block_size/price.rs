//! What one notification costs on this host: the same work with a
//! notification for every completion and with hardly any.

use std::collections::BTreeSet;

use trial::stats::{median, median_interval};
use trial::{Direction, Metric};

use crate::vcm::block_size::grid::Place;
use kit::load::moderated::Arm;
use kit::load::rig::Window;
use kit::metric::metric;
use kit::place::Placement;

/// Small blocks, whose completions come faster than a client can be woken:
/// what is seen is mostly the signal. The larger the block, the more often a
/// signal is a wake-up besides.
pub(super) const SMALL_BYTES_MAX: usize = 4096;
/// With fewer notifications saved a request, little is divided by less.
const SAVED_MIN: f64 = 0.2;

/// The price, one value a round, ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Price {
    /// Time that a notification delays everything by.
    pub(super) elapsed_ns: Vec<f64>,
    /// CPU time of the client.
    pub(super) client_ns: Vec<f64>,
    /// CPU time of the worker.
    pub(super) worker_ns: Vec<f64>,
}

/// A median with what it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
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

/// The price where clients and worker are placed so, from the blocks small
/// enough to show it. `counts` says which places may be believed.
pub(super) fn price(
    cells: &[Place],
    placement: Placement,
    counts: impl Fn(&Place) -> bool,
) -> Option<Price> {
    let small = |cell: &&Place| {
        cell.key.placement == placement && cell.key.block_bytes <= SMALL_BYTES_MAX && counts(cell)
    };
    let cells: Vec<_> = cells.iter().filter(small).collect();
    let rounds: BTreeSet<usize> = cells
        .iter()
        .filter_map(|cell| cell.arm(&Arm::EACH))
        .flat_map(|series| series.trials.keys().copied())
        .collect();
    let mut price = Price::default();
    for round in rounds {
        let seen: Vec<_> = cells.iter().filter_map(|cell| once(cell, round)).collect();
        let of = |part: usize| median(&seen.iter().map(|parts| parts[part]).collect::<Vec<_>>());
        if let (Some(elapsed), Some(client), Some(worker)) = (of(0), of(1), of(2)) {
            price.elapsed_ns.push(elapsed);
            price.client_ns.push(client);
            price.worker_ns.push(worker);
        }
    }
    (!price.elapsed_ns.is_empty()).then_some(price)
}

/// What one place alone says, elapsed ns, one value a round.
pub(super) fn of_place(cell: &Place) -> Option<Vec<f64>> {
    let rounds = cell.arm(&Arm::EACH)?.trials.keys();
    let values = rounds.filter_map(|&round| once(cell, round).map(|parts| parts[0]));
    Some(values.collect())
}

/// One round at one place: elapsed, client's and worker's ns a notification.
fn once(cell: &Place, round: usize) -> Option<[f64; 3]> {
    let window = |arm: Arm| Some(&cell.arm(&arm)?.trials.get(&round)?.window);
    per_notification(window(Arm::EACH)?, window(Arm::ARMED)?)
}

fn per_notification(each: &Window, armed: &Window) -> Option<[f64; 3]> {
    let per_request = |window: &Window| {
        let share = &window.tenants[0];
        let requests = share.counters.requests as f64;
        (requests > 0.0).then(|| {
            [
                share.counters.notifications as f64 / requests,
                window.seconds / requests * 1e9,
                share.client.as_secs_f64() / requests * 1e9,
                window.worker.as_secs_f64() / requests * 1e9,
            ]
        })
    };
    let (more, fewer) = (per_request(each)?, per_request(armed)?);
    let saved = more[0] - fewer[0];
    let price = |part: usize| (more[part] - fewer[part]) / saved;
    (saved >= SAVED_MIN).then(|| [price(1), price(2), price(3)])
}

impl Price {
    /// As a point's metrics.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let metrics = [
            ("notification_ns", Direction::Lower, &self.elapsed_ns),
            (
                "notification_client_ns",
                Direction::Neutral,
                &self.client_ns,
            ),
            (
                "notification_worker_ns",
                Direction::Neutral,
                &self.worker_ns,
            ),
        ];
        metrics
            .into_iter()
            .filter_map(|(name, direction, values)| metric(name, "ns", direction, values.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use policy::Counters;

    use super::*;
    use kit::load::rig::Share;

    fn window(requests: u64, notifications: u64, client_ms: u64) -> Window {
        let share = Share {
            counters: Counters {
                requests,
                notifications,
                ..Counters::default()
            },
            client: Duration::from_millis(client_ms),
            ..Share::default()
        };
        Window {
            seconds: 1.0,
            worker: Duration::from_millis(1000 - client_ms),
            tenants: vec![share],
            ..Window::default()
        }
    }

    #[test]
    fn a_planted_price_is_found() {
        // A request takes 1000 ns, and 700 more with a notification, of
        // which the client pays 300.
        let each = window(588_235, 588_235, 176);
        let armed = window(978_560, 30_580, 9);
        let [elapsed, client, worker] = per_notification(&each, &armed).unwrap();
        assert!((elapsed - 700.0).abs() < 5.0, "{elapsed}");
        assert!((client - 300.0).abs() < 5.0, "{client}");
        assert!((worker - 400.0).abs() < 5.0, "{worker}");
    }

    #[test]
    fn nothing_saved_is_no_price() {
        assert_eq!(
            per_notification(&window(1000, 1000, 1), &window(1000, 900, 1)),
            None
        );
        assert_eq!(
            per_notification(&window(0, 0, 1), &window(1000, 900, 1)),
            None
        );
    }

    #[test]
    fn a_spread_below_zero_is_still_told() {
        let spread = Spread::of(&[-1.0, 2.0, 3.0], 1).unwrap();
        assert_eq!((spread.median, spread.low, spread.high), (2.0, -1.0, 3.0));
        assert_eq!(Spread::of(&[], 1), None);
    }
}
