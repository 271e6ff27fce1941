//! Registers the sections, budgets a run, stores it.
//!
//! The way of a run: [`scenario`] turns text into configured sections,
//! [`schedule`] gives each its share of the [`budget`] and its plan,
//! [`runner`] runs them, [`store`] keeps what they yield.
#![forbid(unsafe_code)]

pub mod budget;
pub mod calibration;
mod command;
pub mod config;
mod field_names;
mod files;
mod finite;
pub mod host;
pub mod kspeed;
pub mod leftovers;
pub mod libraries;
pub mod probe;
pub mod registry;
pub mod router;
pub mod runner;
pub mod saver;
pub mod scenario;
pub mod schedule;
pub mod speed;
pub mod store;
pub mod tier;
pub mod vcm;

#[cfg(test)]
mod testing;

pub use config::ConfigError;
pub use files::{check_writable, write_atomically};
