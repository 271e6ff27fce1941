//! How often each arm of each row is measured, within the budget.

use std::collections::BTreeMap;
use std::time::Duration;

use crypto::Algorithm;
use trial::PlanError;
use trial::stats::PAIRS_FOR_A_CLAIM;

use crate::speed::peers::arm::Arm;
use crate::speed::peers::config::Config;
use crate::speed::peers::dpdk;
use crate::speed::peers::grid::{BLOCK_BYTES, Peers, Row, rows};
use crate::speed::schedule::{OVERHEAD_S, PRECISION};
use kit::openssl;
use kit::place::Placement;
use kit::place::place;
use kit::stopping::Limits;

/// Seconds of a trial of ours. A peer takes its own time.
const SLICE_S: f64 = 0.04;
/// Rounds of what a claim rests on, and what is tried if time is short.
const CLAIM_ROUNDS: &[usize] = &[9, 7, 5, 3, 1];
/// Of what only has its place in the picture.
const FEW_ROUNDS: &[usize] = &[3, 1];
const ONE_ROUND: &[usize] = &[1];
/// Most rounds where the user names a precision.
const ROUNDS_MAX: usize = 99;
/// What nothing is left of once the others have what they need.
const MORE_ROUNDS: &[usize] = &[9, 5];

/// What will be measured and how long it takes.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    pub(super) rows: Vec<Row>,
    pub(super) slice_s: f64,
    pub(super) limits: Limits,
}

/// One step of filling the budget: arms of some rows, so many rounds.
struct Stage {
    /// In words, for when it is left out.
    what: &'static str,
    takes: fn(&Row, Arm) -> bool,
    rounds: &'static [usize],
}

/// In the order in which time is given to them: first what claims rest on,
/// then every algorithm's place in the picture, then more of both.
const STAGES: [Stage; 9] = [
    Stage {
        what: "openssl speed at 16 KiB where a claim rests on it",
        takes: |row, arm| row.is_claim && arm == Arm::OpenSsl && is_main(row),
        rounds: CLAIM_ROUNDS,
    },
    Stage {
        what: "DPDK, burst 32, for CBC-128",
        takes: |row, arm| {
            row.is_claim && arm == Arm::Dpdk32 && row.cell.kind.algorithm == Algorithm::Aes128Cbc
        },
        rounds: CLAIM_ROUNDS,
    },
    Stage {
        what: "openssl speed for the other algorithms",
        takes: |row, arm| {
            !row.is_claim && arm == Arm::OpenSsl && !row.cell.kind.algorithm.is_public_key()
        },
        rounds: ONE_ROUND,
    },
    Stage {
        what: "openssl speed for public keys",
        takes: |row, arm| arm == Arm::OpenSsl && row.cell.kind.algorithm.is_public_key(),
        rounds: ONE_ROUND,
    },
    Stage {
        what: "DPDK for the other algorithms",
        takes: |_, arm| arm == Arm::Dpdk32,
        rounds: ONE_ROUND,
    },
    Stage {
        what: "openssl speed at 4 KiB where a claim rests on it",
        takes: |row, arm| row.is_claim && arm == Arm::OpenSsl && row.cell.block_bytes >= 4096,
        rounds: CLAIM_ROUNDS,
    },
    Stage {
        what: "DPDK, burst 1",
        takes: |_, arm| arm == Arm::Dpdk1,
        rounds: FEW_ROUNDS,
    },
    Stage {
        what: "openssl speed at small blocks",
        takes: |row, arm| row.is_claim && arm == Arm::OpenSsl,
        rounds: FEW_ROUNDS,
    },
    Stage {
        what: "more rounds of everything",
        takes: |_, _| true,
        rounds: MORE_ROUNDS,
    },
];

fn is_main(row: &Row) -> bool {
    row.cell.block_bytes >= BLOCK_BYTES
}

