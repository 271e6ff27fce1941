//! One trial: what is sent, counted and seen of the host meanwhile.

mod direction;
mod group;
mod host;
mod run;
mod window;

pub use direction::{Counting, Direction, Sender, latency_of, outcome};
pub use host::{
    CpuTime, HostUse, Moment, Placement, cpu_time, receive_softirqs, thread_waited_ns, usage,
    waited_ns,
};
pub use run::{Ran, TrialError, Way, run};
