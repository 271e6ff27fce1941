//! The rounds: every method of every place once, in shuffled order, so that
//! any two are interleaved pairs.

use std::time::{Duration, Instant};

use trial::stats::Random;
use trial::{Event, Histogram, Sink};

use crate::kspeed::catalogue::Driver;
use crate::kspeed::cell::{Cell, Detail, Failure, Place, Series, Trial, call, grid};
use crate::kspeed::clock::Clock;
use crate::kspeed::config::Config;
use crate::kspeed::end::End;
use crate::kspeed::method::Method;
use crate::kspeed::module::{Answer, Measured, Start, parse};
use crate::kspeed::program;
use crate::kspeed::schedule::Schedule;
use crate::kspeed::scripts;
use crate::kspeed::shell::{Output, Shell};
use crate::kspeed::tcrypt;
use crate::kspeed::watched::{self, Unfinished};
use kit::observe::CpuTimes;

/// A script that takes so much longer than it should has hung.
const LIMIT: Duration = Duration::from_secs(30);
/// A run that takes so much longer than planned ends after the round in hand,
/// but not before one that counts.
const LATE: f64 = 1.5;
/// The first round warms up and takes latencies.
const WARM_UP: usize = 0;
/// How long a trial is, in slices, until a request completes in it: a host of
/// which other guests take the CPUs away may not let ours run in one.
const LONGER: [u32; 3] = [1, 8, 64];
const REMEDY: &str = "see the guest's log: lockgate vm run SCRIPT runs the same commands";

/// One guest at work.
pub(super) struct Bench<'a> {
    pub(super) shell: &'a mut dyn Shell,
    pub(super) config: &'a Config,
    pub(super) schedule: &'a Schedule,
    pub(super) clock: Clock,
    /// The host's, that the guest may use.
    pub(super) cpus: &'a [usize],
}

