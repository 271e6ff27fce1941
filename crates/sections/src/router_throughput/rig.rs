//! Searches and trials on routers.

use std::time::Duration;

use forward::bench::{BenchError, Offer};
use forward::tester::procedure::{
    BackToBack, BurstsGoal, Ceiling, GoalError, Outcome, Procedure as Machine, Request, Throughput,
    ThroughputGoal, drive,
};
use forward::tester::stream::FrameSize;
use forward::tester::validity::Claim;
use forward::topology::Cpus;
use kit::experiment::Rig;
use kit::host::Host;
use kit::load::rig::LatencyCounts;
use kit::routers::metrics::LOSS;
use kit::routers::rig::{Rig as Bench, Routers};
use kit::routers::trial::Trial;
use kit::subject::{Measure, Reading, Stopped, Subject};
use trial::{Histogram, Validity, Verdict};

use super::options::Options;
use super::{
    BUFFER, BURST, Item, Kind, Procedure, RATE, Rfc2544, Router, SHARE, THROUGHPUT, TRIALS,
};

/// The lowest rate tried, as a share of the links': below it a router is no
/// router.
const FLOOR: f64 = 0.0005;
/// A rate that passed once by luck is searched on below.
const CONFIRMATIONS: u32 = 1;
/// A procedure of which this many trials in a row are not valid ends.
const SPOILT: u32 = 5;
/// Bursts are searched for so often (RFC 2544, section 26.4: 50).
const BURSTS: u32 = 3;
/// Two bursts so near, as a share of the longest, are one.
const BURST_RESOLUTION: u64 = 1000;

struct OnRouters {
    options: Options,
    cpus: Cpus,
    routers: Routers,
    /// What searches found last, or why that is not valid.
    found: Vec<((FrameSize, Item), Result<f64, Verdict>)>,
}

/// Searches and trials on those routers.
pub(super) fn on<K: Kind>(
    section: &Rfc2544<K>,
    host: &Host,
    routers: Routers,
) -> Box<dyn Rig<Rfc2544<K>>> {
    Box::new(OnRouters {
        options: section.options().clone(),
        cpus: Cpus::among(&host.cpus),
        routers,
        found: Vec::new(),
    })
}

impl OnRouters {
    /// The rate without loss; where there is none, the rate with some.
    fn throughput(&self, size: FrameSize, router: Router) -> Result<f64, Verdict> {
        let known = |procedure| {
            let wanted = (size, Item { router, procedure });
            let own = self.found.iter().find(|(own, _)| *own == wanted);
            own.map(|(_, rate)| rate.clone())
        };
        let rates = [Procedure::Throughput, Procedure::PartialDrop].map(known);
        let mut passed = rates.iter().flatten().flatten();
        if let Some(rate) = passed.find(|rate| **rate > 0.0) {
            return Ok(*rate);
        }
        let doubt = rates.into_iter().flatten().find_map(Result::err);
        let none = || {
            let remedy = "see what passes at overload; measure longer (--budget)";
            Verdict::new(Validity::TooFewSamples, "no rate passed", remedy)
        };
        let doubt = doubt.unwrap_or_else(none);
        let reason = format!("its throughput is not known: {}", doubt.reason);
        Err(Verdict { reason, ..doubt })
    }
}

impl<K: Kind> Rig<Rfc2544<K>> for OnRouters {
    fn trial(
        &mut self,
        subject: &Subject<FrameSize, Item>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let (size, item) = (subject.place, subject.arm);
        let setup = self.options.setup(item.router, &self.cpus);
        let base = Offer {
            duration: slice.div_f64(subject.weight),
            ..self.options.offer(size)
        };
        let (line_pps, ways) = (self.options.line_pps(size), self.options.ways());
        let (options, known) = (&self.options, self.throughput(size, item.router));
        let rate_pps = |percent: u32, of: f64| of * f64::from(percent) / 100.0;
        let at = match (item.procedure, &known) {
            (Procedure::Latency(_), Err(doubt)) => return Err(Stopped::Doubted(doubt.clone())),
            (Procedure::Latency(percent), Ok(of)) => rate_pps(percent, *of),
            (Procedure::FrameLoss(percent), _) => rate_pps(percent, line_pps),
            _ => line_pps,
        };
        let loss_ratio_max = match item.procedure {
            Procedure::PartialDrop => options.loss_percent.get() / 100.0,
            _ => 0.0,
        };
        let resolution = options.resolution_percent.get() / 100.0;
        let reading = self.routers.with(&[setup], go_on, |rig| {
            let mut tester = Tester {
                rig,
                base,
                ways,
                go_on,
            };
            match item.procedure {
                Procedure::Overload => Ok(Reading::from(&tester.rig.trial(&[base], go_on)?)),
                Procedure::Throughput | Procedure::PartialDrop => {
                    let goal = ThroughputGoal {
                        floor_pps: line_pps * FLOOR,
                        ceiling_pps: line_pps,
                        ceiling: Ceiling::Line,
                        resolution,
                        loss_ratio_max,
                        confirmations: CONFIRMATIONS,
                    };
                    tester.search(goal)
                }
                Procedure::Latency(_) => tester.at(at, Claim::Latency),
                Procedure::FrameLoss(_) => tester.at(at, Claim::Loss),
                Procedure::BackToBack => tester.bursts(line_pps, known.ok()),
            }
        })?;
        if let Procedure::Throughput | Procedure::PartialDrop = item.procedure {
            let rate = reading.value(THROUGHPUT).unwrap_or(0.0);
            let rate = match reading.verdict.is_valid() {
                true => Ok(rate),
                false => Err(reading.verdict.clone()),
            };
            self.found.retain(|(own, _)| *own != (size, item));
            self.found.push(((size, item), rate));
        }
        Ok(reading)
    }
}

