//! What a crossing costs on this host: one trial of one kind of it.
//!
//! A trial runs in threads of its own, each pinned to one CPU; the caller only waits for
//! them. What is cheap is timed in batches, the mean of a batch is one sample, and a
//! batch is so long that two readings of the clock cost less than 1% of it. What is
//! dearer is timed one by one. Either way the cost of these readings is subtracted.
//!
//! A wake-up goes from just before the waking call of one thread to just after the call
//! in which the other slept has returned, one way. Two threads wake each other in turns;
//! each notes in memory of its own when it was woken and when it wakes, by
//! `CLOCK_MONOTONIC`, which is one clock for all CPUs, and the notes are put together
//! afterwards. A round trip cut in half would contain what the threads do between two
//! wake-ups, and would average the rare slow one away. Who was woken before it slept, as
//! its count of voluntary switches tells, gives no sample.
//!
//! A thread sleeps as long as its peer needs to answer, so a CPU without other work idles
//! for microseconds: from deeper sleep a wake-up costs more, and where a hypervisor learns
//! how long guests idle, the length of a trial may matter, too. With both threads on one CPU,
//! the time contains that the waking thread goes to sleep itself.

mod pair;
mod trial;
mod turns;

use std::error::Error;
use std::time::Duration;

use sys::failure::Failure;

use crate::subject::Stopped;

/// On which CPUs the two threads of a wake-up run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Where {
    /// Both on one.
    SameCore,
    /// Each on its own.
    OtherCore,
}

/// A hand-over between two contexts, and what bounds its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Crossing {
    /// `getppid(2)` by the C library: the way into the kernel and back, what it does against
    /// Spectre, and the function's return, which the processor then predicts wrong.
    SystemCall,
    /// `clock_gettime(2)` without the kernel: reading the time-stamp counter.
    VdsoCall,
    /// First write to a page of private memory, usually 4 KiB, no huge one: the exception,
    /// and zeroing a page that was given back just before and is still in a cache.
    PageFault,
    /// CPUID in a guest: the processor leaves it, the hypervisor answers and enters it.
    HypervisorExit,
    /// A line written on one core and seen by a spinning one: twice the way between the
    /// cores, since the writer takes it from the reader, then the reader from the writer.
    CacheLine,
    /// FUTEX_WAKE to FUTEX_WAIT, private: scheduler, context switch, and on another core
    /// an interrupt between processors, in a guest an exit on both sides.
    Futex(Where),
    /// `write(2)` to a blocking `read(2)` of an eventfd: as above.
    Eventfd(Where),
    /// One byte through a pipe: as above, and the pipe's lock and page.
    Pipe(Where),
    /// What a lane does: an eventfd is written, and a client on another core that sleeps
    /// in `ppoll(2)` with a time limit returns and reads it.
    Notification,
    /// `epoll_wait(2)` that finds one eventfd ready: a system call, its list, the eventfd.
    EpollWait,
    /// One NOP submitted and reaped in one `io_uring_enter(2)`: a system call and more.
    IoUring,
    /// 64 bytes by `send(2)` on a connected socket over loopback, and on to the buffer of
    /// the receiver, which reads outside of the timing: the whole network stack.
    UdpSend,
    /// A byte of a copy from 4 MiB to 4 MiB, which few L2 hold: the L3 or main memory.
    CopyByte,
}

/// Where a trial runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// The CPU that is measured.
    pub own: usize,
    /// One more, where there is one.
    pub other: Option<usize>,
}

/// What one trial found, in ns (of [`Crossing::CopyByte`] a byte); no numbers where
/// nothing was counted, as on a busy host.
#[derive(Clone, Copy, Debug)]
pub struct Price {
    /// Half of the samples are below.
    pub median_ns: f64,
    /// 99 of 100 samples are below.
    pub p99_ns: f64,
    /// How many samples; one is the mean of a batch where the crossing is cheap.
    pub count: u64,
    /// The smallest sample.
    pub best_ns: f64,
}

impl Crossing {
    /// All of them, cheap ones first within each kind.
    pub const ALL: [Self; 16] = [
        Self::VdsoCall,
        Self::SystemCall,
        Self::EpollWait,
        Self::IoUring,
        Self::PageFault,
        Self::HypervisorExit,
        Self::CacheLine,
        Self::Futex(Where::SameCore),
        Self::Futex(Where::OtherCore),
        Self::Eventfd(Where::SameCore),
        Self::Eventfd(Where::OtherCore),
        Self::Pipe(Where::SameCore),
        Self::Pipe(Where::OtherCore),
        Self::Notification,
        Self::UdpSend,
        Self::CopyByte,
    ];

