//! Virtual functions: shares of an engine, which is the physical function.
//!
//! A virtual function has lanes, to any of the engine's workers; a weight,
//! by which each worker shares its time among those that have work; a quota;
//! and one cap on its notifications. It is created, drained, reset and
//! removed while its lanes are in use: every request that was accepted
//! completes exactly once.

mod breath;
mod config;
mod handle;
mod lanes;
mod life;
mod roster;
mod shared;
mod watch;

pub use config::{
    FUNCTION_LANES_MAX, FUNCTION_LANES_PER_S, FUNCTIONS_MAX, FunctionConfig, FunctionError,
    KeyLimit, RequestLimit,
};
pub use handle::VirtualFunction;
pub use lanes::LANES_MAX;
pub use life::{DrainError, EndError};
pub use shared::{FunctionCounters, Life};

pub(crate) use breath::Breath;
pub(crate) use config::Numbers;
pub(crate) use lanes::Lanes;
pub(crate) use life::{Ending, Owned};
pub(crate) use roster::{Roster, SHARE_MAX};
pub(crate) use shared::Function;
