//! Why a bench or one of its tasks gave nothing.

use std::io;
use std::time::Duration;

use crypto::Status;
use engine::{FunctionError, LaneError, SessionError, StartError};
use sys::affinity::PinError;

/// No wait is longer: a lane that is dead for this long is a failure.
pub const STUCK: Duration = Duration::from_secs(10);

/// Why a task ended.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("it could not be placed")]
    Pin(#[from] PinError),
    #[error("a request ended with {0:?}")]
    Status(Status),
    #[error("the lane took no request or gave no completion for {} s", STUCK.as_secs())]
    Stuck,
}

/// Why a bench gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum RigError {
    #[error("the engine did not start")]
    Start(#[from] StartError),
    #[error("no virtual function")]
    Function(#[from] FunctionError),
    #[error("no lane")]
    Lane(#[from] LaneError),
    #[error("no key")]
    Key(#[from] SessionError),
    #[error("a task got no thread or memory: lower tasks or depths, or raise the limits")]
    Task(#[source] io::Error),
    #[error("a task failed")]
    Client(#[from] ClientError),
    #[error("the tasks were not parked in time: stop other programs, or lower the load")]
    NotParked,
    #[error("a load asks for {what} {value}, the bench was made for {most} at most")]
    Load {
        what: &'static str,
        value: usize,
        most: usize,
    },
    #[error("a phase has {loads} loads for {tenants} tenants")]
    Tenants { loads: usize, tenants: usize },
}
