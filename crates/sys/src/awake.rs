//! Keeps CPUs from idling.
//!
//! A guest's CPU that idles goes back to its hypervisor, and some let it wait
//! for tens of milliseconds before it runs again. While two CPUs passed frames
//! to each other, each now and then without work, 40 to 85% of their time was
//! stolen on such a host (nested, two CPUs), and 0 to 2% with a thread on each
//! that runs when nobody else wants to (`SCHED_IDLE`, sched(7)).

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::affinity::keep_to;
use crate::clock::{CpuClock, thread_cpu};
use crate::schedule::when_idle;

/// Between two looks whether it shall end.
const SPINS: u32 = 256;

/// CPUs that do not idle until it is dropped.
#[derive(Debug)]
pub struct Awake {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    /// Keeps these CPUs from idling. Every other thread comes first.
    ///
    /// # Errors
    /// From `sched_setaffinity(2)` and `clone(2)`; then none is kept.
    pub fn keep(cpus: &[usize]) -> io::Result<Self> {
        let mut awake = Self {
            stop: Arc::new(AtomicBool::new(false)),
            threads: Vec::new(),
        };
        for &cpu in cpus {
            let stop = Arc::clone(&awake.stop);
            let (ready, begun) = sync_channel(1);
            let thread = std::thread::Builder::new()
                .name(format!("awake-{cpu}"))
                .spawn(move || {
                    let kept = keep_to(&[cpu]).and_then(|()| when_idle(0));
                    let is_kept = kept.is_ok();
                    if is_kept {
                        known().running.push((cpu, CpuClock::of_this_thread()));
                    }
                    let _ = ready.send(kept);
                    if is_kept {
                        spin(cpu, &stop);
                    }
                })?;
            awake.threads.push(thread);
            begun.recv().expect("a thread that began answers")?;
        }
        Ok(awake)
    }
}

fn spin(cpu: usize, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..SPINS {
            std::hint::spin_loop();
        }
    }
    let mut known = known();
    let own = CpuClock::of_this_thread();
    known.running.retain(|&(_, clock)| clock != own);
    *known.ended.entry(cpu).or_default() += thread_cpu();
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// CPU time that this process spent so far to keep each CPU from idling: no
/// load, since it is time that nobody else wanted.
#[must_use]
pub fn times() -> BTreeMap<usize, Duration> {
    let known = known();
    let mut times = known.ended.clone();
    for &(cpu, clock) in &known.running {
        *times.entry(cpu).or_default() += clock.read().unwrap_or_default();
    }
    times
}

/// The threads of this process.
struct Known {
    running: Vec<(usize, CpuClock)>,
    ended: BTreeMap<usize, Duration>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known {
    running: Vec::new(),
    ended: BTreeMap::new(),
});

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::affinity::process_cpus;

    fn of(cpu: usize) -> Duration {
        times().get(&cpu).copied().unwrap_or_default()
    }

    #[test]
    fn its_time_only_rises_and_rests_when_it_is_dropped() {
        let cpu = process_cpus().unwrap()[0];
        let before = of(cpu);
        let awake = Awake::keep(&[cpu]).unwrap();
        // Other threads come first: for as long as they want the CPU.
        while of(cpu) < before + Duration::from_millis(2) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let kept = of(cpu);
        drop(awake);
        let ended = of(cpu);
        assert!(ended >= kept, "{ended:?} after {kept:?}");
        assert_eq!(of(cpu), ended);
        assert!(known().running.is_empty());
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        assert!(Awake::keep(&[1023]).is_err());
    }
}
