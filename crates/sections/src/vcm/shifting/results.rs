//! What was measured, before it is judged.

use std::collections::BTreeMap;

use trial::stats::median;
use trial::{Validity, Verdict};

use crate::vcm::shifting::phase::Phase;
use crate::vcm::shifting::recovery::{Look, below_ratio, recovery_s, settled};
use kit::controllers::contender::Contender;
use kit::load::cell::{Series, Trial};
use kit::load::moderated::Arm;
use kit::load::rig::{Cores, Facts, Record, Window};
use kit::load::verdict::Conditions;
use kit::observe::gap_ns;

/// What a phase gave where nobody controls.
#[derive(Debug)]
pub(super) struct Fixed {
    pub(super) phase: Phase,
    /// Bytes that all requests in flight touch.
    pub(super) in_flight_bytes: usize,
    /// The fixed settings, with the requests/s of a short trial each; fastest
    /// first, once all are there.
    pub(super) scouted: Vec<(Arm, f64)>,
    pub(super) contenders: Vec<(Contender, Series)>,
}

/// How measuring ended.
#[derive(Debug)]
pub(super) enum End {
    Complete,
    /// It took too long; so many rounds are whole.
    Late(usize),
    Interrupted,
    Failed(crate::vcm::shifting::measure::MeasureError),
}

/// Everything.
#[derive(Debug)]
pub(super) struct Results {
    pub(super) phases: Vec<Fixed>,
    /// A controller's runs, by round.
    pub(super) runs: Vec<(&'static str, BTreeMap<usize, Record>)>,
    pub(super) cores: Cores,
    pub(super) l2_bytes: u64,
    pub(super) rounds: usize,
    pub(super) end: End,
}

/// Requests and bytes of all tenants.
pub(super) fn mb_per_s(window: &Window) -> f64 {
    (0..window.tenants.len())
        .map(|one| window.mb_per_s(one))
        .sum()
}

pub(super) fn requests_per_s(window: &Window) -> f64 {
    (0..window.tenants.len())
        .map(|one| window.requests_per_s(one))
        .sum()
}

pub(super) fn notifications_per_s(window: &Window) -> f64 {
    (0..window.tenants.len())
        .map(|one| window.notifications_per_s(one))
        .sum()
}

impl Results {
    /// Everyone measured, those that nobody controls first.
    pub(super) fn contenders(&self) -> Vec<Contender> {
        let controlled = self
            .runs
            .iter()
            .map(|(name, _)| Contender::Controlled(name));
        Contender::FIXED.into_iter().chain(controlled).collect()
    }

    fn runs(&self, name: &str) -> Option<&BTreeMap<usize, Record>> {
        let own = self.runs.iter().find(|(own, _)| *own == name);
        own.map(|(_, runs)| runs)
    }

    /// What a contender gave in a phase, by round: of a controller the whole
    /// phase, its beginning included. None where nothing was measured.
    pub(super) fn series(&self, phase: usize, contender: Contender) -> Option<Series> {
        let series = match contender {
            Contender::Controlled(name) => {
                let part = |(round, record): (&usize, &Record)| {
                    let window = record.phase(phase)?;
                    // What the kernel counted is of the whole run.
                    let facts = Facts {
                        step_ns: record.facts.step_ns,
                        pause_ns: pause_ns(&window),
                        ..Facts::default()
                    };
                    Some((*round, Trial { window, facts }))
                };
                Series {
                    trials: self.runs(name)?.iter().filter_map(part).collect(),
                }
            }
            fixed => {
                let own = &self.phases[phase].contenders;
                own.iter().find(|(own, _)| *own == fixed)?.1.clone()
            }
        };
        (!series.trials.is_empty()).then_some(series)
    }

    /// Median 10^6 bytes/s of all tenants in a phase.
    pub(super) fn mb_per_s(&self, phase: usize, contender: Contender) -> Option<f64> {
        self.series(phase, contender)?.median(mb_per_s)
    }

    /// Speeds of a phase's windows in a run.
    pub(super) fn looks(record: &Record, phase: usize) -> Vec<Look> {
        let here = record.windows.iter().filter(|window| window.phase == phase);
        here.map(|window| Look {
            begin_s: window.begin_s,
            mb_per_s: mb_per_s(window),
        })
        .collect()
    }

