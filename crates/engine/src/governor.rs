//! The thread that runs controllers: reads counters, sets settings.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use policy::{Controller, PERIOD_NS_MAX, Turn};
use sys::affinity::pin_to;
use sys::clock::now_ns;
use sys::event::Event;

use crate::watch::Watch;

pub struct Governed {
    pub controller: Box<dyn Controller>,
    pub watch: Watch,
}

/// Ticks controllers, each at its own period, until it is dropped; the
/// settings then stay as they are. Between ticks it sleeps.
#[derive(Debug)]
pub struct Governor {
    stop: Arc<Event>,
    thread: Option<JoinHandle<()>>,
}

impl Governor {
    /// Starts the thread, on `cpu` if one is given and available.
    ///
    /// # Errors
    /// No thread or no eventfd.
    pub fn start(governed: Vec<Governed>, cpu: Option<usize>) -> io::Result<Self> {
        let stop = Arc::new(Event::new()?);
        let thread = std::thread::Builder::new()
            .name("lockgate-gov".to_owned())
            .spawn({
                let stop = Arc::clone(&stop);
                move || {
                    // Elsewhere it governs as well, and costs others a little.
                    let _ = cpu.map(pin_to);
                    sys::role::enter(sys::role::Role::Governor);
                    run(governed, &stop);
                }
            })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Governor {
    /// Whether its thread has ended: by a panic of a controller.
    pub fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

impl Drop for Governor {
    fn drop(&mut self) {
        self.stop.signal();
        if let Some(thread) = self.thread.take() {
            // A controller that panicked leaves the settings as they were.
            let _ = thread.join();
        }
    }
}

fn run(governed: Vec<Governed>, stop: &Event) {
    let turn = |governed: Governed| (Turn::new(governed.controller), governed.watch);
    let mut turns: Vec<_> = governed.into_iter().map(turn).collect();
    loop {
        let mut next_ns = now_ns() + PERIOD_NS_MAX;
        for (turn, watch) in &mut turns {
            if let Some(settings) = turn.tick(now_ns(), || watch.counters()) {
                watch.set(settings);
            }
            next_ns = next_ns.min(turn.due_ns());
        }
        if stop.wait(Duration::from_nanos(next_ns.saturating_sub(now_ns()))) {
            return;
        }
    }
}
