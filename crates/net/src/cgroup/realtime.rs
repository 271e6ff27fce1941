//! Limits of the kernel's own threads.
//!
//! Since Linux 6.18 a group whose CPU time is used up holds a thread only where
//! it returns to its program ("sched/fair: Switch to task based throttle
//! model"). The kernel's threads never return to one, so `cpu.cfs_quota_us` and
//! `cpu.max` no longer bind them: they run on, and use up what their group's
//! other members have. The share of the real-time class still binds them
//! (`Documentation/scheduler/sched-rt-group.rst`); it is in version 1 only.

use std::io;

use rustix::process::Pid;

use super::folder::Folder;
use super::hierarchy::Controller;
use super::limits::quota_and_period_us;
use super::{CgroupError, failed, write};

/// Whether a usual limit also binds the kernel's threads.
pub(super) fn is_needless() -> bool {
    sys::kernel::version() < (6, 18)
}

/// Lets these threads of the kernel's use this many CPUs together: an equal part of
/// each CPU that they may run on, since the kernel counts each CPU by itself.
pub(super) fn limit(folders: &[Folder], cpus: f64, threads: &[i32]) -> Result<(), CgroupError> {
    let each = cpus / cpus_of(threads) as f64;
    if each >= 1.0 {
        return Ok(());
    }
    let of_cpu = |folder: &&Folder| folder.controllers.contains(&Controller::Cpu);
    let folder = folders.iter().find(of_cpu);
    let files = folder
        .map(|folder| ["cpu.rt_period_us", "cpu.rt_runtime_us"].map(|file| folder.path.join(file)));
    let Some([period_file, runtime_file]) = files.filter(|[_, runtime]| runtime.exists()) else {
        return Err(CgroupError::KernelThreads);
    };
    let (runtime_us, period_us) = quota_and_period_us(each);
    write(&period_file, &period_us.to_string())?;
    match write(&runtime_file, &runtime_us.to_string()) {
        Err(CgroupError::System { source, .. }) if source.kind() == io::ErrorKind::InvalidInput => {
            return Err(CgroupError::RealTimeShare { each, source });
        }
        written => written?,
    }
    for &thread in threads {
        let what = format!("schedule the kernel's thread {thread} in real time");
        sys::schedule::in_real_time(thread).map_err(failed(what))?;
    }
    Ok(())
}

/// How many CPUs any of these may run on; at least 1.
fn cpus_of(threads: &[i32]) -> usize {
    let sets: Vec<_> = threads
        .iter()
        .filter_map(|&thread| rustix::thread::sched_getaffinity(Pid::from_raw(thread)).ok())
        .collect();
    let is_used = |cpu: &usize| sets.iter().any(|set| set.is_set(*cpu));
    (0..rustix::thread::CpuSet::MAX_CPU)
        .filter(is_used)
        .count()
        .max(1)
}
