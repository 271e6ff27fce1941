//! What is compared with what, and what a target asks.

use forward::bench::Directions;
use forward::router::path::{AfXdp, Path, Poll};
use forward::tester::stream::FrameSize;
use forward::topology::{Family, Routes};
use trial::stats::Arms;

use crate::router::paths::config::Config;
use kit::ratio::Ratio;
use kit::routers::subject::Subject;
use kit::routers::trial::Trial;
use kit::routers::way::Way;

/// A question that a ratio answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// What a path gives over kernel routing.
    Path,
    /// How near a router comes to a redirect that looks at nothing.
    Redirect,
    /// What taking many frames at once gives.
    Batching,
    /// What not sleeping gives.
    Polling,
    /// What a thread for each queue gives over one for all.
    Binding,
    /// How we stand beside DPDK, by CPU time.
    PeerByCpu,
    /// How we stand beside DPDK, by rate.
    PeerByRate,
    /// What many destinations cost.
    Destinations,
    /// What a large table costs.
    Routes,
}

/// A ratio with its question.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) question: Question,
    pub(super) way: Way,
    pub(super) destinations: u32,
    /// Of the arm's table; none: the links' networks.
    pub(super) routes: Option<u32>,
    pub(super) ratio: Ratio,
}

/// What the ratios say, and what is asked for that has none.
#[derive(Clone, Debug, Default)]
pub(super) struct Claims {
    pub(super) answered: Vec<Claim>,
    /// In words.
    pub(super) open: Vec<String>,
}

pub(super) fn claims(config: &Config, subjects: &[Subject], command: &str) -> Claims {
    let asked = Asked {
        config,
        subjects,
        command,
    };
    let mut claims = Claims::default();
    for subject in subjects {
        for (question, reference) in asked.of(subject) {
            match asked.claim(question, subject, reference) {
                Some(claim) => claims.answered.push(claim),
                None => claims.open.extend(asked.open(question, subject, reference)),
            }
        }
    }
    claims
}

struct Asked<'a> {
    config: &'a Config,
    subjects: &'a [Subject],
    command: &'a str,
}

const KERNEL: Way = Way::KERNEL;
const DEVMAP: Way = Way::of(Path::XdpDevmap);
const TESTPMD: Way = Way::of(Path::Testpmd);

/// Routes of a subject's table besides the links' networks.
pub(super) fn routes(subject: &Subject) -> Option<u32> {
    match subject.setups[0].topology.routes {
        Routes::Networks => None,
        Routes::Table(count) => Some(count),
    }
}