impl Schedule {
    /// As much as `budget` holds: our own arms of every row at least, and at
    /// each stage as many rounds as still fit.
    pub(super) fn new(config: &Config, peers: &Peers, budget: Duration) -> Result<Self, PlanError> {
        let budget_s = budget.as_secs_f64();
        if place(&peers.host.cpus, Placement::Split, 1, 1).is_none() {
            return Err(PlanError::NotSupported {
                reason: "client and worker need a CPU each, this process may use one".to_owned(),
                remedy: "allow a second CPU (taskset, cpuset, or one more for the guest)"
                    .to_owned(),
            });
        }
        let mut own = Self {
            rows: rows(config, peers),
            slice_s: config.seconds.unwrap_or(SLICE_S),
            limits: Limits {
                rounds: 0,
                rounds_max: 0,
                seconds: 0.0,
                precision: None,
            },
        };
        own.ours(config, budget_s)?;
        for stage in &STAGES {
            let rounds = config.pairs.as_slice();
            let rounds = if rounds.is_empty() {
                stage.rounds
            } else {
                rounds
            };
            own.fill(stage.takes, rounds, budget_s);
        }
        own.limit(config, budget_s);
        Ok(own)
    }

    /// What the rounds may take of the budget: more than planned only where
    /// the user wants a precision.
    fn limit(&mut self, config: &Config, budget_s: f64) {
        let (rounds, planned_s) = (self.rounds(), self.seconds());
        let grows = config.precision.is_some() && config.pairs.is_none();
        let rounds_max = if grows { ROUNDS_MAX } else { rounds };
        let most_s = planned_s * rounds_max as f64 / rounds.max(1) as f64;
        let unless_fixed = config.pairs.is_none().then_some(PRECISION);
        self.limits = Limits {
            rounds,
            rounds_max: rounds_max.max(rounds),
            seconds: if grows {
                budget_s.min(most_s)
            } else {
                planned_s
            },
            precision: config.precision.or(unless_fixed),
        };
    }

    /// Whether time that is left goes to further rounds.
    pub(super) fn grows(&self) -> bool {
        self.limits.rounds_max > self.limits.rounds
    }

    /// Whether no arm has fewer rounds than a claim needs: then it was not
    /// the budget that kept it from more.
    pub(super) fn is_whole(&self) -> bool {
        let mut arms = self.rows.iter().flat_map(|row| &row.arms);
        arms.all(|(_, rounds)| *rounds >= PAIRS_FOR_A_CLAIM)
    }

    /// Our own arms: they cost least and everything is compared with them.
    fn ours(&mut self, config: &Config, budget_s: f64) -> Result<(), PlanError> {
        let choices = match config.pairs {
            Some(pairs) => vec![(pairs, pairs)],
            None => vec![(9, 3), (9, 1), (5, 1), (3, 1), (1, 1)],
        };
        let mut needed_s = 0.0;
        for (claims, others) in choices {
            for row in &mut self.rows {
                let rounds = if row.is_claim { claims } else { others };
                let ours = row.arms.iter_mut().filter(|(arm, _)| arm.is_ours());
                ours.for_each(|(_, own)| *own = rounds);
            }
            needed_s = self.seconds();
            // With nothing left for peers, fewer rounds say more.
            let share = match (claims, others) {
                (_, 2..) => 0.25,
                (6.., _) => 0.4,
                _ => 1.0,
            };
            let is_last = (claims, others) == (1, 1) || config.pairs.is_some();
            if needed_s <= budget_s * if is_last { 1.0 } else { share } {
                return Ok(());
            }
        }
        Err(PlanError::Budget { needed_s, budget_s })
    }

    /// Raises the rounds of those arms to the most that fits: first of all
    /// alike, so that no row has nine and the next none; then one after the
    /// other, of what is left.
    fn fill(&mut self, takes: fn(&Row, Arm) -> bool, rounds: &[usize], budget_s: f64) {
        for &more in rounds {
            let before = self.rows.clone();
            for row in &mut self.rows {
                for at in 0..row.arms.len() {
                    let (name, own) = row.arms[at];
                    if takes(row, name) {
                        row.arms[at].1 = own.max(more);
                    }
                }
            }
            if self.seconds() <= budget_s {
                break;
            }
            self.rows = before;
        }
        for row in 0..self.rows.len() {
            for arm in 0..self.rows[row].arms.len() {
                let (name, before) = self.rows[row].arms[arm];
                if !takes(&self.rows[row], name) {
                    continue;
                }
                for &more in rounds.iter().filter(|&&more| more > before) {
                    self.rows[row].arms[arm].1 = more;
                    if self.seconds() <= budget_s {
                        break;
                    }
                    self.rows[row].arms[arm].1 = before;
                }
            }
        }
    }

