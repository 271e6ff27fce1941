//! At which numbers of rounds widths are looked at, and how much of the error
//! each look may spend.
//!
//! Whoever looks after every round and stops where an interval is narrow, stops
//! more often where chance made it narrow beside the truth: 8 to 10% of such
//! intervals missed at 5%. Here looks are few and fixed beforehand, and the
//! errors of all looks and of the end add up to [`ERROR`] (Bonferroni): that
//! holds whatever the widths have to do with the ratios.

use super::{ERROR, PAIRS_FOR_A_CLAIM};

/// The error of each look: nine pairs, all of them kept, miss in 0.4%.
const LOOK_ERROR: f64 = 0.005;
const GROWTH: f64 = 1.5;
/// Maximum number of looks: they leave two fifths of the error to the end.
const LOOKS_MAX: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks;

impl Looks {
    /// Rounds after which there is a look: 9, 14, 21, 32, 48, 72.
    pub fn all() -> impl Iterator<Item = usize> {
        let next = |rounds: &usize| Some((*rounds as f64 * GROWTH).ceil() as usize);
        std::iter::successors(Some(PAIRS_FOR_A_CLAIM), next).take(LOOKS_MAX)
    }

    pub fn is_at(rounds: usize) -> bool {
        Self::all().any(|look| look == rounds)
    }

    /// How often an interval may miss that ends the measurement by being narrow.
    pub fn of_a_look() -> f64 {
        LOOK_ERROR
    }

    /// How often an interval may miss where something else ended the measurement
    /// after this many rounds: what the looks before left.
    pub fn of_the_end(rounds: usize) -> f64 {
        let before = Self::all().filter(|look| *look < rounds).count();
        ERROR - before as f64 * LOOK_ERROR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_and_end_spend_no_more_than_the_error() {
        let looks: Vec<_> = Looks::all().collect();
        assert_eq!(looks, [9, 14, 21, 32, 48, 72]);
        assert!(Looks::is_at(14) && !Looks::is_at(15));
        assert_eq!(Looks::of_the_end(9), ERROR);
        for rounds in [1, 9, 10, 33, 99, 10_000] {
            let before = looks.iter().filter(|look| **look < rounds).count() as f64;
            let spent = before * Looks::of_a_look() + Looks::of_the_end(rounds);
            assert!((spent - ERROR).abs() < 1e-12 && Looks::of_the_end(rounds) > 0.0);
        }
    }
}
