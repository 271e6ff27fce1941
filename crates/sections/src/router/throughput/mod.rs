//! RFC 2544 throughput of routers, and what goes with it: what the sections
//! `router-native` and `router-os-level` share.

pub(crate) mod case;
pub(crate) mod charts;
pub(crate) mod config;
pub(crate) mod context;
mod extra;
pub(crate) mod findings;
pub(crate) mod measure;
pub(crate) mod points;
pub(crate) mod schedule;
pub(crate) mod section;
pub(crate) mod tables;

#[cfg(test)]
mod tests;
