//! A section that measures every place of a grid in several ways, in rounds.

use std::sync::Arc;
use std::time::Duration;

use crypto::{Backend, WorkloadError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use trial::{Event, Plan, PlanError, Point, Probe, RunError, Section, Sink};

use crate::ConfigError;
use crate::host::Host;
use crate::invocation::command;
use crate::load::cell::Cell;
use crate::load::moderated::Arm;
use crate::load::rig::Setup;
use crate::load::rounds::{End, measure};
use crate::place::Placement;
use crate::places::Places;
use crate::running::{self, Choices, failed};
use crate::schedule::{OVERHEAD_S, Schedule, Wishes};

/// What such sections differ in; the value is the configuration.
pub trait Sweep: Clone + TryFrom<Self::Table, Error = ConfigError> + 'static {
    /// The section's name.
    const NAME: &'static str;
    /// Its heading.
    const TITLE: &'static str;
    /// Seconds of a trial: the least that means anything, and what is enough.
    const SLICE_S: (f64, f64);
    /// Starting one bench and filling its memory, seconds.
    const START_S: f64;
    /// Its table in a scenario.
    type Table: Serialize + DeserializeOwned + Default;
    /// Where in the grid a cell is.
    type Spot: Clone;

    /// What every such table has.
    fn common(&self) -> Common<'_, Self::Table>;
    /// Trials of one round.
    fn trials(&self, places: &Places) -> usize;
    /// With less to measure, where the user chose nothing.
    fn narrower(&self) -> Option<Self>;
    /// What the scenario has and this has not.
    fn left_out(&self) -> Option<String>;
    /// The benches' setups, one a placement, and the cells on them.
    fn grid(&self, places: &Places) -> Result<(Vec<Setup>, Cells<Self>), WorkloadError>;
    /// What was measured so far.
    fn points(&self, ground: Ground<'_>, cells: &[Cell<Self::Spot, Arm>]) -> Vec<Point>;
    /// All that is said of it.
    fn results(&self, ground: Ground<'_>, cells: &[Cell<Self::Spot, Arm>], end: &End)
    -> Vec<Event>;
}

/// The cells of a section.
pub type Cells<S> = Vec<Cell<<S as Sweep>::Spot, Arm>>;

/// What every such table has.
pub struct Common<'a, T> {
    pub table: &'a T,
    pub backend: &'a Arc<dyn Backend>,
    /// Empty: shared, and split where there are two CPUs.
    pub placements: &'a [Placement],
    pub seconds: Option<f64>,
    pub pairs: Option<usize>,
    pub seed: u64,
}

/// Where it was measured, and how to measure it again.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    pub places: &'a Places,
    pub l2_bytes: u64,
    pub command: &'a str,
}

struct Swept<S>(S);

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse<S: Sweep>(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    let config = S::try_from(crate::config::from_table::<S::Table>(table)?)?;
    Ok(Box::new(Swept(config)))
}

impl<S: Sweep> Section for Swept<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn title(&self) -> &'static str {
        S::TITLE
    }

    fn command(&self) -> String {
        command(S::NAME, self.0.common().table)
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(self.0.common().table).expect("plain strings and numbers")
    }

    fn appetite(&self) -> (Duration, Duration) {
        running::appetite(&self.choices(&self.places(&Host::of(None, false))))
    }

    fn plan(&self, probe: &Probe, budget: Duration) -> Result<Plan, PlanError> {
        let places = self.places(&Host::of(Some(probe), false));
        let choices = self.choices(&places);
        running::plan(
            self.0.common().backend,
            &places,
            choices,
            budget,
            S::left_out,
        )
    }

    fn run(&self, probe: &Probe, plan: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        let host = Host::of(Some(probe), false);
        let places = self.places(&host);
        let (config, schedule) = running::planned(self.choices(&places), plan)?;
        let ground = Ground {
            places: &places,
            l2_bytes: host.l2_bytes,
            command: &self.command(),
        };
        sweep(&config, ground, &schedule, sink)
    }
}

impl<S: Sweep> Swept<S> {
    fn places(&self, host: &Host) -> Places {
        Places::of(self.0.common().placements, &host.cpus)
    }

    fn choices(&self, places: &Places) -> Choices<S> {
        let wishes = |config: S| {
            let common = config.common();
            let wishes = Wishes {
                trials: config.trials(places),
                slice_s: S::SLICE_S,
                pairs: common.pairs,
                seconds: common.seconds,
                start_s: S::START_S * places.kept.len() as f64,
                overhead_s: OVERHEAD_S,
            };
            (config, wishes)
        };
        let narrower = self.0.narrower().map(wishes);
        [wishes(self.0.clone())]
            .into_iter()
            .chain(narrower)
            .collect()
    }
}

fn sweep<S: Sweep>(
    config: &S,
    ground: Ground<'_>,
    schedule: &Schedule,
    sink: &mut dyn Sink,
) -> Result<(), RunError> {
    let (setups, mut cells) = config
        .grid(ground.places)
        .map_err(|error| failed("no workload", error))?;
    let mut benches = running::start(setups)?;
    let end = measure(
        (&mut benches, &mut cells),
        schedule,
        config.common().seed,
        sink,
        |cells, sink| {
            let points = config.points(ground, cells).into_iter();
            points.for_each(|point| sink.emit(Event::Point(point)));
        },
    );
    drop(benches);
    let results = config.results(ground, &cells, &end).into_iter();
    results.for_each(|event| sink.emit(event));
    sink.emit(Event::Progress(1.0, S::NAME.to_owned()));
    end.result()
}
