//! The section `probe`: what about this host bears on the numbers.
//!
//! It measures nothing, so that it is no experiment of the kit: what the probe
//! found becomes findings and tables.

mod findings;
mod summary;

use std::time::Duration;

use kit::ConfigError;
use kit::config::keys;
use probe::calibration;
use trial::{Event, Plan, PlanError, Probe, RunError, Section, Sink};

/// The section; it has nothing to configure.
struct ProbeSection;

/// Turns the scenario's table `[probe]`, which has no keys, into the section.
///
/// # Errors
/// [`ConfigError`] names the first key there is.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    match table.keys().next() {
        Some(key) => Err(keys::unknown(key, Vec::new())),
        None => Ok(Box::new(ProbeSection)),
    }
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
        let findings = findings::findings(probe).into_iter();
        findings.for_each(|finding| sink.emit(Event::Finding(finding)));
        // A recorded host's back-ends are not here.
        let is_live = probe.fact("crypto.calibration").is_some();
        let backends = is_live.then(|| calibration::table(summary::command()));
        let tables = [Some(summary::table(probe)), backends.flatten()];
        (tables.into_iter().flatten()).for_each(|table| sink.emit(Event::Table(table)));
        sink.emit(Event::Progress(1.0, "this host".to_owned()));
        Ok(())
    }
}
