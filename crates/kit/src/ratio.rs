//! Ratios that are told, and not held against anything.

use trial::{Comparison, Outcome};

/// An invalid trial is neither a pass nor a loss.
pub fn without_evidence(comparison: Comparison) -> Comparison {
    Comparison {
        subject: format!("{} (a trial not valid)", comparison.subject),
        outcome: Outcome::NoEvidence,
        target: None,
        ..comparison
    }
}
