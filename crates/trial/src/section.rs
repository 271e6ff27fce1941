//! The contract between a part that measures and the lab that runs it.

use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use crate::{Chart, Comparison, Finding, Point, Price, Probe, Table};

/// What a section will need, stated before it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Seconds of measuring it will take.
    pub seconds: f64,
    pub steps: Vec<String>,
    /// Privileges it needs, e.g. `root`; empty for none.
    pub privileges: Vec<String>,
    /// What it creates on the host outside the run's folder, e.g. namespaces.
    pub creates: Vec<String>,
    pub downloads: Vec<String>,
    /// What it changes on the host and puts back, e.g. the ports it was given.
    pub changes: Vec<String>,
    pub job: Job,
}

type Act = dyn Fn(&mut dyn Sink) -> Result<(), RunError>;

/// The prepared work of a plan: so nothing is planned twice.
#[derive(Clone, Default)]
pub struct Job(Option<Rc<Act>>);

impl Job {
    pub fn new(act: impl Fn(&mut dyn Sink) -> Result<(), RunError> + 'static) -> Self {
        Self(Some(Rc::new(act)))
    }

    /// Runs the job; a plan without one does nothing.
    ///
    /// # Errors
    /// [`RunError`]; events emitted before stand.
    pub fn run(&self, sink: &mut dyn Sink) -> Result<(), RunError> {
        self.0.as_ref().map_or(Ok(()), |act| act(sink))
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a job" } else { "no job" })
    }
}

/// Jobs cannot be compared: two plans are equal if their statements are.
impl PartialEq for Job {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("{reason}; remedy: {remedy}")]
    NotSupported { reason: String, remedy: String },
    #[error(
        "needs {needed_s:.1} s of measuring, the budget leaves {budget_s:.1} s; raise --budget or choose fewer points"
    )]
    Budget {
        /// The least it needs, seconds.
        needed_s: f64,
        /// What it was given, seconds.
        budget_s: f64,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("interrupted")]
    Interrupted,
    #[error("{context}")]
    Failed {
        context: String,
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Progress: share done (0 to 1) and what is measured now.
    Progress(f64, String),
    /// A point. One with the dimensions of an earlier one replaces it: a
    /// section that measures in rounds emits its points after each.
    Point(Point),
    Comparison(Comparison),
    Price(Price),
    Chart(Chart),
    Table(Table),
    Finding(Finding),
}

/// Where a section's results go, and where it learns that it must stop.
pub trait Sink {
    /// Takes one event. Each is stored soon after. A section emits a point as soon as
    /// it is measured, and derived charts, tables and findings before it returns,
    /// also when it is interrupted.
    fn emit(&mut self, event: Event);

    /// Whether the user asked to stop. Sections ask at least once a second.
    fn is_interrupted(&self) -> bool;
}

/// A part of a run: data in, data out. A value of this trait is a section
/// with its configuration already parsed and validated.
pub trait Section {
    /// Stable name, also its table in a scenario file: `crypto-speed`.
    fn name(&self) -> &'static str;

    fn title(&self) -> &'static str;

    fn command(&self) -> String;

    fn resolved(&self) -> serde_json::Value;

    /// The minimum and maximum seconds of measuring that make sense; the lab shares
    /// its budget by these.
    fn appetite(&self) -> (Duration, Duration);

    /// The minimum that gives an answer at all, however few pairs it rests on.
    fn minimum(&self) -> Duration {
        self.appetite().0
    }

    /// What it will do on this host within `budget`, or why it cannot.
    ///
    /// # Errors
    /// [`PlanError`] when the host lacks something or the budget is too small.
    fn plan(&self, probe: &Probe, budget: Duration) -> Result<Plan, PlanError>;

    /// Runs it, within the plan's seconds.
    ///
    /// # Errors
    /// [`RunError`]; events emitted before stand.
    fn run(&self, probe: &Probe, plan: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        let _ = probe;
        plan.job.run(sink)
    }
}
