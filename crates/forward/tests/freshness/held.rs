//! Keeps the threads that watch for changes from doing so.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

fn watchers() -> Vec<i32> {
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    let watchers = threads.filter(|thread| {
        let name = fs::read_to_string(thread.path().join("comm"));
        name.is_ok_and(|name| name.trim_end() == "lockgate-watch")
    });
    watchers
        .map(|thread| thread.file_name().to_str().unwrap().parse().unwrap())
        .collect()
}

static IS_HELD: AtomicBool = AtomicBool::new(false);
static IS_STUCK: AtomicBool = AtomicBool::new(false);

/// All watchers do nothing, as if stopped (`SIGSTOP` would stop the test, too).
pub struct Held(());

impl Held {
    pub fn watchers() -> Self {
        let handler: extern "C" fn(i32) = hold;
        // SAFETY: the handler calls nothing but nanosleep(2) and atomics.
        unsafe { libc::signal(libc::SIGUSR1, handler as usize) };
        IS_HELD.store(true, Ordering::SeqCst);
        let held = Self(());
        let watchers = watchers();
        assert!(!watchers.is_empty());
        for thread in watchers {
            IS_STUCK.store(false, Ordering::SeqCst);
            // While it waits, it has no lock that others want.
            testing::until(|| is_asleep(thread), |is_asleep| *is_asleep);
            // SAFETY: no memory is passed.
            let sent =
                unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGUSR1) };
            assert_eq!(sent, 0);
            testing::until(|| IS_STUCK.load(Ordering::SeqCst), |is_stuck| *is_stuck);
        }
        held
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        IS_HELD.store(false, Ordering::SeqCst);
    }
}

extern "C" fn hold(_: i32) {
    IS_STUCK.store(true, Ordering::SeqCst);
    while IS_HELD.load(Ordering::SeqCst) {
        let a_while = libc::timespec {
            tv_sec: 0,
            tv_nsec: 1_000_000,
        };
        // SAFETY: a time that lives through the call.
        unsafe { libc::nanosleep(&raw const a_while, std::ptr::null_mut()) };
    }
}

fn is_asleep(thread: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
    stat.contains(") S ")
}

/// All watchers come last (nice 19), and others have all CPUs.
pub struct Late {
    is_over: &'static AtomicBool,
    busy: Vec<JoinHandle<()>>,
}

impl Late {
    pub fn watchers() -> Self {
        for thread in watchers() {
            let thread = thread as u32;
            // SAFETY: no memory is passed.
            let nice = || unsafe { libc::getpriority(libc::PRIO_PROCESS, thread) };
            testing::until(nice, |nice| *nice == -20);
            // SAFETY: no memory is passed.
            let set = unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, 19) };
            assert_eq!((set, nice()), (0, 19));
        }
        let is_over: &AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        let count = 2 * std::thread::available_parallelism().unwrap().get();
        let busy = || while !is_over.load(Ordering::Relaxed) {};
        Self {
            is_over,
            busy: (0..count).map(|_| std::thread::spawn(busy)).collect(),
        }
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.busy.drain(..) {
            let _ = thread.join();
        }
    }
}
