//! Threads on a CPU of their own.

use std::sync::mpsc::sync_channel;
use std::thread::{Builder, JoinHandle};

use sys::affinity::pin_to;
use sys::clock::CpuClock;
use sys::failure::Failure;

pub(crate) struct Pinned<R> {
    /// The kernel's number of the thread.
    #[cfg_attr(
        not(feature = "bpf"),
        expect(dead_code, reason = "only routers with threads of their own tell it")
    )]
    pub number: i32,
    clock: CpuClock,
    cpu_ns_last: u64,
    handle: Option<JoinHandle<Option<R>>>,
}

impl<R: Send + 'static> Pinned<R> {
    /// Starts a thread on one CPU, if one is given.
    pub fn start(
        name: &str,
        cpu: Option<usize>,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<Self, Failure> {
        let (ready, started) = sync_channel(1);
        let begin = move || {
            let pinned = cpu.map_or(Ok(()), pin_to);
            let is_pinned = pinned.is_ok();
            let number = rustix::thread::gettid().as_raw_nonzero().get();
            let _ = ready.send(pinned.map(|()| (CpuClock::of_this_thread(), number)));
            is_pinned.then(work)
        };
        let handle = Builder::new().name(name.to_owned()).spawn(begin);
        let handle = handle.map_err(Failure::of(format!(
            "cannot start the thread {name}; raise the limit of threads (ulimit -u)"
        )))?;
        let started = started.recv().expect("a thread that started answers");
        let (clock, number) = started.map_err(Failure::of(format!(
            "cannot bind the thread {name} to its CPU"
        )))?;
        Ok(Self {
            number,
            clock,
            cpu_ns_last: 0,
            handle: Some(handle),
        })
    }

    /// CPU time so far, ns; of a thread that has ended, what was read last.
    pub fn cpu_ns(&mut self) -> u64 {
        if let Some(time) = self.clock.read() {
            self.cpu_ns_last = time.as_nanos().try_into().unwrap_or(u64::MAX);
        }
        self.cpu_ns_last
    }

    /// What it returned, or its panic, if it has ended: once.
    pub fn ended(&mut self) -> Option<std::thread::Result<R>> {
        let handle = self.handle.take_if(|handle| handle.is_finished())?;
        let returned = handle.join();
        Some(returned.map(|returned| returned.expect("it was bound to its CPU")))
    }

    /// Whether [`ended`](Self::ended) has not told its end yet.
    pub fn is_open(&self) -> bool {
        self.handle.is_some()
    }

    /// Waits for its end.
    pub fn join(&mut self) {
        if let Some(handle) = self.handle.take() {
            let _ = handle.join();
        }
    }
}
