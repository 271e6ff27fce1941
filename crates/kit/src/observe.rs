//! What disturbs a trial: what the kernel counted on its CPUs meanwhile, how
//! fast the core is, and how long threads were kept from running.

use std::fs;
use std::hint::black_box;

use sys::affinity::pin_to;
use sys::clock::now_ns;
use trial::Histogram;

/// Multiplications in a row, each of which needs the one before: some 12 µs.
const STEPS: u32 = 10_000;
/// Chains timed one after the other: the fastest was not interrupted.
const CHAINS: usize = 5;
/// Fewer latencies have no 99th percentile to compare the largest with.
const LATENCIES_MIN: u64 = 100;

/// How long one step of a chain of dependent multiplications takes on that
/// CPU, ns: nothing but the core's clock decides it, since the chain touches
/// no memory and cannot be widened. `None` where no thread can run there.
pub fn step_ns(cpu: usize) -> Option<f64> {
    std::thread::scope(|scope| {
        let chains = scope.spawn(|| {
            pin_to(cpu).ok()?;
            // The first also wakes the core up.
            chain_ns();
            (0..CHAINS).map(|_| chain_ns()).min()
        });
        chains.join().ok().flatten()
    })
    .map(|ns| ns as f64 / f64::from(STEPS))
}

fn chain_ns() -> u64 {
    let factor = black_box(0x9e37_79b9_7f4a_7c15_u64);
    let mut value = black_box(1_u64);
    let begin_ns = now_ns();
    for _ in 0..STEPS {
        // The rotation keeps two factors from being multiplied beforehand.
        value = value.wrapping_mul(factor).rotate_left(1);
    }
    black_box(value);
    now_ns() - begin_ns
}

/// How much faster (above 0) or slower a core runs than usual, as a share.
pub fn drift(step_ns: f64, usual_ns: f64) -> f64 {
    usual_ns / step_ns - 1.0
}

/// The longest latency against the 99th percentile, since what makes every
/// request slow is no pause.
pub fn gap_ns(latency: &Histogram) -> u64 {
    if latency.len() < LATENCIES_MIN {
        return 0;
    }
    let at = |share| latency.quantile_ns(share).unwrap_or(0);
    at(1.0).saturating_sub(at(0.99))
}

/// Jiffies of some CPUs since boot, from `/proc/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    pub busy: u64,
    pub idle: u64,
    pub steal: u64,
}

impl CpuTimes {
    /// Reads them now; all zero where `/proc/stat` is not readable, which
    /// then shows as nothing observed.
    pub fn now(cpus: &[usize]) -> Self {
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
    pub fn since(self, before: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(before.busy),
            idle: self.idle.saturating_sub(before.idle),
            steal: self.steal.saturating_sub(before.steal),
        }
    }

    pub fn add(&mut self, other: Self) {
        self.busy += other.busy;
        self.idle += other.idle;
        self.steal += other.steal;
    }

    fn total(self) -> u64 {
        self.busy + self.idle + self.steal
    }

    fn share(self, jiffies: u64) -> f64 {
        jiffies as f64 / self.total().max(1) as f64
    }

    /// Share of the time that the hypervisor gave to others.
    pub fn steal_ratio(self) -> f64 {
        self.share(self.steal)
    }

    /// The smallest load, in CPUs, that jiffies can tell from none after so
    /// many windows on this many CPUs. Each window's ends are a tick uncertain, and
    /// who has a CPU is only seen at a tick: of CPUs that are busy half of the
    /// time, so few samples are off by chance (two standard deviations).
    fn resolution(self, windows: usize, cpus: usize) -> f64 {
        let jiffies = self.total() as f64;
        if jiffies == 0.0 {
            return 0.0;
        }
        let ends = ((windows * cpus) as f64).sqrt();
        let busy = self.busy_ratio();
        let samples = 2.0 * (busy * (1.0 - busy) * jiffies).sqrt();
        ends.hypot(samples) * cpus as f64 / jiffies
    }

    /// Cores that others kept busy, as far as jiffies can tell, in this many
    /// windows on this many CPUs of which we kept `ours` busy.
    pub fn load_elsewhere(self, windows: usize, cpus: usize, ours: f64) -> f64 {
        let unsure = self.resolution(windows, cpus);
        (self.busy_ratio() * cpus as f64 - ours - unsure).max(0.0)
    }

    /// Share of the time that some program ran.
    fn busy_ratio(self) -> f64 {
        self.share(self.busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_takes_time_and_drift_is_faster_above_zero() {
        let cpu = sys::affinity::allowed_cpus().unwrap()[0];
        assert!(step_ns(cpu).is_some_and(|ns| ns > 0.0));
        assert_eq!(step_ns(100_000), None);
        assert!((drift(0.8, 1.0) - 0.25).abs() < 1e-12);
        assert!((drift(1.25, 1.0) + 0.2).abs() < 1e-12);
    }

    #[test]
    fn a_pause_stands_out_and_slow_requests_do_not() {
        let of = |latencies: &[(u64, usize)]| {
            let mut histogram = Histogram::new();
            for &(ns, count) in latencies {
                (0..count).for_each(|_| histogram.record(ns));
            }
            gap_ns(&histogram)
        };
        let pause = of(&[(1_000, 1000), (20_000_000, 1)]);
        assert!((19_000_000..21_000_000).contains(&pause), "{pause}");
        assert_eq!(of(&[(30_000_000, 1000)]), 0);
        assert_eq!(of(&[(1_000, 98), (20_000_000, 1)]), 0, "too few to tell");
    }

    #[test]
    fn sums_the_named_cpus_only() {
        let of = |busy, idle, steal| CpuTimes { busy, idle, steal };
        let text = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 0 5 100 1 2 3 4 0 0\ncpu1 1 1 1 1 1 1 1 1 0 0\ncpu10 7\nintr 5\n";
        let times = CpuTimes::parse(text, &[0, 10]);
        assert_eq!(times, of(27, 101, 4));
        assert!((times.steal_ratio() - 4.0 / 132.0).abs() < 1e-12);
        let always_busy = of(132, 0, 0);
        assert!((always_busy.resolution(9, 1) - 3.0 / 132.0).abs() < 1e-12);
        let half = of(200, 200, 0);
        // 0.05 of one CPU's time, of both 0.1; the windows' ends hardly count.
        assert!((half.resolution(1, 2) - 0.1).abs() < 0.001);
        assert_eq!(CpuTimes::default().resolution(9, 2), 0.0);
        let garbage = CpuTimes::parse("cpuX garbage\ncpu0 -1 x", &[0]);
        assert_eq!(garbage, CpuTimes::default());
    }
}
