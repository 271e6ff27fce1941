//! The section `vcm-shifting`: a load that changes. What every controller
//! keeps of each phase's best, and how soon it is there.
//!
//! A controller's run is one continuous run through all phases: its state, its
//! lanes and all threads carry over. What nobody controls is measured phase by
//! phase: each phase's *oracle* (the best of a grid of fixed settings, scouted
//! first), no moderation, and `armed`. Runs and trials of a round are in
//! shuffled order, so that any two are interleaved.

mod charts;
mod comparisons;
mod config;
mod findings;
mod measure;
mod phase;
mod points;
mod recovery;
mod results;
mod schedule;
mod section;
mod tables;
#[cfg(test)]
mod tests;

pub use section::{VcmShifting, parse};