    /// What each run came to in a phase, 10^6 bytes/s.
    pub(super) fn settled(&self, phase: usize, name: &str) -> Vec<f64> {
        let runs = self.runs(name).into_iter().flat_map(BTreeMap::values);
        runs.filter_map(|record| settled(&Self::looks(record, phase)))
            .collect()
    }

    /// How soon each run was at its own settled speed after the change to a
    /// phase, ms; a run that never stayed there counts as the whole phase.
    pub(super) fn recoveries_ms(&self, phase: usize, name: &str) -> Vec<f64> {
        let one = |record: &Record| {
            let looks = Self::looks(record, phase);
            let last = looks.last()?.begin_s;
            let level = settled(&looks)?;
            Some(recovery_s(&looks, level).unwrap_or(last) * 1e3)
        };
        let runs = self.runs(name).into_iter().flat_map(BTreeMap::values);
        runs.filter_map(one).collect()
    }

    /// How soon each run was at the oracle's speed of its round, ms; those
    /// that never stayed there are missing.
    pub(super) fn to_oracle_ms(&self, phase: usize, name: &str) -> Vec<f64> {
        let Some(oracle) = self.series(phase, Contender::Oracle) else {
            return Vec::new();
        };
        let one = |(round, record): (&usize, &Record)| {
            let level = mb_per_s(&oracle.trials.get(round)?.window);
            Some(recovery_s(&Self::looks(record, phase), level)? * 1e3)
        };
        self.runs(name)
            .into_iter()
            .flatten()
            .filter_map(one)
            .collect()
    }

    /// Share of each run's windows after its recovery that fall below again.
    pub(super) fn below_ratios(&self, phase: usize, name: &str) -> Vec<f64> {
        let one = |record: &Record| {
            let looks = Self::looks(record, phase);
            let level = settled(&looks)?;
            let begin_s = recovery_s(&looks, level)?;
            Some(below_ratio(&looks, level, begin_s))
        };
        let runs = self.runs(name).into_iter().flat_map(BTreeMap::values);
        runs.filter_map(one).collect()
    }

    /// How fast the worker's core usually was: ns of one step.
    pub(super) fn steps_ns(&self) -> BTreeMap<usize, Vec<f64>> {
        let runs = self.runs.iter().flat_map(|(_, runs)| runs.values());
        let series = self.phases.iter().flat_map(|fixed| &fixed.contenders);
        let trials = series.flat_map(|(_, series)| series.trials.values());
        let facts = runs
            .map(|record| &record.facts)
            .chain(trials.map(|trial| &trial.facts));
        let steps = facts.filter_map(|facts| facts.step_ns).collect();
        [(self.cores.worker, steps)].into()
    }

    /// Whether a contender's figures of a phase are valid; none where
    /// there are none.
    pub(super) fn verdict(&self, phase: usize, contender: Contender) -> Option<Verdict> {
        let conditions = Conditions {
            cores: self.cores,
            l2_bytes: self.l2_bytes,
            usual_step_ns: self
                .steps_ns()
                .values()
                .next()
                .and_then(|steps| median(steps)),
        };
        let in_flight_bytes = self.phases[phase].in_flight_bytes;
        let own = conditions.verdict(&self.series(phase, contender)?, in_flight_bytes);
        let Contender::Controlled(name) = contender else {
            return Some(own);
        };
        if own.validity != Validity::Valid {
            return Some(own);
        }
        let whole = |(round, record): (&usize, &Record)| {
            let window = record.whole()?;
            let facts = Facts {
                pause_ns: 0.0,
                ..record.facts.clone()
            };
            Some((*round, Trial { window, facts }))
        };
        let runs = Series {
            trials: self.runs(name)?.iter().filter_map(whole).collect(),
        };
        Some(conditions.verdict(&runs, 0))
    }

    /// Whether it was measured and is valid.
    pub(super) fn is_valid(&self, phase: usize, contender: Contender) -> bool {
        self.verdict(phase, contender)
            .is_some_and(|verdict| verdict.is_valid())
    }
}

/// For how long requests stood still, as far as latencies show, ns.
fn pause_ns(window: &Window) -> f64 {
    let shares = window.tenants.iter();
    let pauses = shares.map(|share| gap_ns(&share.latency.histogram()));
    pauses.max().unwrap_or(0) as f64
}
