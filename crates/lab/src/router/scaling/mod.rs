//! `router-scaling`: routers side by side, total and each, and one that is
//! overloaded beside others with and without limits (source 004, figures 7
//! and 8).

mod case;
mod config;
mod context;
mod results;
mod section;

pub use section::parse;

#[cfg(test)]
mod tests;
