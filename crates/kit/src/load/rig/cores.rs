//! Where a bench runs.

use crate::place::{Cpus, Placement, place};

/// The CPUs of a bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    /// The worker's.
    pub worker: usize,
    /// All clients'; the worker's own where they share a core, as in a guest
    /// with one vCPU.
    pub client: usize,
}

impl Cores {
    /// The usual ones of a placement; none where this process may not use
    /// enough CPUs.
    pub fn of(cpus: &[usize], placement: Placement) -> Option<Self> {
        let cpus = place(cpus, placement, 1, 1)?;
        Some(Self {
            worker: cpus.workers[0],
            client: cpus.clients[0],
        })
    }

    /// Whether clients share the worker's core.
    pub fn is_shared(self) -> bool {
        self.worker == self.client
    }

    /// As those of one worker and its clients.
    pub fn cpus(self) -> Cpus {
        Cpus {
            workers: vec![self.worker],
            clients: vec![self.client],
        }
    }

    /// Every CPU that takes part, once.
    pub fn all(self) -> Vec<usize> {
        if self.is_shared() {
            vec![self.worker]
        } else {
            vec![self.client, self.worker]
        }
    }
}
