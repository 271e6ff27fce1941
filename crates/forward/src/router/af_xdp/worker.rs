//! The thread that forwards: round after round over its lanes.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use xdp::socket::wait_for_packets;

use super::lane::{Hands, Lane};
use crate::router::Counters;
use crate::router::path::Poll;

/// How long a sleeping worker may not see that it shall stop.
const SLEEP_MAX: Duration = Duration::from_millis(20);

/// What a worker tells while it runs.
#[derive(Debug, Default)]
pub(super) struct Told {
    received: AtomicU64,
    forwarded: AtomicU64,
    dropped: AtomicU64,
}

impl Told {
    /// What it counted so far.
    pub(super) fn counters(&self) -> Counters {
        Counters {
            received: self.received.load(Ordering::Relaxed),
            forwarded: self.forwarded.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
        }
    }

    fn tell(&self, counters: &Counters) {
        self.received.store(counters.received, Ordering::Relaxed);
        self.forwarded.store(counters.forwarded, Ordering::Relaxed);
        self.dropped.store(counters.dropped, Ordering::Relaxed);
    }
}

/// A thread's work.
pub(super) struct Worker {
    pub(super) lanes: Vec<Lane>,
    pub(super) hands: Hands,
    pub(super) poll: Poll,
    pub(super) told: Arc<Told>,
    pub(super) stop: Arc<AtomicBool>,
}

impl Worker {
    /// Forwards until it is told to stop.
    ///
    /// # Errors
    /// When a port is gone.
    pub(super) fn run(&mut self) -> io::Result<()> {
        for lane in &mut self.lanes {
            lane.refill(&mut self.hands.pool);
        }
        while !self.stop.load(Ordering::Relaxed) {
            if self.round()? > 0 {
                self.told.tell(&self.hands.counters);
            } else {
                self.wait()?;
            }
        }
        self.told.tell(&self.hands.counters);
        Ok(())
    }

    /// Every lane once, both ways.
    fn round(&mut self) -> io::Result<u32> {
        let mut count = 0;
        for lane in &mut self.lanes {
            count += lane.pass(0, &mut self.hands)?;
            count += lane.pass(1, &mut self.hands)?;
        }
        Ok(count)
    }

    /// After a round that found nothing.
    fn wait(&self) -> io::Result<()> {
        match self.poll {
            // The driver's thread may want this very core: then it has it, and
            // otherwise this costs a third of a microsecond.
            Poll::Polled => std::thread::yield_now(),
            Poll::BusyPoll => self.lanes.iter().for_each(Lane::call_drivers),
            Poll::Interrupt => {
                let sockets: Vec<BorrowedFd<'_>> =
                    self.lanes.iter().flat_map(Lane::descriptors).collect();
                wait_for_packets(&sockets, SLEEP_MAX)?;
            }
        }
        Ok(())
    }
}
