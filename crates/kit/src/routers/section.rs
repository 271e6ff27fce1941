//! What every section that measures in rounds is to a run.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use trial::{Event, Plan, PlanError, Probe, RunError, Section, Sink};

use crate::ConfigError;
use crate::invocation::command;
use crate::routers::end::End;
use crate::routers::ground;
use crate::routers::rig::{self, Build};
use crate::running::{self, Choices, failed};
use crate::schedule::{Schedule, Wishes};

/// The configuration of such a section: what it measures, and how.
pub trait InRounds: TryFrom<Self::Table, Error = ConfigError> + Clone + 'static {
    /// The section's name.
    const NAME: &'static str;
    /// Its heading.
    const TITLE: &'static str;
    /// What it makes besides namespaces and interfaces.
    const CREATES: Option<&'static str> = None;

    /// The scenario's.
    type Table: Serialize + DeserializeOwned + Default;

    /// As the user wrote it.
    fn table(&self) -> &Self::Table;

    /// What it asks of a schedule.
    fn wishes(&self) -> Wishes;

    /// What says most, where there is no time for all; and what that leaves out.
    fn narrower(&self) -> Option<(Self, &'static str)> {
        None
    }

    /// With what it measures, in a plan.
    fn means() -> String {
        ground::ports_step()
    }

    /// Measures and says what was found, however it ended.
    fn measure(&self, on: On<'_>, build: Build<'_>, sink: &mut dyn Sink) -> End;
}

/// When, where, and how to have it again.
#[derive(Clone, Copy)]
pub struct On<'a> {
    pub schedule: &'a Schedule,
    pub cpus: &'a [usize],
    pub command: &'a str,
}

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse<C: InRounds>(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    let config = C::try_from(crate::config::from_table::<C::Table>(table)?)?;
    Ok(Box::new(Configured(config)))
}

struct Configured<C>(C);

/// A configuration, and what it has no time for.
type Choice<C> = (C, Option<&'static str>);

impl<C: InRounds> Configured<C> {
    fn choices(&self) -> Choices<Choice<C>> {
        let all = (self.0.clone(), None);
        let narrower = self.0.narrower();
        let narrower = narrower.map(|(config, left_out)| (config, Some(left_out)));
        let with_wishes = |choice: Choice<C>| {
            let wishes = choice.0.wishes();
            (choice, wishes)
        };
        [Some(all), narrower]
            .into_iter()
            .flatten()
            .map(with_wishes)
            .collect()
    }
}

impl<C: InRounds> Section for Configured<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn title(&self) -> &'static str {
        C::TITLE
    }

    fn command(&self) -> String {
        command(C::NAME, self.0.table())
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(self.0.table()).expect("plain strings and numbers")
    }

    fn appetite(&self) -> (Duration, Duration) {
        running::appetite(&self.choices())
    }

    fn plan(&self, probe: &Probe, budget: Duration) -> Result<Plan, PlanError> {
        ground::check(probe)?;
        let ((_, left_out), schedule) = running::choose(self.choices(), budget)?;
        let left_out = left_out.map(str::to_owned);
        let steps = [Some(schedule.step()), left_out, Some(C::means())];
        let creates = [Some(ground::CREATES), C::CREATES];
        Ok(Plan {
            seconds: schedule.seconds(),
            steps: steps.into_iter().flatten().collect(),
            privileges: vec![ground::PRIVILEGES.to_owned()],
            creates: creates.into_iter().flatten().map(str::to_owned).collect(),
            ..Plan::default()
        })
    }

    fn run(&self, probe: &Probe, plan: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        let changed = |error| failed("the host changed since the plan was made", error);
        let cpus = ground::check(probe).map_err(changed)?;
        let ((config, _), schedule) = running::planned(self.choices(), plan)?;
        let on = On {
            schedule: &schedule,
            cpus: &cpus,
            command: &self.command(),
        };
        let end = config.measure(on, &rig::build, sink);
        sink.emit(Event::Progress(1.0, C::NAME.to_owned()));
        end.result()
    }
}
