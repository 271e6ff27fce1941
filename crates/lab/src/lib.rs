//! Registers the sections, budgets a run, stores it.
//!
//! The way of a run: [`scenario`] turns text into configured sections,
//! [`schedule`] gives each its share of the [`budget`] and its plan,
//! [`runner`] runs them, [`store`] keeps what they yield.
#![forbid(unsafe_code)]

pub mod budget;
mod finite;
pub mod leftovers;
pub mod runner;
pub mod saver;
pub mod scenario;
pub mod schedule;
pub mod store;

#[cfg(test)]
mod testing;
