//! The threads of the router: started on their CPU, watched, and their time.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::worker::Worker;
use crate::pinned::Pinned;
use crate::router::{RouterError, rise_above_drivers};

/// What a thread counts of itself, for readers in other threads.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) forwarded: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) busy_ns: AtomicU64,
}

pub(super) struct Thread {
    pub(super) tally: Arc<Tally>,
    pub(super) pinned: Pinned<io::Result<()>>,
}

pub(super) fn start(mut worker: Worker, queue: u32, cpu: usize) -> Result<Thread, RouterError> {
    let tally = Arc::clone(&worker.hands.tally);
    let work = move || {
        rise_above_drivers(rustix::thread::gettid().as_raw_nonzero().get());
        worker.run()
    };
    let pinned = Pinned::start(&format!("lockgate-fwd-{queue}"), Some(cpu), work)?;
    Ok(Thread { tally, pinned })
}

impl Thread {
    pub(super) fn check(&mut self) -> Result<(), RouterError> {
        match self.pinned.ended() {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(RouterError::of(
                "the router stopped: a port is gone or down",
            )(error)),
            Some(Err(_)) => Err(RouterError::new(
                "the router's thread panicked; its message is on stderr",
            )),
        }
    }
}
