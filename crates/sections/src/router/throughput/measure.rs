//! The rounds: every case once in shuffled order, then the extras.

use std::time::Instant;

use forward::bench::{BenchError, Offer, Setup};
use forward::tester::procedure::{
    BackToBack, BurstsGoal, Ceiling, Found, FrameLoss, GoalError, Latency, Procedure, Throughput,
    ThroughputGoal, drive,
};
use forward::tester::validity::Claim;
use forward::topology::Cpus;
use trial::stats::Random;
use trial::{Event, Sink, Verdict};

use crate::router::throughput::case::{Case, Searches, asked, offer, outcome};
use crate::router::throughput::config::Config;
use crate::router::throughput::extra::Extra;
use crate::router::throughput::schedule::Schedule;
use kit::routers::end::End;
use kit::routers::rig::Rig;
use kit::routers::rounds::Rigs;
use kit::routers::trial::Trial;
use kit::told::{broken, impossible};

/// The lowest rate tried, as a share of the links': below it a router is no
/// router.
const FLOOR: f64 = 0.0005;
/// A rate that passed once by luck is searched on below.
const CONFIRMATIONS: u32 = 1;
/// A procedure of which so many trials in a row are not valid ends.
const SPOILT: u32 = 9;
/// A run that takes so much longer than planned ends.
const LATE: f64 = 1.25;
/// Bursts are searched for so often (RFC 2544, section 26.4: 50).
const BURSTS: u32 = 3;
/// Two bursts so near, as a share of the longest, are one.
const BURST_RESOLUTION: u64 = 1000;

/// Why a case stops.
enum Stop {
    /// Whatever procedures refuse as a goal.
    Goal(GoalError),
    /// So many trials in a row are not valid that more would not be.
    Spoilt(Verdict),
    Bench(BenchError),
}

impl From<BenchError> for Stop {
    fn from(error: BenchError) -> Self {
        Self::Bench(error)
    }
}

impl From<GoalError> for Stop {
    fn from(error: GoalError) -> Self {
        Self::Goal(error)
    }
}

/// What measures.
pub(crate) struct Course<'a, 'b> {
    pub(crate) rigs: &'a mut Rigs<'b>,
    pub(crate) config: &'a Config,
    pub(crate) schedule: &'a Schedule,
    pub(crate) cpus: &'a Cpus,
    pub(crate) sink: &'a mut dyn Sink,
    /// How it would end now.
    pub(crate) end: End,
}

impl Course<'_, '_> {
    /// Measures; `keep` is called after each round, so that nothing is lost
    /// whatever ends the run.
    pub(crate) fn measure(
        &mut self,
        cases: &mut [Case],
        keep: impl Fn(&[Case], &mut dyn Sink),
    ) -> End {
        let (mut random, begin) = (Random::new(self.config.seed), Instant::now());
        let mut longest_s = 0.0_f64;
        for round in 0.. {
            let elapsed_s = begin.elapsed().as_secs_f64();
            if let Some(end) = self.is_over(round, elapsed_s, longest_s) {
                if let Some(end) = end {
                    return end;
                }
                break;
            }
            if let Err(end) = self.round(cases, round, begin, &mut random) {
                return end;
            }
            longest_s = longest_s.max(begin.elapsed().as_secs_f64() - elapsed_s);
            keep(cases, self.sink);
        }
        self.extras(cases, begin)
    }

    /// Whether there is no further round: because enough were measured, or,
    /// with an end, because the host is slow.
    fn is_over(&self, round: usize, elapsed_s: f64, longest_s: f64) -> Option<Option<End>> {
        if let Some(pairs) = self.schedule.pairs {
            let is_late = elapsed_s > self.schedule.seconds * LATE && round > 0;
            return match round >= pairs {
                true => Some(None),
                false => is_late.then_some(Some(End::Late(round))),
            };
        }
        let rest_s = self.schedule.seconds - self.schedule.extras_s - elapsed_s;
        let is_enough = round > 0 && rest_s < longest_s;
        (is_enough || round >= trial::stats::PAIRS_FOR_A_CLAIM).then_some(None)
    }

    fn round(
        &mut self,
        cases: &mut [Case],
        round: usize,
        begin: Instant,
        random: &mut Random,
    ) -> Result<(), End> {
        let mut order: Vec<_> = (0..cases.len()).collect();
        random.shuffle(&mut order);
        for index in order {
            let case = &mut cases[index];
            if case.failure().is_none() {
                let now = format!("round {}: {}", round + 1, case.label());
                self.progress(begin, now);
                let stopped = self.case(case, round);
                self.settle(case, stopped)?;
            }
        }
        Ok(())
    }

    fn progress(&mut self, begin: Instant, now: String) {
        let share = begin.elapsed().as_secs_f64() / self.schedule.seconds;
        self.sink.emit(Event::Progress(share.min(0.99), now));
    }

    /// What a host cannot do, and what breaks, spoils that case alone; the
    /// first that breaks is the run's end once all is measured.
    fn settle(&mut self, case: &mut Case, result: Result<(), Stop>) -> Result<(), End> {
        let error = match result {
            // What was found before stands; the search's own verdict is kept.
            Ok(()) | Err(Stop::Spoilt(_)) => return Ok(()),
            Err(Stop::Bench(BenchError::Interrupted)) => return Err(End::Interrupted),
            Err(Stop::Bench(BenchError::NotSupported { what, remedy })) => {
                case.overload.failure = Some(impossible(&what, &remedy));
                return Ok(());
            }
            Err(Stop::Bench(error)) => error,
            Err(Stop::Goal(error)) => BenchError::Offer(error.to_string()),
        };
        case.overload.failure = Some(broken(&error));
        let so_far = std::mem::replace(&mut self.end, End::Complete);
        self.end = so_far.or_failed(case.label(), error);
        Ok(())
    }

