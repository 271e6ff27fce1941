//! What the rounds of one subject gave.

use std::collections::BTreeMap;

use trial::Verdict;
use trial::stats::median;

use crate::load::rig::LatencyCounts;
use crate::ratio::Ratio;
use crate::subject::{Measure, Pair, Reading};

/// What one subject gave, by round.
#[derive(Clone, Debug, Default)]
pub struct Series {
    pub rounds: BTreeMap<usize, Reading>,
    /// Why there is nothing: once it is known, it is not tried again.
    pub failure: Option<Verdict>,
}

impl Series {
    /// Whether there is anything to report of it.
    pub fn is_tried(&self) -> bool {
        !self.rounds.is_empty() || self.failure.is_some()
    }

    fn valid(&self) -> impl Iterator<Item = (usize, &Reading)> {
        let rounds = self.rounds.iter().map(|(round, reading)| (*round, reading));
        rounds.filter(|(_, reading)| reading.verdict.is_valid())
    }

    pub fn is_ever_valid(&self) -> bool {
        self.valid().next().is_some()
    }

    /// One value a valid round; of all rounds where none is valid, so that a point
    /// shows what its verdict is about.
    pub fn values(&self, measure: Measure) -> Vec<f64> {
        let valid = self
            .valid()
            .filter_map(|(_, reading)| reading.value(measure));
        let valid: Vec<_> = valid.collect();
        if !valid.is_empty() {
            return valid;
        }
        let all = self.rounds.values();
        all.filter_map(|reading| reading.value(measure)).collect()
    }

    pub fn median(&self, measure: Measure) -> Option<f64> {
        median(&self.values(measure))
    }

    /// Latencies of all rounds.
    pub fn latency(&self) -> LatencyCounts {
        let mut all = LatencyCounts::default();
        self.rounds
            .values()
            .for_each(|reading| all.add(&reading.latency));
        all
    }

    /// Both series' values of the rounds in which both are valid.
    pub fn pairs(&self, reference: &Self, measure: Measure) -> Vec<(f64, f64)> {
        let pair = |(round, reading): (usize, &Reading)| {
            let other = reference.rounds.get(&round);
            let other = other.filter(|other| other.verdict.is_valid())?;
            Some((reading.value(measure)?, other.value(measure)?))
        };
        let is_rate = |(a, b): &(f64, f64)| *a > 0.0 && *b > 0.0;
        self.valid().filter_map(pair).filter(is_rate).collect()
    }
}

/// A ratio with what it is of.
#[derive(Clone, Debug)]
pub struct Told<P, A> {
    pub pair: Pair<P, A>,
    pub ratio: Ratio,
}