/// A router under frames of one size.
struct Tester<'a> {
    rig: &'a mut dyn Bench,
    base: Offer,
    /// Ports that send.
    ways: f64,
    go_on: &'a dyn Fn() -> bool,
}

/// Why a procedure stopped.
enum Ended {
    /// So many trials in a row are not valid that more would not be.
    Spoilt(Verdict),
    Bench(BenchError),
}

fn goal(error: GoalError) -> BenchError {
    BenchError::Offer(error.to_string())
}

impl Tester<'_> {
    fn trial(&mut self, request: Request, claim: Claim) -> Result<Outcome, BenchError> {
        let frames = |frames: u64| (frames as f64 / self.ways).ceil() as u64;
        let offer = Offer {
            rate_pps: Some(request.rate_pps / self.ways),
            frames_max: request.frames.map(frames),
            ..self.base
        };
        let Trial { routers } = self.rig.trial(&[offer], self.go_on)?;
        let result = &routers[0];
        let mut latency = Histogram::new();
        let ways = result.directions.iter();
        ways.for_each(|way| latency.merge(&way.received.latency));
        Ok(Outcome {
            offered: result.offered(),
            lost: result.lost(),
            latency,
            verdict: result.verdict_for(claim),
        })
    }

    /// Runs a procedure to its end, or until it is spoilt.
    fn drive<P: Machine>(
        &mut self,
        procedure: &mut P,
        claim: Claim,
    ) -> Result<Result<P::Found, Verdict>, BenchError> {
        let mut invalid = 0;
        let found = drive(procedure, |request| {
            let outcome = self.trial(request, claim).map_err(Ended::Bench)?;
            invalid = match outcome.verdict.is_valid() {
                true => 0,
                false => invalid + 1,
            };
            match invalid < SPOILT {
                true => Ok(outcome),
                false => Err(Ended::Spoilt(outcome.verdict)),
            }
        });
        match found {
            Ok(found) => Ok(Ok(found)),
            Err(Ended::Spoilt(verdict)) => Ok(Err(verdict)),
            Err(Ended::Bench(error)) => Err(error),
        }
    }

    fn search(&mut self, wanted: ThroughputGoal) -> Result<Reading, BenchError> {
        let mut search = Throughput::new(wanted).map_err(goal)?;
        let loss_ratio_max = wanted.loss_ratio_max;
        let found = self.drive(&mut search, Claim::Carried { loss_ratio_max })?;
        let (rate, trials, verdict) = match found {
            Ok(found) => (found.rate_pps, found.trials, found.verdict),
            Err(verdict) => (None, SPOILT, verdict),
        };
        // That no rate passed is a result, if it is valid.
        let rate = rate.or(verdict.is_valid().then_some(0.0));
        let of_rate = |rate: f64| {
            [
                (THROUGHPUT, rate),
                (SHARE, rate / wanted.ceiling_pps * 100.0),
            ]
        };
        let values = rate.into_iter().flat_map(of_rate);
        let values = values.chain([(TRIALS, trials.into())]);
        Ok(judged(values.collect(), verdict))
    }

    fn at(&mut self, rate_pps: f64, claim: Claim) -> Result<Reading, BenchError> {
        let request = Request {
            rate_pps,
            frames: None,
        };
        let outcome = self.trial(request, claim)?;
        let values = vec![(RATE, rate_pps), (LOSS, outcome.loss_ratio() * 100.0)];
        let latency = match claim {
            Claim::Latency => LatencyCounts::from(&outcome.latency),
            _ => LatencyCounts::default(),
        };
        Ok(Reading {
            latency,
            ..judged(values, outcome.verdict)
        })
    }

    fn bursts(&mut self, rate_pps: f64, known_pps: Option<f64>) -> Result<Reading, BenchError> {
        let longest = (rate_pps * self.base.duration.as_secs_f64()) as u64;
        let wanted = BurstsGoal {
            rate_pps,
            frames_max: longest.max(1),
            resolution_frames: (longest / BURST_RESOLUTION).max(1),
            repetitions: BURSTS,
        };
        let mut search = BackToBack::new(wanted).map_err(goal)?;
        let found = match self.drive(&mut search, Claim::WITHOUT_LOSS)? {
            Ok(found) => found,
            Err(verdict) => return Ok(judged(Vec::new(), verdict)),
        };
        let buffer_s = known_pps.and_then(|rate| found.buffer_s(rate));
        let known = [
            (BURST, found.mean_frames()),
            (BUFFER, buffer_s.map(|seconds| seconds * 1e6)),
        ];
        let known = known
            .into_iter()
            .filter_map(|(one, value)| Some((one, value?)));
        Ok(judged(known.collect(), found.verdict))
    }
}

fn judged(values: Vec<(Measure, f64)>, verdict: Verdict) -> Reading {
    Reading {
        verdict,
        ..Reading::new(values)
    }
}
