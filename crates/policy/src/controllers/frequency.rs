//! `frequency`: keeps to a frequency that is known to be the best.

use super::Parameters;
use super::meter::{Lap, Meter, capped};
use crate::{Controller, Counters, Settings};

/// Released below this part of the optimal frequency: a rate that a cap holds
/// at the optimum must not count as below it, or it would be released and
/// capped in turn.
const RELEASE_BELOW: f64 = 0.8;

/// Caps where there are more notifications than the optimal frequency, and
/// releases where there are fewer.
///
/// Source: Li et al., "When I/O interrupt becomes system bottleneck:
/// efficiency and scalability enhancement for SR-IOV network
/// virtualization" (IEEE Trans. on Cloud Computing, 2017), as the VCM
/// paper's section 1 describes it: compare the frequency of interrupts with
/// the optimal one, and control it by that. The optimum is
/// [`Parameters::with_optimal_per_s`]; the interval
/// [`Parameters::interval_ns`].
#[derive(Clone, Debug)]
pub struct Frequency {
    meter: Meter,
    optimal_per_s: f64,
    settings: Settings,
}

impl Frequency {
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            meter: Meter::new(parameters.interval_ns()),
            optimal_per_s: parameters.optimal_per_s.into(),
            settings: Settings::UNLIMITED,
        }
    }

    fn look(&mut self, lap: &Lap) {
        let rate_per_s = lap.notifications_per_s();
        if rate_per_s > self.optimal_per_s {
            self.settings = capped(self.optimal_per_s);
        } else if rate_per_s < self.optimal_per_s * RELEASE_BELOW {
            self.settings = Settings::UNLIMITED;
        }
    }
}

impl Controller for Frequency {
    fn name(&self) -> &'static str {
        "frequency"
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
