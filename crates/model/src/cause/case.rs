//! What a diagnosis starts from.

use trial::Comparison;
use trial::stats::Interval;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub block_bytes: f64,
    pub speed_mb_per_s: Interval,
    pub depth: f64,
    pub in_flight: f64,
    pub worker_share: f64,
    /// CPU time of the clients over time: preparing, submitting, being
    /// notified, reaping.
    pub client_share: f64,
    pub notifications_per_s: f64,
}

/// What an experiment changes at the fallen size, and at the peak's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Speed at the fallen size, changed over unchanged (1: no change).
    pub ratio: Interval,
    /// The same at the peak. A change that helps both alike explains no fall, so
    /// without it less can be said.
    pub at_peak: Option<Interval>,
}

/// Experiments besides the two points. Ratios are speeds in bytes/s over the fallen
/// point's (or the peak's), arms interleaved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Experiments {
    /// No notifications: both sides poll. Where that would take the core from the
    /// worker, as few notifications as the depth allows.
    pub polled: Option<Effect>,
    /// The fallen size at the depth that gives the peak's depth × block.
    pub small_footprint: Option<Interval>,
    pub deeper: Option<Interval>,
    pub other_placement: Option<Effect>,
    /// The same bytes as requests of the peak's size, as many *bytes* in
    /// flight as at the fallen point (so that it changes no working set).
    pub split: Option<Interval>,
    /// The generator alone, its requests completed unseen: its rate in bytes/s over
    /// the speed of the fallen point (over that of the peak).
    pub generator_only: Option<Effect>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    pub peak: Point,
    pub fallen: Point,
    /// Fallen over peak speed from interleaved pairs; where it is `None`, the points'
    /// own speeds are used.
    pub fall: Option<Interval>,
    pub is_shared: bool,
    pub experiments: Experiments,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CaseError {
    #[error("{what} is {value}: must be {limit}; leave out what was not measured")]
    Value {
        what: &'static str,
        value: f64,
        limit: &'static str,
    },
    #[error("{what} is {estimate} between {low} and {high}: bounds must enclose it")]
    Bounds {
        what: &'static str,
        low: f64,
        estimate: f64,
        high: f64,
    },
    #[error(
        "the fallen block of {fallen_bytes} bytes is not larger than the peak's {peak_bytes}: a fall with size goes from a smaller to a larger one"
    )]
    Order { peak_bytes: f64, fallen_bytes: f64 },
}

/// The ratio of a comparison, changed over unchanged, as experiments and falls
/// take it.
pub fn measured(comparison: &Comparison) -> Interval {
    Interval {
        estimate: comparison.ratio,
        low: comparison.low,
        high: comparison.high,
        confidence: comparison.confidence,
    }
}

impl Effect {
    pub fn of(ratio: Interval) -> Self {
        Self {
            ratio,
            at_peak: None,
        }
    }

    #[must_use]
    pub fn with_peak(self, at_peak: Interval) -> Self {
        Self {
            at_peak: Some(at_peak),
            ..self
        }
    }
}

impl Point {
    /// Bytes in flight when the lane is full.
    pub fn footprint_bytes(&self) -> f64 {
        self.depth * self.block_bytes
    }

    fn check(&self) -> Result<(), CaseError> {
        let least = |what, value: f64, least: f64, limit| {
            if value.is_finite() && value >= least {
                Ok(())
            } else {
                Err(CaseError::Value { what, value, limit })
            }
        };
        least(
            "a block size",
            self.block_bytes,
            1.0,
            "finite and at least 1",
        )?;
        least("a depth", self.depth, 1.0, "finite and at least 1")?;
        for (what, value) in [
            ("a mean in flight", self.in_flight),
            ("a worker's busy share", self.worker_share),
            ("a client's busy share", self.client_share),
            ("a rate of notifications", self.notifications_per_s),
        ] {
            least(what, value, 0.0, "finite and at least 0")?;
        }
        check_interval("a speed", &self.speed_mb_per_s)
    }
}

impl Case {
    pub fn new(peak: Point, fallen: Point, is_shared: bool) -> Self {
        Self {
            peak,
            fallen,
            fall: None,
            is_shared,
            experiments: Experiments::default(),
        }
    }

    pub fn fall_ratio(&self) -> Interval {
        self.fall
            .unwrap_or_else(|| quotient(&self.fallen.speed_mb_per_s, &self.peak.speed_mb_per_s))
    }

