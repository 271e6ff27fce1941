//! `speed-monitor-listing`: the VCM paper's algorithm, as its listing has it.

use super::Parameters;
use super::meter::{Lap, Meter, capped};
use super::speed_monitor_prose::initial;
use crate::{Controller, Counters, Settings};

/// Takes the first speed as a baseline. From then on it remembers the interrupt
/// rate at each rise of the speed, and caps to that at each fall.
///
/// Source: the VCM paper, section 3.2, the listing "Algorithm controlling of
/// interrupt rate". The first speed becomes `j` (`i←V`, `j←i`), and nothing is
/// decided on it. Then a rise (`i > j`) sets `k` to the current interrupt rate,
/// and a fall (`i < j`) sets the cap `I` to `k`, as often as that happens.
///
/// The listing is printed without a loop. Read here: it turns from "end if" back
/// to "get the speed", the only line that obtains one. `j←i` follows that line,
/// and `t` advances between `j←i` and the next `i←V`. So `j` is renewed each
/// turn: it is the speed at `t`, and `i` that at `t+1`. The paper's prose
/// compares the same two. (A loop from `t←(t+1)` on would compare with the first
/// speed for ever.)
///
/// Its flaw is kept: the listing begins with `k = 0`, so that a fall before any
/// rise sets the cap to zero. No client would be notified again. So a `k` that
/// is not set is the strictest cap that [`Settings`] have, one notification a
/// second: no completion is lost, and hardly any is made.
/// [`remark`](Controller::remark) says where that has happened.
///
/// Nor is `k` bounded by I₀, in the listing or here. The paper's device never
/// exceeds its cap; a lane may, since a completion alone in flight is not held
/// back. So a later cap may be higher than an earlier one.
#[derive(Clone, Debug)]
pub struct SpeedMonitorListing {
    meter: Meter,
    settings: Settings,
    /// `j`, bytes a second; none before the first speed.
    last_per_s: Option<f64>,
    /// `k`; none is the listing's 0.
    rise: Option<Settings>,
    has_capped_to_unset: bool,
}

impl SpeedMonitorListing {
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            meter: Meter::new(parameters.interval_ns()),
            settings: initial(parameters),
            last_per_s: None,
            rise: None,
            has_capped_to_unset: false,
        }
    }

    fn look(&mut self, lap: &Lap) {
        let now_per_s = lap.bytes_per_s();
        let Some(last_per_s) = self.last_per_s.replace(now_per_s) else {
            return;
        };
        if now_per_s > last_per_s {
            self.rise = Some(capped(lap.notifications_per_s()));
        } else if now_per_s < last_per_s {
            self.has_capped_to_unset |= self.rise.is_none();
            self.settings = self.rise.unwrap_or_else(|| capped(0.0));
        }
    }
}

impl Controller for SpeedMonitorListing {
    fn name(&self) -> &'static str {
        "speed-monitor-listing"
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

    fn remark(&self) -> Option<&'static str> {
        self.has_capped_to_unset.then_some(
            "the speed fell before it had ever risen, and it capped to a rate that was not set. The paper's listing has this flaw, and it is kept. A rate that is not set is one notification a second here, the strictest cap.",
        )
    }
}
