//! What a request will cost: learnt from what others of its kind took.

/// A sample moves the price by at most this factor: a tenant must not pay for a
/// thread that stopped in the middle of one.
const STEP_MAX: f64 = 2.0;

/// Samples until a price is known well enough to change slowly.
const EARLY: u32 = 16;

const RATE: f64 = 1.0 / 16.0;

/// Of this many batches one is timed, once the price is known.
const UNTIMED_MAX: u32 = 64;

/// After one that takes this long the next is timed, too: looking at the clock costs
/// nothing beside them.
const LONG_NS: u64 = 50_000;

/// The range of prices, ns.
const REQUEST_NS: std::ops::RangeInclusive<f64> = 1.0..=1e9;
const BYTE_NS: std::ops::RangeInclusive<f64> = 1e-4..=1e5;

/// The fraction of a nanosecond in which a byte's price is kept.
const BYTE_PARTS: f64 = (1_u64 << 20) as f64;

/// What requests of one kind cost: `c + t·bytes`. Both are learnt from one batch
/// after the other by multiplicative updates. Each price moves by its part in the
/// expected time, so that small requests teach `c` and large ones `t`, and none
/// becomes negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    request_ns: f64,
    byte_ns: f64,
    request: u64,
    byte_parts: u64,
    samples: u32,
    untimed: u32,
    is_long: bool,
}

impl Price {
    pub fn prior(request_ns: f64, byte_ns: f64) -> Self {
        let mut price = Self {
            request_ns: 0.0,
            byte_ns: 0.0,
            request: 0,
            byte_parts: 0,
            samples: 0,
            untimed: 0,
            is_long: false,
        };
        price.set(request_ns, byte_ns);
        price
    }

    fn set(&mut self, request_ns: f64, byte_ns: f64) {
        let within = |value: f64, range: &std::ops::RangeInclusive<f64>| {
            value.clamp(*range.start(), *range.end())
        };
        self.request_ns = within(request_ns, &REQUEST_NS);
        self.byte_ns = within(byte_ns, &BYTE_NS);
        self.request = self.request_ns as u64;
        self.byte_parts = (self.byte_ns * BYTE_PARTS) as u64;
    }

    /// What a request on that many bytes will take, ns.
    #[inline]
    pub fn work_ns(&self, bytes: u64) -> u64 {
        self.request
            .saturating_add(self.byte_parts.saturating_mul(bytes) >> 20)
    }

    #[inline]
    pub fn wants_time(&mut self) -> bool {
        self.untimed += 1;
        self.is_long || self.untimed >= UNTIMED_MAX || self.samples < EARLY
    }

    fn expected(&self, requests: u64, bytes: u64) -> f64 {
        self.request_ns * requests as f64 + self.byte_ns * bytes as f64
    }

    /// A batch of `requests` on `bytes` in all took that long.
    pub fn learn(&mut self, requests: u64, bytes: u64, elapsed_ns: u64) {
        self.untimed = 0;
        self.is_long = elapsed_ns >= LONG_NS;
        if requests == 0 {
            return;
        }
        let expected = self.expected(requests, bytes);
        let step = (elapsed_ns as f64 / expected).clamp(1.0 / STEP_MAX, STEP_MAX);
        let rate = if self.samples < EARLY { 1.0 } else { RATE };
        let of_requests = self.request_ns * requests as f64 / expected;
        self.set(
            self.request_ns * step.powf(rate * of_requests),
            self.byte_ns * step.powf(rate * (1.0 - of_requests)),
        );
        self.samples = self.samples.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(price: &Price, bytes: u64, truth: f64) -> bool {
        let ratio = price.work_ns(bytes) as f64 / truth;
        (0.85..1.18).contains(&ratio)
    }

    #[test]
    fn a_price_is_learnt_from_any_sizes() {
        for (request_ns, byte_ns) in [(80.0, 0.02), (900_000.0, 0.0), (300.0, 2.5)] {
            for sizes in [&[256_u64][..], &[64, 65_536], &[16, 1024, 4096, 16_384]] {
                let mut price = Price::prior(200.0, 0.25);
                for round in 0..6000 {
                    let bytes = sizes[round % sizes.len()];
                    let count = 1 + (round % 7) as u64;
                    let truth = count as f64 * (request_ns + byte_ns * bytes as f64);
                    price.learn(count, bytes * count, truth as u64);
                }
                for &bytes in sizes {
                    let truth = request_ns + byte_ns * bytes as f64;
                    assert!(is_near(&price, bytes, truth), "{price:?} {bytes} {truth}");
                }
            }
        }
    }

    #[test]
    fn a_thread_that_stood_still_costs_its_tenant_next_to_nothing() {
        let mut price = Price::prior(200.0, 0.25);
        for _ in 0..100 {
            price.learn(16, 16 * 1024, 16 * 300);
        }
        let before = price.work_ns(1024);
        price.learn(16, 16 * 1024, 40_000_000);
        assert!(price.work_ns(1024) < before * 106 / 100, "{price:?}");
        (0..100).for_each(|_| price.learn(16, 16 * 1024, 16 * 300));
        assert!(is_near(&price, 1024, 300.0), "{price:?}");
    }

    #[test]
    fn absurd_times_leave_a_price() {
        let mut price = Price::prior(f64::INFINITY, 0.0);
        for elapsed_ns in [0, u64::MAX, 1, u64::MAX] {
            for _ in 0..2000 {
                price.learn(u64::MAX, u64::MAX, elapsed_ns);
                price.learn(1, 0, elapsed_ns);
                assert!((1..=1_000_000_000).contains(&price.work_ns(0)), "{price:?}");
            }
        }
        assert!(price.work_ns(u64::MAX) > 0);
    }

    #[test]
    fn few_short_batches_are_timed_and_all_long_ones() {
        let mut price = Price::prior(200.0, 0.25);
        (0..100).for_each(|_| price.learn(16, 1024, 3000));
        let timed = (0..6400).filter(|_| {
            let wants = price.wants_time();
            if wants {
                price.learn(16, 1024, 3000);
            }
            wants
        });
        assert_eq!(timed.count(), 100);
        price.learn(1000, 64_000, 200_000);
        assert!(price.wants_time());
    }
}
