//! What the host did with its CPUs while something ran: whether others had them.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

/// Share of the CPUs' time that the hypervisor may give to others, as for a valid
/// trial (`trial::validity`).
const STOLEN_RATIO_MAX: f64 = 0.02;

/// CPUs that other programs may keep busy, as for a valid trial.
const OTHERS_CPUS_MAX: f64 = 0.1;

/// Shorter windows are a few of the kernel's ticks: chance says what they hold.
const WINDOW_MIN: Duration = Duration::from_secs(1);

const TICKS_PER_S: f64 = 100.0;

/// `PF_KTHREAD` of the kernel's `sched.h`: a thread of the kernel's own.
const KERNEL_THREAD: u64 = 0x0020_0000;

#[derive(Clone, Debug)]
pub struct Snapshot {
    at: Instant,
    cpus: Cpus,
    processes: HashMap<u32, Process>,
}

/// How other programs used the CPUs between two snapshots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    pub stolen: f64,
    pub others_cpus: f64,
    pub cpus: usize,
}

impl Use {
    pub fn is_busy(&self) -> bool {
        self.stolen > STOLEN_RATIO_MAX || self.others_cpus > OTHERS_CPUS_MAX
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            stolen,
            others_cpus,
            cpus,
        } = self;
        write!(
            f,
            "{:.0}% of the CPUs' time stolen, other programs kept {others_cpus:.1} of {cpus} CPUs busy",
            stolen * 100.0
        )
    }
}

impl Snapshot {
    /// The host's current state; what it does not report counts as zero.
    pub fn now() -> Self {
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        Self {
            at: Instant::now(),
            cpus: Cpus::parse(&stat),
            processes: processes(),
        }
    }

    /// The use since this snapshot, over at least a second: waits for the rest.
    pub fn until_now(&self) -> Use {
        std::thread::sleep(WINDOW_MIN.saturating_sub(self.at.elapsed()));
        Self::now().since(self, std::process::id())
    }

    fn since(&self, before: &Self, us: u32) -> Use {
        let seconds = self.at.duration_since(before.at).as_secs_f64();
        let all = self.cpus.all.saturating_sub(before.cpus.all);
        let stolen = self.cpus.stolen.saturating_sub(before.cpus.stolen);
        Use {
            stolen: stolen as f64 / all.max(1) as f64,
            others_cpus: self.others_ticks(before, us) as f64 / TICKS_PER_S / seconds,
            cpus: self.cpus.count,
        }
    }

    /// CPU time of other processes; those that started and ended between the two
    /// snapshots are not known.
    fn others_ticks(&self, before: &Self, us: u32) -> u64 {
        let mut ticks = 0;
        for (pid, process) in &self.processes {
            if process.is_kernels || self.is_ours(*pid, us) {
                continue;
            }
            let then = before.processes.get(pid);
            let then = then.filter(|then| then.began == process.began);
            ticks += process
                .ticks
                .saturating_sub(then.map_or(0, |then| then.ticks));
        }
        ticks
    }

