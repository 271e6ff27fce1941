//! The section itself.

use crypto::WorkloadError;
use trial::{Event, Point};

use crate::vcm::tasks::charts;
use crate::vcm::tasks::comparisons;
use crate::vcm::tasks::config::{Config, Table};
use crate::vcm::tasks::context::Context;
use crate::vcm::tasks::findings;
use crate::vcm::tasks::grid::{self, Place, Spot};
use crate::vcm::tasks::points;
use crate::vcm::tasks::tables;
use kit::load::rig::Setup;
use kit::load::rounds::End;
use kit::load::sweep::{Common, Ground, Sweep};
use kit::places::Places;

impl Sweep for Config {
    const NAME: &'static str = "vcm-tasks";
    const TITLE: &'static str = "VCM, figure 3: equal tasks on one virtual function";
    /// Shorter and the scheduler has not been round all tasks a few times; longer
    /// says no more than another round would.
    const SLICE_S: (f64, f64) = (0.03, 0.05);
    const START_S: f64 = 0.1;
    type Table = Table;
    type Spot = Spot;

    fn common(&self) -> Common<'_, Table> {
        Common {
            table: &self.table,
            backend: &self.backend,
            placements: &self.placements,
            seconds: self.seconds,
            pairs: self.pairs,
            seed: self.seed,
        }
    }

    fn trials(&self, places: &Places) -> usize {
        places.kept.len() * self.tasks.len() * self.policies.len()
    }

    fn narrower(&self) -> Option<Self> {
        self.with_fewer_tasks()
    }

    fn left_out(&self) -> Option<String> {
        self.tasks_left_out()
    }

    fn grid(&self, places: &Places) -> Result<(Vec<Setup>, Vec<Place>), WorkloadError> {
        grid::grid(self, places)
    }

    fn points(&self, ground: Ground<'_>, cells: &[Place]) -> Vec<Point> {
        points::points(&Context::new(self, ground, cells), false)
    }

    fn results(&self, ground: Ground<'_>, cells: &[Place], end: &End) -> Vec<Event> {
        let context = &Context::new(self, ground, cells);
        let (sums, gains) = (comparisons::sums(context), comparisons::gains(context));
        let findings = findings::findings(context, &sums, &gains, end).into_iter();
        let tables = tables::tables(context, &sums).into_iter();
        let ratios = sums.into_iter().map(|(.., ratio)| ratio).chain(gains);
        (points::points(context, true).into_iter().map(Event::Point))
            .chain(findings.map(Event::Finding))
            .chain(ratios.map(Event::Comparison))
            .chain(charts::charts(context).into_iter().map(Event::Chart))
            .chain(tables.map(Event::Table))
            .collect()
    }
}
