//! What the kernel counted on the trial's CPUs meanwhile.

use std::fs;

/// Jiffies of some CPUs since boot, from `/proc/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuTimes {
    pub(super) busy: u64,
    pub(super) idle: u64,
    pub(super) steal: u64,
}

impl CpuTimes {
    /// Reads them now; all zero where `/proc/stat` is not readable, which
    /// then shows as nothing observed.
    pub(super) fn now(cpus: &[usize]) -> Self {
        fs::read_to_string("/proc/stat")
            .map(|text| Self::parse(&text, cpus))
            .unwrap_or_default()
    }

    fn parse(text: &str, cpus: &[usize]) -> Self {
        let mut sum = Self::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let number = words
                .next()
                .and_then(|name| name.strip_prefix("cpu"))
                .and_then(|n| n.parse().ok());
            if !number.is_some_and(|number: usize| cpus.contains(&number)) {
                continue;
            }
            // user nice system idle iowait irq softirq steal guest guest_nice
            let jiffies: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            let at = |index: usize| jiffies.get(index).copied().unwrap_or(0);
            sum.busy += at(0) + at(1) + at(2) + at(5) + at(6);
            sum.idle += at(3) + at(4);
            sum.steal += at(7);
        }
        sum
    }

    /// What passed since `before`.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(before.busy),
            idle: self.idle.saturating_sub(before.idle),
            steal: self.steal.saturating_sub(before.steal),
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.busy += other.busy;
        self.idle += other.idle;
        self.steal += other.steal;
    }

    fn total(self) -> u64 {
        self.busy + self.idle + self.steal
    }

    /// Share of the time that the hypervisor gave to others.
    pub(super) fn steal_ratio(self) -> f64 {
        if self.total() == 0 {
            0.0
        } else {
            self.steal as f64 / self.total() as f64
        }
    }

    /// The smallest load, in CPUs, that jiffies can tell from none after so
    /// many windows on so many CPUs: each window's ends are a tick uncertain.
    pub(super) fn resolution(self, windows: usize, cpus: usize) -> f64 {
        let ends = (windows * cpus) as f64;
        let jiffies_a_cpu = self.total() as f64 / cpus.max(1) as f64;
        if jiffies_a_cpu == 0.0 {
            0.0
        } else {
            ends.sqrt() / jiffies_a_cpu
        }
    }

    /// Share of the time that some program ran.
    pub(super) fn busy_ratio(self) -> f64 {
        if self.total() == 0 {
            0.0
        } else {
            self.busy as f64 / self.total() as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_the_named_cpus_only() {
        let text = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 0 5 100 1 2 3 4 0 0\ncpu1 1 1 1 1 1 1 1 1 0 0\ncpu10 7\nintr 5\n";
        let times = CpuTimes::parse(text, &[0, 10]);
        assert_eq!(
            times,
            CpuTimes {
                busy: 27,
                idle: 101,
                steal: 4
            }
        );
        assert!((times.steal_ratio() - 4.0 / 132.0).abs() < 1e-12);
        assert!((times.resolution(9, 1) - 3.0 / 132.0).abs() < 1e-12);
        assert_eq!(CpuTimes::default().resolution(9, 2), 0.0);
        assert_eq!(
            CpuTimes::parse("cpuX garbage\ncpu0 -1 x", &[0]),
            CpuTimes::default()
        );
    }
}
