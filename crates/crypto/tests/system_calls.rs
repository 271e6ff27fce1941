//! In a process of its own: a thread that breaks seccomp's rule may end all.
//!
//! A thread under seccomp's strict mode may only read, write and exit; the
//! kernel kills it at any other system call. The back-ends survive there.

#![cfg(target_os = "linux")]

mod support;

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use std::sync::Arc;

use lockgate_crypto::{Backend, Job, Key, Kind, Segment, Segments, Status};
use support::{Prepared, Shape, fast_backends, is_sound, material, offered, plain};

const STARTED: u8 = 1;
const DONE: u8 = 2;
const WRONG: u8 = 3;
const NO_SECCOMP: u8 = 4;

/// Runs `warm_up` and then, in strict mode, `work` on a thread of its own, and
/// says how far it got.
/// The thread leaves by a bare `exit`: a thread's ordinary end makes calls.
fn confined(
    state: &'static AtomicU8,
    warm_up: impl FnOnce() -> bool + Send + 'static,
    work: impl FnOnce() -> bool + Send + 'static,
) -> u8 {
    std::thread::spawn(move || {
        let is_warm = warm_up();
        state.store(STARTED, Ordering::Release);
        // SAFETY: affects this thread only.
        let confined = unsafe { libc::prctl(libc::PR_SET_SECCOMP, 1) } == 0;
        let end = match confined {
            false => NO_SECCOMP,
            true if work() && is_warm => DONE,
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

/// A kind with its key and a job over memory that was touched before.
type Ready = (Kind, Box<dyn Key>, Prepared);

fn run(backend: &dyn Backend, (kind, key, job): &mut Ready) -> bool {
    let base = job.arena.as_mut_ptr();
    let at = |(at, len)| Segment::new(base.wrapping_add(at), len);
    let job = Job {
        key: &**key,
        source: Segments::one(at(job.source[0])),
        destination: Segments::one(at(job.destination[0])),
        iv: job.iv,
        aad: at(job.aad),
        tag: at(job.tag),
    };
    let mut status = [Status::Cancelled];
    // SAFETY: the segments lie in the arena that the caller owns.
    unsafe { backend.process(*kind, &[job], &mut status) };
    is_sound(*kind, status[0])
}

fn ready(backend: &dyn Backend) -> Vec<Ready> {
    let mut kinds = offered(backend);
    kinds.retain(|kind| !kind.algorithm.is_public_key());
    let with_key = |kind: Kind| {
        let key = backend.key(kind.algorithm, &material(kind.algorithm, 1));
        let job = plain(Shape::near(kind, 16_384, 13), 1, false);
        (kind, key.expect("a good key"), job)
    };
    kinds.into_iter().map(with_key).collect()
}

/// How far a thread gets that runs every kind without public keys twice. One
/// job goes before: a back-end may set its thread up in its first call.
fn confined_kinds(backend: Arc<dyn Backend>) -> u8 {
    let state: &'static AtomicU8 = Box::leak(Box::new(AtomicU8::new(0)));
    let mut prepared = ready(&*backend);
    let own = Arc::clone(&backend);
    let warm_up = move || {
        let first = ready(&*own).into_iter().next();
        first.is_none_or(|mut first| run(&*own, &mut first))
    };
    let work = move || {
        let mut good = true;
        for _ in 0..2 {
            for each in &mut prepared {
                good &= run(&*backend, each);
            }
        }
        // Freeing would call the system; the thread ends for good anyway.
        std::mem::forget(prepared);
        std::mem::forget(backend);
        good
    };
    confined(state, warm_up, work)
}

#[test]
fn processing_makes_no_system_call() {
    for backend in fast_backends() {
        let name = backend.name();
        match confined_kinds(backend) {
            NO_SECCOMP => testing::skipped("this host refuses seccomp's strict mode"),
            state => assert_eq!(
                state, DONE,
                "{name}: killed by a system call, or a job failed"
            ),
        }
    }
}

#[test]
fn a_system_call_would_be_seen() {
    static STATE: AtomicU8 = AtomicU8::new(0);
    // SAFETY: has no preconditions.
    let call = || unsafe { libc::syscall(libc::SYS_getppid) } > 0;
    let state = confined(&STATE, || true, call);
    assert!(matches!(state, STARTED | NO_SECCOMP), "{state}");
}
