//! The threads of a trial. Whoever ends first, by itself or by an error, ends the others;
//! where none does, the caller does.

use std::hint::black_box;
use std::io;
use std::net::UdpSocket;
use std::os::unix::process::parent_id;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use rustix::io::Errno;
use sys::affinity::pin_to;
use sys::clock::now_ns;
use sys::event::Event;
use sys::memory::Mapping;
use sys::uring::Nops;

use super::pair::{ANSWER_MAX, Pair, one_way};
use super::{Crossing, failed};
use crate::subject::Stopped;

/// How often the caller is asked whether to go on.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// Samples for which there is room.
pub(super) const SAMPLES_MAX: usize = 1 << 16;
/// Two readings of the clock are less than 1% of it, each taking one of these.
const BATCH_CLOCKS: f64 = 200.0;
pub(super) const BATCH_MAX: usize = 1 << 16;
/// Less than a page table has: the kernel gives a range that fills one back together with
/// the table, and then a fault would make that, too.
const FAULTS_MAX: usize = 128;
const COPY_BYTES: usize = 4 << 20;

/// One trial; its threads share it.
pub(super) struct Trial {
    crossing: Crossing,
    own: usize,
    peer: usize,
    slice: Duration,
    pub(super) pair: Pair,
    is_over: AtomicBool,
    is_done: AtomicBool,
}

impl Trial {
    pub(super) fn new(
        crossing: Crossing,
        own: usize,
        peer: usize,
        slice: Duration,
    ) -> Result<Self, Stopped> {
        Ok(Self {
            crossing,
            own,
            peer,
            slice,
            pair: Pair::new(crossing).map_err(failed("make what two threads share"))?,
            is_over: false.into(),
            is_done: false.into(),
        })
    }

    /// Runs the trial beside the calling thread. Ends it where the caller wants that, and
    /// where it has not ended by itself: a blocking read has no time limit of its own.
    pub(super) fn supervised(&self, go_on: &dyn Fn() -> bool) -> Result<Vec<f64>, Stopped> {
        let end_at_latest = Instant::now() + self.slice + ANSWER_MAX;
        let caller = thread::current();
        let mut is_wanted = go_on();
        let mut is_late = false;
        let samples = thread::scope(|scope| {
            let run = || {
                let samples = self.run();
                self.is_done.store(true, Ordering::Release);
                caller.unpark();
                samples
            };
            let leader = Builder::new().spawn_scoped(scope, run);
            let leader = leader.map_err(failed("start a thread"))?;
            while !self.is_done.load(Ordering::Acquire) && !leader.is_finished() {
                is_late = Instant::now() > end_at_latest;
                if is_late || !is_wanted {
                    self.end();
                }
                thread::park_timeout(ASK_EVERY);
                is_wanted = is_wanted && go_on();
            }
            leader.join().unwrap_or_else(|panic| resume_unwind(panic))
        })?;
        match (is_wanted, is_late) {
            (false, _) => Err(Stopped::Interrupted),
            // Nothing answered within a second.
            (true, true) => Ok(Vec::new()),
            (true, false) => Ok(samples),
        }
    }

    fn run(&self) -> Result<Vec<f64>, Stopped> {
        match &self.pair {
            Pair::None => self.pinned(self.own, || self.alone()),
            Pair::Lines(lines) => {
                let (samples, ()) = self.beside(|| self.echo(lines), || self.hand_over(lines))?;
                Ok(samples)
            }
            _ => {
                let lead = || {
                    let clock_ns = clock_cost_ns();
                    self.pair.wake(1)?;
                    Ok((self.take_turns(0)?, clock_ns))
                };
                let ((mine, clock_ns), theirs) = self.beside(|| self.take_turns(1), lead)?;
                Ok(one_way(&mine, &theirs, clock_ns))
            }
        }
    }

    /// Runs `own` here and `peer` in one more thread, which inherits where it may run:
    /// so it is started before this one is pinned.
    fn beside<O, P: Send>(
        &self,
        peer: impl FnOnce() -> io::Result<P> + Send,
        own: impl FnOnce() -> io::Result<O>,
    ) -> Result<(O, P), Stopped> {
        thread::scope(|scope| {
            let peer = Builder::new().spawn_scoped(scope, || self.pinned(self.peer, peer));
            let peer = peer.map_err(failed("start a thread"))?;
            let own = self.pinned(self.own, own);
            let peer = peer.join().unwrap_or_else(|panic| resume_unwind(panic));
            Ok((own?, peer?))
        })
    }

    fn pinned<T>(&self, cpu: usize, work: impl FnOnce() -> io::Result<T>) -> Result<T, Stopped> {
        let pinned = pin_to(cpu).map_err(failed("pin a thread"));
        let done = pinned.and_then(|()| work().map_err(|error| self.crossing.refusal(error)));
        self.end();
        done
    }

    /// Ends it, also for a thread that sleeps or is about to: what wakes it stays until it
    /// looks.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        for side in 0..2 {
            // It was called all the time; where it fails, the next attempt is in 50 ms.
            let _ = self.pair.wake(side);
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn alone(&self) -> io::Result<Vec<f64>> {
        let nothing = || Ok(());
        match self.crossing {
            Crossing::SystemCall => self.batches(BATCH_MAX, |_| done(parent_id()), nothing),
            Crossing::VdsoCall => self.batches(BATCH_MAX, |_| done(Instant::now()), nothing),
            Crossing::HypervisorExit => self.batches(1, |_| done(cpuid(0)), nothing),
            Crossing::PageFault => {
                let page = rustix::param::page_size();
                let memory = Mapping::untouched(FAULTS_MAX * page)?;
                let touch = |index| memory.write(index * page, &[1]).map_err(io::Error::other);
                self.batches(FAULTS_MAX, touch, || memory.give_pages_back())
            }
            Crossing::EpollWait => self.epoll_wait(),
            Crossing::IoUring => {
                let mut nops = Nops::new()?;
                self.batches(BATCH_MAX, |_| nops.submit_and_reap(), nothing)
            }
            Crossing::UdpSend => self.udp_send(),
            _ => self.copy(),
        }
    }

