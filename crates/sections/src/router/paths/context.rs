//! What everything that is said of the results rests on.

use std::time::Duration;

use forward::topology::Routes;

use crate::router::paths::claims::{Claim, Question};
use crate::router::paths::config::Config;
use kit::routers::subject::Subject;
use kit::routers::way::Way;

/// The results with their conditions.
pub(super) struct Context<'a> {
    pub(super) config: &'a Config,
    /// One trial.
    pub(super) slice: Duration,
    pub(super) subjects: &'a [Subject],
    pub(super) claims: &'a [Claim],
    /// What is asked for that has no ratio, in words.
    pub(super) open: &'a [String],
    pub(super) command: &'a str,
}

impl<'a> Context<'a> {
    /// Those that were measured.
    pub(super) fn measured(&self) -> impl Iterator<Item = &'a Subject> {
        let subjects = self.subjects.iter();
        subjects.filter(|subject| !subject.series.trials.is_empty())
    }

    /// A path with no table, if it was measured.
    pub(super) fn subject(&self, way: Way, destinations: u32) -> Option<&'a Subject> {
        self.measured().find(|subject| {
            subject.way() == way
                && subject.offer().destinations == destinations
                && subject.setups[0].topology.routes == Routes::Networks
        })
    }

    /// The first number of destinations: every path was measured with it.
    pub(super) fn destinations(&self) -> u32 {
        self.config.destinations[0]
    }

    /// The answer to a question about a path, without a table.
    pub(super) fn claim(
        &self,
        question: Question,
        way: Way,
        destinations: u32,
    ) -> Option<&'a Claim> {
        self.claims.iter().find(|claim| {
            claim.question == question
                && claim.way == way
                && claim.destinations == destinations
                && claim.routes.is_none()
        })
    }

    /// Conditions in words: under tables and charts.
    pub(super) fn note(&self) -> String {
        let in_flight_max =
            (self.subjects.first()).and_then(|subject| subject.offer().in_flight_max);
        let offered = match in_flight_max {
            Some(most) => format!("as fast as frames come through, {most} under way at most"),
            None => "as much as the generator can".to_owned(),
        };
        format!(
            "{}, offered {offered}: what arrives is the most that the path carries, not RFC 2544's throughput. Generator on one CPU; router and sink on others, or on one where there are two. Trials of {:.2} s over veth pairs.",
            self.config.load(),
            self.slice.as_secs_f64()
        )
    }
}
