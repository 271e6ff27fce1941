//! What `/proc` shows about the CPUs and threads of a trial. Parsers are pure.

use std::time::{Duration, Instant};

/// The kernel's clock ticks are always shown as hundredths of a second
/// (`USER_HZ`).
const TICK: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    pub busy: Duration,
    pub steal: Duration,
}

impl CpuTime {
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(before.busy),
            steal: self.steal.saturating_sub(before.steal),
        }
    }
}

/// The time of `cpus` together, from the text of `/proc/stat`; a CPU that it
/// does not name counts nothing.
pub fn cpu_time(stat: &str, cpus: &[usize]) -> CpuTime {
    let mut sum = CpuTime::default();
    for line in stat.lines() {
        let mut fields = line.split_whitespace();
        let cpu = fields
            .next()
            .and_then(|name| name.strip_prefix("cpu"))
            .and_then(|number| number.parse::<usize>().ok());
        if !cpu.is_some_and(|cpu| cpus.contains(&cpu)) {
            continue;
        }
        let ticks: Vec<u32> = fields.map_while(|field| field.parse().ok()).collect();
        let of = |index: usize| TICK * ticks.get(index).copied().unwrap_or(0);
        // user nice system idle iowait irq softirq steal (proc_stat(5)).
        sum.busy += of(0) + of(1) + of(2) + of(5) + of(6);
        sum.steal += of(7);
    }
    sum
}

/// Which CPUs a trial uses. Empty where it is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    pub generator: Vec<usize>,
    pub device: Vec<usize>,
    pub sink: Vec<usize>,
}

impl Placement {
    /// Adds those of another device that is tried at the same time.
    pub fn add(&mut self, other: Self) {
        self.generator.extend(other.generator);
        self.device.extend(other.device);
        self.sink.extend(other.sink);
        for cpus in [&mut self.generator, &mut self.device, &mut self.sink] {
            cpus.sort_unstable();
            cpus.dedup();
        }
    }

    pub fn cpus(&self) -> Vec<usize> {
        let parts = [&self.generator, &self.device, &self.sink];
        let mut cpus: Vec<_> = parts.into_iter().flatten().copied().collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }
}

/// What the CPUs of a trial did while it sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostUse {
    pub busy_generator: Duration,
    /// The same for the CPUs of the device and the sink, without those of the
    /// generator.
    pub busy_behind: Duration,
    pub resolution: Duration,
    pub steal: Duration,
    /// How long it sent, by the harness's clock: from the first reading of the
    /// above to the last.
    pub elapsed: Duration,
}

/// Where the kernel tells the CPU time of all tasks to the nanosecond
/// (`cpuacct`, control groups of version 1).
const ACCOUNTS: [&str; 2] = [
    "/sys/fs/cgroup/cpuacct/cpuacct.usage_percpu",
    "/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage_percpu",
];

/// A task that runs is brought up to date at each tick of the kernel's, of 4 ms
/// where it has 250 a second.
const ACCOUNTS_RESOLUTION: Duration = Duration::from_millis(4);

/// What [`HostUse`] is the difference of.
#[derive(Clone, Debug)]
pub struct Moment {
    stat: String,
    accounts: Option<String>,
    at: Instant,
}

impl Moment {
    pub fn now() -> Self {
        let read = |path: &&str| std::fs::read_to_string(path).ok();
        Self {
            accounts: ACCOUNTS.iter().find_map(read),
            stat: std::fs::read_to_string("/proc/stat").unwrap_or_default(),
            at: Instant::now(),
        }
    }

    pub fn since(&self, before: &Self, placement: &Placement) -> HostUse {
        let cpus = placement.cpus();
        let behind: Vec<usize> = cpus
            .iter()
            .copied()
            .filter(|cpu| !placement.generator.contains(cpu))
            .collect();
        let (busy_generator, _) = self.busy_since(before, &placement.generator);
        let (busy_behind, resolution) = self.busy_since(before, &behind);
        HostUse {
            busy_generator,
            busy_behind,
            resolution,
            steal: cpu_time(&self.stat, &cpus)
                .since(cpu_time(&before.stat, &cpus))
                .steal,
            elapsed: self.at.saturating_duration_since(before.at),
        }
    }

    /// Time in which these CPUs were busy, and by how much it may be wrong.
    fn busy_since(&self, before: &Self, cpus: &[usize]) -> (Duration, Duration) {
        let exact = |moment: &Self| usage(moment.accounts.as_deref()?, cpus);
        if let (Some(now), Some(then)) = (exact(self), exact(before)) {
            return (now.saturating_sub(then), ACCOUNTS_RESOLUTION);
        }
        let ticks = cpu_time(&self.stat, cpus).since(cpu_time(&before.stat, cpus));
        // Each kind of time of each CPU is cut to whole ticks.
        (ticks.busy, TICK * 2 * cpus.len() as u32)
    }
}

/// CPU time of all tasks on `cpus`, from the text of `cpuacct.usage_percpu`;
/// `None` where it does not name one of them.
pub fn usage(accounts: &str, cpus: &[usize]) -> Option<Duration> {
    let all = accounts
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<Vec<u64>, _>>()
        .ok()?;
    let mut sum_ns = 0;
    for &cpu in cpus {
        sum_ns += all.get(cpu)?;
    }
    Some(Duration::from_nanos(sum_ns))
}

