//! From what was measured to what the model makes of it.

use model::cause::{Case, CaseError, Diagnosis, Effect, Experiments, Point, diagnose};
use trial::stats::{Arms, Interval, PairsError, StatsError, compare, median, median_interval};
use trial::{Comparison, Direction};

use crate::vcm::cause::examine::{Fall, Series};
use crate::vcm::cause::experiment::Experiment;
use crate::vcm::cause::points::Conditions;
use crate::vcm::cause::results::Examined;
use crate::vcm::cause::setting::Reading;
use kit::place::Placement;
use kit::ratio::without_evidence;
use kit::words::size;

/// Why a fall has no diagnosis.
#[derive(Debug, thiserror::Error)]
pub(super) enum DiagnosisError {
    #[error("nothing was measured of '{0}'")]
    Missing(&'static str),
    #[error("a speed cannot be")]
    Speed(#[from] StatsError),
    #[error("a ratio cannot be")]
    Ratio(#[from] PairsError),
    #[error("the model refuses the case")]
    Case(#[from] CaseError),
}

/// Nothing changed, for certain: what would have been run is the load itself.
const UNCHANGED: Interval = Interval {
    estimate: 1.0,
    low: 1.0,
    high: 1.0,
    confidence: trial::stats::CONFIDENCE,
};

/// Names what made the speed fall.
pub(super) fn of(fall: &Fall) -> Result<Diagnosis, DiagnosisError> {
    Ok(diagnose(&case(fall)?)?)
}

fn case(fall: &Fall) -> Result<Case, DiagnosisError> {
    let peak = point(fall, Experiment::Peak)?;
    let fallen = point(fall, Experiment::Plain)?;
    let ratio = |experiment| ratio(fall, experiment);
    let effect = |at_fallen, at_peak| {
        Ok::<_, DiagnosisError>(match (ratio(at_fallen)?, ratio(at_peak)?) {
            (Some(ratio), Some(at_peak)) => Some(Effect::of(ratio).with_peak(at_peak)),
            (at_fallen, _) => at_fallen.map(Effect::of),
        })
    };
    // With no more bytes in flight than at the peak, it is such a run already.
    let is_small = fall.fallen.in_flight_bytes() <= fall.peak.in_flight_bytes();
    let experiments = Experiments {
        polled: effect(Experiment::Polled, Experiment::PolledPeak)?,
        small_footprint: ratio(Experiment::Footprint)?.or(is_small.then_some(UNCHANGED)),
        deeper: ratio(Experiment::Deeper)?,
        other_placement: effect(Experiment::Moved, Experiment::MovedPeak)?,
        split: ratio(Experiment::Split)?,
        generator_only: effect(Experiment::Generator, Experiment::GeneratorPeak)?,
    };
    let pairs = pairs(fall, Experiment::Plain, Experiment::Peak);
    Ok(Case {
        fall: pairs.map(interval).transpose()?.flatten(),
        experiments,
        ..Case::new(peak, fallen, fall.fallen.placement == Placement::Shared)
    })
}

fn point(fall: &Fall, experiment: Experiment) -> Result<Point, DiagnosisError> {
    let missing = DiagnosisError::Missing(experiment.name());
    let series = fall.series(experiment).ok_or(missing)?;
    let values = |value: fn(&Reading) -> f64| series.values(value);
    let middle = |value| median(&values(value)).unwrap_or(0.0);
    let speed_mb_per_s = median_interval(&values(|one| one.mb_per_s))?;
    let requests_per_s = speed_mb_per_s.estimate * 1e6 / series.setting.block_bytes as f64;
    Ok(Point {
        block_bytes: series.setting.block_bytes as f64,
        speed_mb_per_s,
        depth: series.setting.depth as f64,
        in_flight: middle(|one| one.in_flight),
        worker_share: middle(|one| one.worker_cpus),
        client_share: middle(|one| one.client_cpus),
        notifications_per_s: middle(|one| one.notifications) * requests_per_s,
    })
}

/// Speeds of both in the rounds that have both; none where one was not run.
fn pairs(fall: &Fall, above: Experiment, below: Experiment) -> Option<Vec<(f64, f64)>> {
    let speeds = |experiment| Some(fall.series(experiment)?.values(|one| one.mb_per_s));
    Some(speeds(above)?.into_iter().zip(speeds(below)?).collect())
}

fn ratio(fall: &Fall, experiment: Experiment) -> Result<Option<Interval>, DiagnosisError> {
    match pairs(fall, experiment, experiment.reference()) {
        Some(pairs) => interval(pairs),
        None => Ok(None),
    }
}

fn interval(pairs: Vec<(f64, f64)>) -> Result<Option<Interval>, DiagnosisError> {
    let ratios: Vec<_> = pairs.iter().map(|(above, below)| above / below).collect();
    if ratios.is_empty() {
        return Ok(None);
    }
    Ok(Some(median_interval(&ratios)?))
}

/// The ratios of speeds of a subject, for the record; how fast the client is
/// alone is told with the evidence.
pub(super) fn comparisons(
    examined: &Examined,
    conditions: Conditions,
    command: &str,
) -> Vec<Comparison> {
    let Some(fall) = &examined.examination.fall else {
        return Vec::new();
    };
    let is_quiet = |experiment| {
        fall.series(experiment).is_some_and(|series| {
            conditions.is_quiet(&examined.case, &series.setting, &series.readings)
        })
    };
    let comparison = |series: &Series| {
        let experiment = series.experiment;
        let reference = match experiment {
            // A fall is told as the fallen speed over the peak's.
            Experiment::Peak => return None,
            Experiment::Plain => Experiment::Peak,
            _ if experiment.is_generator() => return None,
            _ => experiment.reference(),
        };
        let name = &examined.examination.name;
        let arms = Arms {
            subject: format!("{name}, {}", size(fall.fallen.block_bytes)),
            arm: experiment.what().to_owned(),
            reference: reference.what().to_owned(),
            metric: "speed_mb_per_s".to_owned(),
            command: command.to_owned(),
        };
        let pairs = pairs(fall, experiment, reference)?;
        let comparison = compare(arms, Direction::Higher, pairs).ok()?;
        Some(if is_quiet(experiment) && is_quiet(reference) {
            comparison
        } else {
            without_evidence(comparison)
        })
    };
    fall.series.iter().filter_map(comparison).collect()
}
