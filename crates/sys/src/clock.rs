//! Time: the monotonic clock, and CPU time of a thread.

use std::time::Duration;

fn read(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: one writable timespec.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(failed, 0, "clock {clock} exists on every Linux since 2.6.12");
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).expect("below 10^9"))
}

/// Nanoseconds of `CLOCK_MONOTONIC` (a vDSO call, no system call).
#[must_use]
pub fn now_ns() -> u64 {
    u64::try_from(read(libc::CLOCK_MONOTONIC).as_nanos()).expect("584 years of uptime")
}

/// CPU time of the calling thread.
#[must_use]
pub fn thread_cpu() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}
