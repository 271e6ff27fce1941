//! What the numbers mean, in plain words.

use kit::config::choices::Direction;
use kit::guest::{emulated, is_emulated};
use kit::prelude::*;
use kit::series::Told;
use kit::words::{finding, listed};
use trial::{Outcome, Weight};

use super::arm::Arm;
use super::{DiskGuest, Place};

type All<'a> = Results<'a, DiskGuest>;

const NAMED_MAX: usize = 8;

/// Ratios that are valid of two arms, the least first.
fn of<'r>(results: &'r All<'_>, arm: Arm, reference: Arm) -> Vec<&'r Told<Place, Arm>> {
    results.told_by(|told| {
        let ((place, own), (other, over)) = (told.pair.arm, told.pair.reference);
        told.ratio.is_believed && place == other && (own, over) == (arm, reference)
    })
}

/// `xts read 4.20× (4.10 to 4.30)`.
fn words(told: &&Told<Place, Arm>) -> String {
    let Place { mode, direction } = told.pair.arm.0;
    let mode = mode.map_or("", crypto::SectorMode::name);
    format!("{mode} {direction} {}", told.ratio.words())
}

/// What showing AES-NI gains in the first mode, each way.
pub(super) fn answer(results: &All<'_>) -> Option<Answer> {
    let first = results.experiment.0.modes.values().next();
    let mut gains = of(results, Arm::Shown, Arm::Hidden);
    gains.retain(|told| told.pair.arm.0.mode == first);
    let own: Vec<_> = gains.iter().map(words).collect();
    let text = format!(
        "A guest's encrypted disk has with AES-NI shown, of its speed with AES-NI hidden: {} ({}).",
        own.join(", "),
        results.about.words()
    );
    let remedy = match is_emulated(&results.about) {
        true => {
            "Run where a guest boots with KVM for what silicon gains; lockgate run disk-modes has it without a guest."
        }
        false => "Show guests that encrypt AES-NI: a CPU model with aes.",
    };
    (!own.is_empty()).then(|| Answer::new(text, remedy))
}

pub(super) fn findings(results: &All<'_>) -> Vec<Finding> {
    let ways = Direction::ALL.into_iter();
    let gains = ways.filter_map(|direction| gains(results, direction));
    let emulated = emulated(&results.about);
    gains.chain(flags(results)).chain(emulated).collect()
}

/// From the mode that gains least to the one that gains most; the source's beside it
/// only where the guests' CPU is silicon.
fn gains(results: &All<'_>, direction: Direction) -> Option<Finding> {
    let mut own = of(results, Arm::Shown, Arm::Hidden);
    own.retain(|told| told.pair.arm.0.direction == direction);
    let (what, published) = match direction {
        Direction::Write => ("Writes", "1.16 to 1.50"),
        Direction::Read => ("Reads", "1.40 to 1.91"),
    };
    let source = match is_emulated(&results.about) {
        true => String::new(),
        false => format!(" The book chapter has {published}×."),
    };
    let text = format!(
        "{what} gain by AES-NI shown: {} to {} ({}).{source}",
        words(own.first()?),
        words(own.last()?),
        results.about.words()
    );
    Some(finding(Weight::Note, text, ""))
}

/// What flags gain or lose.
fn flags(results: &All<'_>) -> Option<Finding> {
    let all = results.told_by(|told| told.ratio.is_believed && told.pair.arm.1.has_flags());
    let differ = all
        .iter()
        .filter(|told| told.ratio.comparison.outcome != Outcome::NoEvidence);
    let said = |told: &&Told<Place, Arm>| format!("{}, {}", told.pair.arm.1, words(told));
    let named: Vec<_> = differ.map(said).collect();
    let said = match named.is_empty() {
        true => "none is faster or slower".to_owned(),
        false => listed(&named, NAMED_MAX),
    };
    let text = format!(
        "Of {} ratios of dm-crypt's work-queue flags over none ({}): {said}.",
        all.len(),
        results.about.words()
    );
    (!all.is_empty()).then(|| finding(Weight::Note, text, ""))
}
