//! The threads of the router: started on their CPU, watched, and their time.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use sys::affinity::pin_to;
use sys::clock::CpuClock;

use super::worker::Worker;
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
    pub(super) number: i32,
    clock: CpuClock,
    cpu_ns_last: u64,
    pub(super) handle: Option<JoinHandle<io::Result<()>>>,
}

pub(super) fn start(mut worker: Worker, queue: u32, cpu: usize) -> Result<Thread, RouterError> {
    let tally = Arc::clone(&worker.hands.tally);
    let (ready, started) = sync_channel(1);
    let work = move || {
        let pinned = pin_to(cpu);
        let is_pinned = pinned.is_ok();
        let number = rustix::thread::gettid().as_raw_nonzero().get();
        rise_above_drivers(number);
        let _ = ready.send(pinned.map(|()| (CpuClock::of_this_thread(), number)));
        if is_pinned { worker.run() } else { Ok(()) }
    };
    let handle = std::thread::Builder::new()
        .name(format!("lockgate-fwd-{queue}"))
        .spawn(work)
        .map_err(RouterError::of("cannot start a thread of the router"))?;
    let (clock, number) = started
        .recv()
        .expect("a thread that started answers")
        .map_err(RouterError::of(format!(
            "cannot bind queue {queue} to CPU {cpu}"
        )))?;
    Ok(Thread {
        tally,
        number,
        clock,
        cpu_ns_last: 0,
        handle: Some(handle),
    })
}

impl Thread {
    pub(super) fn check(&mut self) -> Result<(), RouterError> {
        let Some(handle) = self.handle.take_if(|handle| handle.is_finished()) else {
            return Ok(());
        };
        let context = "the router stopped: a port is gone or down".to_owned();
        match handle.join() {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(RouterError::of(context)(error)),
            Err(_) => Err(RouterError::new(
                "the router's thread panicked; its message is on stderr".to_owned(),
            )),
        }
    }

    pub(super) fn cpu_ns(&mut self) -> u64 {
        if let Some(time) = self.clock.read() {
            self.cpu_ns_last = time.as_nanos().try_into().unwrap_or(u64::MAX);
        }
        self.cpu_ns_last
    }
}
