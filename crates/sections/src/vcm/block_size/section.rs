//! The section itself.

use crypto::WorkloadError;
use trial::{Event, Point};

use crate::vcm::block_size::charts;
use crate::vcm::block_size::comparisons;
use crate::vcm::block_size::config::{Config, Table};
use crate::vcm::block_size::context::Context;
use crate::vcm::block_size::findings;
use crate::vcm::block_size::grid::{self, Place, Spot};
use crate::vcm::block_size::points;
use crate::vcm::block_size::tables;
use kit::load::rig::Setup;
use kit::load::rounds::End;
use kit::load::sweep::{Common, Ground, Sweep};
use kit::places::Places;

impl Sweep for Config {
    const NAME: &'static str = "vcm-block-size";
    const TITLE: &'static str = "VCM, figure 2: speed and notifications by block size";
    /// Shorter holds too few completions of large blocks; longer says no more
    /// than another round would.
    const SLICE_S: (f64, f64) = (0.008, 0.015);
    const START_S: f64 = 0.15;
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
        let arms = self.policies.len();
        places.kept.len() * self.kinds.len() * self.sizes_bytes.len() * arms
    }

    fn narrower(&self) -> Option<Self> {
        self.with_fewer_sizes()
    }

    fn left_out(&self) -> Option<String> {
        self.sizes_left_out()
    }

    fn grid(&self, places: &Places) -> Result<(Vec<Setup>, Vec<Place>), WorkloadError> {
        grid::grid(self, places)
    }

    fn points(&self, ground: Ground<'_>, cells: &[Place]) -> Vec<Point> {
        points::points(&Context::new(self, ground, cells), false)
    }

    fn results(&self, ground: Ground<'_>, cells: &[Place], end: &End) -> Vec<Event> {
        let context = &Context::new(self, ground, cells);
        let comparisons = comparisons::comparisons(context);
        let findings = findings::findings(context, &comparisons, end).into_iter();
        (points::points(context, true).into_iter())
            .chain(points::prices(context))
            .map(Event::Point)
            .chain(findings.map(Event::Finding))
            .chain(comparisons.into_iter().map(Event::Comparison))
            .chain(charts::charts(context).into_iter().map(Event::Chart))
            .chain(tables::tables(context).into_iter().map(Event::Table))
            .collect()
    }
}
