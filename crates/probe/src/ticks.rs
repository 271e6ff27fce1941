//! What the kernel counts of processor time.

use crate::Host;

/// Processor time since boot, in ticks: the first line of `/proc/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticks {
    total: u64,
    steal: u64,
    /// Neither idle, nor waiting for a disk, nor stolen.
    busy: u64,
    /// Of these this process's.
    own: u64,
}

impl Ticks {
    pub(super) fn read(host: &Host) -> Option<Self> {
        let own = host.line("/proc/self/stat").and_then(|line| own(&line));
        let all = Self::parse(&host.line("/proc/stat")?)?;
        Some(Self {
            own: own.unwrap_or(0),
            ..all
        })
    }

    /// user nice system idle iowait irq softirq steal; guest time, which
    /// follows, is part of user time already (proc(5)).
    fn parse(line: &str) -> Option<Self> {
        let numbers: Vec<u64> = line
            .strip_prefix("cpu ")?
            .split_whitespace()
            .take(8)
            .map(|word| word.parse().ok())
            .collect::<Option<_>>()?;
        let steal = *numbers.get(7)?;
        let total = numbers.iter().copied().fold(0, u64::saturating_add);
        let waiting = numbers[3].saturating_add(numbers[4]).saturating_add(steal);
        Some(Self {
            total,
            steal,
            busy: total.saturating_sub(waiting),
            own: 0,
        })
    }

    /// Processors that others kept busy from `self` to `later`, of
    /// `cpus`; none where no tick lies between them.
    pub(super) fn busy_elsewhere(self, later: Self, cpus: usize) -> Option<f64> {
        let total = later
            .total
            .checked_sub(self.total)
            .filter(|total| *total > 0)?;
        let since = |of: fn(&Self) -> u64| of(&later).saturating_sub(of(&self));
        let others = since(|it| it.busy).saturating_sub(since(|it| it.own));
        Some(others as f64 / total as f64 * cpus as f64)
    }

    /// Share of `self` to `later` that was stolen, in percent; since boot
    /// where no tick lies between them.
    pub(super) fn steal_percent(self, later: Self) -> (f64, &'static str) {
        let total = later.total.saturating_sub(self.total);
        let steal = later.steal.saturating_sub(self.steal);
        if total > 0 {
            return (percent(steal, total), "now");
        }
        (percent(later.steal, later.total), "since boot")
    }
}

/// Time of a process and of the children that it waited for: utime, stime,
/// cutime and cstime are the fields 14 to 17 (proc(5)), of which the name in
/// brackets is the second.
fn own(line: &str) -> Option<u64> {
    let (_, rest) = line.rsplit_once(')')?;
    let ticks = rest.split_whitespace().skip(11).take(4);
    let ticks: Vec<u64> = ticks.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    (ticks.len() == 4).then(|| ticks.into_iter().fold(0, u64::saturating_add))
}

fn percent(part: u64, whole: u64) -> f64 {
    let share = part as f64 * 100.0 / whole.max(1) as f64;
    (share * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_share_between_two_samples() {
        let before = Ticks::parse("cpu  100 0 0 800 0 0 0 100 50 0").expect("parses");
        let after = Ticks::parse("cpu  110 0 0 885 0 0 0 105 50 0").expect("parses");
        assert_eq!(before.steal_percent(after), (5.0, "now"));
        assert_eq!(before.steal_percent(before), (10.0, "since boot"));
        // Counters of a migrated guest can run backwards.
        assert_eq!(after.steal_percent(before), (10.0, "since boot"));
    }

    /// A build that ended a moment ago is no work that runs.
    #[test]
    fn only_what_others_do_now_counts() {
        let before = Ticks::parse("cpu  100 0 0 800 0 0 0 0").expect("parses");
        let after = Ticks::parse("cpu  120 0 10 868 2 0 0 0").expect("parses");
        assert_eq!(before.busy_elsewhere(after, 2), Some(0.6));
        let ours = Ticks { own: 30, ..after };
        assert_eq!(before.busy_elsewhere(ours, 2), Some(0.0));
        assert_eq!(before.busy_elsewhere(before, 2), None);
        let line = "7 (a) b) R 1 1 1 0 -1 4194304 90 0 0 0 5 6 7 8 20 0 1 0 1 1";
        assert_eq!(own(line), Some(26));
        assert_eq!(own("7 (a) R 1"), None);
    }

    #[test]
    fn strange_lines_are_no_sample() {
        for line in [
            "",
            "cpu",
            "cpu  1 2 3",
            "cpu  a b c d e f g h",
            "intr 1 2 3 4 5 6 7 8 9",
        ] {
            assert_eq!(Ticks::parse(line), None, "{line}");
        }
        let largest = format!("cpu  {}", [u64::MAX.to_string().as_str(); 10].join(" "));
        assert!(Ticks::parse(&largest).is_some());
    }
}
