//! What a router uses of its CPUs, read while a trial runs.

use std::time::Duration;

use net::napi::NapiThread;

use super::start::Started;
use super::{BenchError, PortKind};
use crate::router::{Cpu, Task};
use crate::tester::trial::thread_waited_ns;
use crate::topology::NetworkError;

pub(super) struct Watched<'a> {
    pub started: &'a mut Started,
    pub ports: PortKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usage {
    pub cpu: Cpu,
    /// Time in which threads that forward or count waited for their CPU, ns;
    /// `None` where it is not known of all.
    pub waited_ns: Option<u64>,
}

impl Usage {
    pub(super) fn since(self, before: Self) -> Self {
        let waited = self.waited_ns.zip(before.waited_ns);
        Self {
            cpu: self.cpu.since(before.cpu),
            waited_ns: waited.map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

/// The same for TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TcpUsage {
    /// CPU time of the router's threads, ns.
    pub router_ns: u64,
    /// Of the kernel's threads that receive for TCP's ends, ns.
    pub ends_ns: u64,
}

impl TcpUsage {
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            router_ns: self.router_ns.saturating_sub(before.router_ns),
            ends_ns: self.ends_ns.saturating_sub(before.ends_ns),
        }
    }

    pub(super) fn kernel(self) -> Duration {
        Duration::from_nanos(self.router_ns + self.ends_ns)
    }
}

impl Watched<'_> {
    pub(super) fn tcp_usage(&mut self) -> Result<TcpUsage, BenchError> {
        let ends = self.started.topology.sink_threads();
        let ends_ns: Result<u64, _> = ends.map(NapiThread::cpu_ns).sum();
        Ok(TcpUsage {
            router_ns: self.started.router.cpu()?.total_ns(),
            ends_ns: ends_ns.map_err(NetworkError::from)?,
        })
    }

    pub(super) fn usage(&mut self) -> Result<Usage, BenchError> {
        Ok(Usage {
            cpu: self.started.router.cpu()?,
            waited_ns: self.waited_ns(),
        })
    }

    fn waited_ns(&self) -> Option<u64> {
        if self.ports != PortKind::LiveFrame {
            // A thread of the port's own counts.
            return None;
        }
        let topology = &self.started.topology;
        let kernel = topology.router_threads().chain(topology.sink_threads());
        let own = self
            .started
            .router
            .tasks()
            .into_iter()
            .map(|task| match task {
                Task::Thread(thread) => Some(thread),
                // Which of its threads forward is not known.
                Task::Process(_) => None,
            });
        kernel
            .map(|thread| Some(thread.pid))
            .chain(own)
            .map(|thread| thread_waited_ns(thread?))
            .sum()
    }
}
