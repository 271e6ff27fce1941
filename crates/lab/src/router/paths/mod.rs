//! `router-paths`: what each path of this host carries, and what polling,
//! batching and queues bound to cores give (source 004, section 3.4).

mod answer;
mod charts;
mod claims;
mod config;
mod context;
mod findings;
mod grid;
mod points;
mod section;
mod tables;

pub use section::parse;

#[cfg(test)]
mod tests;
