//! What everything that is said of the results rests on.

use forward::bench::Setup;
use forward::tester::stream::FrameSize;
use forward::topology::Cpus;

use crate::router::throughput::case::Case;
use crate::router::throughput::config::{Config, Place, Router};
use crate::router::throughput::schedule::Schedule;
use kit::routers::metrics::direction;
use kit::routers::wires;

/// Where and how everything was measured.
#[derive(Clone, Copy)]
pub(crate) struct Conditions<'a> {
    pub(crate) config: &'a Config,
    pub(crate) schedule: &'a Schedule,
    pub(crate) cpus: &'a Cpus,
    pub(crate) command: &'a str,
}

/// The results with their conditions.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) conditions: Conditions<'a>,
    pub(crate) cases: &'a [Case],
}

impl<'a> Context<'a> {
    pub(crate) fn config(&self) -> &'a Config {
        self.conditions.config
    }

    pub(crate) fn setup(&self, router: Router) -> Setup {
        self.config().setup(router, self.conditions.cpus)
    }

    /// That router under frames of that size, if it was measured.
    pub(crate) fn case(&self, router: Router, size: FrameSize) -> Option<&'a Case> {
        let same = |case: &&Case| case.router == router && case.size == size;
        let own = self.cases.iter().find(same);
        own.filter(|case| !case.overload.trials.is_empty())
    }

    /// Cases with any result.
    pub(crate) fn measured(&self) -> impl Iterator<Item = &'a Case> {
        let cases = self.cases.iter();
        cases.filter(|case| !case.overload.trials.is_empty())
    }

    /// What another router of the same path is compared with: the one with
    /// nothing between it and the ports.
    pub(crate) fn native(&self, router: Router) -> Router {
        Router {
            place: Place::NATIVE,
            ..router
        }
    }

    /// A rate as a share of what the links carry, in percent.
    pub(crate) fn percent_of_line(&self, rate_pps: f64, size: FrameSize) -> f64 {
        rate_pps / self.config().line_pps(size) * 100.0
    }

    /// Conditions in words: under tables and charts.
    pub(crate) fn note(&self) -> String {
        let config = self.config();
        let links = match config.ways() {
            ways if ways > 1.0 => "two links",
            _ => "a link",
        };
        format!(
            "100% is what {links} of {:.0} Mbit/s can carry; {}, {}; trials of {:.2} s (RFC 2544: 60 s). {}",
            config.line.speed_bits_per_s / 1e6,
            direction(config.directions),
            destinations(config.destinations),
            self.conditions.schedule.slice.as_secs_f64(),
            wires::note(&config.wires),
        )
    }
}

fn destinations(count: u32) -> String {
    match count {
        1 => "one destination".to_owned(),
        count => format!("{count} destinations"),
    }
}
