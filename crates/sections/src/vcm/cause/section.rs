//! The section itself.

use std::time::{Duration, Instant};

use trial::{Event, Plan, PlanError, Probe, RunError, Section, Sink};

use crate::vcm::cause::charts;
use crate::vcm::cause::config::{Config, Table};
use crate::vcm::cause::diagnosis::comparisons;
use crate::vcm::cause::examine::{Stopped, examine};
use crate::vcm::cause::findings;
use crate::vcm::cause::planted::Planted;
use crate::vcm::cause::points;
use crate::vcm::cause::points::Conditions;
use crate::vcm::cause::real::Real;
use crate::vcm::cause::results::Examined;
use crate::vcm::cause::schedule::{Case, Schedule, round_s};
use crate::vcm::cause::subject::Subject;
use crate::vcm::cause::tables;
use kit::ConfigError;
use kit::host::Host;
use kit::invocation::command;
use kit::places::Places;
use probe::tier;

const NAME: &str = "vcm-cause";

/// Section `vcm-cause`, configured.
pub struct VcmCause(Config);

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    let config = Config::try_from(kit::config::from_table::<Table>(table)?)?;
    Ok(Box::new(VcmCause(config)))
}

impl Section for VcmCause {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "VCM: why the speed falls as blocks grow"
    }

    fn command(&self) -> String {
        command(NAME, &self.0.table)
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(&self.0.table).expect("plain strings and numbers")
    }

    fn appetite(&self) -> (Duration, Duration) {
        let (least_s, most_s) = Schedule::appetite(&self.0, &Host::of(None).cpus);
        (
            Duration::from_secs_f64(least_s),
            Duration::from_secs_f64(most_s),
        )
    }

    fn plan(&self, probe: &Probe, budget: Duration) -> Result<Plan, PlanError> {
        if let Some(tier::Unmaskable { reason, remedy }) = tier::cannot_mask(self.0.backend.name())
        {
            return Err(PlanError::NotSupported { reason, remedy });
        }
        let host = Host::of(Some(probe));
        let places = Places::of(&self.0.placements, &host.cpus);
        places.any()?;
        let schedule = Schedule::new(&self.0, &host.cpus, budget)?;
        let steps = [Some(schedule.step()), places.left_out()];
        Ok(Plan {
            seconds: schedule.seconds(),
            steps: steps.into_iter().flatten().collect(),
            ..Plan::default()
        })
    }

    fn run(&self, probe: &Probe, plan: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        let host = Host::of(Some(probe));
        // The plan's own seconds give the plan's own schedule again; the
        // margin is for rounding.
        let budget = Duration::from_secs_f64(plan.seconds + 0.001);
        let schedule = Schedule::new(&self.0, &host.cpus, budget)
            .map_err(|error| failed("the host changed since the plan was made", error))?;
        let mut examined = Vec::new();
        let result = self.examine(&host, &schedule, &mut examined, sink);
        self.emit(&examined, host.l2_bytes, sink);
        result
    }
}

fn failed(context: &str, source: impl std::error::Error + Send + Sync + 'static) -> RunError {
    RunError::Failed {
        context: context.to_owned(),
        source: Some(Box::new(source)),
    }
}

impl VcmCause {
    /// One subject after the other; time that falls are spared goes to those
    /// whose cause is still open.
    fn examine(
        &self,
        host: &Host,
        schedule: &Schedule,
        examined: &mut Vec<Examined>,
        sink: &mut dyn Sink,
    ) -> Result<(), RunError> {
        let begin = Instant::now();
        for (index, case) in schedule.cases.iter().enumerate() {
            let mut subject: Box<dyn Subject> = match case {
                Case::Planted(plant) => Box::new(Planted::new(*plant, &host.cpus)),
                Case::Real(spec) => Box::new(Real::new(spec.as_ref().clone())),
            };
            let share = index as f64 / schedule.cases.len() as f64;
            sink.emit(Event::Progress(share, subject.name()));
            let mut pace = schedule.pace(case);
            let planned_s = schedule.seconds_of(&schedule.cases[index..]);
            let spare_s = schedule.seconds() - begin.elapsed().as_secs_f64() - planned_s;
            pace.rounds_max += (spare_s / round_s(&pace)).clamp(0.0, pace.rounds as f64) as usize;
            let is_interrupted = || sink.is_interrupted();
            let (examination, result) =
                examine(subject.as_mut(), &pace, self.0.seed, &is_interrupted);
            let one = Examined::new(case.clone(), examination)
                .map_err(|error| failed("no diagnosis", error))?;
            let conditions = Conditions::of(&[], host.l2_bytes);
            let points = points::points(&one, conditions, &self.command());
            points
                .into_iter()
                .for_each(|point| sink.emit(Event::Point(point)));
            examined.push(one);
            result.map_err(|stopped| match stopped {
                Stopped::Interrupted => RunError::Interrupted,
                Stopped::Failed(error) => failed("a trial failed", error),
            })?;
        }
        Ok(())
    }

    fn emit(&self, examined: &[Examined], l2_bytes: u64, sink: &mut dyn Sink) {
        let command = self.command();
        let conditions = Conditions::of(examined, l2_bytes);
        let loads = examined.iter().filter(|one| one.plant().is_none());
        let events = (examined.iter())
            .flat_map(|one| points::points(one, conditions, &command))
            .map(Event::Point)
            .chain(
                findings::findings(examined, conditions)
                    .into_iter()
                    .map(Event::Finding),
            )
            .chain(
                loads
                    .flat_map(|one| comparisons(one, conditions, &command))
                    .map(Event::Comparison),
            )
            .chain(
                charts::charts(examined, conditions, &command)
                    .into_iter()
                    .map(Event::Chart),
            )
            .chain(
                tables::tables(examined, &command)
                    .into_iter()
                    .map(Event::Table),
            );
        events.for_each(|event| sink.emit(event));
        sink.emit(Event::Progress(1.0, "causes".to_owned()));
    }
}
