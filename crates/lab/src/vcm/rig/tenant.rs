//! Who uses the worker, how much, and under which rules.

use std::sync::Arc;

use crypto::Workload;
use policy::{Controller, Moderation, Settings};

/// A virtual function and its user: equal tasks, each a client thread with a lane
/// of its own.
#[derive(Clone, Debug)]
pub(crate) struct Tenant {
    /// What it may ask for; a [`Load`] names one by its place. Each has slots
    /// of its own in the tenant's memory.
    pub(crate) workloads: Vec<Arc<Workload>>,
    /// Depth of its lanes: the most a load may ask for, 1 or more.
    pub(crate) depth_max: usize,
    /// Threads: the most tasks a load may ask for, 1 to 128.
    pub(crate) tasks_max: usize,
}

/// What a tenant does now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Load {
    /// Place in [`Tenant::workloads`].
    pub(crate) workload: usize,
    /// Requests that each task keeps in flight.
    pub(crate) depth: usize,
    /// Tasks at work; none means the tenant is idle.
    pub(crate) tasks: usize,
    /// Requests/s of all tasks together, evenly; none is a closed loop.
    pub(crate) rate_per_s: Option<f64>,
}

impl Load {
    /// One task in a closed loop.
    pub(crate) fn closed(workload: usize, depth: usize) -> Self {
        Self {
            workload,
            depth,
            tasks: 1,
            rate_per_s: None,
        }
    }

    /// The same by so many tasks.
    pub(crate) fn with_tasks(self, tasks: usize) -> Self {
        Self { tasks, ..self }
    }
}

/// When a tenant's completions become notifications.
pub(crate) struct Regime {
    /// The policy.
    pub(crate) moderation: Moderation,
    /// Its settings at first; a cap is one for all tasks together.
    pub(crate) settings: Settings,
    /// Who changes them.
    pub(crate) controller: Option<Box<dyn Controller>>,
    /// How many tasks have a lane; none means all. A worker looks at every
    /// lane there is, also at those of idle tasks.
    pub(crate) lanes: Option<usize>,
}

impl Regime {
    /// A policy that nobody changes.
    pub(crate) fn fixed(moderation: Moderation, settings: Settings) -> Self {
        Self {
            moderation,
            settings,
            controller: None,
            lanes: None,
        }
    }

    /// A controller, which begins without limits.
    pub(crate) fn controlled(controller: Box<dyn Controller>) -> Self {
        Self {
            moderation: controller.moderation(),
            settings: Settings::UNLIMITED,
            controller: Some(controller),
            lanes: None,
        }
    }

    /// The same with lanes for the first `lanes` tasks only.
    pub(crate) fn for_tasks(self, lanes: usize) -> Self {
        Self {
            lanes: Some(lanes),
            ..self
        }
    }
}
