//! One router under frames of one size, with what was found.

use std::collections::BTreeMap;

use forward::bench::{Offer, TrialResult};
use forward::tester::procedure::{Bursts, Found, LatencyPoint, LossPoint, Outcome, Request};
use forward::tester::stream::FrameSize;
use forward::tester::validity::Claim;
use trial::stats::median;
use trial::{Histogram, Verdict};

use crate::router::throughput::config::{Config, Router};
use kit::judged::over_rounds;
use kit::routers::series::Series;
use kit::routers::trial::size_name;
use kit::told::Tried;

/// One router under frames of one size.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) router: Router,
    pub(crate) size: FrameSize,
    /// What it receives when offered all that the generator can.
    pub(crate) overload: Series,
    /// Without loss.
    pub(crate) no_drop: Searches,
    /// With the loss that the configuration tolerates.
    pub(crate) partial_drop: Searches,
    pub(crate) latency: Vec<LatencyPoint>,
    pub(crate) frame_loss: Vec<LossPoint>,
    pub(crate) bursts: Option<Bursts>,
}

/// What the searches of the rounds found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Searches(pub(crate) BTreeMap<usize, Found>);

impl Searches {
    /// Frames a second of the believable rounds, 0 where no rate passed; where
    /// none is valid, what passed nevertheless.
    pub(crate) fn rates(&self) -> Vec<f64> {
        let valid = self.0.values().filter(|found| found.verdict.is_valid());
        let valid: Vec<_> = valid.map(|found| found.rate_pps.unwrap_or(0.0)).collect();
        if valid.is_empty() {
            return self.0.values().filter_map(|found| found.rate_pps).collect();
        }
        valid
    }

    pub(crate) fn rate(&self) -> Option<f64> {
        median(&self.rates())
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let rounds: Vec<_> = self.0.values().map(|found| found.verdict.clone()).collect();
        over_rounds(&rounds)
    }

    /// Both searches' rates of the rounds in which both are valid.
    pub(crate) fn pairs(&self, reference: &Self) -> Vec<(f64, f64)> {
        let rate = |found: &Found| found.rate_pps.filter(|_| found.verdict.is_valid());
        let pair =
            |(round, found): (&usize, &Found)| Some((rate(found)?, rate(reference.0.get(round)?)?));
        self.0.iter().filter_map(pair).collect()
    }
}

impl Case {
    pub(crate) fn new(router: Router, size: FrameSize) -> Self {
        Self {
            router,
            size,
            overload: Series::default(),
            no_drop: Searches::default(),
            partial_drop: Searches::default(),
            latency: Vec::new(),
            frame_loss: Vec::new(),
            bursts: None,
        }
    }

    /// In words, for whoever waits.
    pub(crate) fn label(&self) -> String {
        format!("{}, {}", self.router.what(), size_name(self.size))
    }

    /// Why it was not measured.
    pub(crate) fn failure(&self) -> Option<&Verdict> {
        self.overload.failure.as_ref()
    }

    /// The throughput, where it is valid.
    pub(crate) fn throughput(&self) -> Option<f64> {
        let rate = self.no_drop.rate();
        rate.filter(|_| self.no_drop.verdict().is_valid())
    }

    /// What is to be told of it: overload and throughput.
    pub(crate) fn tried(&self) -> Vec<Tried> {
        let names = |what: &str| (self.router.what(), format!("{what} of {}", self.label()));
        let throughput = || Tried {
            verdict: self.no_drop.verdict(),
            name: self.router.what(),
            label: names("throughput").1,
            is_measured: true,
        };
        let is_searched = self.failure().is_none() && !self.no_drop.0.is_empty();
        let overload = Tried::of(&self.overload, names("what passes"));
        overload
            .into_iter()
            .chain(is_searched.then(throughput))
            .collect()
    }
}

/// Every case that a configuration means.
pub(crate) fn cases(config: &Config) -> Vec<Case> {
    let sizes = |router| (config.sizes.iter()).map(move |&size| Case::new(router, size));
    config
        .routers
        .iter()
        .flat_map(|&router| sizes(router))
        .collect()
}

/// What is offered at overload; a search or an extra changes rate and length.
pub(crate) fn offer(config: &Config, size: FrameSize) -> Offer {
    Offer {
        size,
        directions: config.directions,
        family: config.family,
        destinations: config.destinations,
        ..Offer::default()
    }
}

/// What a procedure asks for, of so many ports that send.
pub(crate) fn asked(offer: Offer, request: Request, ways: f64) -> Offer {
    Offer {
        rate_pps: Some(request.rate_pps / ways),
        frames_max: request
            .frames
            .map(|frames| (frames as f64 / ways).ceil() as u64),
        ..offer
    }
}

/// What a procedure is told, of what its trials are to show.
pub(crate) fn outcome(result: &TrialResult, claim: Claim) -> Outcome {
    let mut latency = Histogram::new();
    let ways = result.directions.iter();
    ways.for_each(|way| latency.merge(&way.received.latency));
    Outcome {
        offered: result.offered(),
        lost: result.lost(),
        latency,
        verdict: result.verdict_for(claim),
    }
}
