//! One trial: what is sent, counted and seen of the host meanwhile.

mod direction;
mod host;
mod run;

pub use direction::{Direction, Sender, latency_of, outcome};
pub use host::{CpuTime, cpu_time, receive_softirqs, waited_ns};
pub use run::{Placement, Ran, TrialError, Way, run};