    /// Overload, the rate without loss, the rate with some.
    fn case(&mut self, case: &mut Case, round: usize) -> Result<(), Stop> {
        let offer = self.offer(case);
        let setup = [self.config.setup(case.router, self.cpus)];
        let trial = self.trial(&setup, offer)?;
        case.overload.trials.insert(round, trial);
        let found = self.search(case, 0.0)?;
        case.no_drop.0.insert(round, found);
        if let Some(loss_ratio_max) = self.config.loss_ratio_max {
            let found = self.search(case, loss_ratio_max)?;
            case.partial_drop.0.insert(round, found);
        }
        Ok(())
    }

    fn offer(&self, case: &Case) -> Offer {
        Offer {
            duration: self.schedule.slice,
            ..offer(self.config, case.size)
        }
    }

    fn trial(&mut self, setup: &[Setup], offer: Offer) -> Result<Trial, Stop> {
        let sink = &*self.sink;
        let go_on = || !sink.is_interrupted();
        if !go_on() {
            return Err(BenchError::Interrupted.into());
        }
        let act = |rig: &mut dyn Rig| rig.trial(&[offer], &go_on);
        Ok(self.rigs.with(setup, act)?)
    }

    fn search(&mut self, case: &Case, loss_ratio_max: f64) -> Result<Found, Stop> {
        let line_pps = self.config.line_pps(case.size);
        let mut search = Throughput::new(ThroughputGoal {
            floor_pps: line_pps * FLOOR,
            ceiling_pps: line_pps,
            ceiling: Ceiling::Line,
            resolution: self.config.resolution,
            loss_ratio_max,
            confirmations: CONFIRMATIONS,
        })?;
        match self.drive(case, &mut search, Claim::Carried { loss_ratio_max }) {
            Err(Stop::Spoilt(verdict)) => Ok(Found {
                rate_pps: None,
                failed_pps: None,
                outcome: None,
                trials: SPOILT,
                invalid: SPOILT,
                verdict,
            }),
            found => found,
        }
    }

    /// Runs a procedure to its end on a case's router.
    fn drive<P: Procedure>(
        &mut self,
        case: &Case,
        procedure: &mut P,
        claim: Claim,
    ) -> Result<P::Found, Stop> {
        let (base, ways) = (self.offer(case), self.config.ways());
        let setup = [self.config.setup(case.router, self.cpus)];
        let mut invalid = 0;
        drive(procedure, |request| {
            let trial = self.trial(&setup, asked(base, request, ways))?;
            let outcome = outcome(&trial.routers[0], claim);
            invalid = if outcome.verdict.is_valid() {
                0
            } else {
                invalid + 1
            };
            if invalid < SPOILT {
                Ok(outcome)
            } else {
                Err(Stop::Spoilt(outcome.verdict))
            }
        })
    }

    fn extras(&mut self, cases: &mut [Case], begin: Instant) -> End {
        for case in cases.iter_mut().filter(|case| case.failure().is_none()) {
            for &extra in &self.config.extras {
                let elapsed_s = begin.elapsed().as_secs_f64();
                if elapsed_s > self.schedule.seconds * LATE {
                    return End::Late(case.no_drop.0.len());
                }
                self.progress(begin, format!("{extra}: {}", case.label()));
                let stopped = self.extra(case, extra);
                if let Err(end) = self.settle(case, stopped) {
                    return end;
                }
                if case.failure().is_some() {
                    break;
                }
            }
        }
        std::mem::replace(&mut self.end, End::Complete)
    }

    fn extra(&mut self, case: &mut Case, extra: Extra) -> Result<(), Stop> {
        let line_pps = self.config.line_pps(case.size);
        match extra {
            Extra::Latency => {
                if let Some(throughput_pps) = throughput(case) {
                    let mut latency = Latency::new(throughput_pps)?;
                    case.latency = self.drive(case, &mut latency, Claim::Latency)?;
                }
            }
            Extra::FrameLoss => {
                let mut loss = FrameLoss::new(line_pps)?;
                case.frame_loss = self.drive(case, &mut loss, Claim::Loss)?;
            }
            Extra::BackToBack => {
                let longest = (line_pps * self.schedule.slice.as_secs_f64()) as u64;
                let goal = BurstsGoal {
                    rate_pps: line_pps,
                    frames_max: longest.max(1),
                    resolution_frames: (longest / BURST_RESOLUTION).max(1),
                    repetitions: BURSTS,
                };
                let mut bursts = BackToBack::new(goal)?;
                case.bursts = Some(self.drive(case, &mut bursts, Claim::WITHOUT_LOSS)?);
            }
        }
        Ok(())
    }
}

/// The rate without loss; where there is none, the rate with some.
fn throughput(case: &Case) -> Option<f64> {
    let believed = |searches: &Searches| searches.rate().filter(|_| searches.verdict().is_valid());
    let rates = [believed(&case.no_drop), believed(&case.partial_drop)];
    rates.into_iter().flatten().find(|rate| *rate > 0.0)
}
