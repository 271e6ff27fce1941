//! What a run of a bench gave.

use std::time::Duration;

use policy::{Counters, Settings};

use crate::load::rig::latency::LatencyCounts;
use crate::observe::{CpuTimes, gap_ns};

/// A run.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// In order; fewer than planned where the run was interrupted.
    pub windows: Vec<Window>,
    pub facts: Facts,
}

/// What may have disturbed a run.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What the kernel counted on the bench's CPUs.
    pub times: CpuTimes,
    /// How fast the worker's core was before: ns of one step.
    pub step_ns: Option<f64>,
    /// For how long it stood still, as far as latencies show, ns.
    pub pause_ns: f64,
}

/// A stretch of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// Place in [`Course::phases`](crate::load::rig::Course::phases).
    pub phase: usize,
    /// Since the phase began, seconds.
    pub begin_s: f64,
    /// Length.
    pub seconds: f64,
    /// CPU time of all workers.
    pub worker: Duration,
    /// One a tenant.
    pub tenants: Vec<Share>,
}

/// One tenant's part of a window; while a run lasts, its running totals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share {
    /// What a controller sees.
    pub counters: Counters,
    /// Requests of each task, in the order of tasks.
    pub task_requests: Vec<u64>,
    /// Notifications held back with one request in flight: always 0.
    pub held_alone: u64,
    /// Requests its clients sent.
    pub submitted: u64,
    /// Requests that an open loop sent, or had due and kept waiting since the lane
    /// was full: that is no fault of the generator.
    pub attended: u64,
    /// Completions its clients took.
    pub reaped: u64,
    /// Crossings to the workers.
    pub doorbells: u64,
    /// CPU time of its clients.
    pub client: Duration,
    /// Submission to reaping.
    pub latency: LatencyCounts,
    /// In force at the end, of all its tasks together.
    pub settings: Settings,
    /// What its controller says of itself.
    pub remark: Option<&'static str>,
}

impl Share {
    /// What happened since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        let tasks = self.task_requests.iter().zip(&earlier.task_requests);
        Self {
            counters: self.counters.since(&earlier.counters),
            task_requests: tasks.map(|(now, before)| now - before).collect(),
            held_alone: self.held_alone - earlier.held_alone,
            submitted: self.submitted - earlier.submitted,
            attended: self.attended.saturating_sub(earlier.attended),
            reaped: self.reaped - earlier.reaped,
            doorbells: self.doorbells - earlier.doorbells,
            client: self.client.saturating_sub(earlier.client),
            latency: self.latency.since(&earlier.latency),
            settings: self.settings,
            remark: self.remark,
        }
    }

    /// Adds what happened later.
    fn add(&mut self, later: &Self) {
        self.counters = self.counters.plus(&later.counters);
        for (own, more) in self.task_requests.iter_mut().zip(&later.task_requests) {
            *own += more;
        }
        self.held_alone += later.held_alone;
        self.submitted += later.submitted;
        self.attended += later.attended;
        self.reaped += later.reaped;
        self.doorbells += later.doorbells;
        self.client += later.client;
        self.latency.add(&later.latency);
        self.settings = later.settings;
        self.remark = later.remark.or(self.remark);
    }
}

impl Window {
    /// Several windows as one; none without any.
    pub fn merged<'a>(windows: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
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

    /// All tenants as one, with the settings of the first.
    #[must_use]
    pub fn together(&self) -> Self {
        let mut shares = self.tenants.iter().rev();
        let mut all = shares.next().cloned().unwrap_or_default();
        shares.for_each(|share| all.add(share));
        Self {
            tenants: vec![all],
            ..*self
        }
    }

    /// A tenant's completed requests a second.
    pub fn requests_per_s(&self, tenant: usize) -> f64 {
        self.per_s(self.tenants[tenant].counters.requests)
    }

    /// A tenant's speed, 10^6 bytes a second.
    pub fn mb_per_s(&self, tenant: usize) -> f64 {
        self.per_s(self.tenants[tenant].counters.bytes) / 1e6
    }

    /// Notifications of a tenant's clients a second.
    pub fn notifications_per_s(&self, tenant: usize) -> f64 {
        self.per_s(self.tenants[tenant].counters.notifications)
    }

    /// Crossings of a tenant's clients to the workers a second.
    pub fn doorbells_per_s(&self, tenant: usize) -> f64 {
        self.per_s(self.tenants[tenant].doorbells)
    }

    /// The rate that a tenant's open loop held; see [`Share::attended`].
    pub fn attended_per_s(&self, tenant: usize) -> f64 {
        self.per_s(self.tenants[tenant].attended)
    }

    /// Cores that a tenant's clients kept busy.
    pub fn client_cpus(&self, tenant: usize) -> f64 {
        self.tenants[tenant].client.as_secs_f64() / self.seconds
    }

    /// The longest time, ns, that any tenant's requests stood still.
    pub fn pause_ns(&self) -> f64 {
        let shares = self.tenants.iter();
        let pauses = shares.map(|share| gap_ns(&share.latency.histogram()));
        pauses.max().unwrap_or(0) as f64
    }

    /// Cores that the workers kept busy.
    pub fn worker_cpus(&self) -> f64 {
        self.worker.as_secs_f64() / self.seconds
    }

    fn per_s(&self, count: u64) -> f64 {
        count as f64 / self.seconds
    }
}

impl Record {
    /// Everything as one window; none where nothing was measured.
    pub fn whole(&self) -> Option<Window> {
        Window::merged(&self.windows)
    }

    /// One phase as one window.
    pub fn phase(&self, phase: usize) -> Option<Window> {
        Window::merged(self.windows.iter().filter(|window| window.phase == phase))
    }

    /// The longest time, ns, that any tenant's requests stood still.
    pub fn pause_ns(&self) -> f64 {
        self.whole().map_or(0.0, |whole| whole.pause_ns())
    }
}
