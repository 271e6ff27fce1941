//! A place in a section's grid, with what was measured there.

use std::collections::BTreeMap;

use trial::stats::median;

use crate::load::rig::{Facts, LatencyCounts, Load, Record, Window};

/// One place, measured in several ways.
#[derive(Clone, Debug)]
pub struct Cell<K, A> {
    /// Where in the grid.
    pub key: K,
    /// On which of the section's benches.
    pub bench: usize,
    /// What the bench's only tenant does.
    pub load: Load,
    /// In words, for whoever waits.
    pub label: String,
    /// Bytes that all requests in flight touch.
    pub in_flight_bytes: usize,
    pub arms: Vec<(A, Series)>,
}

impl<K, A: PartialEq> Cell<K, A> {
    /// What an arm gave, if it was measured.
    pub fn arm(&self, arm: &A) -> Option<&Series> {
        let own = self.arms.iter().find(|(own, _)| own == arm);
        own.map(|(_, series)| series)
            .filter(|series| !series.trials.is_empty())
    }
}

/// One trial.
#[derive(Clone, Debug)]
pub struct Trial {
    pub window: Window,
    pub facts: Facts,
}

/// What one arm gave, by round.
#[derive(Clone, Debug, Default)]
pub struct Series {
    pub trials: BTreeMap<usize, Trial>,
}

impl Series {
    /// A round's trial; one that measured nothing is left out.
    pub fn add(&mut self, round: usize, record: Record) {
        if let Some(window) = record.whole() {
            let facts = record.facts;
            self.trials.insert(round, Trial { window, facts });
        }
    }

    /// One value a round.
    pub fn values(&self, value: impl Fn(&Window) -> f64) -> Vec<f64> {
        self.trials
            .values()
            .map(|trial| value(&trial.window))
            .collect()
    }

    /// Their median; none without a round.
    pub fn median(&self, value: impl Fn(&Window) -> f64) -> Option<f64> {
        median(&self.values(value))
    }

    /// Both arms' values of the rounds that have both.
    pub fn pairs(&self, reference: &Self, value: impl Fn(&Window) -> f64) -> Vec<(f64, f64)> {
        let pair = |(round, trial): (&usize, &Trial)| {
            let reference = reference.trials.get(round)?;
            Some((value(&trial.window), value(&reference.window)))
        };
        self.trials.iter().filter_map(pair).collect()
    }

    /// Latencies of all rounds.
    pub fn latency(&self) -> LatencyCounts {
        let mut all = LatencyCounts::default();
        let shares = self.trials.values().flat_map(|trial| &trial.window.tenants);
        shares.for_each(|share| all.add(&share.latency));
        all
    }
}
