//! Controllers: the settings of a policy, from what is observed of it. Each
//! is a pure state machine behind [`Controller`](crate::Controller), so that
//! a simulator, a replay and the engine run the same code.

mod adaptive;
mod dim;
mod fixed;
mod frequency;
mod meter;
mod parameters;
mod registry;
mod speed_monitor_listing;
mod speed_monitor_prose;
mod vic;

pub use adaptive::{Adaptive, Joint, Prices, Seat, optimum_per_s};
pub use dim::Dim;
pub use fixed::Static;
pub use frequency::Frequency;
pub use parameters::{ParameterError, Parameters};
pub use registry::{NAMES, UnknownController, by_name, departure, in_words};
pub use speed_monitor_listing::SpeedMonitorListing;
pub use speed_monitor_prose::SpeedMonitorProse;
pub use vic::Vic;
