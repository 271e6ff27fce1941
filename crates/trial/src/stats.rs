//! Paired statistics: what two interleaved arms allow one to say.
//!
//! Pure and deterministic: whatever is random takes its seed as an argument.

mod describe;
mod interval;
mod looks;
mod paired;
mod precision;
mod random;

pub use describe::{median, quantile};
pub use interval::{
    CONFIDENCE, ERROR, Interval, RESAMPLES, StatsError, median_interval, ratio_of_medians,
    values_outside,
};
pub use looks::Looks;
pub use paired::{Arms, PAIRS_FOR_A_CLAIM, PAIRS_MIN, PairsError, compare, compare_at, outcome};
pub use precision::{Decision, Precision};
pub use random::Random;
