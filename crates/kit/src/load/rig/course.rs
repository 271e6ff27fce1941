//! What happens during one run of a bench.

use std::time::Duration;

use crate::load::rig::tenant::Load;

/// A run: warm-up under the first phase's load, then the phases.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// Not measured; controllers are at work already.
    pub warm_up: Duration,
    /// A phase is cut into windows of about that length, at least one.
    pub window: Duration,
    pub phases: Vec<Phase>,
}

/// A part of a run with a steady load.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    pub length: Duration,
    /// One a tenant.
    pub loads: Vec<Load>,
}

impl Course {
    /// One phase, sampled and asked whether it is to end ten times a second.
    pub fn steady(warm_up: Duration, length: Duration, loads: Vec<Load>) -> Self {
        Self {
            warm_up,
            window: Duration::from_millis(100),
            phases: vec![Phase { length, loads }],
        }
    }

    /// The windows of a phase: equal ones, as near to the wanted length as
    /// fits.
    pub fn windows(&self, phase: &Phase) -> (u32, Duration) {
        let wanted = self.window.as_secs_f64().max(1e-4);
        let count = (phase.length.as_secs_f64() / wanted).round().max(1.0) as u32;
        (count, phase.length / count)
    }
}
