//! Which CPUs a thread may use.

use std::io;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A CPU number that `sched_setaffinity(2)`'s fixed set cannot hold, or one outside
/// the set of this process.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    #[error(
        "CPU {cpu} is not among the CPUs this process may use ({allowed:?}); choose one of them or widen its cpuset"
    )]
    NotAllowed { cpu: usize, allowed: Vec<usize> },
    #[error("cannot pin a thread to CPU {cpu}")]
    Kernel {
        cpu: usize,
        #[source]
        source: io::Error,
    },
}

/// The CPUs the calling thread may use, ascending.
///
/// # Errors
/// From `sched_getaffinity(2)`, e.g. on a machine of more than 1,024 CPUs.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    cpus_of(None)
}

/// The CPUs that this process's first thread may use, ascending: the process's own
/// set even where the calling thread is pinned.
pub fn process_cpus() -> io::Result<Vec<usize>> {
    cpus_of(Some(rustix::process::getpid()))
}

fn cpus_of(thread: Option<Pid>) -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(thread)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect())
}

/// Pins the calling thread to one CPU of the set it was given.
pub fn pin_to(cpu: usize) -> Result<(), PinError> {
    let allowed = allowed_cpus().map_err(|source| PinError::Kernel { cpu, source })?;
    if !allowed.contains(&cpu) {
        return Err(PinError::NotAllowed { cpu, allowed });
    }
    keep_to(&[cpu]).map_err(|source| PinError::Kernel { cpu, source })
}

/// Keeps the calling thread to `cpus`.
///
/// # Errors
/// From `sched_setaffinity(2)`: where none of them is there for this process.
///
/// # Panics
/// At a CPU from 1,024 on, which [`allowed_cpus`] does not name.
pub fn keep_to(cpus: &[usize]) -> io::Result<()> {
    keep(None, cpus)
}

/// Keeps another thread to `cpus`, or a process that has one thread: by its number.
///
/// # Errors
/// As [`keep_to`]; and where there is no such thread, or it is another user's.
///
/// # Panics
/// As [`keep_to`].
pub fn keep_thread_to(thread: i32, cpus: &[usize]) -> io::Result<()> {
    let thread = rustix::process::Pid::from_raw(thread).ok_or(io::ErrorKind::InvalidInput)?;
    keep(Some(thread), cpus)
}

fn keep(thread: Option<rustix::process::Pid>, cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        assert!(
            cpu < CpuSet::MAX_CPU,
            "CPU {cpu} is beyond what the set can name"
        );
        set.set(cpu);
    }
    Ok(sched_setaffinity(thread, &set)?)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn pins_within_the_set_and_refuses_outside() {
        std::thread::spawn(|| {
            let cpu = *allowed_cpus().unwrap().last().unwrap();
            pin_to(cpu).unwrap();
            assert_eq!(allowed_cpus().unwrap(), [cpu]);
            assert!(process_cpus().unwrap().contains(&cpu));
            let error = pin_to(100_000).unwrap_err();
            assert!(error.to_string().contains("100000"), "{error}");
        })
        .join()
        .unwrap();
    }
}
