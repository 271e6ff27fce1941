//! The procedures of one size after the other. Whom it asks is a [`Tested`]: ports and
//! a device, or arithmetic.

use std::time::Duration;

use forward::external::Ask;
use forward::tester::procedure::{
    BackToBack, Bursts, BurstsGoal, Ceiling, Found, FrameLoss, GoalError, LATENCY_SHARES, Latency,
    LatencyPoint, LossPoint, Outcome, Request, Throughput, ThroughputGoal, drive,
};
use forward::tester::stream::FrameSize;
use forward::tester::validity::Claim;
use trial::RunError;

use super::config::{Config, Test};

/// The lowest rate that is tried, as a share of the highest: below it a device is none.
const FLOOR: f64 = 0.0005;
/// A rate that passed once by luck is searched on below. A calibration vouches for
/// later tests, so that it is surer.
const CONFIRMATIONS: u32 = 1;
const CALIBRATION_CONFIRMATIONS: u32 = 4;
/// Two bursts so near, as a share of the longest, are one.
const BURST_RESOLUTION: u64 = 1000;
/// A flood that finds out what ports can send.
const FLOOD: Duration = Duration::from_millis(200);
/// Of what a flood sent: a generator that keeps to a schedule looks at the clock.
const PACED: f64 = 0.95;

/// Seconds that a trial takes besides what it sends, and trials of a search.
const OVERHEAD_S: f64 = 0.25;
const SEARCH_TRIALS: f64 = 13.0;
const BURST_SEARCH_TRIALS: f64 = 11.0;
const LOSS_TRIALS: f64 = 10.0;
const LATENCY_TRIALS: f64 = LATENCY_SHARES.len() as f64;

pub(super) trait Tested {
    /// One trial: its outcome for the claim, and the rate that was sent, frames/s.
    fn ask(&mut self, ask: &Ask, claim: Claim, words: &str) -> Result<(Outcome, f64), RunError>;
}

/// The highest rate that is tried, and why it is the highest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Top {
    pub pps: f64,
    pub ceiling: Ceiling,
}

/// What was found at one size.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OfSize {
    pub size: FrameSize,
    /// What the links carry, where they have a speed.
    pub line_pps: Option<f64>,
    pub top: Top,
    pub throughput: Option<Found>,
    /// With the loss that is tolerated.
    pub tolerated: Option<Found>,
    pub latency: Vec<LatencyPoint>,
    pub loss: Vec<LossPoint>,
    pub bursts: Option<Bursts>,
}

impl OfSize {
    /// The rate that latencies and buffers refer to.
    pub(super) fn rate_pps(&self) -> Option<f64> {
        let found = |found: &Option<Found>| found.as_ref()?.rate_pps;
        found(&self.throughput).or_else(|| found(&self.tolerated))
    }
}

/// Seconds that all of it takes at most, about.
pub(super) fn seconds(config: &Config) -> f64 {
    let trial_s = config.trial.as_secs_f64() + OVERHEAD_S + config.pause().as_secs_f64();
    let latency_s = config.latency_trial().as_secs_f64() + trial_s - config.trial.as_secs_f64();
    let search_s = SEARCH_TRIALS * trial_s;
    let first_s = if config.needs_rate() { search_s } else { 0.0 };
    let of = |test| match test {
        Test::Throughput => config.loss_ratio.map_or(0.0, |_| search_s),
        Test::Latency => LATENCY_TRIALS * latency_s,
        Test::FrameLoss => LOSS_TRIALS * trial_s,
        Test::BackToBack => {
            // Half of them are long ones.
            let burst_s = config.longest_burst().as_secs_f64() / 2.0 + OVERHEAD_S;
            f64::from(config.bursts())
                * BURST_SEARCH_TRIALS
                * (burst_s + config.pause().as_secs_f64())
        }
    };
    let tests_s: f64 = config.tests.iter().map(|&test| of(test)).sum();
    config.sizes.len() as f64 * (first_s + tests_s)
}

