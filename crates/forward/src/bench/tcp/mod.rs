//! TCP through a router, by `iperf3`.

pub mod report;
mod run;

use trial::Verdict;

pub use run::{TcpError, run};

/// What `iperf3` found.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpResult {
    /// Mbit/s (10^6) received, from port 0 to 1, then, two-way, from 1 to 0.
    pub received_mbit_per_s: Vec<f64>,
    /// TCP segments sent again, in the same order.
    pub retransmits: Vec<u64>,
    /// CPU time of the router, ns.
    pub router_cpu_ns: u64,
    /// Congestion control, e.g. `cubic`.
    pub congestion_control: String,
    /// Whether it may be believed.
    pub verdict: Verdict,
}
