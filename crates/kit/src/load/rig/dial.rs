//! How a running tenant's load is changed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::load::rig::tenant::Load;

/// What the tasks of a tenant are to do.
#[derive(Clone, Copy, Debug)]
pub struct Orders {
    pub load: Load,
    /// Else all are parked, with nothing in flight.
    pub is_running: bool,
    pub is_ending: bool,
    /// Counts changes.
    pub number: u64,
}

impl Orders {
    /// Whether that task is to work.
    pub fn has(&self, task: usize) -> bool {
        self.is_running && !self.is_ending && task < self.load.tasks
    }
}

/// Hands orders to the tasks of one tenant. A task at work looks only at the
/// number, which is in its cache until it changes.
#[derive(Debug)]
pub struct Dial {
    number: AtomicU64,
    orders: Mutex<Orders>,
    changed: Condvar,
}

impl Dial {
    /// Parked.
    pub fn new(load: Load) -> Self {
        let orders = Orders {
            load,
            is_running: false,
            is_ending: false,
            number: 0,
        };
        Self {
            number: AtomicU64::new(0),
            orders: Mutex::new(orders),
            changed: Condvar::new(),
        }
    }

    /// Changes the orders; the number of the new ones.
    pub fn set(&self, change: impl FnOnce(&mut Orders)) -> u64 {
        let mut orders = self.lock();
        change(&mut orders);
        orders.number += 1;
        self.number.store(orders.number, Ordering::Release);
        self.changed.notify_all();
        orders.number
    }

    /// The number of the orders in force.
    pub fn number(&self) -> u64 {
        self.number.load(Ordering::Acquire)
    }

    /// The orders in force.
    pub fn orders(&self) -> Orders {
        *self.lock()
    }

    /// Sleeps until there are others than those of that number.
    pub fn wait_for_others(&self, number: u64) -> Orders {
        let is_same = |orders: &mut Orders| orders.number == number;
        *self
            .changed
            .wait_while(self.lock(), is_same)
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
