//! The section itself.

use std::time::Duration;

use trial::{Event, Plan, PlanError, Probe, RunError, Section, Sink};

use crate::vcm::shifting::charts;
use crate::vcm::shifting::comparisons;
use crate::vcm::shifting::config::{Config, Table};
use crate::vcm::shifting::findings;
use crate::vcm::shifting::measure::measure;
use crate::vcm::shifting::points;
use crate::vcm::shifting::results::{End, Results};
use crate::vcm::shifting::schedule::{SCOUT, SLICE, Schedule};
use crate::vcm::shifting::tables;
use kit::ConfigError;
use kit::host::Host;
use kit::invocation;
use kit::load::benches::unmaskable;
use kit::load::rig::Cores;
use kit::place::usable_cpus;
use kit::places::Places;

/// Its name.
const NAME: &str = "vcm-shifting";

/// Section `vcm-shifting`, configured.
pub struct VcmShifting(Config);

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    let config = Config::try_from(kit::config::from_table::<Table>(table)?)?;
    Ok(Box::new(VcmShifting(config)))
}

/// The command that measures it again.
pub(super) fn command(table: &Table) -> String {
    invocation::command(NAME, table)
}

impl VcmShifting {
    fn cores(&self) -> Result<Cores, PlanError> {
        let cpus = usable_cpus().unwrap_or_else(|_| vec![0]);
        let places = Places::of(&[self.0.placement], &cpus);
        places.any()?;
        Ok(places.kept[0].1)
    }
}

impl Section for VcmShifting {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "A load that changes: what each controller keeps of the best"
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

    fn plan(&self, _: &Probe, budget: Duration) -> Result<Plan, PlanError> {
        unmaskable(self.0.backend.name())?;
        self.cores()?;
        let schedule = Schedule::new(&self.0, budget)?;
        Ok(Plan {
            seconds: schedule.seconds(),
            steps: steps(&self.0, &schedule),
            ..Plan::default()
        })
    }

    fn run(&self, probe: &Probe, plan: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        let failed = |error: PlanError| RunError::Failed {
            context: "the host changed since the plan was made".to_owned(),
            source: Some(Box::new(error)),
        };
        let cores = self.cores().map_err(failed)?;
        // The plan's own seconds give the plan's own schedule again; the
        // margin is for rounding.
        let budget = Duration::from_secs_f64(plan.seconds + 0.001);
        let schedule = Schedule::new(&self.0, budget).map_err(failed)?;
        let l2_bytes = Host::of(Some(probe)).l2_bytes;
        let results = measure((&self.0, cores, l2_bytes), &schedule, sink);
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

impl VcmShifting {
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
        sink.emit(Event::Progress(1.0, "shifting load".to_owned()));
    }
}

fn steps(config: &Config, schedule: &Schedule) -> Vec<String> {
    let phases: Vec<_> = config
        .phases
        .iter()
        .map(crate::vcm::shifting::phase::Phase::label)
        .collect();
    vec![
        format!("{} phases: {}", phases.len(), phases.join("; ")),
        format!(
            "the best of the fixed settings of each by trials of {} ms",
            SCOUT.as_millis()
        ),
        format!(
            "then {} rounds, in shuffled order: one run through all phases, {:.2} s each, of {}; and trials of {} ms of the oracle, uncapped and armed in each phase",
            schedule.rounds,
            schedule.phase_s,
            schedule.controllers.join(", "),
            SLICE.as_millis()
        ),
    ]
}
