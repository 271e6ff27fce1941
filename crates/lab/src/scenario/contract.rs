//! What a scenario promises of a section: how long it measures, and which ratios
//! it shows.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use trial::{Plan, PlanError, Probe, RunError, Section, Sink};

use crate::budget::{BUDGET_MAX, budget_of_seconds};

/// A section's table in `[contract]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Slice {
    /// Seconds of measuring, of the scenario's own budget; none: by appetite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Ratios that it shows, each as [`trial::Comparison::name`] has it.
    pub shows: Vec<String>,
}

impl Slice {
    /// What is wrong with it, in words: the key and what is allowed.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        match self.seconds {
            Some(seconds) if budget_of_seconds(seconds).is_none() => {
                let most = BUDGET_MAX.as_secs();
                let allowed = format!("{seconds} is out of range; more than 0 and at most {most}");
                Err(("seconds", allowed))
            }
            _ => Ok(()),
        }
    }
}

/// A section with its slice, of a budget that is `scale` times the scenario's.
pub(super) fn sliced(section: Box<dyn Section>, slice: &Slice, scale: f64) -> Box<dyn Section> {
    match slice.seconds.map(|seconds| seconds * scale) {
        Some(seconds) => Box::new(Sliced {
            section,
            // A negative time cannot be: both factors were checked.
            seconds: Duration::try_from_secs_f64(seconds).unwrap_or(BUDGET_MAX),
        }),
        None => section,
    }
}

struct Sliced {
    section: Box<dyn Section>,
    seconds: Duration,
}

impl Section for Sliced {
    fn name(&self) -> &'static str {
        self.section.name()
    }

    fn title(&self) -> &'static str {
        self.section.title()
    }

    fn command(&self) -> String {
        self.section.command()
    }

    fn resolved(&self) -> serde_json::Value {
        self.section.resolved()
    }

    /// The slice, if so much can be used.
    fn appetite(&self) -> (Duration, Duration) {
        let slice = self.seconds.min(self.section.appetite().1);
        (slice, slice)
    }

    fn minimum(&self) -> Duration {
        self.section.minimum()
    }

    fn plan(&self, probe: &Probe, budget: Duration) -> Result<Plan, PlanError> {
        self.section.plan(probe, budget)
    }

    fn run(&self, probe: &Probe, plan: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        self.section.run(probe, plan, sink)
    }
}
