//! One thing measured again and again: routers under one load.

use std::time::Duration;

use forward::bench::{BenchError, Offer, Setup};

use super::rig::Rig;
use super::rounds::Arm;
use super::series::Series;
use super::told::Tried;
use super::trial::{Trial, size_name};
use super::way::Way;

/// Routers under one load, with what the rounds gave.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// One a router; all of one way.
    pub(crate) setups: Vec<Setup>,
    /// One a router; the schedule sets their duration.
    pub(crate) offers: Vec<Offer>,
    pub(crate) series: Series,
}

impl Subject {
    /// One router.
    pub(crate) fn one(setup: Setup, offer: Offer) -> Self {
        Self {
            setups: vec![setup],
            offers: vec![offer],
            series: Series::default(),
        }
    }

    /// What forwards.
    pub(crate) fn way(&self) -> Way {
        let first = &self.setups[0];
        Way {
            path: first.path,
            queues: first.topology.queues,
        }
    }

    /// What is offered to the first router.
    pub(crate) fn offer(&self) -> &Offer {
        &self.offers[0]
    }

    /// The offers of a trial of that length.
    fn offers_of(&self, duration: Duration) -> Vec<Offer> {
        let of = |offer: &Offer| Offer { duration, ..*offer };
        self.offers.iter().map(of).collect()
    }

    /// What is to be told of it.
    pub(crate) fn tried(&self) -> Option<Tried> {
        Tried::of(&self.series, (self.way().what(), self.label()))
    }
}

impl Arm for Subject {
    type Round = Trial;

    fn setups(&self) -> &[Setup] {
        &self.setups
    }

    fn label(&self) -> String {
        let (home, offer) = (self.setups[0].home, self.offer());
        let mut label = format!("{}, {}", self.way().what(), size_name(offer.size));
        if home != forward::home::Kind::Namespace {
            label += &format!(", {}", home.name());
        }
        if offer.destinations > 1 {
            label += &format!(", {} destinations", offer.destinations);
        }
        if self.setups.len() > 1 {
            label += &format!(", {} routers", self.setups.len());
        }
        label
    }

    fn series(&mut self) -> &mut Series {
        &mut self.series
    }

    fn measure(
        &self,
        rig: &mut dyn Rig,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Trial, BenchError> {
        rig.trial(&self.offers_of(slice), go_on)
    }
}