/// What one script measures.
#[derive(Clone, Copy, Debug)]
enum Item {
    /// One place, by the module.
    Module(Place, Method, &'static str),
    /// Every size that tcrypt has.
    Tcrypt(Method, tcrypt::Call),
    /// One place, by lockgate itself in the guest.
    Program(Place, Method),
}

/// What is measured together.
type Visit = (&'static Driver, Vec<Item>);

impl Bench<'_> {
    /// Measures all rounds; `keep` is called after each, so that nothing is
    /// lost whatever ends the run.
    pub(super) fn measure(
        &mut self,
        cells: &mut [Cell],
        sink: &mut dyn Sink,
        keep: impl Fn(&[Cell], &mut dyn Sink),
    ) -> End {
        let (mut random, begin) = (Random::new(self.config.seed), Instant::now());
        for round in WARM_UP..=self.schedule.rounds {
            let is_late = begin.elapsed().as_secs_f64() > self.schedule.seconds() * LATE;
            if is_late && round > WARM_UP + 1 {
                return End::Late(round - 1);
            }
            if let Err(end) = self.round(cells, round, &mut random, sink) {
                return end;
            }
            if round != WARM_UP {
                keep(cells, sink);
            }
        }
        End::Complete
    }

    fn round(
        &mut self,
        cells: &mut [Cell],
        round: usize,
        random: &mut Random,
        sink: &mut dyn Sink,
    ) -> Result<(), End> {
        let mut visits = self.visits();
        random.shuffle(&mut visits);
        let count = visits.len();
        for (done, (driver, mut items)) in visits.into_iter().enumerate() {
            random.shuffle(&mut items);
            let rounds = (self.schedule.rounds + 1) as f64;
            let share = (round as f64 + done as f64 / count as f64) / rounds;
            let now = match round {
                WARM_UP => format!("warming up: {driver}"),
                _ => format!("round {round} of {}: {driver}", self.schedule.rounds),
            };
            sink.emit(Event::Progress(share, now));
            self.visit(cells, (driver, items), round, sink)?;
        }
        Ok(())
    }

    /// Everything there is, a visit a driver.
    fn visits(&self) -> Vec<Visit> {
        let visit = |&driver: &&'static Driver| (driver, self.items(driver));
        self.config.drivers.iter().map(visit).collect()
    }

    fn items(&self, driver: &'static Driver) -> Vec<Item> {
        let mut items = Vec::new();
        for &method in &self.config.methods {
            let places = self.places(driver, method);
            match (call(self.config, method), method.module_mode()) {
                (Some(call), _) if !places.is_empty() => items.push(Item::Tcrypt(method, call)),
                (Some(_), _) => {}
                (None, Some(mode)) => {
                    items.extend(
                        places
                            .into_iter()
                            .map(|place| Item::Module(place, method, mode)),
                    );
                }
                (None, None) => {
                    items.extend(places.into_iter().map(|place| Item::Program(place, method)));
                }
            }
        }
        items
    }

    /// Where a driver is measured by a method.
    fn places(&self, driver: &'static Driver, method: Method) -> Vec<Place> {
        let mut cells = grid(self.config);
        cells.retain(|cell| cell.place.driver == driver && cell.has(method));
        cells.into_iter().map(|cell| cell.place).collect()
    }

    fn visit(
        &mut self,
        cells: &mut [Cell],
        (driver, items): Visit,
        round: usize,
        sink: &dyn Sink,
    ) -> Result<(), End> {
        let output = self.run(sink, &scripts::prepare(driver), LIMIT)?;
        if output.status != 0 {
            let what = format!("loading the modules of {driver}");
            let failure = output.failure(&what, "use a kernel that has them (GUESTS=all)");
            fail(cells, |cell, _| cell.place.driver == driver, &failure);
            return Ok(());
        }
        for item in items {
            match item {
                Item::Module(place, method, mode) => {
                    self.module(cells, (place, method, mode), round, sink)?;
                }
                Item::Program(place, method) => {
                    self.program(cells, (place, method), round, sink)?;
                }
                Item::Tcrypt(method, call) => {
                    self.tcrypt(cells, driver, (method, call), round, sink)?;
                }
            }
        }
        Ok(())
    }

    fn module(
        &mut self,
        cells: &mut [Cell],
        (place, method, mode): (Place, Method, &'static str),
        round: usize,
        sink: &dyn Sink,
    ) -> Result<(), End> {
        let Some(series) = series(cells, place, method) else {
            return Ok(());
        };
        let depth = method.depth(self.config.depth);
        let start = |duration| Start {
            driver: place.driver,
            mode,
            size_bytes: place.size_bytes,
            depth,
            threads: place.threads,
            duration,
            latency: round == WARM_UP,
        };
        let script = |duration| Ok(scripts::run_module(&start(duration)));
        let read = |output: &Output, duration| answer(output, &start(duration));
        match self.in_time(sink, script, read)? {
            Err(failure) => series.failure = Some(failure),
            Ok((measured, mut trial)) => {
                if let Some(cycles_per_ns) = measured.cycles_per_ns() {
                    self.clock.add(cycles_per_ns);
                }
                if round == WARM_UP {
                    series.detail = Some(detail(&measured));
                } else {
                    trial.requests_per_s = measured.requests_per_s();
                    trial.completed = measured.completed;
                    series.trials.insert(round, trial);
                }
            }
        }
        Ok(())
    }

    fn program(
        &mut self,
        cells: &mut [Cell],
        (place, method): (Place, Method),
        round: usize,
        sink: &dyn Sink,
    ) -> Result<(), End> {
        let Some(series) = series(cells, place, method) else {
            return Ok(());
        };
        let depth = method.depth(self.config.depth);
        let script = |duration| program::script(method, place, depth, duration);
        let read = |output: &Output, _| program::read(method, place, output);
        match self.in_time(sink, script, read)? {
            Err(failure) => series.failure = Some(failure),
            Ok(_) if round == WARM_UP => {}
            Ok((rate, trial)) => {
                let trial = Trial {
                    requests_per_s: rate.requests_per_s,
                    completed: rate.completed,
                    ..trial
                };
                series.trials.insert(round, trial);
            }
        }
        Ok(())
    }

    /// What a script measures in a slice, or in the first longer time in which
    /// any request completes: until then `read` gives nothing.
    fn in_time<M>(
        &mut self,
        sink: &dyn Sink,
        script: impl Fn(Duration) -> Result<String, Failure>,
        read: impl Fn(&Output, Duration) -> Result<Option<M>, Failure>,
    ) -> Result<Result<(M, Trial), Failure>, Unfinished> {
        for factor in LONGER {
            let duration = self.schedule.slice * factor;
            let script = match script(duration) {
                Ok(script) => script,
                Err(failure) => return Ok(Err(failure)),
            };
            let (output, trial) = self.observed(sink, &script, duration + LIMIT)?;
            match read(&output, duration) {
                Ok(None) => {}
                Ok(Some(measured)) => return Ok(Ok((measured, trial))),
                Err(failure) => return Ok(Err(failure)),
            }
        }
        let longest = self.schedule.slice * LONGER[LONGER.len() - 1];
        Ok(Err(Failure {
            reason: format!("no request completed in {} ms", longest.as_millis()),
            remedy: "measure longer (key `seconds`)".to_owned(),
        }))
    }

    fn tcrypt(
        &mut self,
        cells: &mut [Cell],
        driver: &'static Driver,
        (method, call): (Method, tcrypt::Call),
        round: usize,
        sink: &dyn Sink,
    ) -> Result<(), End> {
        let is_own = |cell: &Cell, own: Method| cell.place.driver == driver && own == method;
        let wanted = cells.iter().any(|cell| {
            let mut arms = cell.arms.iter();
            arms.any(|(own, series)| is_own(cell, *own) && series.failure.is_none())
        });
        // Seconds are too long for a warm-up.
        if !wanted || (round == WARM_UP && call.seconds > 0) {
            return Ok(());
        }
        let limit = Duration::from_secs_f64(call.expected_s(driver) * 2.0) + LIMIT;
        let (output, trial) = self.observed(sink, &scripts::run_tcrypt(call, driver), limit)?;
        if round == WARM_UP {
            return Ok(());
        }
        let rates = match self.rates(&output, call, driver) {
            Ok(rates) => rates,
            Err(reason) => {
                let remedy = REMEDY.to_owned();
                fail(cells, is_own, &Failure { reason, remedy });
                return Ok(());
            }
        };
        for (bytes, rate) in rates {
            let own =
                |cell: &&mut Cell| cell.place.driver == driver && cell.place.size_bytes == bytes;
            let cells = cells.iter_mut().filter(own);
            for series in cells.filter_map(|cell| cell.arm_mut(method)) {
                let trial = Trial {
                    requests_per_s: rate.requests_per_s,
                    completed: rate.completed,
                    ..trial.clone()
                };
                series.trials.insert(round, trial);
            }
        }
        Ok(())
    }

    fn rates(
        &self,
        output: &Output,
        call: tcrypt::Call,
        driver: &Driver,
    ) -> Result<tcrypt::Rates, String> {
        let entries = tcrypt::parse(&output.text).map_err(|error| error.to_string())?;
        let cycles_per_ns = self.clock.cycles_per_ns();
        let cycles_per_ns = cycles_per_ns.ok_or("the speed of the cycle counter is unknown")?;
        tcrypt::rates(&entries, call, driver, cycles_per_ns)
    }

    fn run(
        &mut self,
        sink: &dyn Sink,
        script: &str,
        limit: Duration,
    ) -> Result<Output, Unfinished> {
        watched::run(self.shell, sink, script, limit)
    }

    /// A script with what the host did meanwhile.
    fn observed(
        &mut self,
        sink: &dyn Sink,
        script: &str,
        limit: Duration,
    ) -> Result<(Output, Trial), Unfinished> {
        let (times, cpu_s) = (CpuTimes::now(self.cpus), self.shell.cpu_s());
        let begin = Instant::now();
        let output = self.run(sink, script, limit)?;
        let trial = Trial {
            times: CpuTimes::now(self.cpus).since(times),
            guest_cpus: (self.shell.cpu_s() - cpu_s) / begin.elapsed().as_secs_f64(),
            ..Trial::default()
        };
        Ok((output, trial))
    }
}

/// The series of a place that has not failed.
fn series(cells: &mut [Cell], place: Place, method: Method) -> Option<&mut Series> {
    let cell = cells.iter_mut().find(|cell| cell.place == place)?;
    let series = cell.arm_mut(method)?;
    series.failure.is_none().then_some(series)
}

/// Marks what cannot be measured.
fn fail(cells: &mut [Cell], is_such: impl Fn(&Cell, Method) -> bool, failure: &Failure) {
    for cell in cells {
        let such: Vec<_> = cell
            .arms
            .iter()
            .map(|(method, _)| is_such(cell, *method))
            .collect();
        let arms = cell.arms.iter_mut().zip(such);
        for ((_, series), _) in arms.filter(|(_, is_such)| *is_such) {
            series.failure.get_or_insert_with(|| failure.clone());
        }
    }
}

/// What the module measured, nothing where no request completed, or why it did
/// not measure.
fn answer(output: &Output, start: &Start) -> Result<Option<Measured>, Failure> {
    let failure = |reason: String, remedy: &str| Failure {
        reason,
        remedy: remedy.to_owned(),
    };
    let text = output.text.trim();
    match parse(text, start) {
        Err(error) if text.is_empty() || output.status != 0 => Err(failure(
            format!("the module did not answer ({error})"),
            REMEDY,
        )),
        Err(error) => Err(failure(error.to_string(), REMEDY)),
        Ok(Answer::Refused(fault)) => Err(failure(fault.reason(), &fault.remedy())),
        Ok(Answer::Measured(measured)) if measured.errors > 0 => {
            let reason = format!(
                "{} of {} requests failed",
                measured.errors,
                measured.errors + measured.completed
            );
            Err(failure(
                reason,
                "see the guest's log for what the driver says",
            ))
        }
        Ok(Answer::Measured(measured)) => Ok((measured.completed > 0).then_some(measured)),
    }
}

fn detail(measured: &Measured) -> Detail {
    let mut latency = Histogram::new();
    for &(upper_ns, count) in &measured.latencies {
        latency.record_many(upper_ns, count);
    }
    Detail {
        latency,
        is_async: measured.is_async,
        backlogged: measured.backlogged,
        completed_inline: measured.completed_inline,
        in_flight_max: measured.in_flight_max,
    }
}