/// One size under all tests. `line_pps` is what the links carry, `own_pps` what the
/// tester is known to carry itself; `told` gets what is known so far, also when it ends
/// early.
pub(super) fn of_size(
    tested: &mut dyn Tested,
    config: &Config,
    (size, line_pps, own_pps): (FrameSize, Option<f64>, Option<f64>),
    found: &mut Option<OfSize>,
) -> Result<(), RunError> {
    let mut size = Size {
        tested,
        config,
        size,
    };
    let top = size.top(line_pps, own_pps)?;
    let figures = found.insert(OfSize {
        size: size.size,
        line_pps,
        top,
        throughput: None,
        tolerated: None,
        latency: Vec::new(),
        loss: Vec::new(),
        bursts: None,
    });
    if config.needs_rate() {
        figures.throughput = Some(size.throughput(top, 0.0)?);
    }
    if config.asks(Test::Throughput)
        && let Some(loss) = config.loss_ratio
    {
        figures.tolerated = Some(size.throughput(top, loss)?);
    }
    if config.asks(Test::Latency)
        && let Some(rate_pps) = figures.rate_pps()
    {
        figures.latency = size.latency(rate_pps)?;
    }
    if config.asks(Test::FrameLoss) {
        figures.loss = size.loss(figures.line_pps.unwrap_or(top.pps))?;
    }
    if config.asks(Test::BackToBack) {
        figures.bursts = Some(size.bursts(figures.line_pps.unwrap_or(top.pps))?);
    }
    Ok(())
}

struct Size<'a> {
    tested: &'a mut dyn Tested,
    config: &'a Config,
    size: FrameSize,
}

fn goal(error: GoalError) -> RunError {
    RunError::Failed {
        context: "no procedure could begin".to_owned(),
        source: Some(Box::new(error)),
    }
}

impl Size<'_> {
    /// What limits: the links, or the tester.
    fn top(&mut self, line_pps: Option<f64>, own_pps: Option<f64>) -> Result<Top, RunError> {
        let line = |pps| Top {
            pps,
            ceiling: Ceiling::Line,
        };
        let generator = |pps| Top {
            pps,
            ceiling: Ceiling::Generator,
        };
        Ok(match (line_pps, own_pps) {
            // To the resolution of the search that found it.
            (Some(most), Some(own)) if own < most * (1.0 - self.config.resolution) => {
                generator(own)
            }
            (Some(most), _) => line(most),
            (None, Some(own)) => generator(own),
            (None, None) => {
                let ask = Ask {
                    size: self.size,
                    rate_pps: None,
                    duration: FLOOD,
                    frames: None,
                };
                let words = format!("{}: what the ports can send", named(self.size));
                let (_, offered_pps) = self.tested.ask(&ask, Claim::Rate, &words)?;
                generator((offered_pps * PACED).max(1.0))
            }
        })
    }

    fn trial(
        &mut self,
        request: Request,
        (claim, what): (Claim, &str),
        duration: Duration,
    ) -> Result<Outcome, RunError> {
        let ask = Ask {
            size: self.size,
            rate_pps: Some(request.rate_pps),
            duration,
            frames: request.frames,
        };
        let at = match request.frames {
            Some(frames) => format!("{frames} frames"),
            None => format!("{:.0} frames/s", request.rate_pps),
        };
        let words = format!("{}, {what}: {at}", named(self.size));
        let (outcome, _) = self.tested.ask(&ask, claim, &words)?;
        Ok(outcome)
    }

    fn throughput(&mut self, top: Top, loss_ratio_max: f64) -> Result<Found, RunError> {
        let mut search = Throughput::new(ThroughputGoal {
            floor_pps: top.pps * FLOOR,
            ceiling_pps: top.pps,
            ceiling: top.ceiling,
            resolution: self.config.resolution,
            loss_ratio_max,
            confirmations: match self.config.calibrates {
                true => CALIBRATION_CONFIRMATIONS,
                false => CONFIRMATIONS,
            },
        })
        .map_err(goal)?;
        let what = if loss_ratio_max > 0.0 {
            "throughput with a loss"
        } else {
            "throughput"
        };
        let claim = (Claim::Carried { loss_ratio_max }, what);
        let duration = self.config.trial;
        drive(&mut search, |request| self.trial(request, claim, duration))
    }

    fn latency(&mut self, rate_pps: f64) -> Result<Vec<LatencyPoint>, RunError> {
        let mut points = Latency::new(rate_pps).map_err(goal)?;
        let duration = self.config.latency_trial();
        let claim = (Claim::Latency, "latency");
        drive(&mut points, |request| self.trial(request, claim, duration))
    }

    fn loss(&mut self, most_pps: f64) -> Result<Vec<LossPoint>, RunError> {
        let mut points = FrameLoss::new(most_pps).map_err(goal)?;
        let duration = self.config.trial;
        let claim = (Claim::Loss, "loss");
        drive(&mut points, |request| self.trial(request, claim, duration))
    }

    fn bursts(&mut self, rate_pps: f64) -> Result<Bursts, RunError> {
        let longest = (rate_pps * self.config.longest_burst().as_secs_f64()) as u64;
        let mut search = BackToBack::new(BurstsGoal {
            rate_pps,
            frames_max: longest.max(1),
            resolution_frames: (longest / BURST_RESOLUTION).max(1),
            repetitions: self.config.bursts(),
        })
        .map_err(goal)?;
        // The last frame leaves when it is due: sending takes no longer.
        let duration = self.config.longest_burst() * 2;
        let claim = (Claim::WITHOUT_LOSS, "bursts");
        drive(&mut search, |request| self.trial(request, claim, duration))
    }
}

