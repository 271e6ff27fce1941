//! The section `vcm-cause`: why the speed falls with the block size.
//!
//! A *subject* runs loads of several block sizes. Where its speed falls, the
//! load is run in other ways at the fallen size (*experiments*), each paired
//! with the load as it is; from what helps follows the cause.

mod charts;
mod config;
mod diagnosis;
mod examine;
mod experiment;
mod findings;
mod planted;
mod points;
mod real;
mod results;
mod schedule;
mod section;
mod setting;
mod subject;
mod tables;
#[cfg(test)]
mod tests;

pub use section::{VcmCause, parse};