impl Asked<'_> {
    fn find(&self, way: Way, destinations: u32, table: Option<u32>) -> Option<&Subject> {
        self.subjects.iter().find(|subject| {
            subject.way() == way
                && subject.offer().destinations == destinations
                && routes(subject) == table
        })
    }

    /// What is asked of a subject: against whom, and by what.
    fn of(&self, subject: &Subject) -> Vec<(Question, &Subject)> {
        let (way, count) = (subject.way(), subject.offer().destinations);
        let table = routes(subject);
        let mut asked = vec![(Question::Path, self.find(KERNEL, count, table))];
        if way.path == Path::XdpFibCached {
            asked.push((Question::Redirect, self.find(DEVMAP, count, table)));
        }
        let first = self.config.destinations[0];
        if count != first && table.is_none() && way.asks_the_table() {
            asked.push((Question::Destinations, self.find(way, first, None)));
        }
        if table.is_some() {
            asked.push((Question::Routes, self.find(way, count, None)));
        }
        if let Path::AfXdp(settings) = way.path {
            asked.extend(self.of_af_xdp(way, settings, count));
        }
        let is_other = |reference: &&Subject| !std::ptr::eq(*reference, subject);
        asked
            .into_iter()
            .filter_map(|(question, reference)| Some((question, reference.filter(is_other)?)))
            .collect()
    }

    fn of_af_xdp(&self, way: Way, own: AfXdp, count: u32) -> Vec<(Question, Option<&Subject>)> {
        let with = |settings: AfXdp| {
            let path = Path::AfXdp(settings);
            self.find(Way { path, ..way }, count, None)
        };
        let mut asked = Vec::new();
        if own.batch > 1 {
            asked.push((Question::Batching, with(AfXdp { batch: 1, ..own })));
        }
        if own.poll != Poll::Interrupt {
            let sleeping = AfXdp {
                poll: Poll::Interrupt,
                ..own
            };
            asked.push((Question::Polling, with(sleeping)));
        }
        if own.queues_bound && way.queues > 1 {
            let unbound = AfXdp {
                queues_bound: false,
                ..own
            };
            asked.push((Question::Binding, with(unbound)));
        }
        if way == Way::af_xdp(Poll::Polled, 32) {
            let peer = self.find(TESTPMD, count, None);
            asked.push((Question::PeerByCpu, peer));
            asked.push((Question::PeerByRate, peer));
        }
        asked
    }

    fn claim(&self, question: Question, arm: &Subject, reference: &Subject) -> Option<Claim> {
        let (metric, value): (_, fn(&Trial) -> Option<f64>) = match question {
            Question::PeerByCpu => ("frames_per_cpu_s", Trial::frames_per_cpu_s),
            _ => ("received_pps", |trial| Some(trial.received_pps())),
        };
        let (way, destinations) = (arm.way(), arm.offer().destinations);
        let arms = Arms {
            subject: format!(
                "{}, {}",
                self.config.load(),
                counted(destinations, "destination")
            ),
            arm: named(arm),
            reference: named(reference),
            metric: metric.to_owned(),
            command: self.command.to_owned(),
        };
        let series = (&arm.series, &reference.series);
        let mut ratio = Ratio::of(series, arms, value)?;
        change(question, way).clone_into(&mut ratio.comparison.change);
        let wanted = self.wanted(question, arm);
        Some(Claim {
            question,
            way,
            destinations,
            routes: routes(arm),
            ratio: ratio.wanting(wanted),
        })
    }

    /// What is asked for, though no pair of rounds is valid.
    fn open(&self, question: Question, arm: &Subject, reference: &Subject) -> Option<String> {
        let wanted = self.wanted(question, arm)?;
        let (arm, reference) = (named(arm), named(reference));
        Some(format!(
            "{arm} against {reference}: not one pair of rounds, at least {wanted:.2}× wanted"
        ))
    }

    fn wanted(&self, question: Question, arm: &Subject) -> Option<f64> {
        let asked = (question, arm.way());
        target(self.config, asked, arm.offer().destinations, routes(arm))
    }
}

/// What to change for what a ratio shows.
fn change(question: Question, way: Way) -> &'static str {
    match (question, way.path) {
        (Question::Path, Path::XdpFibCached) => "Route by XDP with a FIB cache",
        (Question::Batching, _) => "Take frames from AF_XDP in batches",
        _ => "",
    }
}

fn named(subject: &Subject) -> String {
    let what = subject.way().what();
    let destinations = counted(subject.offer().destinations, "destination");
    match routes(subject) {
        Some(routes) => format!("{what}, {destinations}, {}", counted(routes, "route")),
        None => format!("{what}, {destinations}"),
    }
}

/// `one route`, `256 routes`.
pub(super) fn counted(count: u32, what: &str) -> String {
    match count {
        1 => format!("one {what}"),
        count => format!("{count} {what}s"),
    }
}

/// The lower bound that a ratio is to reach. Targets are of 64-byte IPv4 frames,
/// one way.
fn target(
    config: &Config,
    (question, way): (Question, Way),
    destinations: u32,
    routes: Option<u32>,
) -> Option<f64> {
    let load = (config.frame, config.family, config.directions);
    if load != (FrameSize::Fixed(64), Family::V4, Directions::OneWay) {
        return None;
    }
    match (question, way.path) {
        (Question::Path, Path::XdpFibCached) if routes.is_none() => match destinations {
            1 | 256 => Some(2.5),
            65_536 => Some(2.0),
            _ => None,
        },
        (Question::Path, Path::XdpDevmap) if destinations == 1 => Some(2.8),
        (Question::Batching, _) if way == Way::af_xdp(Poll::Polled, 32) => Some(2.0),
        (Question::PeerByCpu, _) => Some(1.1),
        _ => None,
    }
}
