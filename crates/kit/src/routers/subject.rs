//! One thing measured again and again: routers under one load.

use std::time::Duration;

use forward::bench::{BenchError, Offer, Setup};

use crate::routers::rig::Rig;
use crate::routers::rounds::Arm;
use crate::routers::series::Series;
use crate::routers::trial::{Trial, size_name};
use crate::routers::way::Way;
use crate::told::Tried;

/// Routers under one load, with what the rounds gave.
#[derive(Clone, Debug)]
pub struct Subject {
    /// One a router; all of one way.
    pub setups: Vec<Setup>,
    /// One a router; the schedule sets their duration.
    pub offers: Vec<Offer>,
    pub series: Series,
}

impl Subject {
    /// One router.
    pub fn one(setup: Setup, offer: Offer) -> Self {
        Self {
            setups: vec![setup],
            offers: vec![offer],
            series: Series::default(),
        }
    }

    /// What forwards.
    pub fn way(&self) -> Way {
        let first = &self.setups[0];
        Way {
            path: first.path,
            queues: first.topology.queues,
        }
    }

    /// What is offered to the first router.
    pub fn offer(&self) -> &Offer {
        &self.offers[0]
    }

    /// The offers of a trial of that length.
    fn offers_of(&self, duration: Duration) -> Vec<Offer> {
        let of = |offer: &Offer| Offer { duration, ..*offer };
        self.offers.iter().map(of).collect()
    }

    /// What is to be told of it.
    pub fn tried(&self) -> Option<Tried> {
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
