//! What the ratios mean.

use cpu::Tier;
use kit::config::choices::Direction;
use kit::experiment::Results;
use kit::headline::Answer;
use kit::series::Told;
use kit::words::{finding, listed};
use probe::tier::Choice;
use trial::{Finding, Outcome, Weight};

use super::{CPU_TIME, DiskModes, Place, Storage};

/// What the source calls without AES-NI.
pub(super) const SOFTWARE: Choice = Choice::BEFORE_AESNI;
const NAMED_MAX: usize = 6;

/// Ratios that are valid, over an unencrypted volume or over software.
fn told<'r>(
    results: &'r Results<'_, DiskModes>,
    is_wanted: impl Fn(&Told<Place, Choice>) -> bool,
) -> Vec<&'r Told<Place, Choice>> {
    results.told_by(|told| told.ratio.is_believed && is_wanted(told))
}

/// `xts write 62% (60 to 64)`: what is left of the speed.
fn left(told: &Told<Place, Choice>) -> String {
    let place = told.pair.arm.0;
    let mode = place.mode.map_or("", crypto::SectorMode::name);
    format!("{mode} {} {}", place.direction, told.ratio.words())
}

/// What the first mode costs in memory, each way.
pub(super) fn answer(results: &Results<'_, DiskModes>) -> Option<Answer> {
    let mode = results.experiment.0.modes.values().next();
    let costs = told(results, |told| {
        let ((own, _), (other, _)) = (told.pair.arm, told.pair.reference);
        own.mode == mode && own.storage == Storage::Memory && other.mode.is_none()
    });
    let gains = told(results, |told| {
        let ((own, arm), (_, other)) = (told.pair.arm, told.pair.reference);
        own.mode == mode
            && own.storage == Storage::Memory
            && (arm.tier, other) == (Tier::Aesni, SOFTWARE)
    });
    let said = |all: &[&Told<Place, Choice>]| {
        all.iter()
            .map(|one| left(one))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let costs = (!costs.is_empty()).then(|| {
        format!(
            "An encrypted volume in memory has of the speed of an unencrypted one: {}.",
            said(&costs)
        )
    });
    let gains = (!gains.is_empty()).then(|| {
        format!(
            "AES-NI alone makes it faster than software: {}.",
            said(&gains)
        )
    });
    let text: Vec<_> = costs.into_iter().chain(gains).collect();
    let remedy = "Show guests that encrypt AES-NI, and VAES where there is one; `lockgate cpu price` has the prices.";
    (!text.is_empty()).then(|| Answer::new(text.join(" "), remedy))
}

pub(super) fn findings(results: &Results<'_, DiskModes>) -> Vec<Finding> {
    let source = Direction::ALL
        .into_iter()
        .filter_map(|way| beside_the_source(results, way));
    source.chain(disk_bound(results)).collect()
}

/// The gains of AES-NI with the source's beside them.
fn beside_the_source(results: &Results<'_, DiskModes>, direction: Direction) -> Option<Finding> {
    let gains = told(results, |told| {
        let ((own, arm), (_, other)) = (told.pair.arm, told.pair.reference);
        let is_memory = own.direction == direction && own.storage == Storage::Memory;
        is_memory && own.threads == 1 && (arm.tier, other) == (Tier::Aesni, SOFTWARE)
    });
    let (least, most) = (gains.first()?, gains.last()?);
    let (what, source) = match direction {
        Direction::Write => ("Writes", "1.16 to 1.50"),
        Direction::Read => ("Reads", "1.40 to 1.91"),
    };
    let mode = |told: &Told<Place, Choice>| {
        let mode = told.pair.arm.0.mode;
        mode.map_or("", crypto::SectorMode::name)
    };
    let text = format!(
        "{what} in memory are by AES-NI {:.1}× ({}) to {:.1}× ({}) as fast as in software here. The book chapter has {source}×, through a guest's whole disk path: what it shares with an unencrypted disk hides most of the gain.",
        least.ratio.value(),
        mode(least),
        most.ratio.value(),
        mode(most)
    );
    Some(finding(Weight::Note, text, ""))
}

/// Where a disk is slower than any cipher, only CPU time tells.
fn disk_bound(results: &Results<'_, DiskModes>) -> Option<Finding> {
    let same = told(results, |told| {
        let ((own, _), (other, _)) = (told.pair.arm, told.pair.reference);
        let outcome = told.ratio.comparison.outcome;
        own.storage == Storage::File && other.mode.is_none() && outcome == Outcome::NoEvidence
    });
    let spent = |told: &&Told<Place, Choice>| {
        let (place, arm) = told.pair.arm;
        let (plain, whole) = told.pair.reference;
        let own = results.median(&place, &arm, CPU_TIME)?;
        let other = results.median(&plain, &whole, CPU_TIME)?;
        let mode = place.mode.map_or("", crypto::SectorMode::name);
        Some(format!(
            "{mode} {} {own:.2} s/GB, unencrypted {other:.2}",
            place.direction
        ))
    };
    let spent: Vec<_> = same.iter().filter_map(spent).collect();
    let text = format!(
        "On the disk itself encryption is not told apart from none; it costs CPU time: {}.",
        listed(&spent, NAMED_MAX)
    );
    (!spent.is_empty()).then(|| finding(Weight::Note, text, ""))
}
