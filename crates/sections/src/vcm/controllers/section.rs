//! The section itself.

use std::time::Duration;

use trial::{Event, Plan, PlanError, Probe, RunError, Section, Sink};

use crate::vcm::controllers::charts;
use crate::vcm::controllers::comparisons;
use crate::vcm::controllers::config::{Config, Table};
use crate::vcm::controllers::findings;
use crate::vcm::controllers::measure::{cores, measure};
use crate::vcm::controllers::points;
use crate::vcm::controllers::results::{End, Results};
use crate::vcm::controllers::schedule::{SCOUT, Schedule};
use crate::vcm::controllers::tables;
use kit::ConfigError;
use kit::invocation;
use probe::tier;

/// Its name.
const NAME: &str = "vcm-controllers";

/// Section `vcm-controllers`, configured.
pub struct VcmControllers(Config);

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    let config = Config::try_from(kit::config::from_table::<Table>(table)?)?;
    Ok(Box::new(VcmControllers(config)))
}

/// The command that measures it again.
pub(super) fn command(table: &Table) -> String {
    invocation::command(NAME, table)
}

/// L2 of a core, as the probe has it; 0 when unknown.
pub(crate) fn l2_bytes(probe: &Probe) -> u64 {
    probe.number("cpu.cache.l2_bytes").unwrap_or(0)
}

/// Why the tier in force forbids to measure, if it does.
pub(crate) fn unmaskable(backend: &str) -> Result<(), PlanError> {
    match tier::cannot_mask(backend) {
        Some(tier::Unmaskable { reason, remedy }) => {
            Err(PlanError::NotSupported { reason, remedy })
        }
        None => Ok(()),
    }
}

impl Section for VcmControllers {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "What moderation gains, and which controller finds it"
    }

    fn command(&self) -> String {
        command(&self.0.table)
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(&self.0.table).expect("plain strings and numbers")
    }

    fn appetite(&self) -> (Duration, Duration) {
        Schedule::appetite(&self.0)
    }

    fn plan(&self, probe: &Probe, budget: Duration) -> Result<Plan, PlanError> {
        unmaskable(self.0.backend.name())?;
        if cores(&self.0).is_empty() {
            return Err(PlanError::NotSupported {
                reason: "split placement needs two CPUs, this process may use one".to_owned(),
                remedy: "allow more CPUs (taskset, cpuset), or name the placement `shared`"
                    .to_owned(),
            });
        }
        let schedule = Schedule::new(&self.0, l2_bytes(probe), budget)?;
        Ok(Plan {
            seconds: schedule.planned_s(),
            steps: steps(&self.0, &schedule),
            ..Plan::default()
        })
    }

    fn run(&self, probe: &Probe, plan: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        let l2_bytes = l2_bytes(probe);
        // The plan's own seconds give the plan's own schedule again; the
        // margin is for rounding.
        let budget = Duration::from_secs_f64(plan.seconds + 0.001);
        let schedule =
            Schedule::new(&self.0, l2_bytes, budget).map_err(|error| RunError::Failed {
                context: "the host changed since the plan was made".to_owned(),
                source: Some(Box::new(error)),
            })?;
        let results = measure(&self.0, l2_bytes, &schedule, sink);
        self.emit(&results, sink);
        match results.end {
            End::Complete | End::Late(_) => Ok(()),
            End::Interrupted => Err(RunError::Interrupted),
            End::Failed(error) => Err(RunError::Failed {
                context: "a trial failed".to_owned(),
                source: Some(Box::new(error)),
            }),
        }
    }
}

impl VcmControllers {
    fn emit(&self, results: &Results, sink: &mut dyn Sink) {
        let config = &self.0;
        let comparisons = comparisons::comparisons(config, results);
        let findings = findings::findings(config, results, &comparisons);
        let points = points::points(config, results)
            .into_iter()
            .map(Event::Point);
        let charts = charts::charts(config, results, &comparisons);
        let tables = tables::tables(config, results, &comparisons);
        let events = points
            .chain(findings.into_iter().map(Event::Finding))
            .chain(comparisons.into_iter().map(Event::Comparison))
            .chain(charts.into_iter().map(Event::Chart))
            .chain(tables.into_iter().map(Event::Table));
        events.for_each(|event| sink.emit(event));
        sink.emit(Event::Progress(1.0, "controllers".to_owned()));
    }
}

fn steps(config: &Config, schedule: &Schedule) -> Vec<String> {
    let spots: Vec<_> = schedule
        .spots
        .iter()
        .map(crate::vcm::controllers::spot::Spot::what)
        .collect();
    let contenders: Vec<_> = schedule
        .contenders()
        .iter()
        .map(ToString::to_string)
        .collect();
    vec![
        format!("{} places: {}", spots.len(), spots.join("; ")),
        format!(
            "at each the best of the fixed settings by trials of {} ms, and {:.1} s for every controller to settle",
            SCOUT.as_millis(),
            config.settle_s
        ),
        format!(
            "then {} rounds of {} trials of {:.0} ms at each place, in shuffled order: {}",
            schedule.rounds,
            contenders.len(),
            schedule.slice_s * 1e3,
            contenders.join(", ")
        ),
    ]
}