pub(super) fn named(size: FrameSize) -> String {
    match size {
        FrameSize::Fixed(bytes) => format!("{bytes} bytes"),
        FrameSize::Imix => "IMIX".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use forward::topology::Cpus;
    use trial::{Histogram, Verdict};

    use super::*;

    /// Carries so much, and holds so many frames besides.
    struct Known {
        capacity_pps: f64,
        queue_frames: f64,
        asked: u32,
    }

    impl Tested for Known {
        fn ask(&mut self, ask: &Ask, _: Claim, _: &str) -> Result<(Outcome, f64), RunError> {
            self.asked += 1;
            let rate_pps = ask.rate_pps.unwrap_or(2e6);
            let offered = ask
                .frames
                .map_or(rate_pps * ask.duration.as_secs_f64(), |frames| {
                    frames as f64
                });
            let carried = self.capacity_pps * offered / rate_pps + self.queue_frames;
            let mut latency = Histogram::new();
            latency.record_many(10_000, offered as u64);
            let outcome = Outcome {
                offered: offered as u64,
                lost: (offered - carried).max(0.0) as u64,
                latency,
                verdict: Verdict::valid(),
            };
            Ok((outcome, rate_pps))
        }
    }

    fn config() -> Config {
        let ports = ["eth1", "eth2"].map(str::to_owned);
        Config {
            tests: Test::ALL.to_vec(),
            loss_ratio: Some(0.01),
            ..Config::new(ports, Cpus::among(&[0, 1]))
        }
    }

    fn of(line_pps: Option<f64>, own_pps: Option<f64>) -> (OfSize, u32) {
        let mut known = Known {
            capacity_pps: 500_000.0,
            queue_frames: 0.0,
            asked: 0,
        };
        let mut found = None;
        let asked = (FrameSize::Fixed(64), line_pps, own_pps);
        of_size(&mut known, &config(), asked, &mut found).unwrap();
        (found.unwrap(), known.asked)
    }

    #[test]
    fn all_procedures_find_what_is_there() {
        let (found, _) = of(Some(1e6), None);
        assert_eq!(found.top.ceiling, Ceiling::Line);
        let near = |rate: Option<f64>, truth: f64| {
            let off = rate.unwrap() / truth - 1.0;
            assert!((-0.003..=0.0001).contains(&off), "{off}");
        };
        near(found.throughput.unwrap().rate_pps, 500_000.0);
        near(found.tolerated.unwrap().rate_pps, 500_000.0 / 0.99);
        let shares: Vec<_> = found.latency.iter().map(|point| point.share).collect();
        assert_eq!(shares, [0.1, 0.5, 0.9, 1.0]);
        assert!((found.loss[0].loss_ratio - 0.5).abs() < 1e-6);
        let mean = found.bursts.unwrap().mean_frames().unwrap();
        assert!(mean < 3_000.0, "no queue, no burst: {mean}");
    }

    #[test]
    fn what_the_tester_can_is_the_limit_where_that_is_less() {
        assert_eq!(of(Some(1e6), Some(1e6)).0.top.ceiling, Ceiling::Line);
        let less = of(Some(1e6), Some(4e5)).0;
        assert_eq!((less.top.pps, less.top.ceiling), (4e5, Ceiling::Generator));
        // The device carries all that the tester can vouch for.
        let verdict = less.throughput.unwrap().verdict;
        assert_eq!(verdict.validity, trial::Validity::GeneratorBound);
        let flooded = of(None, None).0;
        assert_eq!(flooded.top.pps, 2e6 * PACED);
    }

    #[test]
    fn an_estimate_is_near_what_it_takes() {
        let config = config();
        let (_, asked) = of(Some(1e6), None);
        let trials = 2.0 * SEARCH_TRIALS
            + LATENCY_TRIALS
            + LOSS_TRIALS
            + f64::from(config.bursts()) * BURST_SEARCH_TRIALS;
        let share = f64::from(asked) / trials;
        assert!((0.7..1.2).contains(&share), "{asked} of {trials}");
    }
}