    fn epoll_wait(&self) -> io::Result<Vec<f64>> {
        let event = Event::new()?;
        let poll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        poll.add(&event, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        event.signal();
        let mut ready = [EpollEvent::empty()];
        let once = |_| match poll.wait(&mut ready, EpollTimeout::ZERO)? {
            1 => Ok(()),
            _ => Err(io::ErrorKind::WouldBlock.into()),
        };
        self.batches(BATCH_MAX, once, || Ok(()))
    }

    fn udp_send(&self) -> io::Result<Vec<f64>> {
        let [to, from] = [
            UdpSocket::bind("127.0.0.1:0")?,
            UdpSocket::bind("127.0.0.1:0")?,
        ];
        from.connect(to.local_addr()?)?;
        to.set_nonblocking(true)?;
        from.set_nonblocking(true)?;
        let send = |_| from.send(&[7; 64]).map(drop);
        // A datagram that the kernel delivers later is read after the next one.
        let read = || {
            while to.recv(&mut [0; 64]).is_ok() {}
            Ok(())
        };
        self.batches(1, send, read)
    }

    fn copy(&self) -> io::Result<Vec<f64>> {
        let (from, mut to) = (vec![1u8; COPY_BYTES], vec![2u8; COPY_BYTES]);
        let once = |_| {
            black_box(&mut to).copy_from_slice(black_box(&from));
            Ok(())
        };
        let samples = self.batches(1, once, || Ok(()))?;
        Ok(samples.iter().map(|ns| ns / COPY_BYTES as f64).collect())
    }

    /// Times `once` until the slice is over, as many times in a batch as the clock's
    /// price asks for but at most `at_most`; `once` gets its index in the batch.
    /// `between` runs after each batch, outside of its time.
    pub(super) fn batches(
        &self,
        at_most: usize,
        mut once: impl FnMut(usize) -> io::Result<()>,
        mut between: impl FnMut() -> io::Result<()>,
    ) -> io::Result<Vec<f64>> {
        let clock_ns = clock_cost_ns();
        let mut timed = |count: usize| -> io::Result<(f64, u64)> {
            let start_ns = now_ns();
            for index in 0..count {
                once(index)?;
            }
            let end_ns = now_ns();
            between()?;
            Ok((((end_ns - start_ns) as f64 - clock_ns).max(0.0), end_ns))
        };
        let mut count = 1;
        // The shortest of three: one that was interrupted says nothing of the length.
        let is_short = |batch_ns: f64| batch_ns < BATCH_CLOCKS * clock_ns;
        while count < at_most && is_short(timed(count)?.0.min(timed(count)?.0).min(timed(count)?.0))
        {
            count = (2 * count).min(at_most);
        }
        let mut samples = room(0.0);
        let stop_ns = now_ns() + self.slice_ns();
        while samples.len() < SAMPLES_MAX {
            let (batch_ns, end_ns) = timed(count)?;
            if self.is_over() {
                break;
            }
            samples.push(batch_ns / count as f64);
            if end_ns > stop_ns {
                break;
            }
        }
        Ok(samples)
    }

    pub(super) fn slice_ns(&self) -> u64 {
        self.slice.as_nanos() as u64
    }
}

impl Crossing {
    fn refusal(self, source: io::Error) -> Stopped {
        const REMEDY: &str = "allow io_uring: `sysctl kernel.io_uring_disabled=0`, and in a \
            container a seccomp profile with io_uring_setup and io_uring_enter";
        match (self, Errno::from_io_error(&source)) {
            (Self::IoUring, Some(Errno::NOSYS | Errno::PERM | Errno::ACCESS)) => {
                self.not_supported(REMEDY)
            }
            _ => failed(self.words())(source),
        }
    }
}

/// Does not let the compiler leave out what had that result.
fn done<T>(result: T) -> io::Result<()> {
    black_box(result);
    Ok(())
}

/// Memory for samples, touched before, so that no fault disturbs a trial.
pub(super) fn room<T: Copy>(value: T) -> Vec<T> {
    let mut room = vec![value; SAMPLES_MAX];
    black_box(&mut room).fill(value);
    room.clear();
    room
}

/// What a pair of readings adds to what is between them: one call, since half of each is
/// outside.
fn clock_cost_ns() -> f64 {
    const READINGS: u32 = 200;
    let mean_ns = || {
        let start_ns = now_ns();
        for _ in 1..READINGS {
            black_box(now_ns());
        }
        (now_ns() - start_ns) as f64 / f64::from(READINGS)
    };
    (0..10).map(|_| mean_ns()).fold(f64::INFINITY, f64::min)
}

/// Register ECX of a leaf; on x86 alone.
#[inline]
fn cpuid(leaf: u32) -> Option<u32> {
    #[cfg(target_arch = "x86_64")]
    return Some(core::arch::x86_64::__cpuid(leaf).ecx);
    #[cfg(not(target_arch = "x86_64"))]
    return (leaf == u32::MAX).then_some(0);
}

/// Whether CPUID says that there is a hypervisor, which then is who answers it.
pub(super) fn is_guest() -> bool {
    cpuid(1).is_some_and(|ecx| ecx >> 31 == 1)
}
