//! One verdict from those of the rounds.

use trial::stats::values_outside;
use trial::{Validity, Verdict};

/// Whether the whole may be believed: as many rounds may be disturbed as an
/// interval of a median leaves out anyway (one of nine, none of fewer than
/// six), since those cannot move it.
pub(crate) fn over_rounds(rounds: &[Verdict]) -> Verdict {
    let doubts: Vec<_> = rounds.iter().filter(|one| !one.is_valid()).collect();
    let count = rounds.len();
    match doubts.first() {
        _ if count == 0 => Verdict::new(
            Validity::TooFewSamples,
            "no round was measured",
            "measure longer (--budget)",
        ),
        Some(first) if doubts.len() > values_outside(count) => Verdict {
            reason: format!("{} of {count} rounds: {}", doubts.len(), first.reason),
            ..(*first).clone()
        },
        _ => Verdict::valid(),
    }
}
