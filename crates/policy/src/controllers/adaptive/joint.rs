//! `adaptive` over all virtual functions of one core.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::fit::Prices;
use super::regulator::Regulator;
use super::{PERIOD_NS, settings};
use crate::controllers::Parameters;
use crate::controllers::meter::{Lap, Meter};
use crate::{Controller, Counters, Moderation, Settings};

/// One regulator for all virtual functions that share a core. What a
/// notification costs is fitted from all of them; caps are tried for all at
/// once, each by its own need, and judged by the speed of all: so one that
/// causes notifications without need is capped although itself may gain
/// nothing, and none is capped below what its depth needs.
///
/// Each has its [`seat`](Self::seat), a [`Controller`] of its own. The
/// regulator looks when all seats were observed once, or one twice.
#[derive(Clone, Debug)]
pub struct Joint {
    core: Arc<Mutex<Core>>,
}

#[derive(Debug)]
pub struct Seat {
    core: Arc<Mutex<Core>>,
    at: usize,
    meter: Meter,
}

#[derive(Clone, Debug)]
struct Core {
    regulator: Regulator,
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    is_taken: bool,
    last: Lap,
    is_new: bool,
}

impl Joint {
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            core: Arc::new(Mutex::new(Core {
                regulator: Regulator::new(0, parameters.hold_ns_max),
                places: Vec::new(),
            })),
        }
    }

    /// A controller for one more virtual function of the core. Dropped, it
    /// leaves its place to another.
    pub fn seat(&self) -> Seat {
        Seat {
            at: lock(&self.core).take(),
            core: Arc::clone(&self.core),
            meter: Meter::new(PERIOD_NS),
        }
    }

    pub fn prices(&self) -> Prices {
        lock(&self.core).regulator.prices()
    }
}

fn lock(core: &Mutex<Core>) -> MutexGuard<'_, Core> {
    core.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    fn take(&mut self) -> usize {
        let free = self.places.iter().position(|place| !place.is_taken);
        let at = free.unwrap_or(self.places.len());
        if free.is_none() {
            self.places.push(Place::default());
            self.regulator.add();
        }
        self.places[at].is_taken = true;
        at
    }

    fn leave(&mut self, at: usize) {
        // Nothing done, from now on.
        self.places[at] = Place::default();
    }

    fn observe(&mut self, at: usize, lap: Lap) {
        if self.places[at].is_new {
            self.look();
        }
        self.places[at].last = lap;
        self.places[at].is_new = true;
        if self
            .places
            .iter()
            .all(|place| place.is_new || !place.is_taken)
        {
            self.look();
        }
    }

    fn look(&mut self) {
        // Who was not seen in time is taken to go on as before.
        let laps: Vec<Lap> = self.places.iter().map(|place| place.last).collect();
        self.regulator.look(&laps);
        self.places
            .iter_mut()
            .for_each(|place| place.is_new = false);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        lock(&self.core).leave(self.at);
    }
}

impl Controller for Seat {
    fn name(&self) -> &'static str {
        "adaptive"
    }

    fn moderation(&self) -> Moderation {
        Moderation::Armed
    }

    /// Twice as often as the regulator looks: it looks when the last seat was
    /// observed, and the other seats must learn of it soon.
    fn period_ns(&self) -> u64 {
        PERIOD_NS / 2
    }

    fn observe(&mut self, now_ns: u64, counters: &Counters) -> Settings {
        let mut core = lock(&self.core);
        if let Some(lap) = self.meter.lap(now_ns, counters) {
            core.observe(self.at, lap);
        }
        settings(core.regulator.cap_per_s(self.at))
    }
}
