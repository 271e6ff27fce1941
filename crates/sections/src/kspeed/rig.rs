//! Trials in a guest: a script of the module's, of tcrypt's, or of this
//! program's, and what the host did meanwhile.

use std::time::Duration;

use kit::evidence::Evidence;
use kit::guest::{Seen, Shell, not_measured, said, watched};
use kit::load::rig::LatencyCounts;
use kit::prelude::*;
use kit::subject::Measure;
use trial::{Sink, Verdict};
use vm::Outcome;

use super::clock::{self, Clock};
use super::method::{Means, Method};
use super::program;
use super::{Kspeed, Note, Place};
use kit::guest::kspeed::Recipe;
use kit::guest::kspeed::catalogue::{Driver, Kind};
use kit::guest::kspeed::module::{self, Start};

pub(super) const REQUESTS: Measure = Measure::higher("requests_per_s", "requests/s");
const SPEED: Measure = Measure::higher("speed_mb_per_s", "MB/s");
const GUEST_CPU: Measure = Measure::fact("guest_cpu_percent", "% of a core");
const BACKLOGGED: Measure = Measure::fact("backlogged", "requests");
const INLINE: Measure = Measure::fact("completed_inline", "requests");
const IN_FLIGHT_MAX: Measure = Measure::fact("in_flight_max", "requests");
pub(super) const SUBMIT: Measure = Measure::fact("submit_ns", "ns");
pub(super) const WAIT: Measure = Measure::fact("wait_ns", "ns");
pub(super) const CALLBACK: Measure = Measure::fact("callback_ns", "ns");
pub(super) const IN_INTERRUPT: Measure = Measure::fact("in_interrupt_percent", "%");
pub(super) const MEASURES: [Measure; 10] = [
    REQUESTS,
    SPEED,
    GUEST_CPU,
    BACKLOGGED,
    INLINE,
    IN_FLIGHT_MAX,
    SUBMIT,
    WAIT,
    CALLBACK,
    IN_INTERRUPT,
];

/// How long a warm-up is.
pub(super) const WARM_UP: Duration = Duration::from_millis(50);
/// A script that takes this much longer than it should has hung.
const LIMIT: Duration = Duration::from_secs(30);
/// How long a trial is, in slices, until a request completes in it: a host of
/// which other guests take the CPUs away may not let ours run in one.
const LONGER: [u32; 3] = [1, 8, 64];
/// A guest that ends is booted again, this many times in all.
const BOOTS_MAX: usize = 4;

/// Boots a guest, and says what it is.
pub(super) type Boot = Box<dyn FnMut(&dyn Fn() -> bool) -> Result<(Box<dyn Shell>, Spot), Stopped>>;

/// One guest at work.
pub(super) struct OnGuest {
    section: Kspeed,
    /// The host's, that the guest may use.
    cpus: Vec<usize>,
    boot: Boot,
    guest: Option<Box<dyn Shell>>,
    about: Spot,
    boots: usize,
    clock: Clock,
    /// Whose modules are loaded, and what /proc/crypto then says of one that is
    /// only named.
    loaded: Option<(Driver, Option<Recipe>)>,
    /// What the module said in the warm-up, which times every request.
    details: Vec<(Place, Method, module::Run)>,
}

impl OnGuest {
    pub(super) fn new(section: Kspeed, host: &Host, boot: Boot) -> Self {
        Self {
            section,
            cpus: host.cpus.clone(),
            boot,
            guest: None,
            about: Spot::new(),
            boots: 0,
            clock: Clock::default(),
            loaded: None,
            details: Vec::new(),
        }
    }

    /// Boots one where there is none.
    fn ready(&mut self, go_on: &dyn Fn() -> bool) -> Result<(), Stopped> {
        if self.guest.is_some() {
            return Ok(());
        }
        if self.boots == BOOTS_MAX {
            let error = format!("the guest ended {BOOTS_MAX} times and is not booted again");
            return Err(Stopped::Failed(error.into()));
        }
        self.boots += 1;
        self.loaded = None;
        let (guest, about) = (self.boot)(go_on)?;
        (self.guest, self.about) = (Some(guest), about);
        let (log, _) = self.run(clock::SCRIPT, LIMIT, go_on)?;
        self.clock = Clock::of_log(&log.text());
        Ok(())
    }

