//! What a scenario promises of a section: how long it measures, and which ratios
//! it shows.

use std::time::Duration;

use kit::config::value::Several;
use trial::{Plan, PlanError, Probe, RunError, Section, Sink};

use crate::budget::{BUDGET_MAX, Seconds};

kit::table! {
    /// A section's table in `[contract]`.
    pub struct Slice {
        /// Seconds of measuring, of the scenario's own budget; by appetite where left out
        seconds: Option<Seconds> = None,
        /// Ratios that it shows, each as [`trial::Comparison::name`] has it
        shows: Several<String> = [""; 0],
    }
}

impl Slice {
    /// As a result stores it.
    pub(super) fn resolved(&self) -> serde_json::Value {
        let mut slice = serde_json::json!({ "shows": *self.shows });
        if let Some(seconds) = self.seconds {
            slice["seconds"] = seconds.0.as_secs_f64().into();
        }
        slice
    }
}

/// A section with its slice, of a budget that is `scale` times the scenario's.
pub(super) fn sliced(section: Box<dyn Section>, slice: &Slice, scale: f64) -> Box<dyn Section> {
    match slice.seconds {
        Some(Seconds(seconds)) => Box::new(Sliced {
            section,
            seconds: Duration::try_from_secs_f64(seconds.as_secs_f64() * scale)
                .unwrap_or(BUDGET_MAX),
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
