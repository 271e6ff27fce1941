//! The section itself.

use std::time::Duration;

use forward::topology::Cpus;
use trial::{Event, Plan, PlanError, Probe, RunError, Section, Sink};

use super::config::{Config, Table};
use super::results::{self, Context};
use super::subject::{Subject, subjects};
use crate::ConfigError;
use crate::router::end::End;
use crate::router::ground;
use crate::router::rig::{self, Build};
use crate::router::rounds::{self, Rigs};
use crate::vcm::invocation::command;
use crate::vcm::running::failed;
use crate::vcm::schedule::{Schedule, Wishes};

const NAME: &str = "router-tcp";
/// TCP finds its rate within some round trips, here of microseconds.
const SLICE_S: (f64, f64) = (1.0, 3.0);
/// Starting and ending iperf3 at both ends.
const OVERHEAD_S: f64 = 1.0;
/// Namespaces, interfaces, and until a frame passes.
const START_S: f64 = 0.5;

/// Section `router-tcp`, configured.
pub(super) struct RouterTcp(Config);

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    let config = Config::try_from(crate::config::from_table::<Table>(table)?)?;
    Ok(Box::new(RouterTcp(config)))
}

impl Section for RouterTcp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "TCP through each path, one way and both"
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
            steps: vec![
                schedule.step(),
                "with iperf3, one connection each way".to_owned(),
            ],
            privileges: vec![ground::PRIVILEGES.to_owned()],
            creates: vec![ground::CREATES.to_owned(), "iperf3 processes".to_owned()],
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
    let subjects = subjects(config, &Cpus::among(&[0, 1]));
    let spinning = subjects.iter().filter(|one| one.way.spins()).count();
    Wishes {
        trials: subjects.len(),
        slice_s: SLICE_S,
        pairs: config.pairs,
        seconds: config.seconds,
        start_s: START_S * config.ways.len() as f64,
        overhead_s: OVERHEAD_S + START_S * spinning as f64 / subjects.len().max(1) as f64,
    }
}

/// Measures and says what was found, however it ended.
pub(super) fn measure(
    (config, schedule, cpus, command): (&Config, &Schedule, &Cpus, &str),
    build: Build<'_>,
    sink: &mut dyn Sink,
) -> End {
    let mut subjects = subjects(config, cpus);
    let mut rigs = Rigs::new(build);
    let keep = |subjects: &[Subject], sink: &mut dyn Sink| {
        let context = Context {
            config,
            subjects,
            command,
        };
        let points = results::points(&context).into_iter();
        points.for_each(|point| sink.emit(Event::Point(point)));
    };
    let seed = config.seed;
    let end = rounds::measure(&mut rigs, &mut subjects, schedule, seed, sink, keep);
    drop(rigs);
    let context = Context {
        config,
        subjects: &subjects,
        command,
    };
    let events = results::events(&context, &end).into_iter();
    events.for_each(|event| sink.emit(event));
    sink.emit(Event::Progress(1.0, NAME.to_owned()));
    end
}
