//! What is measured: routers side by side, and one overloaded beside others.

use std::time::Duration;

use forward::bench::{Offer, Setup};
use forward::topology::Cpus;

use super::Scaling;

/// What each of the others is offered, as a share of what it would have of
/// the total: enough to suffer, and little enough to be carried.
pub(super) const MODEST: f64 = 0.5;
/// CPUs that all routers together may use under limits: the sink has the rest
/// where it shares their CPU.
pub(super) const LIMITED_CPUS: f64 = 0.8;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// So many, each offered as much as the generator can.
    SideBySide(usize),
    /// All are offered a modest rate: what the others can have.
    Peace,
    /// The first is overloaded.
    Overloaded,
    /// The first is overloaded, each may use its share of the CPU.
    Limited,
}

/// Those with one beside others.
pub(super) const BESIDE: [Case; 3] = [Case::Peace, Case::Overloaded, Case::Limited];

impl Case {
    pub(super) fn is_beside(self) -> bool {
        !matches!(self, Self::SideBySide(_))
    }

    /// In dimensions, and for people.
    pub(super) fn procedure(self) -> (&'static str, &'static str) {
        match self {
            Self::SideBySide(_) => ("side-by-side", ""),
            Self::Peace => ("beside-none", "none overloaded"),
            Self::Overloaded => ("beside-overload", "one overloaded"),
            Self::Limited => ("beside-overload-limited", "one overloaded, with limits"),
        }
    }
}

/// `one router`, `8 routers`.
pub(super) fn many(count: usize) -> String {
    match count {
        1 => "one router".to_owned(),
        count => format!("{count} routers"),
    }
}

impl Scaling {
    pub(super) fn count(&self, case: Case) -> usize {
        match case {
            Case::SideBySide(count) => count,
            _ => self.config.beside.get(),
        }
    }

    /// The routers of a case.
    pub(super) fn setups(&self, case: Case, cpus: &Cpus) -> Vec<Setup> {
        let count = self.count(case);
        let mut setup = self.config.path.setup(cpus);
        setup.cpu_limit = (case == Case::Limited).then(|| LIMITED_CPUS / count as f64);
        vec![setup; count]
    }

    /// What each is offered, where one alone carries this many frames/s.
    pub(super) fn offers(&self, case: Case, capacity_pps: f64, duration: Duration) -> Vec<Offer> {
        let count = self.count(case);
        let modest = Some(capacity_pps * MODEST / count as f64);
        let rate = |router: usize| match case {
            Case::SideBySide(_) => None,
            Case::Overloaded | Case::Limited if router == 0 => None,
            Case::Peace | Case::Overloaded | Case::Limited => modest,
        };
        let offer = |router| Offer {
            size: self.config.frame.0,
            rate_pps: rate(router),
            duration,
            ..Offer::default()
        };
        (0..count).map(offer).collect()
    }
}
