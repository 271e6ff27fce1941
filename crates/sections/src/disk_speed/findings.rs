//! What the numbers mean, in plain words.

use kit::experiment::Results;
use kit::headline::Answer;
use kit::load::benches::SPEED;
use kit::targets::{Targets, slower};
use kit::words::{size, speed};
use trial::Finding;

use super::{Arm, DiskSpeed, Place};

type Measured<'a, 'b> = &'b Results<'a, DiskSpeed>;

/// Places named in one finding; the table has all.
const NAMED_MAX: usize = 8;

/// What runs give at the first place where they are valid, and what else does there.
pub(super) fn answer(results: Measured<'_, '_>) -> Option<Answer> {
    let of = |place: &Place, arm| results.valid_median(place, &arm, SPEED);
    let places = results.measured().map(|(subject, _)| subject.place);
    let rivals = |place: &Place| Arm::REFERENCES.map(|arm| Some((arm, of(place, arm)?)));
    let mut valid = places.filter(|place| of(place, Arm::Run).is_some());
    let place = valid.find(|place| rivals(place).iter().any(Option::is_some))?;
    let rivals = rivals(&place).into_iter().flatten();
    let said: Vec<_> = rivals
        .map(|(arm, mb_per_s)| format!("{} {}", arm.label(), speed(mb_per_s)))
        .collect();
    let text = format!(
        "One core {}s {} with {} bits in runs of {} sectors at {}, beside {}.",
        place.direction,
        place.spec,
        place.key_bits,
        size(place.sector_bytes),
        speed(of(&place, Arm::Run)?),
        said.join(", ")
    );
    let remedy =
        "Give whole runs of sectors to one call, so that every lane of the AES unit is full."
            .to_owned();
    Some(Answer { text, remedy })
}

/// Where a library is faster in bulk; targets that are missed or undecided.
pub(super) fn findings(results: Measured<'_, '_>) -> Vec<Finding> {
    let what = "A library is faster than runs";
    let lost = slower(results, what, NAMED_MAX, |told| {
        told.pair.reference.1 != Arm::Ceiling
    });
    let targets = Targets::of(results).finding("");
    lost.into_iter().chain(targets).collect()
}
