//! What is measured: routers side by side, and one overloaded beside others.

use forward::bench::{Offer, Setup};
use forward::topology::Cpus;
use trial::{Validity, Verdict};

use crate::router::scaling::config::Config;
use kit::routers::series::Series;
use kit::routers::subject::Subject;
use kit::routers::trial::Trial;

/// What each of the others is offered, as a share of what it would have of
/// the total: enough to suffer, and little enough to be carried.
pub(super) const MODEST: f64 = 0.5;
/// CPUs that all routers together may use under limits: the sink has the rest
/// where it shares their CPU.
pub(super) const LIMITED_CPUS: f64 = 0.8;

/// What a subject is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    /// So many, each offered as much as the generator can.
    SideBySide(usize),
    /// All are offered a modest rate: what the others can have.
    Peace,
    /// The first is overloaded.
    Overloaded,
    /// The first is overloaded, each may use its share of the CPU.
    Limited,
}

impl Case {
    pub(super) const fn procedure(self) -> &'static str {
        match self {
            Self::SideBySide(_) => "side-by-side",
            Self::Peace => "beside-none",
            Self::Overloaded => "beside-overload",
            Self::Limited => "beside-overload-limited",
        }
    }
}

/// What one router carries, frames/s, or why that may not be believed.
pub(super) type Capacity = Result<f64, Verdict>;

/// What is measured before it is known what a router can carry.
pub(super) fn alone(config: &Config, cpus: &Cpus) -> Subject {
    subject(config, cpus, Case::SideBySide(1), 0.0)
}

/// What it showed.
pub(super) fn capacity(alone: &Subject) -> Capacity {
    let doubt = |verdict: Verdict| Verdict {
        reason: format!("what one router carries is not known: {}", verdict.reason),
        ..verdict
    };
    match (alone.series.verdict(), alone.series.rate()) {
        (verdict, Some(rate)) if verdict.is_valid() && rate > 0.0 => Ok(rate),
        (verdict, _) if !verdict.is_valid() => Err(doubt(verdict)),
        _ => Err(doubt(Verdict::new(
            Validity::TooFewSamples,
            "no frame came through",
            "see router-native, which measures one router alone",
        ))),
    }
}

/// Every case. Where it is not known what one router carries, nobody can be
/// offered a share of it.
pub(super) fn cases(config: &Config, cpus: &Cpus, capacity: &Capacity) -> Vec<(Case, Subject)> {
    let side = config.routers.iter().map(|&count| Case::SideBySide(count));
    let beside = [Case::Peace, Case::Overloaded, Case::Limited];
    let beside = beside.into_iter().filter(|_| config.beside.is_some());
    let of = |case: Case| {
        let pps = capacity.as_ref().copied().unwrap_or(1.0);
        let mut subject = subject(config, cpus, case, pps);
        if !matches!(case, Case::SideBySide(_)) {
            subject.series.failure = capacity.as_ref().err().cloned();
        }
        (case, subject)
    };
    side.chain(beside).map(of).collect()
}

fn subject(config: &Config, cpus: &Cpus, case: Case, capacity_pps: f64) -> Subject {
    let count = match case {
        Case::SideBySide(count) => count,
        _ => config.beside.unwrap_or(2),
    };
    let mut setup = Setup::new(cpus.clone());
    setup.path = config.way.path;
    setup.topology.queues = config.way.queues;
    if case == Case::Limited {
        setup.cpu_limit = Some(LIMITED_CPUS / count as f64);
    }
    let modest = Some(capacity_pps * MODEST / count as f64);
    let rate = |router: usize| match case {
        Case::SideBySide(_) => None,
        Case::Peace => modest,
        Case::Overloaded | Case::Limited if router == 0 => None,
        Case::Overloaded | Case::Limited => modest,
    };
    let offer = |router| Offer {
        size: config.frame,
        rate_pps: rate(router),
        ..Offer::default()
    };
    Subject {
        setups: vec![setup; count],
        offers: (0..count).map(offer).collect(),
        series: Series::default(),
    }
}

/// Share of their frames that the routers beside the first delivered.
pub(super) fn others_delivered(trial: &Trial) -> Option<f64> {
    let others = trial.routers.get(1..)?;
    let sum = |of: fn(&forward::bench::TrialResult) -> u64| -> f64 {
        others.iter().map(of).sum::<u64>() as f64
    };
    let offered = sum(forward::bench::TrialResult::offered);
    (offered > 0.0).then(|| sum(forward::bench::TrialResult::received) / offered)
}

/// The least and the most that a router received, frames/s.
pub(super) fn each_pps(trial: &Trial) -> Option<(f64, f64)> {
    let rates = || {
        trial
            .routers
            .iter()
            .map(forward::bench::TrialResult::received_pps)
    };
    Some((rates().reduce(f64::min)?, rates().reduce(f64::max)?))
}