/// Receive softirqs that `cpu` ran, from the text of `/proc/softirqs`; `None`
/// where it does not say.
pub fn receive_softirqs(softirqs: &str, cpu: usize) -> Option<u64> {
    let mut lines = softirqs.lines();
    // The header names the CPUs that are there.
    let column = lines
        .next()?
        .split_whitespace()
        .position(|name| name.strip_prefix("CPU") == Some(cpu.to_string().as_str()))?;
    let counts = lines.find_map(|line| line.trim_start().strip_prefix("NET_RX:"))?;
    counts.split_whitespace().nth(column)?.parse().ok()
}

/// Time that a thread was ready and did not run, ns, from the text of its
/// `schedstat`; `None` where it does not say.
pub fn waited_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(1)?.parse().ok()
}

/// [`waited_ns`] of any thread of the host, by its number; `None` where it is gone or
/// the host does not say.
pub fn thread_waited_ns(thread: i32) -> Option<u64> {
    waited_ns(&std::fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?)
}

/// Read before and after the calling thread sends. Values that the host does not give
/// count as 0 both times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    at: Instant,
    waited_ns: u64,
    receive_softirqs: u64,
}

impl Reading {
    pub(super) fn now(cpu: usize) -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        Self {
            at: Instant::now(),
            waited_ns: waited_ns(&read("/proc/thread-self/schedstat")).unwrap_or(0),
            receive_softirqs: receive_softirqs(&read("/proc/softirqs"), cpu).unwrap_or(0),
        }
    }

    pub(super) fn since(self, before: Self) -> super::Sender {
        // A guest of which the CPUs were taken away was seen to count minutes for
        // a trial of half a second: no thread waits longer than what passed.
        let passed_ns = (self.at - before.at).as_nanos() as u64;
        super::Sender {
            waited_ns: self
                .waited_ns
                .saturating_sub(before.waited_ns)
                .min(passed_ns),
            receive_softirqs: self
                .receive_softirqs
                .saturating_sub(before.receive_softirqs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Moment, Placement, Reading, cpu_time, receive_softirqs, usage, waited_ns};
    use std::time::{Duration, Instant};

    const STAT: &str = "cpu  30 0 30 9 9 0 0 6 0 0\n\
                        cpu0 10 1 20 900 5 2 3 4 0 0\n\
                        cpu1 20 0 10 900 4 0 0 2 0 0\nintr 5\n";

    #[test]
    fn exact_times_are_read_where_the_host_has_them() {
        assert_eq!(usage("5 7 11 \n", &[0, 2]), Some(Duration::from_nanos(16)));
        assert_eq!(usage("5 7", &[2]), None);
        assert_eq!(usage("five", &[0]), None);
        let placement = Placement {
            generator: vec![0],
            ..Placement::default()
        };
        let moment = Moment::now();
        let spun = Instant::now();
        while spun.elapsed() < Duration::from_millis(5) {
            std::hint::spin_loop();
        }
        let used = Moment::now().since(&moment, &placement);
        assert!(used.elapsed >= Duration::from_millis(5));
        assert_eq!(used.busy_behind, Duration::ZERO, "no such CPU was named");
    }

    #[test]
    fn each_cpu_is_named_once() {
        let placement = Placement {
            generator: vec![0],
            device: vec![1],
            sink: vec![1],
        };
        assert_eq!(placement.cpus(), [0, 1]);
    }

    #[test]
    fn times_of_chosen_cpus_are_added() {
        let one = cpu_time(STAT, &[0]);
        assert_eq!(one.busy, Duration::from_millis(360));
        assert_eq!(one.steal, Duration::from_millis(40));
        assert_eq!(cpu_time(STAT, &[0, 1]).steal, Duration::from_millis(60));
        assert_eq!(cpu_time(STAT, &[7]), Default::default());
        assert_eq!(cpu_time("cpu0 x\ncpu", &[0]), Default::default());
    }

    #[test]
    fn softirqs_are_found_by_the_cpus_name() {
        let text = "                    CPU0       CPU2\n          HI:          1          0\n      NET_TX:          3          4\n      NET_RX:         17         42\n";
        assert_eq!(receive_softirqs(text, 2), Some(42));
        assert_eq!(receive_softirqs(text, 1), None);
        assert_eq!(receive_softirqs("", 0), None);
    }

    #[test]
    fn this_host_tells_of_its_threads() {
        assert_eq!(waited_ns("123 456 7\n"), Some(456));
        assert_eq!(waited_ns(""), None);
        let before = Reading::now(0);
        let now = Reading::now(0);
        let jumped = Reading {
            waited_ns: before.waited_ns + 160_000_000_000,
            ..now
        };
        let passed = (now.at - before.at).as_nanos();
        assert_eq!(u128::from(jumped.since(before).waited_ns), passed);
        let after = now.since(before);
        assert!(after.waited_ns < 60_000_000_000, "{after:?}");
    }
}
