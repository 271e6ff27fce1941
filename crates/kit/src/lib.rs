//! How a section measures.
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "fields and small functions say by their names what a sentence would only repeat"
)]

pub mod closing;
pub mod config;
pub mod drawing;
pub mod host;
pub mod invocation;
pub mod load;
pub mod metric;
pub mod observe;
pub mod place;
pub mod places;
pub mod ratio;
pub mod routers;
pub mod running;
pub mod schedule;
pub mod stopping;
pub mod testing;
pub mod words;

pub use config::ConfigError;
