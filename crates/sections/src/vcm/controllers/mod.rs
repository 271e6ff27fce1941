//! The section `vcm-controllers`: the paper's figures 8 to 10. What moderation
//! gains, and which controller finds it, by block size and by key size.
//!
//! A *spot* is a place in the grid (kind, block size, depth, placement). At
//! each the fixed settings of a grid are scouted first, and the fastest is the
//! *oracle*. Then *contenders* (the oracle measured again, no moderation,
//! `armed`, every controller) are measured once a round in shuffled order, so
//! that any two are interleaved pairs: the scouting figure, the best of many
//! noisy ones, is compared with nothing.
//!
//! A controller settles once, before the rounds; then it is kept (`warm`)
//! from one of its trials to the next.

mod charts;
pub(crate) mod comparisons;
pub(crate) mod config;
pub(crate) mod contender;
mod findings;
pub(crate) mod fixed;
mod measure;
mod paper;
mod points;
mod results;
mod schedule;
pub(crate) mod section;
mod spot;
pub(crate) mod tables;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod warm;

pub use section::{VcmControllers, parse};
