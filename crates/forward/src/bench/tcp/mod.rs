//! TCP through a router, by `iperf3`.

pub mod report;
mod run;

use trial::{Validity, Verdict};

use report::Report;
pub use run::{TcpError, run};

use crate::tester::trial::Placement;

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

impl TcpResult {
    /// From what `iperf3` says. TCP fits its rate to what comes through, so
    /// that sharing a CPU between its ends and the router is a part of what is
    /// measured, except where all share one: then nothing else is.
    #[must_use]
    pub fn new(report: Report, router_cpu_ns: u64, placement: &Placement) -> Self {
        let flows = [Some(report.forth), report.back].into_iter().flatten();
        let (rates, again) = flows
            .map(|flow| (flow.received_mbit_per_s, flow.retransmits))
            .unzip();
        Self {
            received_mbit_per_s: rates,
            retransmits: again,
            router_cpu_ns,
            congestion_control: report.congestion_control,
            verdict: verdict(placement),
        }
    }
}

fn verdict(placement: &Placement) -> Verdict {
    match placement.cpus().as_slice() {
        [only] => Verdict::new(
            Validity::GeneratorBound,
            format!("both ends of TCP and the router share CPU {only}"),
            "allow two CPUs at least",
        ),
        _ => Verdict::valid(),
    }
}
