//! TCP through a router, by `iperf3`.

pub mod report;
mod run;

use trial::{Validity, Verdict};

use report::Report;
pub use run::{Filling, TcpError, run};

use crate::tester::trial::Placement;
use crate::tester::validity::{self, Seen, noise};

#[derive(Clone, Debug, PartialEq)]
pub struct TcpResult {
    /// Mbit/s (10^6) received, from port 0 to 1, then, two-way, from 1 to 0.
    pub received_mbit_per_s: Vec<f64>,
    pub retransmits: Vec<u64>,
    /// CPU time of the router, ns.
    pub router_cpu_ns: u64,
    /// Congestion control, e.g. `cubic`.
    pub congestion_control: String,
    pub verdict: Verdict,
}

impl TcpResult {
    /// Combines what `iperf3` reports with what was seen of the host. TCP adapts its
    /// rate, so sharing a CPU between its ends and the router is part of what is
    /// measured, except where all share one: then nothing else is.
    pub fn new(report: Report, router_cpu_ns: u64, seen: &Seen) -> Self {
        let flows = [Some(report.forth), report.back].into_iter().flatten();
        let (rates, again) = flows
            .map(|flow| (flow.received_mbit_per_s, flow.retransmits))
            .unzip();
        let shared = shared(&seen.placement).into_iter();
        let doubts: Vec<_> = shared.chain(noise::of_host(seen)).collect();
        Self {
            received_mbit_per_s: rates,
            retransmits: again,
            router_cpu_ns,
            congestion_control: report.congestion_control,
            verdict: validity::combine(&doubts),
        }
    }
}

fn shared(placement: &Placement) -> Option<Verdict> {
    match placement.cpus().as_slice() {
        [only] => Some(Verdict::new(
            Validity::GeneratorBound,
            format!("both ends of TCP and the router share CPU {only}"),
            "allow two CPUs at least",
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tester::trial::HostUse;
    use crate::tester::validity::OwnCpu;
    use report::Flow;
    use std::time::Duration;

    fn verdict(change: impl FnOnce(&mut Seen)) -> Verdict {
        let mut seen = Seen {
            host: HostUse {
                busy_generator: Duration::from_millis(600),
                busy_behind: Duration::from_millis(900),
                elapsed: Duration::from_secs(1),
                ..HostUse::default()
            },
            placement: Placement {
                generator: vec![0],
                device: vec![1],
                sink: vec![1],
            },
            own_cpu: Some(OwnCpu {
                generators: Duration::from_millis(590),
                behind: Duration::from_millis(880),
            }),
            ..Seen::default()
        };
        change(&mut seen);
        let forth = Flow {
            received_mbit_per_s: 1.0,
            retransmits: 0,
        };
        let report = Report {
            forth,
            back: None,
            congestion_control: String::new(),
            cpu: None,
        };
        TcpResult::new(report, 0, &seen).verdict
    }

    #[test]
    fn a_quiet_host_is_believed_and_a_disturbed_one_is_not() {
        assert!(verdict(|_| ()).is_valid());
        let stolen = verdict(|seen| seen.host.steal = Duration::from_millis(50));
        assert_eq!(stolen.validity, Validity::Noisy);
        assert!(stolen.reason.contains("2.5%"), "{stolen:?}");
        let loaded = verdict(|seen| seen.host.busy_behind += Duration::from_millis(60));
        assert_eq!(loaded.validity, Validity::Noisy);
        assert!(loaded.reason.contains("8% of one CPU"), "{loaded:?}");
        let alone = verdict(|seen| seen.placement.generator = vec![1]);
        assert_eq!(alone.validity, Validity::GeneratorBound);
    }

    #[test]
    fn what_is_not_known_is_not_judged() {
        let verdict = verdict(|seen| seen.own_cpu = None);
        assert!(verdict.is_valid(), "{verdict:?}");
    }
}
