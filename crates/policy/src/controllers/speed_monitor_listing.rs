//! `speed-monitor-listing`: the VCM paper's algorithm, as its listing has it.

use super::Parameters;
use super::meter::{Lap, Meter, capped};
use super::speed_monitor_prose::{initial, lower};
use crate::{Controller, Counters, Moderation, Settings};

/// Remembers the interrupt rate of the last rise of the speed, and caps to
/// it at every fall.
///
/// Source: the VCM paper, section 3.2, the listing "Algorithm controlling of
/// interrupt rate". `j` is the last interval's speed, `i` this one's. On a
/// rise (`i > j`) `k` becomes the current interrupt rate; on a fall
/// (`i < j`) the cap `I` becomes `k`, as often as that happens; between the
/// two nothing. It differs from the prose in that it acts again, and in that
/// the cap is the rate of the last *rise*, which need not be the last
/// interval.
///
/// The listing begins with `k = 0`, so that a fall before any rise sets the
/// cap to zero. A cap of no interrupt would strand every completion; in the
/// interval registers of such devices 0 means "not limited". So a `k` that
/// is not set leaves the cap at I₀: nothing has been learnt. The first
/// interval is compared with `j = 0`, as listed, and thereby is a rise if
/// anything was done in it.
#[derive(Clone, Debug)]
pub struct SpeedMonitorListing {
    meter: Meter,
    initial: Settings,
    settings: Settings,
    /// `j`, bytes a second.
    last_per_s: f64,
    /// `k`; `None` is the listing's 0.
    rise: Option<Settings>,
}

impl SpeedMonitorListing {
    /// Begins with the cap of [`Parameters::initial_per_s`].
    #[must_use]
    pub fn new(parameters: &Parameters) -> Self {
        let initial = initial(parameters);
        Self {
            meter: Meter::new(parameters.interval_ns()),
            initial,
            settings: initial,
            last_per_s: 0.0,
            rise: None,
        }
    }

    fn look(&mut self, lap: &Lap) {
        let now_per_s = lap.bytes_per_s();
        if now_per_s > self.last_per_s {
            // A rate of 0 is the listing's unset `k` again.
            let rate_per_s = lap.notifications_per_s();
            self.rise = (rate_per_s > 0.0).then(|| lower(self.initial, capped(rate_per_s)));
        } else if now_per_s < self.last_per_s {
            self.settings = self.rise.unwrap_or(self.initial);
        }
        self.last_per_s = now_per_s;
    }
}

impl Controller for SpeedMonitorListing {
    fn name(&self) -> &'static str {
        "speed-monitor-listing"
    }

    fn moderation(&self) -> Moderation {
        Moderation::Each
    }

    fn period_ns(&self) -> u64 {
        self.meter.interval_ns()
    }

    fn observe(&mut self, now_ns: u64, counters: &Counters) -> Settings {
        if let Some(lap) = self.meter.lap(now_ns, counters) {
            self.look(&lap);
        }
        self.settings
    }
}
