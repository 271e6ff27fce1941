//! From what was measured to what the model makes of it.

use kit::drawing::{number, text};
use kit::evidence::Usual;
use kit::load::benches::{CLIENT_CPU, SPEED, WORKER_CPU};
use kit::place::Placement;
use kit::prelude::*;
use kit::words::{percent, size};
use model::cause::{Case, Cause, Diagnosis, Effect, Experiments, Point, diagnose, measured};
use trial::stats::{PAIRS_MIN, median_interval};
use trial::{Cell, Table};

use super::arm::Arm;
use super::done::{IN_FLIGHT, NOTIFICATIONS};
use super::place::Place;
use super::{Causes, places};

/// A place where enough was measured to say something.
pub(super) struct Examined {
    pub(super) place: Place,
    pub(super) case: Case,
    pub(super) diagnosis: Diagnosis,
}

pub(super) fn examined(results: &Results<'_, Causes>) -> Vec<Examined> {
    let usual = results.usual();
    let one = |&place: &Place| {
        let case = case(results, &usual, place)?;
        // A case that cannot be explains nothing.
        let diagnosis = diagnose(&case).ok()?;
        Some(Examined {
            place,
            case,
            diagnosis,
        })
    };
    places(results.subjects).iter().filter_map(one).collect()
}

fn case(results: &Results<'_, Causes>, usual: &Usual, place: Place) -> Option<Case> {
    let ratio = |arm: Arm| {
        let pair = Pair::at(place, (arm, arm.reference()?), SPEED);
        let ratio = results.compare(&pair, usual)?;
        let is_evidence = ratio.is_believed && ratio.comparison.pairs.len() >= PAIRS_MIN;
        is_evidence.then(|| measured(&ratio.comparison))
    };
    let effect = |arm, at_peak| {
        let effect = Effect::of(ratio(arm)?);
        Some(ratio(at_peak).map_or(effect, |at_peak| effect.with_peak(at_peak)))
    };
    let is_shared = place.setting(1).placement == Placement::Shared;
    let point = |arm| point(results, place, arm);
    Some(Case {
        fall: Some(ratio(Arm::Plain)?),
        experiments: Experiments {
            polled: effect(Arm::Polled, Arm::PolledPeak),
            small_footprint: ratio(Arm::Footprint),
            deeper: ratio(Arm::Deeper),
            other_placement: effect(Arm::Moved, Arm::MovedPeak),
            split: ratio(Arm::Split),
            generator_only: effect(Arm::Alone, Arm::AlonePeak),
        },
        ..Case::new(point(Arm::Peak)?, point(Arm::Plain)?, is_shared)
    })
}

fn point(results: &Results<'_, Causes>, place: Place, arm: Arm) -> Option<Point> {
    let series = results.series(&place, &arm)?;
    let setting = &series.rounds.values().next_back()?.also;
    let block_bytes = setting.number("block_bytes")?;
    let middle = |measure| series.median(measure).unwrap_or(0.0);
    let speed_mb_per_s = median_interval(&series.values(SPEED)).ok()?;
    let requests_per_s = speed_mb_per_s.estimate * 1e6 / block_bytes;
    Some(Point {
        block_bytes,
        speed_mb_per_s,
        depth: setting.number("depth")?,
        in_flight: middle(IN_FLIGHT),
        worker_share: middle(WORKER_CPU) / 100.0,
        client_share: middle(CLIENT_CPU) / 100.0,
        notifications_per_s: middle(NOTIFICATIONS) * requests_per_s,
    })
}

pub(super) fn tables(results: &Results<'_, Causes>) -> Vec<Table> {
    let all = examined(results);
    let named = results.table(
        "Where the speed falls as blocks grow, and why",
        "From the best size to the slowest one beyond; where the largest is the best, from the best of the others to that. Explains: what the change for that cause restores of the fall.",
        [
            ("load", ""),
            ("best at", ""),
            ("speed", "MB/s"),
            ("slowest beyond", ""),
            ("speed", "MB/s"),
            ("of the best", ""),
            ("cause", ""),
            ("explains", ""),
            ("planted cause", ""),
        ],
        all.iter().map(named).collect(),
    );
    let evidence = results.table(
        "The evidence: what each change says at the fallen size",
        "Ratios are medians of interleaved pairs with their 95% interval, of the changed load's speed to that of the load as it is.",
        [("load", ""), ("evidence", "")],
        all.iter().flat_map(evidence).collect(),
    );
    [named, evidence].into_iter().flatten().collect()
}

fn named(one: &Examined) -> Vec<Cell> {
    let (place, case, diagnosis) = (one.place, &one.case, &one.diagnosis);
    let speed = |point: &Point| number(Some(point.speed_mb_per_s.estimate));
    let at = |point: &Point| text(size(point.block_bytes as usize));
    let words = |cause: Cause| text(cause.to_string());
    vec![
        text(place.name()),
        at(&case.peak),
        speed(&case.peak),
        at(&case.fallen),
        speed(&case.fallen),
        text(percent(case.fall_ratio().estimate)),
        words(diagnosis.cause),
        (diagnosis.share).map_or(Cell::Empty, |share| text(share.words())),
        (place.plant()).map_or(Cell::Empty, |plant| words(plant.cause())),
    ]
}

/// What each change gave and says.
fn evidence(one: &Examined) -> impl Iterator<Item = Vec<Cell>> {
    let evidence = one.diagnosis.evidence.iter();
    evidence.map(|evidence| vec![text(one.place.name()), text(evidence.text.as_str())])
}
