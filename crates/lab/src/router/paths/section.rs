//! The section itself.

use std::time::Duration;

use forward::bench::Setup;
use trial::{Event, Plan, PlanError, Probe, RunError, Section, Sink};

use super::claims::claims;
use super::config::{Config, Table};
use super::context::Context;
use super::grid::grid;
use super::{charts, findings, points, tables};
use crate::ConfigError;
use crate::router::end::End;
use crate::router::ground;
use crate::router::rig::{self, Build};
use crate::router::rounds::{self, Rigs};
use crate::router::subject::Subject;
use crate::speed::place::usable_cpus;
use crate::vcm::invocation::command;
use crate::vcm::running::{self, Choices, failed};
use crate::vcm::schedule::{Schedule, Wishes};

const NAME: &str = "router-paths";
/// Seconds of a trial: several times a scheduler's slice, and no longer than
/// helps.
const SLICE_S: (f64, f64) = (0.15, 0.5);
/// Starting the port, waiting for frames on their way, counting.
const OVERHEAD_S: f64 = 0.15;
/// Namespaces, interfaces, routes, and until a frame passes.
const START_S: f64 = 0.5;

/// Section `router-paths`, configured.
pub(super) struct RouterPaths(Config);

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    let config = Config::try_from(crate::config::from_table::<Table>(table)?)?;
    Ok(Box::new(RouterPaths(config)))
}

impl Section for RouterPaths {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Forwarding paths: what XDP, AF_XDP, polling, batching and queues give"
    }

    fn command(&self) -> String {
        command(NAME, &self.0.table)
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(&self.0.table).expect("plain strings and numbers")
    }

    fn appetite(&self) -> (Duration, Duration) {
        running::appetite(&choices(&self.0))
    }

    fn plan(&self, probe: &Probe, budget: Duration) -> Result<Plan, PlanError> {
        ground::check(probe)?;
        let (config, schedule) = running::choose(choices(&self.0), budget)?;
        let left_out = (config.ways.len() < self.0.ways.len()).then(|| {
            "without AF_XDP's other settings, destinations and routes: there is no time for them (--budget)".to_owned()
        });
        let steps = [Some(schedule.step()), left_out, Some(ground::ports_step())];
        Ok(Plan {
            seconds: schedule.seconds(),
            steps: steps.into_iter().flatten().collect(),
            privileges: vec![ground::PRIVILEGES.to_owned()],
            creates: vec![ground::CREATES.to_owned()],
            ..Plan::default()
        })
    }

    fn run(&self, probe: &Probe, plan: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        let changed = |error| failed("the host changed since the plan was made", error);
        ground::check(probe).map_err(changed)?;
        let (config, schedule) = running::planned(choices(&self.0), plan)?;
        let cpus = usable_cpus().map_err(|error| failed("no CPU is known", error))?;
        measure(
            &config,
            &schedule,
            &cpus,
            &self.command(),
            &rig::build,
            sink,
        )
        .result()
    }
}

/// The whole, and the few that say most.
fn choices(config: &Config) -> Choices<Config> {
    let with = |config: Config| {
        let wishes = wishes(&config);
        (config, wishes)
    };
    let all = with(config.clone());
    let narrower = config.narrower().map(with);
    [all].into_iter().chain(narrower).collect()
}

/// What spins is started anew for every trial.
fn wishes(config: &Config) -> Wishes {
    let subjects = grid(config, &[0, 1]);
    let spinning = subjects.iter().filter(|one| one.way().spins()).count();
    let staying = subjects.len() - spinning;
    let trials = subjects.len();
    Wishes {
        trials,
        slice_s: SLICE_S,
        pairs: config.pairs,
        seconds: config.seconds,
        start_s: START_S * staying as f64,
        overhead_s: OVERHEAD_S + START_S * spinning as f64 / trials.max(1) as f64,
    }
}

/// Measures and says what was found, however it ended.
pub(super) fn measure(
    config: &Config,
    schedule: &Schedule,
    cpus: &[usize],
    command: &str,
    build: Build<'_>,
    sink: &mut dyn Sink,
) -> End {
    let mut subjects = grid(config, cpus);
    let build: Build<'_> = &|setups: &[Setup]| build(setups);
    let mut rigs = Rigs::new(build);
    let end = rounds::measure(
        &mut rigs,
        &mut subjects,
        schedule,
        config.seed,
        sink,
        |subjects: &[Subject], sink: &mut dyn Sink| {
            let points = points::points(subjects, command).into_iter();
            points.for_each(|point| sink.emit(Event::Point(point)));
        },
    );
    drop(rigs);
    let claims = claims(config, &subjects, command);
    let context = Context {
        config,
        slice: schedule.slice,
        subjects: &subjects,
        claims: &claims.answered,
        open: &claims.open,
        command,
    };
    results(&context, &end)
        .into_iter()
        .for_each(|event| sink.emit(event));
    sink.emit(Event::Progress(1.0, NAME.to_owned()));
    end
}

fn results(context: &Context<'_>, end: &End) -> Vec<Event> {
    let points = points::points(context.subjects, context.command);
    let comparisons = context
        .claims
        .iter()
        .map(|claim| claim.ratio.comparison.clone());
    (points.into_iter().map(Event::Point))
        .chain(
            findings::findings(context, end)
                .into_iter()
                .map(Event::Finding),
        )
        .chain(tables::tables(context).into_iter().map(Event::Table))
        .chain(charts::charts(context).into_iter().map(Event::Chart))
        .chain(comparisons.map(Event::Comparison))
        .collect()
}
