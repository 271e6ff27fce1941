//! Time: the monotonic clock, and CPU time of a thread.

use std::time::Duration;

fn read(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: one writable timespec.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(
        failed, 0,
        "clock {clock} exists on every Linux since 2.6.12"
    );
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).expect("below 10^9"),
    )
}

/// Nanoseconds of `CLOCK_MONOTONIC` (a vDSO call, no system call).
pub fn now_ns() -> u64 {
    u64::try_from(read(libc::CLOCK_MONOTONIC).as_nanos()).expect("584 years of uptime")
}

/// A count that grows evenly with time where the CPU's time-stamp counter does, and by
/// nanoseconds elsewhere: for what a look at the clock would be too dear for.
#[inline]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 CPU has the instruction, and Linux leaves it to programs.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    now_ns()
}

/// From now on timers of the calling thread are not delayed to be combined with
/// others. Linux may delay them by 50 µs, longer than moderation means to hold a
/// notification back.
pub fn make_timers_exact() {
    // 0 would be the slack that the thread was born with.
    put_timers_off_by(1);
}

/// How far timers of the calling thread may be delayed, ns.
pub fn timer_slack_ns() -> u64 {
    // SAFETY: no memory is passed. It cannot fail: the slack is this thread's.
    let slack_ns = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
    slack_ns.unsigned_abs().into()
}

/// From now on timers of the calling thread may be delayed by up to `slack_ns`.
pub fn put_timers_off_by(slack_ns: u64) {
    // SAFETY: no memory is passed. It cannot fail: the slack is this thread's.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack_ns) };
}

pub fn thread_cpu() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of a thread, readable from other threads.
#[derive(Clone, Copy, Debug)]
pub struct CpuClock(libc::clockid_t);

impl CpuClock {
    /// The calling thread's clock.
    ///
    /// # Panics
    /// Never on Linux: a live thread has a CPU clock.
    pub fn of_this_thread() -> Self {
        let mut clock = 0;
        // SAFETY: the calling thread is alive; one writable clock id.
        let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
        assert_eq!(failed, 0, "a live thread has a CPU clock");
        Self(clock)
    }

    /// CPU time so far, or `None` if the thread has ended.
    pub fn read(self) -> Option<Duration> {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: one writable timespec; a stale clock id is an error, not a fault.
        let failed = unsafe { libc::clock_gettime(self.0, &raw mut time) };
        let nanos = u32::try_from(time.tv_nsec).expect("below 10^9");
        (failed == 0).then(|| Duration::new(time.tv_sec.unsigned_abs(), nanos))
    }
}
