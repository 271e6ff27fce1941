//! vCPU threads on the host CPUs they were given.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::Deserialize;
use serde_json::Value;
use sys::affinity::{PinError, allowed_cpus};

use super::qmp::{Qmp, QmpError};

#[derive(Deserialize)]
struct Vcpu {
    #[serde(rename = "cpu-index")]
    index: usize,
    #[serde(rename = "thread-id")]
    thread: i32,
}

/// Refuses CPUs that this process may not use, before anything starts.
pub(super) fn check(host_cpus: &[usize]) -> Result<(), PinError> {
    let Some(&first) = host_cpus.first() else {
        return Ok(());
    };
    let allowed = allowed_cpus().map_err(|source| PinError::Kernel { cpu: first, source })?;
    match host_cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(&cpu) => Err(PinError::NotAllowed { cpu, allowed }),
        None => Ok(()),
    }
}

/// The host threads that run the vCPUs, in the vCPUs' order.
pub(super) fn threads(qmp: &mut Qmp) -> Result<Vec<i32>, QmpError> {
    let command = "query-cpus-fast";
    let answer = qmp.execute(command, Value::Null)?;
    let mut vcpus: Vec<Vcpu> =
        serde_json::from_value(answer).map_err(|error| QmpError::Malformed {
            command: command.to_owned(),
            what: error.to_string(),
        })?;
    vcpus.sort_by_key(|vcpu| vcpu.index);
    Ok(vcpus.into_iter().map(|vcpu| vcpu.thread).collect())
}

/// Each thread on one CPU, round robin. QEMU's other threads keep the CPUs of
/// this process.
pub(super) fn pin(threads: &[i32], host_cpus: &[usize]) -> Result<(), PinError> {
    for (&thread, &cpu) in threads.iter().zip(host_cpus.iter().cycle()) {
        let mut set = CpuSet::new();
        set.set(cpu);
        sched_setaffinity(Pid::from_raw(thread), &set).map_err(|error| PinError::Kernel {
            cpu,
            source: error.into(),
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_outside_the_set_is_named() {
        assert!(check(&[]).is_ok());
        let allowed = allowed_cpus().unwrap();
        assert!(check(&allowed).is_ok());
        let error = check(&[allowed[0], 100_000]).unwrap_err().to_string();
        assert!(error.contains("100000"), "{error}");
    }

    #[test]
    fn a_thread_moves() {
        let cpu = *allowed_cpus().unwrap().last().unwrap();
        let moved = std::thread::spawn(move || {
            let thread = rustix::thread::gettid().as_raw_nonzero().get();
            pin(&[thread], &[cpu]).unwrap();
            allowed_cpus().unwrap()
        });
        assert_eq!(moved.join().unwrap(), [cpu]);
    }
}
