//! The section `crypto-speed`: what one core's crypto gives in each load
//! mode, what the naive way of asking costs, and how the peers do.
//!
//! A *cell* is a place in the grid (kind, block size, depth, lanes, workers,
//! placement); an *arm* is a way to do the cell's work (a lane with a mode
//! and a policy, the back-end's own loop, `openssl speed`). Every round
//! measures every arm of every cell once, in shuffled order, so that any two
//! arms of a cell are interleaved pairs.

mod arm;
mod charts;
mod closing;
mod comparisons;
mod config;
mod findings;
mod grid;
mod invocation;
mod measure;
mod observe;
mod peer;
pub mod peers;
mod place;
mod points;
mod pump;
mod results;
mod schedule;
mod section;
mod stopping;
mod tables;
mod trial_run;
mod wakeup;

pub use section::{CryptoSpeed, parse};
