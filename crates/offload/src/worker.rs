//! A worker of the engine that seals and sends messages, so that the application's thread
//! does neither.
//!
//! A message is handed over in a slot; the lane carries the slot's number. A message of few
//! datagrams is not worth a crossing, and yet follows those that are under way: packets
//! that overtake others look to the peer as if those were lost.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crypto::Status;
use engine::WorkerConfig;
use engine::{Batch, Engine, Lane, LaneConfig, LaneError, Order, Outcomes, Service, StartError};

use crate::outbox::{Buffer, Message, buffer};
use crate::outlet::Outlet;

/// Messages of a socket that are under way at a time: few, so that they stay in the caches.
const DEPTH: usize = 8;
/// Of all sockets.
const SLOTS: usize = 256;

/// What is sent, and where.
struct Job {
    outlet: Arc<Outlet>,
    message: Message,
}

#[derive(Default)]
struct Slot {
    job: Option<Job>,
    /// What is left of the last one.
    spent: Option<Message>,
}

struct Slots {
    slots: Box<[Mutex<Slot>]>,
    free: Mutex<Vec<u32>>,
}

impl Slots {
    fn slot(&self, index: u32) -> MutexGuard<'_, Slot> {
        let slot = self.slots[index as usize].lock();
        slot.unwrap_or_else(PoisonError::into_inner)
    }

    fn free(&self) -> MutexGuard<'_, Vec<u32>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Seals and sends what sockets hand over.
pub(crate) struct Worker {
    engine: Engine<Sending>,
    slots: Arc<Slots>,
}

/// A socket's way to a worker.
pub(crate) struct Post {
    lane: Mutex<Lane<u32>>,
    slots: Arc<Slots>,
    /// Ends after the last lane.
    _worker: Arc<Worker>,
}

impl Worker {
    /// On that CPU, or where the scheduler likes.
    pub(crate) fn start(cpu: Option<usize>) -> Result<Arc<Self>, StartError> {
        let slots = Arc::new(Slots {
            slots: (0..SLOTS).map(|_| Mutex::default()).collect(),
            free: Mutex::new((0..SLOTS as u32).collect()),
        });
        let config = WorkerConfig {
            cpu,
            ..WorkerConfig::default()
        };
        let of_worker = slots.clone();
        let engine = Engine::start(&[config], move |_| Sending {
            slots: of_worker.clone(),
            sealed: buffer(),
        })?;
        Ok(Arc::new(Self { engine, slots }))
    }

    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        self.engine.cpu_time(0)
    }

    pub(crate) fn post(self: &Arc<Self>) -> Result<Post, LaneError> {
        let config = LaneConfig {
            depth: DEPTH,
            // Nobody waits for completions: the socket is told what it wants to know.
            moderation: policy::Moderation::Polled,
            order: Order::Fifo,
            ..LaneConfig::default()
        };
        Ok(Post {
            lane: Mutex::new(self.engine.lane(0, config)?),
            slots: self.slots.clone(),
            _worker: self.clone(),
        })
    }
}

impl Post {
    /// Hands a message over, and takes back what is left of another.
    pub(crate) fn submit(
        &self,
        outlet: &Arc<Outlet>,
        message: Message,
    ) -> Result<Option<Message>, Message> {
        let mut lane = self.lane.lock().unwrap_or_else(PoisonError::into_inner);
        lane.reap(DEPTH, |_| {});
        let Some(index) = self.slots.free().pop() else {
            return Err(message);
        };
        let spent = {
            let mut slot = self.slots.slot(index);
            slot.job = Some(Job {
                outlet: outlet.clone(),
                message,
            });
            slot.spent.take()
        };
        outlet.begin();
        match lane.submit(index, 0) {
            Ok(()) => Ok(spent),
            Err(_) => {
                outlet.refused();
                let job = self.slots.slot(index).job.take();
                self.slots.free().push(index);
                Err(job.expect("nobody else knows of it").message)
            }
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        let lane = self.lane.lock().unwrap_or_else(PoisonError::into_inner);
        lane.is_open()
    }
}

/// Tells an outlet, when dropped, that its message has ended.
struct Ended<'o>(&'o Outlet);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What the worker does.
struct Sending {
    slots: Arc<Slots>,
    sealed: Buffer,
}

impl Service for Sending {
    type Request = u32;

    fn bytes(_: &u32) -> usize {
        // About: messages are worth a crossing only if they are long.
        1 << 15
    }

    fn process(&mut self, requests: Batch<'_, u32>, outcomes: &mut Outcomes<'_, u32>) {
        for (index, slot) in requests.iter().enumerate() {
            let job = self.slots.slot(*slot).job.take();
            if let Some(Job { outlet, message }) = job {
                // Also where it panics: the socket sends by itself then.
                let _ended = Ended(&outlet);
                let spent = outlet.send_on_worker(message, &mut self.sealed);
                self.slots.slot(*slot).spent = spent;
                self.slots.free().push(*slot);
            }
            outcomes.complete(index, Status::Ok);
        }
    }
}
