//! What happened between two observations, if they are plausible.

use crate::{Counters, Settings};

/// An observation this many intervals late shows a clock that stepped or a machine
/// that slept: its rates describe no load.
const LATE_INTERVALS: u64 = 16;
/// Maximum of requests or notifications per nanosecond: no device comes near it, and
/// a larger value shows a counter that was reset.
const EVENTS_PER_NS_MAX: u64 = 1;
/// Maximum of bytes per nanosecond: 1 TB/s.
const BYTES_PER_NS_MAX: u64 = 1000;
const DEPTH_MAX: u64 = 1 << 20;
const CORES_MAX: u64 = 1024;

#[derive(Clone, Debug)]
pub(super) struct Meter {
    interval_ns: u64,
    base: Option<(u64, Counters)>,
    seen_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lap {
    /// How long it was, ns; never 0 in one that was measured.
    pub(super) elapsed_ns: u64,
    pub(super) counted: Counters,
}

impl Meter {
    pub(super) const fn new(interval_ns: u64) -> Self {
        Self {
            interval_ns,
            base: None,
            seen_ns: 0,
        }
    }

    pub(super) const fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// The interval that ends now. `None` before its end, for the first, and when
    /// clock or counters cannot be right: then a new one begins here.
    pub(super) fn lap(&mut self, now_ns: u64, counters: &Counters) -> Option<Lap> {
        self.lap_if(now_ns, counters, |_| true)
    }

    /// Like [`lap`](Self::lap), but an interval with too little in it continues.
    pub(super) fn lap_if(
        &mut self,
        now_ns: u64,
        counters: &Counters,
        is_enough: impl Fn(&Lap) -> bool,
    ) -> Option<Lap> {
        let seen_ns = std::mem::replace(&mut self.seen_ns, now_ns);
        let Some((base_ns, base)) = self.base else {
            self.base = Some((now_ns, *counters));
            return None;
        };
        let elapsed_ns = now_ns.wrapping_sub(base_ns);
        // A thread that is woken a little early has still waited its turn.
        if now_ns >= seen_ns && elapsed_ns < self.interval_ns - self.interval_ns / 8 {
            return None;
        }
        let unseen_ns = now_ns.wrapping_sub(seen_ns);
        let is_step = now_ns < seen_ns || unseen_ns / LATE_INTERVALS > self.interval_ns;
        let lap = Lap {
            elapsed_ns,
            counted: counters.since(&base),
        };
        let can_be = !is_step && lap.can_be();
        if can_be && !is_enough(&lap) {
            return None;
        }
        self.base = Some((now_ns, *counters));
        can_be.then_some(lap)
    }

    pub(super) fn restart(&mut self) {
        self.base = None;
    }
}

impl Lap {
    fn can_be(&self) -> bool {
        let of_time = |per_ns: u64| self.elapsed_ns.saturating_mul(per_ns);
        let counted = &self.counted;
        events_of(counted).all(|events| events <= of_time(EVENTS_PER_NS_MAX))
            && counted.bytes <= of_time(BYTES_PER_NS_MAX)
            && counted.busy_ns.max(counted.spun_ns) <= of_time(CORES_MAX)
            && counted.in_flight <= counted.looks.saturating_mul(DEPTH_MAX)
    }

    pub(super) fn bytes_per_s(&self) -> f64 {
        self.per_s(self.counted.bytes)
    }

    pub(super) fn requests_per_s(&self) -> f64 {
        self.per_s(self.counted.requests)
    }

    pub(super) fn notifications_per_s(&self) -> f64 {
        self.per_s(self.counted.notifications)
    }

    fn per_s(&self, count: u64) -> f64 {
        count as f64 * 1e9 / self.elapsed_ns.max(1) as f64
    }
}

fn events_of(counted: &Counters) -> impl Iterator<Item = u64> {
    [
        counted.requests,
        counted.notifications,
        counted.held,
        counted.looks,
    ]
    .into_iter()
}

/// At most that many notifications a second, as near as settings hold it. Less than
/// one a second becomes one, since none would strand completions.
pub(super) fn capped(per_s: f64) -> Settings {
    // `as` saturates, and takes what is no number for 0.
    Settings::cap((per_s.round() as u32).max(1)).expect("at least one notification a second")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(requests: u64) -> Counters {
        Counters {
            requests,
            bytes: requests.wrapping_mul(1000),
            ..Counters::default()
        }
    }

    #[test]
    fn counts_across_a_wrap() {
        let mut meter = Meter::new(1_000_000);
        assert!(meter.lap(5, &counters(u64::MAX - 9)).is_none());
        let lap = meter.lap(1_000_005, &counters(90)).unwrap();
        assert_eq!(lap.counted.requests, 100);
        assert!((lap.requests_per_s() - 100_000.0).abs() < 1e-6);
    }

    #[test]
    fn begins_anew_where_a_clock_steps() {
        let mut meter = Meter::new(1_000_000);
        assert!(meter.lap(9_000_000, &counters(0)).is_none());
        assert!(meter.lap(9_000_000, &counters(10)).is_none(), "no time");
        assert!(meter.lap(1_000, &counters(20)).is_none(), "back");
        assert!(meter.lap(1_001_000, &counters(30)).is_some());
        assert!(meter.lap(u64::MAX, &counters(40)).is_none(), "forward");
        assert!(meter.lap(5, &counters(50)).is_none());
        assert!(meter.lap(1_000_005, &counters(60)).is_some());
    }

    #[test]
    fn does_not_believe_what_cannot_be() {
        let mut meter = Meter::new(1_000_000);
        assert!(meter.lap(0, &counters(0)).is_none());
        assert!(meter.lap(1_000_000, &counters(1 << 40)).is_none());
        assert!(meter.lap(2_000_000, &counters((1 << 40) + 5)).is_some());
    }

    #[test]
    fn caps_are_never_zero() {
        assert_eq!(capped(0.0), Settings::cap(1).unwrap());
        assert_eq!(capped(f64::NAN), Settings::cap(1).unwrap());
        assert_eq!(capped(1e300).interval_ns(), 0);
        assert_eq!(capped(5000.2), Settings::cap(5000).unwrap());
    }
}
