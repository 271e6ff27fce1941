//! What a device on this host uses of its CPUs.

use std::time::Duration;

use crate::tester::trial::thread_waited_ns;

/// CPU time and waiting of threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Used {
    pub cpu_ns: u64,
    /// `None` where the host does not say it of all.
    pub waited_ns: Option<u64>,
}

impl Used {
    pub(super) fn since(self, before: Self) -> Self {
        let waited = self.waited_ns.zip(before.waited_ns);
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            waited_ns: waited.map(|(now, then)| now.saturating_sub(then)),
        }
    }

    pub(super) fn cpu(self) -> Duration {
        Duration::from_nanos(self.cpu_ns)
    }
}

/// Of all threads of these processes, or of kernel threads. Those that ended meanwhile
/// count no more.
pub(super) fn used(processes: &[i32]) -> Used {
    let mut sum = Used {
        cpu_ns: 0,
        waited_ns: Some(0),
    };
    for thread in processes.iter().copied().flat_map(threads) {
        let Ok(cpu_ns) = net::napi::thread_cpu_ns(thread) else {
            continue;
        };
        sum.cpu_ns += cpu_ns;
        let waited = sum.waited_ns.zip(thread_waited_ns(thread));
        sum.waited_ns = waited.map(|(sum, one)| sum + one);
    }
    sum
}

pub(super) fn is_there(process: i32) -> bool {
    process > 0 && !threads(process).is_empty()
}

fn threads(process: i32) -> Vec<i32> {
    let folder = std::fs::read_dir(format!("/proc/{process}/task"));
    let names = folder.into_iter().flatten().flatten();
    names
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Processes that hold a tap open: the guest behind it.
pub(super) fn holders(tap: &str) -> Vec<i32> {
    let line = format!("iff:\t{tap}");
    let holds = |process: i32| {
        let files = std::fs::read_dir(format!("/proc/{process}/fdinfo"));
        files.into_iter().flatten().flatten().any(|file| {
            let text = std::fs::read_to_string(file.path()).unwrap_or_default();
            text.lines().any(|one| one == line)
        })
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&process| process != std::process::id().cast_signed() && holds(process))
        .collect()
}
