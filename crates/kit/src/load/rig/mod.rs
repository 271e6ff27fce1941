//! The load generator: tenants on an engine, whose load may change while it runs.
//!
//! ```text
//!  Bench::start   engine, one thread a task, memory written once
//!  Bench::apply   policy, settings, controller of a tenant: new lanes
//!  Bench::run     clients run the course's phases; windows are sampled and
//!                 controllers ticked by the caller's thread, which sleeps
//! ```
//!
//! A bench outlives its trials, so that arms interleaved in one round share
//! threads, memory and placement, and only differ in what is compared. What is
//! compared with other programs has a bench for each trial (`load::once`).

mod bench;
mod board;
mod client;
mod cores;
mod course;
mod dial;
mod error;
mod latency;
mod record;
mod sampler;
mod seat;
mod tenant;
#[cfg(test)]
mod tests;

pub use bench::Bench;
pub use cores::Cores;
pub use course::{Course, Phase};
pub use error::RigError;
pub use latency::LatencyCounts;
pub use record::{Facts, Record, Share, Window};
pub use tenant::{Load, Mode, Regime, Tenant};
