//! One way to run a load, and what it gave.

use policy::Moderation;

use kit::observe::CpuTimes;
use kit::place::Placement;

/// How a load is run in one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Setting {
    /// Bytes of one request, as the client sends it.
    pub(super) block_bytes: usize,
    /// Requests in flight.
    pub(super) depth: usize,
    /// Whether the client polls instead of being notified.
    pub(super) is_polled: bool,
    /// Where client and worker run.
    pub(super) placement: Placement,
}

impl Setting {
    /// The policy, where `usual` is that of the load.
    pub(super) fn moderation(&self, usual: Moderation) -> Moderation {
        if self.is_polled {
            Moderation::Polled
        } else {
            usual
        }
    }

    /// Bytes that the requests in flight work on.
    pub(super) fn in_flight_bytes(&self) -> usize {
        self.block_bytes * self.depth
    }
}

/// What one trial gave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// Speed, 10^6 bytes a second.
    pub(super) mb_per_s: f64,
    /// Requests completed, as the client sent them.
    pub(super) requests: u64,
    /// Notifications for each request.
    pub(super) notifications: f64,
    /// Cores that the client kept busy.
    pub(super) client_cpus: f64,
    /// Cores that the worker kept busy.
    pub(super) worker_cpus: f64,
    /// Mean requests in flight, when the worker looked; 0 when it did not.
    pub(super) in_flight: f64,
    /// What may have disturbed it; nothing where only time of its own counts.
    pub(super) disturbance: Disturbance,
}

/// What may have disturbed a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Disturbance {
    /// What the kernel counted on the CPUs of the trial.
    pub(super) times: CpuTimes,
    /// How fast the worker's core was before: ns of one step.
    pub(super) step_ns: Option<f64>,
    /// For how long requests stood still, ns.
    pub(super) pause_ns: f64,
}
