//! A thread under seccomp's strict mode may only read, write and exit; the
//! kernel kills it at any other system call. The back-end survives there.

#![cfg(target_os = "linux")]

mod support;

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use lockgate_crypto::{Algorithm, Job, Segment, Segments, Status, by_name};
use support::{kinds, material, plain};

const STARTED: u8 = 1;
const DONE: u8 = 2;
const WRONG: u8 = 3;
const NO_SECCOMP: u8 = 4;

/// Runs `work` in strict mode on a thread of its own and says how far it got.
/// The thread leaves by a bare `exit`: a thread's ordinary end makes calls.
fn confined(state: &'static AtomicU8, work: impl FnOnce() -> bool + Send + 'static) -> u8 {
    std::thread::spawn(move || {
        state.store(STARTED, Ordering::Release);
        // SAFETY: affects this thread only.
        let confined = unsafe { libc::prctl(libc::PR_SET_SECCOMP, 1) } == 0;
        let end = match confined {
            false => NO_SECCOMP,
            true if work() => DONE,
            true => WRONG,
        };
        state.store(end, Ordering::Release);
        // SAFETY: ends this thread; nothing on its stack is used by others.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    });
    // A killed thread says nothing more: give it a second.
    let deadline = Instant::now() + Duration::from_secs(1);
    while state.load(Ordering::Acquire) <= STARTED && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
    state.load(Ordering::Acquire)
}

/// Every kind but RSA, twice, over segments that were touched before.
fn all_kinds() -> impl FnOnce() -> bool + Send {
    let backend = by_name("aws-lc").expect("it exists");
    let mut prepared: Vec<_> = kinds()
        .filter(|kind| kind.algorithm != Algorithm::Rsa2048)
        .map(|kind| {
            let material = material(kind.algorithm, 1);
            let key = backend.key(kind.algorithm, &material).expect("a good key");
            (kind, key, plain(kind, 16_384, 13, 1, false))
        })
        .collect();
    move || {
        let mut good = true;
        for _ in 0..2 {
            for (kind, key, job) in &mut prepared {
                let base = job.arena.as_mut_ptr();
                let at = |(at, len)| Segment {
                    address: base.wrapping_add(at),
                    len,
                };
                let job = Job {
                    key: &**key,
                    source: Segments::one(at(job.source[0])),
                    destination: Segments::one(at(job.destination[0])),
                    iv: job.iv,
                    aad: at(job.aad),
                    tag: at(job.tag),
                };
                let mut status = [Status::Cancelled];
                // SAFETY: the segments lie in the arena that `prepared` owns.
                unsafe { backend.process(*kind, &[job], &mut status) };
                good &= matches!(status[0], Status::Ok | Status::AuthenticationFailed);
            }
        }
        // Freeing would call the system; the thread ends for good anyway.
        std::mem::forget(prepared);
        std::mem::forget(backend);
        good
    }
}

#[test]
fn processing_makes_no_system_call() {
    static STATE: AtomicU8 = AtomicU8::new(0);
    match confined(&STATE, all_kinds()) {
        NO_SECCOMP => println!("skipped: this host refuses seccomp's strict mode"),
        state => assert_eq!(state, DONE, "killed by a system call, or a job failed"),
    }
}

#[test]
fn a_system_call_would_be_seen() {
    static STATE: AtomicU8 = AtomicU8::new(0);
    // SAFETY: has no preconditions.
    let state = confined(&STATE, || unsafe { libc::syscall(libc::SYS_getppid) } > 0);
    assert!(matches!(state, STARTED | NO_SECCOMP), "{state}");
}
