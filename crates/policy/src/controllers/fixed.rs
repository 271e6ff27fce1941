//! `static`: a fixed cap.

use super::Parameters;
use crate::{Controller, Counters, Settings};

/// One cap for ever, given by the operator.
///
/// Source: Dong et al., "High performance network virtualization with
/// SR-IOV" (HPCA 2010, JPDC 72(11), 2012), as the VCM paper's section 1
/// describes it: a coarse control of the interrupt frequency whose best cap
/// must be known beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Static {
    settings: Settings,
}

const PERIOD_NS: u64 = 1_000_000_000;

impl Static {
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            settings: Settings::cap(parameters.static_per_s)
                .expect("parameters hold no cap of zero"),
        }
    }
}

impl Controller for Static {
    fn name(&self) -> &'static str {
        "static"
    }

    fn period_ns(&self) -> u64 {
        PERIOD_NS
    }

    fn observe(&mut self, _now_ns: u64, _counters: &Counters) -> Settings {
        self.settings
    }
}
