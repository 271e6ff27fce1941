//! `speed-monitor-prose`: the VCM paper's algorithm, as its text tells it.

use super::Parameters;
use super::meter::{Lap, Meter, capped};
use crate::{Controller, Counters, Settings};

/// Caps once, at the first fall of the speed, and never again.
///
/// Source: the VCM paper, section 3.2, the paragraph below figure 7: when
/// this second is slower than the last, the cap becomes the last second's
/// interrupt rate, and is not changed afterwards; it begins with an ideal
/// value I₀, and what it is set to is below that. Any fall counts: the paper
/// names no tolerance. The paper's second is [`Parameters::interval_ns`],
/// its speed bytes a second.
#[derive(Clone, Debug)]
pub struct SpeedMonitorProse {
    meter: Meter,
    settings: Settings,
    last: Option<Lap>,
    has_acted: bool,
}

impl SpeedMonitorProse {
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            meter: Meter::new(parameters.interval_ns()),
            settings: initial(parameters),
            last: None,
            has_acted: false,
        }
    }

    fn look(&mut self, lap: Lap) {
        if let Some(last) = self.last
            && !self.has_acted
            && lap.bytes_per_s() < last.bytes_per_s()
        {
            self.has_acted = true;
            self.settings = lower(self.settings, capped(last.notifications_per_s()));
        }
        self.last = Some(lap);
    }
}

impl Controller for SpeedMonitorProse {
    fn name(&self) -> &'static str {
        "speed-monitor-prose"
    }

    fn period_ns(&self) -> u64 {
        self.meter.interval_ns()
    }

    fn observe(&mut self, now_ns: u64, counters: &Counters) -> Settings {
        if let Some(lap) = self.meter.lap(now_ns, counters) {
            self.look(lap);
        }
        self.settings
    }
}

pub(super) fn initial(parameters: &Parameters) -> Settings {
    parameters
        .initial_per_s
        .map_or(Settings::UNLIMITED, |per_s| capped(per_s.into()))
}

fn lower(one: Settings, other: Settings) -> Settings {
    if one.interval_ns() > other.interval_ns() {
        one
    } else {
        other
    }
}
