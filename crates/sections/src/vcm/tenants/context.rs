//! What everything that is said of the results rests on.

use model::fairness::{entitlements, share_kept, weighted_jain_index};
use trial::stats::{Arms, Interval, compare, median, median_interval};
use trial::{Comparison, Direction, Validity, Verdict};

use crate::vcm::tenants::case::{Case, Hostile, Role, VICTIM_WEIGHTS};
use crate::vcm::tenants::config::Config;
use crate::vcm::tenants::seats::{Seats, depth};
use crate::vcm::tenants::trials::Measured;
use kit::load::cell::Series;
use kit::load::rig::Window;
use kit::load::verdict::Conditions;
use kit::ratio::without_evidence;
use kit::words::size;
use kit::words::what;

/// A worker with less work than this leaves shares to chance.
pub(super) const BUSY_SHARE: f64 = 0.95;
/// What a victim must keep.
pub(super) const SHARE_KEPT: f64 = 0.95;

/// The results with their conditions.
pub(super) struct Context<'a> {
    pub(super) config: &'a Config,
    pub(super) seats: Seats,
    pub(super) measured: &'a [Measured],
    pub(super) conditions: Conditions,
    /// Distance of the polite ones' slots.
    pub(super) stride: usize,
    pub(super) command: &'a str,
}

/// One victim beside one hostile tenant.
pub(super) struct Kept {
    pub(super) hostile: Hostile,
    pub(super) weight: u32,
    pub(super) comparison: Comparison,
    /// Why it is no evidence.
    pub(super) doubt: Option<String>,
}

impl Context<'_> {
    pub(super) fn series(&self, case: Case) -> Option<&Series> {
        let mut all = self.measured.iter();
        let found = all.find(|one| one.case == case && !one.series.trials.is_empty());
        found.map(|one| &one.series)
    }

    pub(super) fn roles(&self, case: Case) -> Vec<Role> {
        case.roles(self.config, self.seats)
    }

    /// Whether a case's shares are valid.
    pub(super) fn verdict(&self, case: Case, series: &Series) -> Verdict {
        let roles = self.roles(case);
        let polite = roles.iter().filter(|role| role.seat < self.seats.polite);
        let depth = depth(
            self.config.depth,
            roles.len(),
            self.stride,
            self.conditions.l2_bytes,
        );
        // What hostile ones have in flight is theirs: that it fills caches is
        // part of what others must bear.
        let in_flight_bytes = polite.count() * depth * self.stride;
        let verdict = self.conditions.verdict(series, in_flight_bytes);
        let busy = series.median(Window::worker_cpus).unwrap_or(0.0);
        let is_busy = busy >= BUSY_SHARE || matches!(case, Case::Cap | Case::Quota);
        if is_busy || verdict.validity == Validity::TooFewSamples {
            return verdict;
        }
        let reason = format!(
            "the worker ran {:.0}% of the time, below {:.0}%: it was not it that limited the tenants",
            busy * 100.0,
            BUSY_SHARE * 100.0
        );
        let reason = if verdict.is_valid() {
            reason
        } else {
            format!("{reason}; {}", verdict.reason)
        };
        Verdict::new(
            Validity::GeneratorBound,
            reason,
            "measure larger blocks (block_bytes), or on a quiet host",
        )
    }

    /// Each tenant's share of what its weight entitles it to, and Jain's
    /// index of those, a value a round.
    pub(super) fn fairness(&self, case: Case) -> Option<Fairness> {
        let series = self.series(case)?;
        let roles = self.roles(case);
        let weights: Vec<_> = roles.iter().map(|role| f64::from(role.weight)).collect();
        let demands = vec![f64::INFINITY; weights.len()];
        let mut fairness = Fairness {
            jain: Vec::new(),
            least: Vec::new(),
            shares: vec![Vec::new(); weights.len()],
        };
        for trial in series.trials.values() {
            let speeds: Vec<_> = roles
                .iter()
                .map(|role| trial.window.mb_per_s(role.seat))
                .collect();
            let sum = speeds.iter().sum();
            let entitled = entitlements(sum, &demands, &weights).ok()?;
            fairness
                .jain
                .push(weighted_jain_index(&speeds, &weights).ok()?);
            fairness.least.push(share_kept(&speeds, &entitled).ok()?);
            let pairs = speeds.iter().zip(&entitled);
            for (all, (speed, entitled)) in fairness.shares.iter_mut().zip(pairs) {
                all.push(speed / entitled);
            }
        }
        Some(fairness)
    }

    pub(super) fn interval(&self, values: &[f64]) -> Option<Interval> {
        median_interval(values).ok()
    }

    /// What each victim keeps beside each hostile tenant.
    pub(super) fn kept(&self) -> Vec<Kept> {
        let hostile = self.config.hostile.iter();
        let both =
            hostile.flat_map(|&hostile| (0..VICTIM_WEIGHTS.len()).map(move |seat| (hostile, seat)));
        both.filter_map(|(hostile, seat)| self.kept_by(hostile, seat))
            .collect()
    }

    fn kept_by(&self, hostile: Hostile, seat: usize) -> Option<Kept> {
        let case = Case::Beside(hostile);
        let (beside, polite) = (self.series(case)?, self.series(Case::Polite)?);
        let weight = VICTIM_WEIGHTS[seat];
        let arms = Arms {
            subject: format!(
                "a virtual function of weight {weight}, {}, {}",
                what(self.config.kind),
                size(self.config.block_bytes)
            ),
            arm: format!("beside {}", hostile.what()),
            reference: "beside a polite one of the same weight".to_owned(),
            metric: "speed_mb_per_s".to_owned(),
            command: self.command.to_owned(),
        };
        let pairs = beside.pairs(polite, |window| window.mb_per_s(seat));
        let comparison = compare(arms, Direction::Higher, pairs).ok()?;
        let verdicts = [
            self.verdict(case, beside),
            self.verdict(Case::Polite, polite),
        ];
        let doubt = verdicts.into_iter().find(|verdict| !verdict.is_valid());
        let comparison = if doubt.is_some() {
            without_evidence(comparison)
        } else {
            comparison.with_target(SHARE_KEPT)
        };
        Some(Kept {
            hostile,
            weight,
            comparison,
            doubt: doubt.map(|verdict| verdict.reason),
        })
    }
}

/// How fair a case was, a value a round.
pub(super) struct Fairness {
    /// Jain's index of speeds over weights.
    pub(super) jain: Vec<f64>,
    /// The least share of an entitlement.
    pub(super) least: Vec<f64>,
    /// Each tenant's share of its entitlement.
    pub(super) shares: Vec<Vec<f64>>,
}

/// Sum of all tenants' speeds, 10^6 bytes a second.
pub(super) fn sum_mb_per_s(series: &Series, roles: &[Role]) -> Option<f64> {
    let of = |window: &Window| {
        roles
            .iter()
            .map(|role| window.mb_per_s(role.seat))
            .sum::<f64>()
    };
    median(&series.values(of))
}