    /// Whether a process descends from `us`, or from one that began after us and
    /// has no parent any more: containers leave their parents.
    fn is_ours(&self, pid: u32, us: u32) -> bool {
        let Some(own) = self.processes.get(&us) else {
            return false;
        };
        let mut at = pid;
        // As many generations as there may be processes: no loop is for ever.
        for _ in 0..self.processes.len() {
            if at == us {
                return true;
            }
            let Some(process) = self.processes.get(&at) else {
                return false;
            };
            if process.parent <= 1 {
                return process.began >= own.began;
            }
            at = process.parent;
        }
        false
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cpus {
    all: u64,
    stolen: u64,
    count: usize,
}

impl Cpus {
    /// `/proc/stat`: user nice system idle iowait irq softirq steal; guest time,
    /// which follows, is part of user time already (proc(5)).
    fn parse(stat: &str) -> Self {
        let mut lines = stat.lines();
        let total = lines.next().and_then(|line| line.strip_prefix("cpu "));
        let ticks: Vec<u64> = total
            .unwrap_or_default()
            .split_whitespace()
            .take(8)
            .map_while(|word| word.parse().ok())
            .collect();
        Self {
            all: ticks.iter().sum(),
            stolen: ticks.get(7).copied().unwrap_or(0),
            count: lines.take_while(|line| line.starts_with("cpu")).count(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    parent: u32,
    is_kernels: bool,
    ticks: u64,
    began: u64,
}

impl Process {
    /// pid (name) state ppid pgrp session tty tpgid flags minflt cminflt majflt
    /// cmajflt utime stime cutime cstime priority nice threads 0 starttime; the
    /// name may hold anything (proc(5)).
    fn parse(stat: &str) -> Option<Self> {
        let (_, after_name) = stat.rsplit_once(')')?;
        let words: Vec<&str> = after_name.split_whitespace().collect();
        let number = |index: usize| words.get(index)?.parse::<u64>().ok();
        Some(Self {
            parent: u32::try_from(number(1)?).ok()?,
            is_kernels: number(6)? & KERNEL_THREAD != 0,
            ticks: number(11)? + number(12)?,
            began: number(19)?,
        })
    }
}

fn processes() -> HashMap<u32, Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((pid, Process::parse(&stat)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(parent: u32, began: u64, ticks: u64) -> Process {
        Process {
            parent,
            is_kernels: false,
            ticks,
            began,
        }
    }

    fn snapshot(seconds: u64, stat: &str, processes: &[(u32, Process)]) -> Snapshot {
        // A fixed moment, so that windows are exact.
        static BEGAN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        Snapshot {
            at: *BEGAN.get_or_init(Instant::now) + Duration::from_secs(seconds),
            cpus: Cpus::parse(stat),
            processes: processes.iter().copied().collect(),
        }
    }

    #[test]
    fn stolen_time_is_a_share_of_all() {
        let before = snapshot(
            0,
            "cpu  100 0 0 800 0 0 0 100 50 0\ncpu0 1\ncpu1 1\nintr 7",
            &[],
        );
        let after = snapshot(
            1,
            "cpu  150 0 0 850 0 0 0 200 70 0\ncpu0 1\ncpu1 1\nintr 7",
            &[],
        );
        let used = after.since(&before, 1);
        assert_eq!(used.cpus, 2);
        assert!(
            (used.stolen - 0.5).abs() < 1e-12 && used.is_busy(),
            "{used}"
        );
        assert_eq!(
            used.to_string(),
            "50% of the CPUs' time stolen, other programs kept 0.0 of 2 CPUs busy"
        );
        // Counters of a migrated guest can run backwards; and no line is no news.
        assert!(!before.since(&before, 1).is_busy());
        assert_eq!(Cpus::parse("cpu  a"), Cpus::default());
        assert_eq!(Cpus::parse(""), Cpus::default());
    }

    #[test]
    fn others_are_who_is_neither_ours_nor_the_kernels() {
        let us = 50;
        let kernels = Process {
            is_kernels: true,
            ..process(2, 1, 9000)
        };
        let at = |ticks: u64| {
            [
                (1, process(0, 0, 0)),
                (2, Process { ticks, ..kernels }),
                (40, process(1, 10, ticks)),
                (41, process(40, 900, ticks)),
                (us, process(40, 100, ticks)),
                (51, process(us, 101, ticks)),
                (52, process(51, 102, ticks)),
                (60, process(1, 150, ticks)),
                (61, process(60, 151, ticks)),
            ]
        };
        let used = snapshot(1, "", &at(300)).since(&snapshot(0, "", &at(200)), us);
        // Our parent and its other child, however late that began.
        assert!((used.others_cpus - 2.0).abs() < 1e-12, "{used}");
        assert!(used.is_busy());
    }

    #[test]
    fn who_has_a_number_again_began_at_nothing() {
        let before = snapshot(0, "", &[(9, process(0, 1, 500)), (1, process(0, 0, 0))]);
        let after = snapshot(10, "", &[(9, process(8, 7, 100)), (1, process(0, 0, 0))]);
        let used = after.since(&before, 1);
        assert!((used.others_cpus - 0.1).abs() < 1e-12, "{used}");
    }

    #[test]
    fn a_process_with_any_name_is_read() {
        let stat = "7 (a) b (c)) S 3 7 7 0 -1 2097216 1 2 3 4 50 6 7 8 20 0 1 0 1234 5";
        let read = Process::parse(stat).expect("it parses");
        let wanted = Process {
            is_kernels: true,
            ..process(3, 1234, 56)
        };
        assert_eq!(read, wanted);
        for strange in ["", "7", "7 (a", "7 (a) S x", "7 (a) S 1 2 3"] {
            assert_eq!(Process::parse(strange), None, "{strange}");
        }
    }

    #[test]
    fn this_host_tells_of_us() {
        let now = Snapshot::now();
        let us = now.processes.get(&std::process::id()).expect("we are here");
        assert!(!us.is_kernels && us.began > 0);
        assert!(now.cpus.count > 0 && now.cpus.all > 0);
        assert!(now.is_ours(std::process::id(), std::process::id()));
    }
}