    const fn texts(self) -> (&'static str, &'static str) {
        use Where::{OtherCore, SameCore};
        match self {
            Self::SystemCall => ("system-call", "system call"),
            Self::VdsoCall => ("vdso-call", "reading the clock (vDSO)"),
            Self::PageFault => ("page-fault", "minor page fault"),
            Self::HypervisorExit => ("hypervisor-exit", "exit to the hypervisor"),
            Self::CacheLine => ("cache-line", "cache line to another core"),
            Self::Futex(SameCore) => ("futex-same-core", "futex wake-up, same core"),
            Self::Futex(OtherCore) => ("futex-other-core", "futex wake-up, other core"),
            Self::Eventfd(SameCore) => ("eventfd-same-core", "eventfd wake-up, same core"),
            Self::Eventfd(OtherCore) => ("eventfd-other-core", "eventfd wake-up, other core"),
            Self::Pipe(SameCore) => ("pipe-same-core", "pipe wake-up, same core"),
            Self::Pipe(OtherCore) => ("pipe-other-core", "pipe wake-up, other core"),
            Self::Notification => ("notification", "notification, other core"),
            Self::EpollWait => ("epoll-wait", "epoll_wait, one event"),
            Self::IoUring => ("io-uring", "io_uring, one NOP"),
            Self::UdpSend => ("udp-send", "UDP send, 64 B, loopback"),
            Self::CopyByte => ("copy-byte", "memory copy, 4 KiB of 4 MiB"),
        }
    }

    /// A short key, e.g. `futex-other-core`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.texts().0
    }

    /// What it is, in words for a table.
    #[must_use]
    pub const fn words(self) -> &'static str {
        self.texts().1
    }

    /// Whether [`Cpus::other`] is used.
    #[must_use]
    pub const fn needs_two_cpus(self) -> bool {
        use Where::OtherCore;
        match self {
            Self::CacheLine | Self::Notification => true,
            Self::Futex(at) | Self::Eventfd(at) | Self::Pipe(at) => matches!(at, OtherCore),
            _ => false,
        }
    }

    /// The CPUs it is measured on.
    #[must_use]
    pub fn cpus(self, cpus: &Cpus) -> (usize, usize) {
        match cpus.other.filter(|_| self.needs_two_cpus()) {
            Some(other) => (cpus.own, other),
            None => (cpus.own, cpus.own),
        }
    }

    fn not_supported(self, remedy: &str) -> Stopped {
        Stopped::NotSupported {
            what: self.words().to_owned(),
            remedy: remedy.to_owned(),
        }
    }
}

crate::named!(Crossing, "crossing");

fn failed<E: Error + Send + Sync + 'static>(doing: &str) -> impl FnOnce(E) -> Stopped {
    let failure = Failure::of(format!("failed: {doing}"));
    |error| Stopped::failed(failure(error))
}

/// Measures a crossing for about `slice`. Asks `go_on` from the calling thread, which is
/// left as it was, every 50 ms. The CPUs are among those that this thread may use.
pub fn price(
    crossing: Crossing,
    cpus: &Cpus,
    slice: Duration,
    go_on: &dyn Fn() -> bool,
) -> Result<Price, Stopped> {
    let other = cpus.other.filter(|&other| other != cpus.own);
    let peer_cpu = match (crossing.needs_two_cpus(), other) {
        (true, None) => {
            let remedy = "it takes two CPUs: give this process a second one (taskset, cpuset)";
            return Err(crossing.not_supported(remedy));
        }
        (true, Some(other)) => other,
        (false, _) => cpus.own,
    };
    if crossing == Crossing::HypervisorExit && !trial::is_guest() {
        let remedy = "CPUID leaves nothing on bare metal; run this program in a guest on x86";
        return Err(crossing.not_supported(remedy));
    }
    let trial = trial::Trial::new(crossing, cpus.own, peer_cpu, slice)?;
    Ok(summary(trial.supervised(go_on)?))
}

fn summary(mut samples: Vec<f64>) -> Price {
    samples.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let index = (samples.len() as f64 * share) as usize;
        samples.get(index).copied().unwrap_or(f64::NAN)
    };
    Price {
        median_ns: at(0.5),
        p99_ns: at(0.99),
        count: samples.len() as u64,
        best_ns: at(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crossing_has_a_price_or_says_why_not() {
        testing::timed(|| {
            let allowed = sys::affinity::allowed_cpus().unwrap();
            let (own, other) = (allowed[0], allowed.get(1).copied());
            let slice = Duration::from_millis(20);
            for crossing in Crossing::ALL {
                let priced = |other| price(crossing, &Cpus { own, other }, slice, &|| true);
                let name = crossing.name();
                match priced(other) {
                    Ok(price) => {
                        let is_sound = 0.0 < price.best_ns && price.best_ns <= price.p99_ns;
                        assert!(is_sound, "{name}: {price:?}");
                    }
                    Err(error) => {
                        let is_lacking = matches!(error, Stopped::NotSupported { .. });
                        assert!(is_lacking, "{name}: {error:?}");
                    }
                }
                let alone = priced(Some(own));
                let refused = matches!(alone, Err(Stopped::NotSupported { .. }));
                assert!(refused || !crossing.needs_two_cpus(), "{name}: {alone:?}");
                let absent = priced(Some(100_000));
                let failed = matches!(absent, Err(Stopped::Failed(_)));
                assert!(failed || !crossing.needs_two_cpus(), "{name}: {absent:?}");
                let (cpus, long) = (Cpus { own, other }, Duration::from_secs(9));
                let unwanted = price(crossing, &cpus, long, &|| false);
                let is_over = !matches!(unwanted, Ok(_) | Err(Stopped::Failed(_)));
                assert!(is_over, "{name}: {unwanted:?}");
            }
            assert_eq!(sys::affinity::allowed_cpus().unwrap(), allowed);
        });
    }
}
