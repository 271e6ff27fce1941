//! Which cause can be named.

use super::finding::Finding;
use super::generator::{by_elimination, generator};
use super::rules::{depth, fragmentation, notifications, waits, working_set};
use super::time::extra;
use super::{Case, Cause, MAJOR_SHARE, MENTIONED_SHARE, NAMED_SHARE, Share, Test};

/// The named cause must be larger than any other by this: where the slower of two
/// cores counts, shares only nearly add up.
const MARGIN: f64 = 0.1;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Findings {
    all: [(Cause, Finding); 5],
}

impl Findings {
    pub(super) fn of(case: &Case) -> Self {
        let extra = extra(case);
        let depth = depth(case, extra);
        let working_set = working_set(case, extra);
        let waits = waits(case, extra, depth);
        let generator = generator(case, extra);
        let notifications = notifications(case, extra, waits, generator);
        let others = [notifications, waits, generator];
        let fragmentation = fragmentation(case, extra, &others, working_set);
        let rest = [notifications, working_set, depth, fragmentation];
        let generator = by_elimination(case, extra, generator, &rest);
        Self {
            all: [
                (Cause::Notifications, notifications),
                (Cause::WorkingSet, working_set),
                (Cause::Depth, depth),
                (Cause::Fragmentation, fragmentation),
                (Cause::Generator, generator),
            ],
        }
    }

    pub(super) fn finding(&self, cause: Cause) -> Option<Finding> {
        let found = self.all.iter().find(|(of, _)| *of == cause);
        found.map(|(_, finding)| *finding)
    }

    pub(super) fn share(&self, cause: Cause) -> Share {
        self.finding(cause)
            .map_or(Share::NOTHING, |finding| finding.share)
    }

    /// The one cause that the evidence separates from all others.
    pub(super) fn named(&self) -> Option<Cause> {
        let (cause, top) = self
            .all
            .iter()
            .max_by(|(_, left), (_, right)| left.share.low.total_cmp(&right.share.low))?;
        // Shares of causes that were not tested are not known, but what one
        // explains the others cannot.
        let is_smaller = |other: &Finding| {
            other.share.high + MARGIN < top.share.low
                || (other.is_open && top.share.low >= MAJOR_SHARE)
        };
        let is_separate = self
            .all
            .iter()
            .all(|(other, finding)| other == cause || is_smaller(finding));
        (top.share.low >= NAMED_SHARE && is_separate).then_some(*cause)
    }

    pub(super) fn rule_out_all_but(&self, cause: Cause) -> bool {
        self.all.iter().all(|(other, finding)| {
            !finding.is_open && (*other == cause || finding.share.high < NAMED_SHARE)
        })
    }

    /// Certain contributions besides `cause`.
    pub(super) fn contributing(&self, cause: Cause) -> Vec<(Cause, Share)> {
        self.sorted(|of, share| of != cause && share.low >= MENTIONED_SHARE)
    }

    pub(super) fn possible(&self) -> Vec<(Cause, Share)> {
        self.sorted(|_, share| share.high >= NAMED_SHARE)
    }

    fn sorted(&self, wanted: impl Fn(Cause, &Share) -> bool) -> Vec<(Cause, Share)> {
        let mut list: Vec<_> = self
            .all
            .iter()
            .filter(|(cause, finding)| wanted(*cause, &finding.share))
            .map(|(cause, finding)| (*cause, finding.share))
            .collect();
        list.sort_by(|left, right| right.1.estimate.total_cmp(&left.1.estimate));
        list
    }

    pub(super) fn untested(&self) -> Vec<Test> {
        let mut tests: Vec<_> = self
            .all
            .iter()
            .filter_map(|(_, found)| found.next)
            .collect();
        tests.sort_unstable();
        tests.dedup();
        tests
    }

    pub(super) fn next(&self) -> Vec<Test> {
        let tests = self.untested();
        let is_possible = !self.possible().is_empty();
        if tests.is_empty() && is_possible {
            return vec![Test::Again];
        }
        tests
    }
}
