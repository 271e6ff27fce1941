//! The thread that forwards: round after round over its lanes.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sys::clock::now_ns;

use super::lane::{Hands, Lane};
use crate::router::path::Poll;

/// How long a sleeping worker may not see a stop.
const SLEEP_MAX: Duration = Duration::from_millis(20);

/// Empty rounds before a worker that shares its core with the driver yields it: about
/// the time of a switch there and back.
const SPINS_MAX: u32 = 16;

pub(super) struct Worker {
    pub(super) lanes: Vec<Lane>,
    pub(super) hands: Hands,
    pub(super) poll: Poll,
    pub(super) shares_core: bool,
    pub(super) empty_rounds: u32,
    pub(super) stop: Arc<AtomicBool>,
}

impl Worker {
    /// Gives the kernel frames to receive into: from now on no packet is lost for
    /// lack of them.
    pub(super) fn prepare(&mut self) {
        for lane in &mut self.lanes {
            lane.refill(&mut self.hands.pool);
        }
    }

    /// Forwards until it is stopped.
    ///
    /// # Errors
    /// When a port is gone.
    pub(super) fn run(&mut self) -> io::Result<()> {
        let mut begin_ns = now_ns();
        while !self.stop.load(Ordering::Relaxed) {
            if self.round()? > 0 {
                self.empty_rounds = 0;
                let end_ns = now_ns();
                let busy_ns = &self.hands.tally.busy_ns;
                busy_ns.fetch_add(end_ns - begin_ns, Ordering::Relaxed);
                begin_ns = end_ns;
            } else {
                self.wait()?;
                begin_ns = now_ns();
            }
        }
        Ok(())
    }

    fn round(&mut self) -> io::Result<u32> {
        let mut count = 0;
        for lane in &mut self.lanes {
            count += lane.pass(0, &mut self.hands)?;
            count += lane.pass(1, &mut self.hands)?;
        }
        Ok(count)
    }

    fn wait(&mut self) -> io::Result<()> {
        self.empty_rounds += 1;
        match self.poll {
            Poll::Interrupt => self.sleep(),
            Poll::BusyPoll => {
                self.lanes.iter().for_each(Lane::call_drivers);
                Ok(())
            }
            // Nothing can come while we have the core that the driver's threads
            // want. `sched_yield` would not give it up: they are in another
            // scheduling group.
            Poll::Polled if self.shares_core && self.empty_rounds > SPINS_MAX => self.sleep(),
            Poll::Polled => {
                std::hint::spin_loop();
                Ok(())
            }
        }
    }

    fn sleep(&mut self) -> io::Result<()> {
        self.empty_rounds = 0;
        let sockets: Vec<BorrowedFd<'_>> = self.lanes.iter().flat_map(Lane::descriptors).collect();
        sys::readable::any(&sockets, SLEEP_MAX).map(|_| ())
    }
}
