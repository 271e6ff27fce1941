//! One verdict from those of the rounds.

use trial::stats::{quantile, values_outside};
use trial::{Cell as Entry, Validity, Verdict};

use crate::drawing::text;

/// The middle half of the rounds may be so far apart, as a share of the
/// median: beyond, the rounds did not measure the same.
const SPREAD_MAX: f64 = 0.25;

/// Whether the whole is valid: as many rounds may be disturbed as an
/// interval of a median leaves out anyway (one of nine, none of fewer than
/// six), since those cannot move it.
pub fn over_rounds(rounds: &[Verdict]) -> Verdict {
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

/// What is wrong with rounds that are far apart.
pub fn spread(rates: &[f64]) -> Option<Verdict> {
    let at = |share| quantile(rates, share);
    let share = (at(0.75)? - at(0.25)?) / at(0.5)?;
    (share > SPREAD_MAX).then(|| {
        let reason = format!(
            "the middle half of {} rounds spreads over {:.0}% of the median, more than {:.0}%",
            rates.len(),
            share * 100.0,
            SPREAD_MAX * 100.0
        );
        let remedy = "measure on a quiet host, or longer (--budget)";
        Verdict::new(Validity::Noisy, reason, remedy)
    })
}

/// A verdict in a table: the kind. The findings say why.
pub fn judged(verdict: &Verdict) -> Entry {
    text(verdict.validity.name())
}
