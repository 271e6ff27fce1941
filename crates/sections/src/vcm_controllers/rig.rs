//! Scouting and settling before the rounds, and trials.

use std::collections::BTreeMap;
use std::time::Duration;

use crypto::{Algorithm, RsaBits};
use kit::controllers::contender::Contender;
use kit::controllers::fixed::{label, scout, scout_s};
use kit::controllers::warm::Warm;
use kit::load::benches::{Ask, Benches, REQUESTS, held};
use kit::load::rig::{Regime, Window};
use kit::prelude::*;
use policy::{Controller, Policy};
use trial::Sink;

use super::{COUNT, Controllers, Notes, places};

/// Before a trial counts: a pipeline fills in microseconds, a cap's first
/// intervals take milliseconds.
const WARM_UP: Duration = Duration::from_millis(12);
/// Warm-up, new lanes, parking, and a look at the core's clock, seconds.
pub(super) const OVERHEAD_S: f64 = 0.018;
/// Taking back what is in flight takes RSA this long besides.
pub(super) const DRAIN_S: f64 = 0.02;
/// A trial that finds the best of the fixed settings.
pub(super) const SCOUT: Duration = Duration::from_millis(30);
/// Starting the benches, seconds.
const START_S: f64 = 0.2;

/// Keys, scouting and settling of those subjects.
pub(super) fn start_s(subjects: &Subjects<Controllers>, settle_s: f64) -> f64 {
    let one = |subject: &Of| {
        let overhead_s = OVERHEAD_S + subject.overhead_s;
        let trial_s = |times| short(subject, times).as_secs_f64() + overhead_s;
        match subject.arm {
            Contender::Oracle => scout_s(subject.place.depth, trial_s),
            Contender::Controlled(_) if settle_s > 0.0 => settle_s + overhead_s,
            _ => 0.0,
        }
    };
    let keys_s: f64 = places(subjects).iter().map(key_s).sum();
    START_S + keys_s + subjects.iter().map(one).sum::<f64>()
}

/// This many times as long as a short trial of it.
fn short(subject: &Of, times: u32) -> Duration {
    SCOUT.mul_f64(subject.weight) * times
}

/// Making a key.
fn key_s(place: &Ask) -> f64 {
    match place.kind.algorithm {
        Algorithm::Rsa(RsaBits::B4096, _) => 1.0,
        Algorithm::Rsa(RsaBits::B3072, _) => 0.4,
        Algorithm::Rsa(..) => 0.1,
        _ => 0.0,
    }
}

type Of = Subject<Ask, Contender>;

/// A bench for each placement, and what is known of each place.
pub(super) struct OnBenches {
    benches: Benches,
    section: Controllers,
    grounds: Vec<Ground>,
}

/// What a place has.
struct Ground {
    place: Ask,
    scouted: Vec<(Policy, f64)>,
    controllers: BTreeMap<&'static str, Warm>,
}

impl OnBenches {
    pub(super) fn start(
        section: &Controllers,
        host: &Host,
        subjects: &Subjects<Controllers>,
    ) -> Result<Self, Stopped> {
        let places = places(subjects);
        let asks = places.iter().copied();
        let backend = &section.config.backend;
        let ground = |place| Ground {
            place,
            scouted: Vec::new(),
            controllers: BTreeMap::new(),
        };
        Ok(Self {
            benches: Benches::start(backend, &section.places(host), asks)?.warming_up(WARM_UP),
            section: section.clone(),
            grounds: places.into_iter().map(ground).collect(),
        })
    }

    fn ground(&self, place: &Ask) -> usize {
        let own = self.grounds.iter().position(|own| own.place == *place);
        own.expect("every place of the job has one")
    }

    fn run(
        &mut self,
        ground: usize,
        regime: Regime,
        counted: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let ask = self.grounds[ground].place;
        self.benches.trial(&ask, counted, regime, go_on, moderated)
    }

    /// Every fixed setting once and the best again; fastest first.
    fn scout(&mut self, subject: &Of, go_on: &dyn Fn() -> bool) -> Result<(), Stopped> {
        let ground = self.ground(&subject.place);
        let found = scout(subject.place.depth, |policy, times| {
            let reading = self.run(ground, policy.into(), short(subject, times), go_on)?;
            Ok::<f64, Stopped>(reading.value(REQUESTS).unwrap_or(0.0))
        })?;
        self.grounds[ground].scouted = found;
        Ok(())
    }

    fn settle(
        &mut self,
        (place, name): (&Ask, &'static str),
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), Stopped> {
        let ground = self.ground(place);
        let warm = Warm::new(name, &self.section.parameters);
        let settle = Duration::from_secs_f64(self.section.config.settle_seconds.get());
        if !settle.is_zero() {
            self.run(ground, warm.regime(), settle, go_on)?;
        }
        self.grounds[ground].controllers.insert(name, warm);
        Ok(())
    }
}

/// What was held back, and under which settings at the end.
fn moderated(window: &Window) -> Vec<(Measure, f64)> {
    let count = f64::from(window.tenants[0].settings.count());
    [held(window), vec![(COUNT, count)]].concat()
}

impl Rig<Controllers> for OnBenches {
    fn prepare(
        &mut self,
        subjects: &Subjects<Controllers>,
        sink: &mut dyn Sink,
    ) -> Result<(), Stopped> {
        for (done, subject) in subjects.iter().enumerate() {
            let doing = match subject.arm {
                Contender::Oracle => "looked for",
                Contender::Controlled(_) => "settling",
                Contender::Uncapped | Contender::Armed => continue,
            };
            let share = done as f64 / subjects.len() as f64;
            let now = format!("{}: {doing}", subject.spot.words());
            sink.emit(Event::Progress(share, now));
            let go_on = || !sink.is_interrupted();
            match subject.arm {
                Contender::Controlled(name) => self.settle((&subject.place, name), &go_on)?,
                _ => self.scout(subject, &go_on)?,
            }
        }
        Ok(())
    }

    fn trial(
        &mut self,
        subject: &Of,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let at = self.ground(&subject.place);
        let ground = &self.grounds[at];
        let oracle = ground.scouted.first().map_or(Policy::EACH, |best| best.0);
        let regime = match subject.arm {
            Contender::Controlled(name) => ground.controllers[name].regime(),
            fixed => fixed.fixed(oracle).unwrap_or(Policy::EACH).into(),
        };
        let mut reading = self.run(at, regime, slice, go_on)?;
        if subject.arm == Contender::Oracle {
            reading.also = Spot::new().named("oracle", label(&oracle));
        }
        Ok(reading)
    }

    fn notes(&self) -> Notes {
        let scouted = self.grounds.iter();
        let scouted = scouted.filter(|own| !own.scouted.is_empty());
        let remarks = self.grounds.iter().flat_map(|own| {
            let controllers = own.controllers.iter();
            controllers.filter_map(|(name, warm)| {
                Some((own.place, Contender::Controlled(name), warm.remark()?))
            })
        });
        Notes {
            scouted: scouted
                .map(|own| (own.place, own.scouted.clone()))
                .collect(),
            remarks: remarks.collect(),
        }
    }
}
