//! Who uses the worker, how much, and under which rules.

use std::sync::Arc;

use crypto::Workload;
use policy::{Controller, Moderation, Settings};

/// A virtual function and its user: equal tasks, each a client thread with a lane
/// of its own.
#[derive(Clone, Debug)]
pub struct Tenant {
    /// What it may ask for; a [`Load`] names one by its place. Each has slots
    /// of its own in the tenant's memory.
    pub workloads: Vec<Arc<Workload>>,
    /// Depth of its lanes: the most a load may ask for, 1 or more.
    pub depth_max: usize,
    /// Threads: the most tasks a load may ask for, 1 to 128.
    pub tasks_max: usize,
}

/// What a tenant does now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Place in [`Tenant::workloads`].
    pub workload: usize,
    /// Requests that each task keeps in flight.
    pub depth: usize,
    /// Tasks at work; none means the tenant is idle.
    pub tasks: usize,
    /// Requests/s of all tasks together, evenly; none is a closed loop.
    pub rate_per_s: Option<f64>,
}

impl Load {
    /// One task in a closed loop.
    pub fn closed(workload: usize, depth: usize) -> Self {
        Self {
            workload,
            depth,
            tasks: 1,
            rate_per_s: None,
        }
    }

    /// The same by so many tasks.
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

impl Regime {
    /// A policy that nobody changes.
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