    pub(super) fn check(&self) -> Result<(), CaseError> {
        self.peak.check()?;
        self.fallen.check()?;
        if self.fallen.block_bytes <= self.peak.block_bytes {
            return Err(CaseError::Order {
                peak_bytes: self.peak.block_bytes,
                fallen_bytes: self.fallen.block_bytes,
            });
        }
        let tried = &self.experiments;
        let at_peak = |effect: Option<Effect>| effect.and_then(|effect| effect.at_peak);
        let ratio = |effect: Option<Effect>| effect.map(|effect| effect.ratio);
        [
            ("the fall", self.fall),
            ("polled", ratio(tried.polled)),
            ("polled at the peak", at_peak(tried.polled)),
            ("the small footprint", tried.small_footprint),
            ("deeper", tried.deeper),
            ("the other placement", ratio(tried.other_placement)),
            (
                "the other placement at the peak",
                at_peak(tried.other_placement),
            ),
            ("split", tried.split),
            ("the generator alone", ratio(tried.generator_only)),
            (
                "the generator alone at the peak",
                at_peak(tried.generator_only),
            ),
        ]
        .into_iter()
        .filter_map(|(what, interval)| interval.map(|interval| (what, interval)))
        .try_for_each(|(what, interval)| check_interval(what, &interval))
    }
}

pub(super) fn quotient(above: &Interval, below: &Interval) -> Interval {
    let estimate = above.estimate / below.estimate;
    let down = (above.estimate / above.low)
        .ln()
        .hypot((below.high / below.estimate).ln());
    let up = (above.high / above.estimate)
        .ln()
        .hypot((below.estimate / below.low).ln());
    Interval {
        estimate,
        low: estimate * (-down).exp(),
        high: estimate * up.exp(),
        confidence: above.confidence.min(below.confidence),
    }
}

fn check_interval(what: &'static str, interval: &Interval) -> Result<(), CaseError> {
    let Interval {
        estimate,
        low,
        high,
        ..
    } = *interval;
    for value in [estimate, low, high] {
        if !value.is_finite() || value <= 0.0 {
            let limit = "finite and above 0";
            return Err(CaseError::Value { what, value, limit });
        }
    }
    if low <= estimate && estimate <= high {
        Ok(())
    } else {
        Err(CaseError::Bounds {
            what,
            low,
            estimate,
            high,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, estimate: f64, high: f64) -> Interval {
        Interval {
            estimate,
            low,
            high,
            confidence: 0.95,
        }
    }

    fn point(block_bytes: f64) -> Point {
        Point {
            block_bytes,
            speed_mb_per_s: interval(99.0, 100.0, 101.0),
            depth: 8.0,
            in_flight: 7.0,
            worker_share: 0.9,
            client_share: 0.4,
            notifications_per_s: 1e4,
        }
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let good = Case::new(point(1024.0), point(4096.0), false);
        assert_eq!(good.check(), Ok(()));
        let with = |change: fn(&mut Case)| {
            let mut case = good;
            change(&mut case);
            case.check().unwrap_err().to_string()
        };
        assert!(with(|case| case.peak.block_bytes = 4096.0).contains("not larger"));
        assert!(with(|case| case.fallen.depth = 0.0).contains("a depth is 0"));
        assert!(with(|case| case.fallen.in_flight = f64::NAN).contains("mean in flight"));
        assert!(with(|case| case.fall = Some(interval(0.9, 0.8, 1.0))).contains("the fall"));
        let zero = Some(Effect::of(interval(0.0, 1.0, 1.0)));
        let mut case = good;
        case.experiments.polled = zero;
        assert!(
            case.check()
                .unwrap_err()
                .to_string()
                .contains("polled is 0")
        );
        case.experiments.polled =
            Some(Effect::of(interval(1.0, 1.0, 1.0)).with_peak(interval(1.0, f64::INFINITY, 1.0)));
        let text = case.check().unwrap_err().to_string();
        assert!(text.contains("polled at the peak"), "{text}");
    }

    #[test]
    fn widths_of_a_quotient_add_as_those_of_independent_logarithms() {
        let ratio = quotient(
            &interval(90.0, 100.0, 110.0),
            &interval(180.0, 200.0, 220.0),
        );
        assert_eq!(ratio.estimate, 0.5);
        let up = (1.1_f64.ln().powi(2) + (200.0_f64 / 180.0).ln().powi(2)).sqrt();
        assert!((ratio.high - 0.5 * up.exp()).abs() < 1e-12);
        assert!(ratio.low < 0.45 && ratio.low > 0.42, "{ratio:?}");
    }
}
