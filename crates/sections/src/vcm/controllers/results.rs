//! What was measured, before it is judged.

use std::collections::BTreeMap;

use trial::Verdict;

use crate::vcm::controllers::contender::Contender;
use crate::vcm::controllers::spot::Spot;
use kit::load::cell::Series;
use kit::load::moderated::Arm;
use kit::load::rig::Cores;
use kit::load::verdict::Conditions;
use kit::place::Placement;
use kit::stopping::Closing;

/// What a spot gave.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) spot: Spot,
    /// Input bytes of a request: the block, or RSA's own.
    pub(super) block_bytes: usize,
    /// Bytes that all requests in flight touch.
    pub(super) in_flight_bytes: usize,
    /// The fixed settings, with the requests/s of a short trial each; fastest
    /// first, once all are there.
    pub(super) scouted: Vec<(Arm, f64)>,
    pub(super) contenders: Vec<(Contender, Series)>,
}

impl Measured {
    /// What a contender gave, if it was measured.
    pub(super) fn series(&self, contender: Contender) -> Option<&Series> {
        let own = self.contenders.iter().find(|(own, _)| *own == contender);
        own.map(|(_, series)| series)
            .filter(|series| !series.trials.is_empty())
    }

    /// The best of the fixed settings, as far as short trials tell.
    pub(super) fn oracle(&self) -> Option<Arm> {
        self.scouted.first().map(|(arm, _)| *arm)
    }

    /// Median requests/s.
    pub(super) fn requests_per_s(&self, contender: Contender) -> Option<f64> {
        self.series(contender)?
            .median(|window| window.requests_per_s(0))
    }

    /// Median 10^6 bytes/s.
    pub(super) fn mb_per_s(&self, contender: Contender) -> Option<f64> {
        Some(self.requests_per_s(contender)? * self.block_bytes as f64 / 1e6)
    }

    /// Median notifications/s.
    pub(super) fn notifications_per_s(&self, contender: Contender) -> Option<f64> {
        self.series(contender)?
            .median(|window| window.notifications_per_s(0))
    }
}

/// How measuring ended.
#[derive(Debug)]
pub(super) enum End {
    Complete,
    /// It took too long; so many rounds are whole.
    Late(usize),
    Interrupted,
    Failed(crate::vcm::controllers::measure::MeasureError),
}

/// Everything.
#[derive(Debug)]
pub(super) struct Results {
    pub(super) spots: Vec<Measured>,
    pub(super) cores: BTreeMap<Placement, Cores>,
    pub(super) l2_bytes: u64,
    /// Whole rounds.
    pub(super) rounds: usize,
    pub(super) closing: Option<Closing>,
    pub(super) end: End,
}

impl Results {
    /// Every look at a worker's core, by CPU: ns of one step.
    pub(super) fn steps_ns(&self) -> BTreeMap<usize, Vec<f64>> {
        let mut by_cpu: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for measured in &self.spots {
            let Some(cores) = self.cores.get(&measured.spot.placement) else {
                continue;
            };
            let all = measured.contenders.iter().map(|(_, series)| series);
            let trials = all.flat_map(|series| series.trials.values());
            let steps = trials.filter_map(|trial| trial.facts.step_ns);
            by_cpu.entry(cores.worker).or_default().extend(steps);
        }
        by_cpu
    }

    /// Whether what a contender gave may be believed; none where it was not
    /// measured.
    pub(super) fn verdict(&self, measured: &Measured, contender: Contender) -> Option<Verdict> {
        let series = measured.series(contender)?;
        let cores = *self.cores.get(&measured.spot.placement)?;
        let steps = self.steps_ns();
        let conditions = Conditions {
            cores,
            l2_bytes: self.l2_bytes,
            usual_step_ns: steps
                .get(&cores.worker)
                .and_then(|steps| trial::stats::median(steps)),
        };
        Some(conditions.verdict(series, measured.in_flight_bytes))
    }

    /// Whether it was measured and may be believed.
    pub(super) fn is_valid(&self, measured: &Measured, contender: Contender) -> bool {
        self.verdict(measured, contender)
            .is_some_and(|verdict| verdict.is_valid())
    }
}
