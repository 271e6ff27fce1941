//! Who uses the worker, how much, and under which rules.

use std::sync::Arc;

use crypto::Workload;
use policy::{Controller, Moderation, Policy, Settings};

/// A user of the engine, through a virtual function or without: equal tasks, each a client thread with a lane
/// of its own.
#[derive(Clone, Debug)]
pub struct Tenant {
    /// What it may ask for; a [`Load`] names one by its place. Each has slots
    /// of its own in the tenant's memory.
    pub workloads: Vec<Arc<Workload>>,
    /// Depth of its lanes: the most a load may ask for, 1 or more.
    pub depth_max: usize,
    /// Threads: the most tasks a load may ask for, 1 or more; a virtual function has
    /// 128 at most.
    pub tasks_max: usize,
}

/// How a task keeps requests in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Submit one, wait for it.
    Sync,
    /// Submit as many as the depth, wait for all.
    Batch,
    /// Keep as many as the depth in flight.
    Async,
}

impl Mode {
    pub const ALL: [Self; 3] = [Self::Sync, Self::Batch, Self::Async];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Batch => "batch",
            Self::Async => "async",
        }
    }
}

crate::named!(Mode, "mode");

/// In closed loops of many requests, one in this many is timed: two looks at
/// the clock would be as long as a small request. Odd, since depths are mostly
/// powers of two: 32 would time only the first request of each batch.
const TIMED_ONE_IN: u64 = 37;
/// Loops so shallow time every request.
const SHALLOW: usize = 2;

/// What a tenant does now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Place in [`Tenant::workloads`].
    pub workload: usize,
    /// How each task keeps requests in flight in a closed loop.
    pub mode: Mode,
    /// Requests that each task keeps in flight.
    pub depth: usize,
    /// Tasks at work; none means the tenant is idle.
    pub tasks: usize,
    /// Requests/s of all tasks together, evenly; none is a closed loop.
    pub rate_per_s: Option<f64>,
    /// One request in this many is timed in a closed loop; in an open loop every one.
    pub timed_one_in: u64,
}

impl Load {
    /// One task in a closed loop that keeps this many in flight.
    pub fn closed(workload: usize, depth: usize) -> Self {
        let timed_one_in = if depth <= SHALLOW { 1 } else { TIMED_ONE_IN };
        Self {
            workload,
            mode: Mode::Async,
            depth,
            tasks: 1,
            rate_per_s: None,
            timed_one_in,
        }
    }

    /// One task in a closed loop of that mode; only where each request is waited
    /// for is every one timed.
    pub fn in_mode(mode: Mode, depth: usize) -> Self {
        let timed_one_in = if mode == Mode::Sync { 1 } else { TIMED_ONE_IN };
        Self {
            mode,
            timed_one_in,
            ..Self::closed(0, depth)
        }
    }

    /// One task in an open loop with this many in flight at most.
    pub fn paced(rate_per_s: f64, depth: usize) -> Self {
        Self {
            rate_per_s: Some(rate_per_s),
            ..Self::closed(0, depth)
        }
    }

    /// The same by this many tasks.
    pub fn with_tasks(self, tasks: usize) -> Self {
        Self { tasks, ..self }
    }
}

/// When a tenant's completions become notifications.
pub struct Regime {
    /// The policy.
    pub moderation: Moderation,
    /// Its settings at first; a cap is one for all tasks together.
    pub settings: Settings,
    /// Who changes them.
    pub controller: Option<Box<dyn Controller>>,
    /// How many tasks have a lane; none means all. A worker looks at every
    /// lane there is, also at those of idle tasks.
    pub lanes: Option<usize>,
}

impl From<Policy> for Regime {
    fn from(policy: Policy) -> Self {
        Self::fixed(policy.moderation, policy.settings)
    }
}

impl Regime {
    /// A policy that no controller changes.
    pub fn fixed(moderation: Moderation, settings: Settings) -> Self {
        Self {
            moderation,
            settings,
            controller: None,
            lanes: None,
        }
    }

    /// A controller, which begins without limits.
    pub fn controlled(controller: Box<dyn Controller>) -> Self {
        Self {
            moderation: controller.moderation(),
            settings: Settings::UNLIMITED,
            controller: Some(controller),
            lanes: None,
        }
    }

    /// The same with lanes for the first `lanes` tasks only.
    pub fn for_tasks(self, lanes: usize) -> Self {
        Self {
            lanes: Some(lanes),
            ..self
        }
    }
}
