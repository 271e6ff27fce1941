//! TCP through one path, one way or both.

use std::collections::BTreeMap;

use forward::bench::{Directions, Setup, TcpResult};
use forward::topology::Cpus;
use trial::Verdict;
use trial::stats::median;

use super::config::Config;
use crate::router::judged::{over_rounds, spread};
use crate::router::series::Failure;
use crate::router::way::Way;

/// TCP through one path.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) way: Way,
    pub(super) setup: Setup,
    pub(super) directions: Directions,
    pub(super) rounds: BTreeMap<usize, TcpResult>,
    /// Once there is one, it is not tried again.
    pub(super) failure: Option<Failure>,
}

impl Subject {
    /// One value of each believable round.
    pub(super) fn values(&self, value: impl Fn(&TcpResult) -> Option<f64>) -> Vec<f64> {
        let valid = self.rounds.values().filter(|one| one.verdict.is_valid());
        valid.filter_map(value).collect()
    }

    /// The median of a direction's rate, Mbit/s.
    pub(super) fn rate(&self, direction: usize) -> Option<f64> {
        median(&self.values(|one| one.received_mbit_per_s.get(direction).copied()))
    }

    /// Both paths' rates of the rounds in which both may be believed, all
    /// directions together.
    pub(super) fn pairs(&self, reference: &Self) -> Vec<(f64, f64)> {
        let valid = |one: &TcpResult| one.verdict.is_valid().then(|| together(one));
        let pair = |(round, one): (&usize, &TcpResult)| {
            Some((valid(one)?, valid(reference.rounds.get(round)?)?))
        };
        let is_rate = |(a, b): &(f64, f64)| *a > 0.0 && *b > 0.0;
        self.rounds
            .iter()
            .filter_map(pair)
            .filter(is_rate)
            .collect()
    }

    pub(super) fn verdict(&self) -> Verdict {
        if let Some(Failure { reason, remedy }) = &self.failure {
            return Verdict::new(trial::Validity::NotSupported, reason, remedy);
        }
        let rounds: Vec<_> = self
            .rounds
            .values()
            .map(|one| one.verdict.clone())
            .collect();
        let verdict = over_rounds(&rounds);
        if verdict.is_valid() {
            spread(&self.values(|one| Some(together(one)))).unwrap_or(verdict)
        } else {
            verdict
        }
    }
}

/// Mbit/s of all directions.
pub(super) fn together(result: &TcpResult) -> f64 {
    result.received_mbit_per_s.iter().sum()
}

/// Every path one way and both ways.
pub(super) fn subjects(config: &Config, cpus: &Cpus) -> Vec<Subject> {
    let both = [Directions::OneWay, Directions::TwoWay];
    let of = |way: Way, directions| {
        let mut setup = Setup::new(cpus.clone());
        setup.path = way.path;
        setup.topology.queues = way.queues;
        Subject {
            way,
            setup,
            directions,
            rounds: BTreeMap::new(),
            failure: None,
        }
    };
    config
        .ways
        .iter()
        .flat_map(|&way| both.map(|directions| of(way, directions)))
        .collect()
}
