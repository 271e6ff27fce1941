//! Which CPUs a thread may use.

use std::io;

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
    cpus_of(0)
}

/// The CPUs that this process's first thread may use, ascending: the process's own
/// set even where the calling thread is pinned.
///
/// # Errors
/// As [`allowed_cpus`].
pub fn process_cpus() -> io::Result<Vec<usize>> {
    // SAFETY: it touches no memory and cannot fail.
    cpus_of(unsafe { libc::getpid() })
}

fn cpus_of(thread: libc::pid_t) -> io::Result<Vec<usize>> {
    // SAFETY: cpu_set_t is plain integers, for which all zeroes is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: one writable set of the size stated.
    let failed = unsafe { libc::sched_getaffinity(thread, size_of_val(&set), &raw mut set) };
    if failed != 0 {
        return Err(io::Error::last_os_error());
    }
    let limit = usize::try_from(libc::CPU_SETSIZE).expect("1024");
    // SAFETY: every index is below CPU_SETSIZE.
    Ok((0..limit)
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
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
    // SAFETY: as above.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let limit = usize::try_from(libc::CPU_SETSIZE).expect("1024");
    for &cpu in cpus {
        assert!(cpu < limit, "CPU {cpu} is beyond what the set can name");
        // SAFETY: the index is below CPU_SETSIZE.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: one readable set of the size stated.
    let failed = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
    if failed != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
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
