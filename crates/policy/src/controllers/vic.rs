//! `vic`: what VMware ESX does for virtual disks, with departures.

use super::meter::{Lap, Meter};
use crate::{COUNT_MAX, Controller, Counters, Settings};

/// Nothing is gathered with fewer commands in flight: the paper's
/// `cifThreshold`.
const IN_FLIGHT_MIN: f64 = 4.0;
/// Nothing is gathered below this rate of requests, 1/s: the paper's `iopsThreshold`.
const REQUESTS_PER_S_MIN: f64 = 2000.0;
/// How often the ratio is computed anew: the paper's epoch.
const EPOCH_NS: u64 = 200_000_000;
/// Gathered completions wait no longer, µs: one request's turn at
/// `iopsThreshold`. The paper gets by without a timer, since it delivers at
/// once whenever few commands are left in flight; a worker that only looks at
/// its lanes again when something comes must have one.
const TIMEOUT_US: u32 = 500;

/// Delivers one notification for R of the completions, R from the commands
/// in flight: the more there are, the less one delay costs.
///
/// Source: Ahmad, Gulati, Mashtizadeh, "vIC: Interrupt Coalescing for
/// Virtual Machine Storage Device IO" (USENIX ATC 2011), section 3: with
/// fewer than `cifThreshold` = 4 in flight, or fewer than `iopsThreshold` =
/// 2000 requests/s, R = 1; with 4–7 in flight 0.8, 8–11 0.75, 12–15 0.66,
/// and 8/CIF from 16 on; computed anew every 200 ms.
///
/// It departs from that in two things, which [`departure`](super::departure) names.
/// Lanes gather a whole number of completions: it is 1/R, rounded down, so
/// that no completion waits for more than vIC would have it wait for. With
/// fewer than 16 in flight this delivers each. And gathered completions wait
/// for 500 µs at most, where the paper has no timer.
#[derive(Clone, Debug)]
pub struct Vic {
    meter: Meter,
    settings: Settings,
}

impl Default for Vic {
    fn default() -> Self {
        Self {
            meter: Meter::new(EPOCH_NS),
            settings: Settings::UNLIMITED,
        }
    }
}

impl Vic {
    /// The part of the completions that are notified of, 0 to 1, from the
    /// requests in flight and their rate (the paper's algorithm 1).
    pub fn delivery_ratio(in_flight: f64, requests_per_s: f64) -> f64 {
        if in_flight < IN_FLIGHT_MIN || requests_per_s < REQUESTS_PER_S_MIN {
            1.0
        } else if in_flight < 2.0 * IN_FLIGHT_MIN {
            0.8
        } else if in_flight < 3.0 * IN_FLIGHT_MIN {
            0.75
        } else if in_flight < 4.0 * IN_FLIGHT_MIN {
            0.66
        } else {
            2.0 * IN_FLIGHT_MIN / in_flight
        }
    }

    fn look(&mut self, lap: &Lap) {
        let ratio = Self::delivery_ratio(lap.counted.depth(), lap.requests_per_s());
        // `as` rounds down and saturates.
        let count = ((1.0 / ratio) as u32).min(COUNT_MAX.into());
        self.settings = if count <= 1 {
            Settings::UNLIMITED
        } else {
            Settings::coalesce(count, TIMEOUT_US).expect("both are within the limits")
        };
    }
}

impl Controller for Vic {
    fn name(&self) -> &'static str {
        "vic"
    }

    fn period_ns(&self) -> u64 {
        EPOCH_NS
    }

    fn observe(&mut self, now_ns: u64, counters: &Counters) -> Settings {
        if let Some(lap) = self.meter.lap(now_ns, counters) {
            self.look(&lap);
        }
        self.settings
    }
}