    /// The least and the most that make sense.
    pub(super) fn appetite(config: &Config, peers: &Peers) -> (f64, f64) {
        let least = match Self::new(config, peers, Duration::ZERO) {
            Err(PlanError::Budget { needed_s, .. }) => needed_s,
            _ => 0.0,
        };
        let most_s = if config.precision.is_some() {
            3600
        } else {
            240
        };
        let most = Self::new(config, peers, Duration::from_secs(most_s))
            .map_or(least, |schedule| schedule.limits.seconds);
        (least + 0.01, most.max(least) + 0.01)
    }

    /// How long the planned rounds take.
    pub(super) fn seconds(&self) -> f64 {
        let arms = |row: &Row| row.arms.clone();
        self.seconds_of(arms)
    }

    /// How long one more round of some rows takes.
    pub(super) fn round_s(&self, takes: impl Fn(&Row) -> bool) -> f64 {
        let once = |row: &Row| match takes(row) {
            true => row.arms.iter().map(|&(arm, _)| (arm, 1)).collect(),
            false => Vec::new(),
        };
        self.seconds_of(once)
    }

    /// How long so many rounds of those arms of each row take.
    fn seconds_of(&self, arms: impl Fn(&Row) -> Vec<(Arm, usize)>) -> f64 {
        let mut calls: BTreeMap<Shared, (f64, usize)> = BTreeMap::new();
        let mut seconds = 0.0;
        for row in &self.rows {
            for (arm, rounds) in arms(row).into_iter().filter(|(_, rounds)| *rounds > 0) {
                match self.shared(row, arm) {
                    None => seconds += (self.slice_s + OVERHEAD_S) * rounds as f64,
                    Some((call, call_s)) => {
                        let known = calls.entry(call).or_insert((call_s, 0));
                        known.1 = known.1.max(rounds);
                    }
                }
            }
        }
        let shared = calls
            .values()
            .map(|(call_s, rounds)| call_s * *rounds as f64);
        seconds + shared.sum::<f64>()
    }

    /// The call of another program that measures this arm of this row, and
    /// how long it takes. Several rows may share one.
    fn shared(&self, row: &Row, arm: Arm) -> Option<(Shared, f64)> {
        let (kind, block_bytes) = (row.cell.kind, row.cell.block_bytes);
        if arm == Arm::OpenSsl {
            let call = openssl::arguments(kind, block_bytes);
            return Some((Shared::OpenSsl(call), openssl::seconds(kind)));
        }
        let call = self.dpdk_call(row, arm)?;
        let call_s = call.seconds();
        Some((Shared::Dpdk(call), call_s))
    }

    /// The call of DPDK that measures this row, with every size of its kind.
    pub(super) fn dpdk_call(&self, row: &Row, arm: Arm) -> Option<dpdk::Call> {
        let same = self
            .rows
            .iter()
            .filter(|other| other.cell.kind == row.cell.kind);
        let sizes: Vec<_> = same.map(|other| other.cell.block_bytes).collect();
        dpdk::call_for(row.cell.kind, arm, row.cell.block_bytes, &sizes)
    }

    pub(super) fn rounds(&self) -> usize {
        let arms = self.rows.iter().flat_map(|row| &row.arms);
        arms.map(|(_, rounds)| *rounds).max().unwrap_or(0)
    }

    pub(super) fn trials(&self) -> usize {
        let arms = self.rows.iter().flat_map(|row| &row.arms);
        arms.map(|(_, rounds)| *rounds).sum()
    }

    /// What there was no time for, in words.
    pub(super) fn left_out(&self) -> Vec<&'static str> {
        let is_left = |stage: &&Stage| {
            self.rows.iter().any(|row| {
                let mut arms = row.arms.iter();
                arms.any(|&(arm, rounds)| rounds == 0 && (stage.takes)(row, arm))
            })
        };
        let named = &STAGES[..STAGES.len() - 1];
        named
            .iter()
            .filter(is_left)
            .map(|stage| stage.what)
            .collect()
    }
}

/// A call of another program, by what it measures.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shared {
    OpenSsl(Vec<String>),
    Dpdk(dpdk::Call),
}

#[cfg(test)]
mod tests;
