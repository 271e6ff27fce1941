//! The section `probe`: what about this host bears on the numbers.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use trial::{Event, Plan, PlanError, Probe, RunError, Section, Sink};

mod findings;
mod summary;
use kit::ConfigError;
use probe::calibration;

/// The section; it has nothing to configure.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProbeSection;

/// The section's table in a scenario: no key is allowed.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {}

/// The section with its only configuration.
#[must_use]
pub fn section() -> Box<dyn Section> {
    Box::new(ProbeSection)
}

/// Turns the scenario's table `[probe]`, which has no keys, into the section.
///
/// # Errors
/// [`ConfigError`] names the first key there is.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    kit::config::from_table::<Config>(table)?;
    Ok(section())
}

impl Section for ProbeSection {
    fn name(&self) -> &'static str {
        "probe"
    }

    fn title(&self) -> &'static str {
        "This host"
    }

    fn command(&self) -> String {
        summary::command()
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::json!({})
    }

    fn appetite(&self) -> (Duration, Duration) {
        (Duration::ZERO, Duration::ZERO)
    }

    fn plan(&self, _probe: &Probe, _budget: Duration) -> Result<Plan, PlanError> {
        Ok(Plan {
            steps: vec!["report what this host can do; nothing is measured".to_owned()],
            ..Plan::default()
        })
    }

    fn run(&self, probe: &Probe, _plan: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        findings::findings(probe)
            .into_iter()
            .for_each(|finding| sink.emit(Event::Finding(finding)));
        sink.emit(Event::Table(summary::table(probe)));
        // A recorded host's back-ends are not here.
        let is_live = probe.fact("crypto.calibration").is_some();
        let table = is_live.then(|| calibration::table(summary::command()));
        if let Some(table) = table.flatten() {
            sink.emit(Event::Table(table));
        }
        sink.emit(Event::Progress(1.0, "this host".to_owned()));
        Ok(())
    }
}
