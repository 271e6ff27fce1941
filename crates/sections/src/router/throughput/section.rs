//! A section that finds the throughput of routers.

use std::time::Duration;

use forward::topology::Cpus;
use trial::{Event, Finding, Plan, PlanError, Probe, RunError, Section, Sink, Table};

use crate::router::throughput::case::{Case, cases};
use crate::router::throughput::charts;
use crate::router::throughput::config::{self, Config, Defaults};
use crate::router::throughput::context::{Conditions, Context};
use crate::router::throughput::findings;
use crate::router::throughput::measure::Course;
use crate::router::throughput::points;
use crate::router::throughput::schedule::Schedule;
use crate::router::throughput::tables;
use kit::ConfigError;
use kit::headline::{Answer, Question};
use kit::invocation::command;
use kit::ratio::Ratio;
use kit::routers::end::End;
use kit::routers::ground;
use kit::routers::rig::{self, Build};
use kit::routers::rounds::Rigs;
use kit::running::failed;

/// What such sections differ in.
pub(crate) trait Kind: Defaults + Clone + std::fmt::Debug + PartialEq + 'static {
    /// The section's name.
    const NAME: &'static str;
    /// Its heading.
    const TITLE: &'static str;

    /// What it is asked.
    const QUESTION: Question;

    /// What is compared with what.
    fn ratios(context: &Context<'_>) -> Vec<Ratio>;
    /// What the numbers say to its question, if they are valid.
    fn answer(context: &Context<'_>, ratios: &[Ratio]) -> Option<Answer>;
    /// What they say besides.
    fn findings(context: &Context<'_>, ratios: &[Ratio]) -> Vec<Finding>;
    /// The source's figures beside ours.
    fn tables(context: &Context<'_>) -> Vec<Table>;
}

/// Such a section, configured.
pub(crate) struct Throughput<K> {
    table: config::Table<K>,
    config: Config,
}

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub(crate) fn parse<K: Kind>(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    let table = kit::config::from_table::<config::Table<K>>(table)?;
    let config = Config::try_from(&table)?;
    Ok(Box::new(Throughput { table, config }))
}

impl<K: Kind> Section for Throughput<K> {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn title(&self) -> &'static str {
        K::TITLE
    }

    fn command(&self) -> String {
        command(K::NAME, &self.table)
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(&self.table).expect("plain strings and numbers")
    }

    fn appetite(&self) -> (Duration, Duration) {
        let (least, _) = Schedule::appetite(&self.config.without_extras());
        (least, Schedule::appetite(&self.config).1)
    }

    fn plan(&self, probe: &Probe, budget: Duration) -> Result<Plan, PlanError> {
        ground::check(probe)?;
        let (config, schedule) = Schedule::choose(&self.config, budget)?;
        let left_out = (config.extras != self.config.extras).then(|| self.left_out());
        let steps = [schedule.step(&config), ground::ports_step()];
        Ok(Plan {
            seconds: schedule.seconds,
            steps: steps.into_iter().chain(left_out).collect(),
            privileges: vec![ground::PRIVILEGES.to_owned()],
            creates: vec![ground::CREATES.to_owned()],
            ..Plan::default()
        })
    }

    fn run(&self, probe: &Probe, plan: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        let changed = |error| failed("the host changed since the plan was made", error);
        let cpus = Cpus::among(&ground::check(probe).map_err(changed)?);
        let budget = Duration::from_secs_f64(plan.seconds + 0.001);
        let (config, schedule) = Schedule::choose(&self.config, budget).map_err(changed)?;
        let conditions = Conditions {
            config: &config,
            schedule: &schedule,
            cpus: &cpus,
            command: &self.command(),
        };
        measure::<K>(conditions, &rig::build, sink).result()
    }
}

impl<K: Kind> Throughput<K> {
    fn left_out(&self) -> String {
        let extras = self.config.extras.iter().map(ToString::to_string);
        let (needed, _) = Schedule::appetite(&self.config);
        format!(
            "no time for {}: they want {:.0} s of the budget",
            extras.collect::<Vec<_>>().join(", "),
            needed.as_secs_f64().ceil()
        )
    }
}

/// Measures and says what was found, however it ended.
pub(crate) fn measure<K: Kind>(
    conditions: Conditions<'_>,
    build: Build<'_>,
    sink: &mut dyn Sink,
) -> End {
    let mut all = cases(conditions.config);
    let mut rigs = Rigs::new(build);
    let end = course(conditions, conditions.cpus, &mut rigs, sink)
        .measure(&mut all, |cases: &[Case], sink: &mut dyn Sink| {
            emit_points(&Context { conditions, cases }, sink)
        });
    drop(rigs);
    let context = Context {
        conditions,
        cases: &all,
    };
    emit_points(&context, sink);
    results::<K>(&context, &end)
        .into_iter()
        .for_each(|event| sink.emit(event));
    sink.emit(Event::Progress(1.0, K::NAME.to_owned()));
    end
}

fn course<'a, 'b>(
    conditions: Conditions<'a>,
    cpus: &'a Cpus,
    rigs: &'a mut Rigs<'b>,
    sink: &'a mut dyn Sink,
) -> Course<'a, 'b> {
    Course {
        rigs,
        config: conditions.config,
        schedule: conditions.schedule,
        cpus,
        sink,
        end: End::Complete,
    }
}

fn emit_points(context: &Context<'_>, sink: &mut dyn Sink) {
    let points = points::points(context).into_iter();
    points.for_each(|point| sink.emit(Event::Point(point)));
}

fn results<K: Kind>(context: &Context<'_>, end: &End) -> Vec<Event> {
    let ratios = K::ratios(context);
    let answer = (K::QUESTION, K::answer(context, &ratios));
    let own = K::findings(context, &ratios);
    let found = findings::findings(context, answer, own, end);
    let tables = K::tables(context).into_iter();
    (found.into_iter().map(Event::Finding))
        .chain(tables.chain(tables::tables(context)).map(Event::Table))
        .chain(charts::charts(context).into_iter().map(Event::Chart))
        .chain(
            ratios
                .into_iter()
                .map(|one| Event::Comparison(one.comparison)),
        )
        .collect()
}
