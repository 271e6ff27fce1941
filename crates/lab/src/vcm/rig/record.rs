//! What a run of a bench gave.

use std::time::Duration;

use policy::{Counters, Settings};

use super::latency::LatencyCounts;
use crate::speed::observe::{CpuTimes, gap_ns};

/// A run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    /// In order; fewer than planned where the run was interrupted.
    pub(crate) windows: Vec<Window>,
    pub(crate) facts: Facts,
}

/// What may have disturbed a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// What the kernel counted on the bench's CPUs.
    pub(crate) times: CpuTimes,
    /// How fast the worker's core was before: ns of one step.
    pub(crate) step_ns: Option<f64>,
    /// For how long it stood still, as far as latencies show, ns.
    pub(crate) pause_ns: f64,
}

/// A stretch of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Window {
    /// Place in [`Course::phases`](super::Course::phases).
    pub(crate) phase: usize,
    /// Since the phase began, seconds.
    pub(crate) begin_s: f64,
    /// Length.
    pub(crate) seconds: f64,
    /// CPU time of the worker.
    pub(crate) worker: Duration,
    /// One a tenant.
    pub(crate) tenants: Vec<Share>,
}

/// One tenant's part of a window; while a run lasts, its running totals.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Share {
    /// What a controller sees.
    pub(crate) counters: Counters,
    /// Requests of each task, in the order of tasks.
    pub(crate) task_requests: Vec<u64>,
    /// Notifications held back with one request in flight: always 0.
    pub(crate) held_alone: u64,
    /// Requests its clients sent.
    pub(crate) submitted: u64,
    /// Completions its clients took.
    pub(crate) reaped: u64,
    /// CPU time of its clients.
    pub(crate) client: Duration,
    /// Submission to reaping.
    pub(crate) latency: LatencyCounts,
    /// In force at the end, of all its tasks together.
    pub(crate) settings: Settings,
}

impl Share {
    /// What happened since `earlier`.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let tasks = self.task_requests.iter().zip(&earlier.task_requests);
        Self {
            counters: self.counters.since(&earlier.counters),
            task_requests: tasks.map(|(now, before)| now - before).collect(),
            held_alone: self.held_alone - earlier.held_alone,
            submitted: self.submitted - earlier.submitted,
            reaped: self.reaped - earlier.reaped,
            client: self.client.saturating_sub(earlier.client),
            latency: self.latency.since(&earlier.latency),
            settings: self.settings,
        }
    }

    /// Adds what happened later.
    fn add(&mut self, later: &Self) {
        let (own, more) = (&mut self.counters, &later.counters);
        own.requests += more.requests;
        own.bytes += more.bytes;
        own.notifications += more.notifications;
        own.held += more.held;
        own.held_ns += more.held_ns;
        own.in_flight += more.in_flight;
        own.looks += more.looks;
        own.spun_ns += more.spun_ns;
        own.busy_ns += more.busy_ns;
        for (own, more) in self.task_requests.iter_mut().zip(&later.task_requests) {
            *own += more;
        }
        self.held_alone += later.held_alone;
        self.submitted += later.submitted;
        self.reaped += later.reaped;
        self.client += later.client;
        self.latency.add(&later.latency);
        self.settings = later.settings;
    }
}

impl Window {
    /// Several windows as one; none without any.
    pub(crate) fn merged<'a>(windows: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut windows = windows.into_iter();
        let mut merged = windows.next()?.clone();
        for window in windows {
            merged.seconds += window.seconds;
            merged.worker += window.worker;
            for (own, more) in merged.tenants.iter_mut().zip(&window.tenants) {
                own.add(more);
            }
        }
        Some(merged)
    }

    /// A tenant's completed requests a second.
    pub(crate) fn requests_per_s(&self, tenant: usize) -> f64 {
        self.per_s(self.tenants[tenant].counters.requests)
    }

    /// A tenant's speed, 10^6 bytes a second.
    pub(crate) fn mb_per_s(&self, tenant: usize) -> f64 {
        self.per_s(self.tenants[tenant].counters.bytes) / 1e6
    }

    /// Notifications of a tenant's clients a second.
    pub(crate) fn notifications_per_s(&self, tenant: usize) -> f64 {
        self.per_s(self.tenants[tenant].counters.notifications)
    }

    /// Cores that a tenant's clients kept busy.
    pub(crate) fn client_cpus(&self, tenant: usize) -> f64 {
        self.tenants[tenant].client.as_secs_f64() / self.seconds
    }

    /// Cores that the worker kept busy.
    pub(crate) fn worker_cpus(&self) -> f64 {
        self.worker.as_secs_f64() / self.seconds
    }

    fn per_s(&self, count: u64) -> f64 {
        count as f64 / self.seconds
    }
}

impl Record {
    /// Everything as one window; none where nothing was measured.
    pub(crate) fn whole(&self) -> Option<Window> {
        Window::merged(&self.windows)
    }

    /// One phase as one window.
    pub(crate) fn phase(&self, phase: usize) -> Option<Window> {
        Window::merged(self.windows.iter().filter(|window| window.phase == phase))
    }

    /// The longest time, ns, that any tenant's requests stood still.
    pub(super) fn pause_ns(&self) -> f64 {
        let Some(whole) = self.whole() else {
            return 0.0;
        };
        let pauses = whole
            .tenants
            .iter()
            .map(|share| gap_ns(&share.latency.histogram()));
        pauses.max().unwrap_or(0) as f64
    }
}
