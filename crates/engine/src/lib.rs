//! Lanes, sessions and workers: the data plane.
//!
//! A *lane* is one submission ring, one completion ring and one notifier. A
//! client owns one end and a worker thread, pinned to a core, the other. The
//! lane does not know what a request is: a [`Service`] does. [`CryptoEngine`]
//! is the first service.
//!
//! ```text
//!  client thread                                worker thread (pinned)
//!  Lane::submit ──► submission ring ──► inhale up to 128 over all lanes
//!       │ doorbell, only if it sleeps    process: grouped by kind, in batches
//!  Lane::reap ◄──── completion ring ◄── exhale: publish, then notify by policy
//! ```
//!
//! In steady state no side allocates, locks, or calls the system except to
//! notify a sleeper. A full lane is a counted, typed refusal. Nothing waits
//! for ever: every wait has a time limit, and a worker's end, orderly or by
//! panic, completes whatever was in flight.
#![deny(unsafe_code)]

mod client;
mod counters;
mod crypto_lane;
mod function;
mod governor;
mod lane;
mod leaving;
mod local;
mod pool;
mod relief;
mod resident;
mod service;
mod standpoint;
mod tickets;
mod waiting;
mod watch;
mod worker;
mod worker_lane;

pub use client::{Completion, Lane, SubmitError};
pub use counters::{LaneCounters, WorkerCounters};
pub use crypto_lane::{
    Call, CallError, CryptoEngine, CryptoFunction, CryptoLane, CryptoRequest, CryptoService,
    Overrun, REGIONS_MAX, RegionId, SESSIONS_MAX, Session, SessionError, SessionId, Span,
};
pub use function::{
    DrainError, EndError, FUNCTION_LANES_MAX, FUNCTION_LANES_PER_S, FUNCTIONS_MAX, FunctionConfig,
    FunctionCounters, FunctionError, KeyLimit, LANES_MAX, Life, RequestLimit, VirtualFunction,
};
pub use governor::{Governed, Governor};
pub use lane::{Closed, DEPTH_MAX, Hint, LaneConfig, LaneError, Order, PIECE_BYTES_MIN};
pub use local::{LocalLane, Outcome, Port};
pub use pool::{Engine, STAND_INS_MAX, StartError, WorkerConfig};
pub use resident::{EvictError, Intake, Resident, Tenancy};
pub use service::{BATCH_MAX, Batch, Outcomes, Service};
pub use standpoint::{Overseer, STALL, Trouble};
pub use waiting::{Ready, WaitError};
pub use watch::Watch;
