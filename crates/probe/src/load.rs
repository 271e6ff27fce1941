//! What else runs on this machine now.

use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::fact::{Judge, fact, unread};
use crate::list::{cpu_list, value_of};

/// Above this share of time, measurements are disturbed.
const STEAL_PERCENT_MAX: f64 = 1.0;
/// Above this many processors kept busy by others, measurements are disturbed.
const BUSY_ELSEWHERE_MAX: f64 = 0.25;

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
        let total = numbers
            .iter()
            .fold(0_u64, |sum, &ticks| sum.saturating_add(ticks));
        let waiting = numbers[3].saturating_add(numbers[4]).saturating_add(steal);
        Some(Self {
            total,
            steal,
            busy: total.saturating_sub(waiting),
            own: 0,
        })
    }

    /// Processors that others kept busy from `self` to `later`, of this many; none
    /// where no tick lies between them.
    fn busy_elsewhere(self, later: Self, cpus: usize) -> Option<f64> {
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
    fn steal_percent(self, later: Self) -> (f64, &'static str) {
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
    (ticks.len() == 4).then(|| {
        ticks
            .iter()
            .fold(0, |sum: u64, &one| sum.saturating_add(one))
    })
}

fn percent(part: u64, whole: u64) -> f64 {
    let share = part as f64 * 100.0 / whole.max(1) as f64;
    (share * 100.0).round() / 100.0
}

pub(super) fn facts(host: &Host, before: Option<Ticks>, after: Option<Ticks>) -> Vec<Fact> {
    let cpus = allowed(host).len().max(1);
    vec![
        steal(before.zip(after)),
        elsewhere(host, before.zip(after)),
        average(host, cpus),
        running(host),
        pressure(host),
    ]
}

/// The processors this process may use.
pub(super) fn allowed(host: &Host) -> Vec<u32> {
    let status = host.text("/proc/self/status").unwrap_or_default();
    value_of(&status, "Cpus_allowed_list")
        .map(cpu_list)
        .unwrap_or_default()
}

fn steal(samples: Option<(Ticks, Ticks)>) -> Fact {
    let (key, label) = ("load.steal_percent", "Steal");
    let Some((before, after)) = samples else {
        return unread(key, label, "/proc/stat");
    };
    let (steal, when) = before.steal_percent(after);
    let fact = fact(key, label, steal, format!("{steal}% {when}"));
    if steal <= STEAL_PERCENT_MAX {
        return fact;
    }
    fact.degraded(
        "other guests take processor time: measure when the host is quieter, or ask for dedicated (pinned) processors",
    )
}

fn average(host: &Host, cpus: usize) -> Fact {
    let (key, label) = ("load.average_1m", "Load average, 1 minute");
    let line = host.line("/proc/loadavg").unwrap_or_default();
    let load = line
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<f64>().ok());
    let Some(load) = load.filter(|load| load.is_finite() && *load >= 0.0) else {
        return unread(key, label, "/proc/loadavg");
    };
    // What has run is no judgement on what runs: a build just before is over.
    fact(key, label, load, format!("{load}; CPUs allowed: {cpus}"))
}

/// What other programs take while this one looks.
fn elsewhere(host: &Host, samples: Option<(Ticks, Ticks)>) -> Fact {
    let (key, label) = ("load.busy_elsewhere_cpus", "CPUs busy with other work");
    let stat = host.text("/proc/stat").unwrap_or_default();
    let is_cpu = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    let cpus = stat.lines().filter(is_cpu).count().max(1);
    let busy = samples.and_then(|(before, after)| before.busy_elsewhere(after, cpus));
    let Some(busy) = busy else {
        return fact(key, label, Value::Null, "not known: no tick passed");
    };
    let busy = (busy * 100.0).round() / 100.0;
    let fact = fact(key, label, busy, format!("{busy} of {cpus}, now"));
    if busy <= BUSY_ELSEWHERE_MAX {
        return fact;
    }
    fact.degraded("other programs run now: stop them, then measure")
}

/// Threads that run or want to, ourselves among them.
fn running(host: &Host) -> Fact {
    let (key, label) = ("load.running", "Threads running");
    let stat = host.text("/proc/stat").unwrap_or_default();
    let running = stat
        .lines()
        .find_map(|line| line.strip_prefix("procs_running ")?.parse().ok());
    let Some(running): Option<u64> = running else {
        return unread(key, label, "/proc/stat");
    };
    fact(
        key,
        label,
        running,
        format!("{running}, this probe included"),
    )
}

/// Share of the last ten seconds in which some thread waited for a processor
/// (Linux, `accounting/psi.rst`).
fn pressure(host: &Host) -> Fact {
    let (key, label) = ("load.cpu_pressure_percent", "CPU pressure, 10 seconds");
    let line = host.line("/proc/pressure/cpu").unwrap_or_default();
    let waited = line
        .split_whitespace()
        .find_map(|word| word.strip_prefix("avg10=")?.parse().ok());
    match waited.filter(|percent: &f64| percent.is_finite()) {
        // As with the load average: what was is no judgement on what is.
        Some(percent) => {
            let text = format!("{percent}% of the time a thread waited");
            fact(key, label, percent, text)
        }
        None => fact(key, label, Value::Null, "not available")
            .absent("boot with `psi=1` to see when threads wait for a processor"),
    }
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
