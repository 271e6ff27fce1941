//! `router-tcp`: TCP through each path, one way and both, in the form of table 3
//! of source 004.

mod config;
mod results;
mod section;
mod subject;

pub use section::parse;

#[cfg(test)]
mod tests;
