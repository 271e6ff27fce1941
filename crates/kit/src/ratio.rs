//! One thing measured over another, from their interleaved rounds.

use trial::stats::{Arms, PAIRS_MIN, compare};
use trial::{Comparison, Direction, Outcome, Standing};

/// A ratio, and whether both of its sides are valid.
#[derive(Clone, Debug)]
pub struct Ratio {
    pub comparison: Comparison,
    pub is_believed: bool,
    /// The lower bound that is asked for. The comparison has it as its target
    /// only where both sides are valid.
    pub wanted: Option<f64>,
}

impl Ratio {
    /// Of pairs, more being better; none without a pair. What is not
    /// valid is no evidence.
    pub fn of_pairs(arms: Arms, pairs: Vec<(f64, f64)>, is_believed: bool) -> Option<Self> {
        let comparison = compare(arms, Direction::Higher, pairs).ok()?;
        Some(Self::judged(comparison, is_believed))
    }

    /// A comparison; one that is not valid is no evidence.
    pub fn judged(comparison: Comparison, is_believed: bool) -> Self {
        let comparison = match is_believed {
            true => comparison,
            // An invalid trial is neither a pass nor a loss.
            false => Comparison {
                believed: false,
                outcome: Outcome::NoEvidence,
                target: None,
                ..comparison
            },
        };
        Self {
            comparison,
            is_believed,
            wanted: None,
        }
    }

    pub fn value(&self) -> f64 {
        self.comparison.ratio
    }

    /// As [`words`].
    pub fn words(&self) -> String {
        words(&self.comparison)
    }

    /// The same with what is asked of it.
    pub fn wanting(self, wanted: Option<f64>) -> Self {
        let comparison = match wanted.filter(|_| self.is_believed) {
            Some(at_least) => self.comparison.with_target(at_least),
            None => self.comparison,
        };
        Self {
            comparison,
            wanted,
            ..self
        }
    }

    /// None where nothing is asked of it.
    pub fn standing(&self) -> Option<Standing> {
        let wanted = self.wanted?;
        let is_met = self.comparison.target.is_some_and(|target| target.met);
        Some(match is_met {
            true => Standing::Met,
            false if self.is_evidence() && self.comparison.high < wanted => Standing::NotMet,
            false => Standing::Undecided,
        })
    }

    fn is_evidence(&self) -> bool {
        self.is_believed && self.comparison.pairs.len() >= PAIRS_MIN
    }

    /// Whether it tells the two apart.
    pub fn is_evident(&self) -> bool {
        self.comparison.outcome != Outcome::NoEvidence
    }

    /// Whether it shows that the arm has at least this of the reference.
    pub fn reaches(&self, least: f64) -> bool {
        self.is_evidence() && self.comparison.low >= least
    }

    /// Whether it shows that each has at least this share of the other.
    pub fn is_same(&self, least: f64) -> bool {
        self.reaches(least) && self.comparison.high <= 1.0 / least
    }
}

/// `2.90× (2.70 to 3.10)`; of fewer pairs than are evidence, how many: their
/// least and most say nothing of where others would lie.
pub fn words(comparison: &Comparison) -> String {
    let Comparison {
        ratio, low, high, ..
    } = comparison;
    match comparison.pairs.len() {
        1 => format!("{ratio:.2}× (one pair)"),
        few if few < PAIRS_MIN => format!("{ratio:.2}× ({few} pairs)"),
        _ => format!("{ratio:.2}× ({low:.2} to {high:.2})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(pairs: usize, is_believed: bool) -> Ratio {
        Ratio::of_pairs(Arms::default(), vec![(1.0, 1.0); pairs], is_believed).unwrap()
    }

    #[test]
    fn few_pairs_and_what_is_not_valid_show_nothing() {
        assert!(ratio(6, true).is_same(0.95));
        assert!(!ratio(6, false).is_same(0.95));
        assert!(!ratio(5, true).is_same(0.95));
        assert!(!ratio(1, true).reaches(0.9));
        let standing = |pairs, is_believed, wanted| {
            let ratio = ratio(pairs, is_believed).wanting(Some(wanted));
            ratio.standing().unwrap()
        };
        assert_eq!(standing(9, true, 0.9), Standing::Met);
        assert_eq!(standing(9, true, 1.1), Standing::NotMet);
        assert_eq!(standing(9, false, 0.9), Standing::Undecided);
        assert_eq!(standing(5, true, 1.1), Standing::Undecided);
        let words = |pairs| words(&ratio(pairs, true).comparison);
        assert_eq!(words(1), "1.00× (one pair)");
        assert_eq!(words(4), "1.00× (4 pairs)");
        assert_eq!(words(6), "1.00× (1.00 to 1.00)");
    }
}
