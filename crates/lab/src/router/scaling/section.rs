//! The section itself.

use std::time::Duration;

use forward::topology::Cpus;
use trial::{Event, Plan, PlanError, Probe, RunError, Section, Sink};

use super::case::{Case, alone, capacity, cases};
use super::config::{Config, Table};
use super::context::Context;
use super::results;
use crate::ConfigError;
use crate::router::end::End;
use crate::router::ground;
use crate::router::rig::{self, Build};
use crate::router::rounds::{self, Rigs};
use crate::router::subject::Subject;
use crate::vcm::invocation::command;
use crate::vcm::running::failed;
use crate::vcm::schedule::{Schedule, Wishes};

const NAME: &str = "router-scaling";
/// Seconds of a trial.
const SLICE_S: (f64, f64) = (0.25, 0.5);
/// Starting the ports, waiting for frames on their way, counting.
const OVERHEAD_S: f64 = 0.25;
/// Namespaces, interfaces, and until a frame passes, for each router.
const START_S: f64 = 0.5;

/// Section `router-scaling`, configured.
pub(super) struct RouterScaling(Config);

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    let config = Config::try_from(crate::config::from_table::<Table>(table)?)?;
    Ok(Box::new(RouterScaling(config)))
}

impl Section for RouterScaling {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Routers side by side, and one that is overloaded"
    }

    fn command(&self) -> String {
        command(NAME, &self.0.table)
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(&self.0.table).expect("plain strings and numbers")
    }

    fn appetite(&self) -> (Duration, Duration) {
        wishes(&self.0).appetite()
    }

    fn plan(&self, probe: &Probe, budget: Duration) -> Result<Plan, PlanError> {
        ground::check(probe)?;
        let schedule = wishes(&self.0).schedule(budget)?;
        Ok(Plan {
            seconds: schedule.seconds(),
            steps: vec![schedule.step(), ground::ports_step()],
            privileges: vec![ground::PRIVILEGES.to_owned()],
            creates: vec![ground::CREATES.to_owned()],
            ..Plan::default()
        })
    }

    fn run(&self, probe: &Probe, plan: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        let changed = |error| failed("the host changed since the plan was made", error);
        let cpus = ground::check(probe).map_err(changed)?;
        let budget = Duration::from_secs_f64(plan.seconds + 0.001);
        let schedule = wishes(&self.0).schedule(budget).map_err(changed)?;
        let command = self.command();
        measure((&self.0, &schedule, &cpus, &command), &rig::build, sink).result()
    }
}

fn wishes(config: &Config) -> Wishes {
    let any = Cpus::among(&[0, 1]);
    let all = cases(config, &any, &Ok(1.0));
    let routers: usize = all.iter().map(|(_, subject)| subject.setups.len()).sum();
    Wishes {
        trials: all.len(),
        slice_s: SLICE_S,
        pairs: config.pairs,
        seconds: config.seconds,
        start_s: START_S * (routers + 1) as f64 + SLICE_S.1 + OVERHEAD_S,
        overhead_s: OVERHEAD_S,
    }
}

/// Measures and says what was found, however it ended.
pub(super) fn measure(
    (config, schedule, cpus, command): (&Config, &Schedule, &Cpus, &str),
    build: Build<'_>,
    sink: &mut dyn Sink,
) -> End {
    let mut rigs = Rigs::new(build);
    let (alone, early) = first(&mut rigs, (config, schedule, cpus), sink);
    let all = cases(config, cpus, &capacity(&alone));
    let (cases, mut subjects): (Vec<Case>, Vec<Subject>) = all.into_iter().unzip();
    let with = |subjects: &[Subject], act: &mut dyn FnMut(&Context<'_>)| {
        act(&Context {
            config,
            slice: schedule.slice,
            cases: &cases,
            subjects,
            command,
        });
    };
    let keep = |subjects: &[Subject], sink: &mut dyn Sink| {
        with(subjects, &mut |context| emit_points(context, sink));
    };
    let seed = config.seed;
    let end = match early {
        End::Complete => rounds::measure(&mut rigs, &mut subjects, schedule, seed, sink, keep),
        early => early,
    };
    drop(rigs);
    with(&subjects, &mut |context| {
        emit_points(context, sink);
        emit_results(context, &end, sink);
    });
    sink.emit(Event::Progress(1.0, NAME.to_owned()));
    end
}

/// One router alone, once: what is modest depends on what it carries.
fn first(
    rigs: &mut Rigs<'_>,
    (config, schedule, cpus): (&Config, &Schedule, &Cpus),
    sink: &mut dyn Sink,
) -> (Subject, End) {
    let mut once = *schedule;
    (once.rounds, once.trials) = (1, 1);
    let mut alone = [alone(config, cpus)];
    let end = rounds::measure(rigs, &mut alone, &once, config.seed, sink, |_, _| ());
    let [alone] = alone;
    (alone, end)
}

fn emit_points(context: &Context<'_>, sink: &mut dyn Sink) {
    let points = context.points().into_iter();
    points.for_each(|point| sink.emit(Event::Point(point)));
}

fn emit_results(context: &Context<'_>, end: &End, sink: &mut dyn Sink) {
    let ratios = context.ratios();
    let findings = results::findings(context, &ratios, end).into_iter();
    findings.for_each(|finding| sink.emit(Event::Finding(finding)));
    let tables = results::tables(context).into_iter();
    tables.for_each(|table| sink.emit(Event::Table(table)));
    let chart = results::chart(context).into_iter();
    chart.for_each(|chart| sink.emit(Event::Chart(chart)));
    let ratios = ratios.into_iter();
    ratios.for_each(|one| sink.emit(Event::Comparison(one.comparison)));
}