    /// Runs a script; a guest that it ends is gone.
    fn run(
        &mut self,
        script: &str,
        limit: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(Outcome, Seen), Stopped> {
        let guest = self.guest.as_mut().expect("it was booted");
        let output = watched(guest.as_mut(), &self.cpus, script, limit, go_on);
        if output.is_err() {
            self.guest = None;
        }
        output
    }

    fn load(&mut self, driver: Driver, go_on: &dyn Fn() -> bool) -> Result<(), Stopped> {
        if matches!(self.loaded, Some((loaded, _)) if loaded == driver) {
            return Ok(());
        }
        self.loaded = None;
        let script = match self.section.is_on_host() {
            // Its modules are its own business.
            true => "true".to_owned(),
            false => driver.script(&self.section.0.modules),
        };
        let (output, _) = self.run(&script, LIMIT, go_on)?;
        if output.status != 0 {
            let (status, said) = (output.status, said(&output));
            let reason = format!("loading the modules of {driver} ended with {status}: {said}");
            let remedy = "Use a kernel that has them (make setup-guests GUESTS=all).";
            return Err(Stopped::Doubted(not_measured(reason, remedy)));
        }
        let recipe = match driver.kind {
            Kind::Named => Some(self.named(driver, go_on)?),
            _ => None,
        };
        self.loaded = Some((driver, recipe));
        Ok(())
    }

    /// How a driver that is only named is asked, as the guest says.
    fn named(&mut self, driver: Driver, go_on: &dyn Fn() -> bool) -> Result<Recipe, Stopped> {
        let (output, _) = self.run(&module::offer_script(driver), LIMIT, go_on)?;
        let (key_bytes, in_place) = (self.section.key_bytes(), self.section.in_place(driver.kind));
        let recipe = Recipe::named(&output.text(), driver, key_bytes, in_place);
        let remedy = "Name one of these (--drivers), or load the modules of another (--modules).";
        recipe.map_err(|reason| Stopped::Doubted(not_measured(reason, remedy)))
    }

    fn measure(
        &mut self,
        (place, method): (Place, Method),
        slice: Duration,
        is_warm_up: bool,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        self.ready(go_on)?;
        self.load(place.driver, go_on)?;
        match method.means() {
            Means::Module(mode) => self.module((place, method, mode), slice, is_warm_up, go_on),
            Means::Tcrypt => self.tcrypt(place, method, go_on),
            Means::Program => self.program(place, method, slice, go_on),
        }
    }

    fn module(
        &mut self,
        (place, method, mode): (Place, Method, &'static str),
        slice: Duration,
        is_warm_up: bool,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let depth = method.depth(self.section.depth());
        let (driver, in_place) = (place.driver, self.section.in_place(place.driver.kind));
        let known = || Recipe::known(driver.kind, place.operation, in_place);
        let named = self.loaded.and_then(|(_, recipe)| recipe);
        let start = |duration| Start {
            driver,
            recipe: named.unwrap_or_else(known),
            mode,
            size_bytes: place.size_bytes,
            depth,
            threads: place.threads,
            duration,
            latency: is_warm_up,
        };
        let script = |time| Ok(start(time).script());
        let read = |output: &Outcome, time| module::read(&output.text(), &start(time));
        let (run, seen) = self.in_time(slice, script, read, go_on)?;
        self.clock.extend(run.cycles_per_ns());
        let rate = (run.requests_per_s(), run.completed);
        if is_warm_up {
            self.details.push((place, method, run));
        }
        Ok(self.reading((place, method), rate, seen))
    }

    fn program(
        &mut self,
        place: Place,
        method: Method,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let depth = method.depth(self.section.depth());
        let request = |time| program::Request {
            kind: place.driver.kind,
            size_bytes: place.size_bytes,
            time,
        };
        let script = |time| program::script(method, place.driver, depth, &request(time));
        let read = |output: &Outcome, time| program::read(output, &request(time));
        let (line, seen) = self.in_time(slice, script, read, go_on)?;
        let rate = (line.requests_per_s(), line.completed);
        Ok(self.reading((place, method), rate, seen))
    }

    /// What a script measures in a slice, or in the first longer time in which
    /// any request completes: until then `read` gives nothing.
    fn in_time<M>(
        &mut self,
        slice: Duration,
        script: impl Fn(Duration) -> Result<String, Verdict>,
        read: impl Fn(&Outcome, Duration) -> Result<Option<M>, Verdict>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(M, Seen), Stopped> {
        let mut duration = slice;
        for factor in LONGER {
            duration = slice * factor;
            let script = script(duration).map_err(Stopped::Doubted)?;
            let (output, seen) = self.run(&script, duration + LIMIT, go_on)?;
            if let Some(measured) = read(&output, duration).map_err(Stopped::Doubted)? {
                return Ok((measured, seen));
            }
        }
        let reason = format!("no request completed in {} ms", duration.as_millis());
        let remedy = "Measure longer (--seconds).";
        Err(Stopped::Doubted(not_measured(reason, remedy)))
    }

    /// One call measures every size, each a subject.
    fn tcrypt(
        &mut self,
        place: Place,
        method: Method,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let (driver, call) = (place.driver, self.section.call(method));
        let limit = Duration::from_secs_f64(call.expected_s(driver) * 2.0) + LIMIT;
        // A program that ran before may have loaded a rival.
        let modules = &self.section.0.modules;
        let script = format!("{}{}", driver.script(modules), call.script(driver));
        let (output, seen) = self.run(&script, limit, go_on)?;
        let rates = match self.clock.cycles_per_ns() {
            Some(cycles_per_ns) => call.rates(&output.text(), driver, cycles_per_ns),
            None => Err("the speed of the cycle counter is not known".to_owned()),
        };
        let remedy = "See the guest's log: lockgate vm run SCRIPT runs the same commands.";
        let refused = |reason| Stopped::Doubted(not_measured(reason, remedy));
        let rates = rates.map_err(refused)?;
        let of = |size_bytes: usize| match rates.get(&size_bytes) {
            Some(rate) => {
                let place = Place {
                    size_bytes,
                    ..place
                };
                let rate = (rate.requests_per_s, rate.completed);
                self.reading((place, method), rate, seen)
            }
            None => Reading {
                verdict: not_measured("tcrypt printed no figure of this size", remedy),
                ..Reading::new(Vec::new())
            },
        };
        let sizes = self.section.sizes_of(driver, method);
        let beside = sizes.iter().skip(1).map(|&size| of(size)).collect();
        Ok(Reading {
            beside,
            ..of(place.size_bytes)
        })
    }

    /// CPUs that a trial may keep busy, besides one for devices.
    fn vcpus(&self, place: Place) -> usize {
        match self.section.is_on_host() {
            true => place.threads,
            false => self.section.0.vcpus.get(),
        }
    }

    fn reading(
        &self,
        (place, method): (Place, Method),
        (requests_per_s, completed): (f64, u64),
        seen: Seen,
    ) -> Reading {
        let is_apart = self.section.in_place(place.driver.kind) == Some(false);
        let copies = place.size_bytes * (1 + usize::from(is_apart)) * place.threads;
        let mut reading = Reading::new(vec![
            (REQUESTS, requests_per_s),
            (SPEED, requests_per_s * place.size_bytes as f64 / 1e6),
            (GUEST_CPU, seen.guest_cpus * 100.0),
        ]);
        reading.evidence = Some(Evidence {
            in_flight_bytes: method.depth(self.section.depth()) * copies,
            ..seen.evidence(completed, self.vcpus(place), &self.cpus)
        });
        reading
    }
}

impl Rig<Kspeed> for OnGuest {
    /// Boots, and warms up: every trial once, with the latency of each request.
    fn prepare(&mut self, subjects: &Subjects<Kspeed>, sink: &mut dyn Sink) -> Result<(), Stopped> {
        sink.emit(Event::Progress(0.0, "booting the guest".to_owned()));
        self.ready(&|| !sink.is_interrupted())?;
        for (done, subject) in subjects.iter().enumerate() {
            if self.section.warm_up_s(subject) == 0.0 {
                continue;
            }
            let share = (done + 1) as f64 / (subjects.len() + 1) as f64;
            let now = format!("warming up: {}", subject.spot.words());
            sink.emit(Event::Progress(share, now));
            let go_on = || !sink.is_interrupted();
            let warm_up = self.measure((subject.place, subject.arm), WARM_UP, true, &go_on);
            // What fails here fails again where it is reported.
            if let Err(Stopped::Interrupted) = warm_up {
                return Err(Stopped::Interrupted);
            }
        }
        Ok(())
    }

    fn trial(
        &mut self,
        subject: &Subject<Place, Method>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let own = (subject.place, subject.arm);
        let mut reading = self.measure(own, slice, false, go_on)?;
        let mut details = self.details.iter_mut();
        if let Some((.., run)) = details.find(|(place, method, _)| (*place, *method) == own) {
            reading.values.extend([
                (BACKLOGGED, run.sum(|thread| thread.backlogged) as f64),
                (INLINE, run.sum(|thread| thread.completed_inline) as f64),
                (IN_FLIGHT_MAX, run.in_flight_max() as f64),
                (IN_INTERRUPT, run.in_interrupt() * 100.0),
            ]);
            let split = [SUBMIT, WAIT, CALLBACK].into_iter().zip(run.split_ns());
            let split = split.filter_map(|(measure, ns)| Some((measure, ns?)));
            reading.values.extend(split);
            // Once: a point has those of all its readings.
            reading.latency = LatencyCounts::of(run.take_latencies());
        }
        Ok(reading)
    }

    fn about(&self) -> Spot {
        self.about.clone()
    }

    fn notes(&self) -> Vec<Note> {
        let told = |(place, _, detail): &(Place, Method, module::Run)| Note {
            driver: place.driver,
            is_async: detail.is_async,
            what: detail.what(),
        };
        self.details.iter().map(told).collect()
    }
}
