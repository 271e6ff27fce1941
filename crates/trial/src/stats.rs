//! Paired statistics: what two interleaved arms allow one to say.
//!
//! Pure and deterministic: whatever is random takes its seed as an argument.

mod bootstrap;
mod describe;
mod paired;
mod precision;
mod random;

pub use bootstrap::{
    CONFIDENCE, Interval, RESAMPLES, StatsError, median_interval, ratio_of_medians, values_outside,
};
pub use describe::{mean_absolute_deviation, median, quantile};
pub use paired::{Arms, PAIRS_FOR_A_CLAIM, PAIRS_MIN, PairsError, compare, outcome};
pub use precision::{Decision, Precision};
pub use random::Random;
