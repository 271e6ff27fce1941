//! What else runs on this machine now.

use crate::Host;
use crate::capabilities::status;
use crate::fact::{Found, absent, ok, unread};
use crate::list::cpu_list;
use crate::machine::Machine;
use crate::row::Row::{self, One};

pub(super) const FACTS: &[Row] = &[
    One("load.steal_percent", "Steal", steal),
    One(
        "load.busy_elsewhere_cpus",
        "CPUs busy with other work",
        elsewhere,
    ),
    One("load.average_1m", "Load average, 1 minute", average),
    One("load.running", "Threads running", running),
    One(
        "load.cpu_pressure_percent",
        "CPU pressure, 10 seconds",
        pressure,
    ),
];

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
    (ticks.len() == 4).then(|| ticks.into_iter().fold(0, u64::saturating_add))
}

fn percent(part: u64, whole: u64) -> f64 {
    let share = part as f64 * 100.0 / whole.max(1) as f64;
    (share * 100.0).round() / 100.0
}

/// The processors this process may use.
pub(super) fn allowed(host: &Host) -> Vec<u32> {
    allowed_list(host).map_or_else(Vec::new, |list| cpu_list(&list))
}

pub(super) fn allowed_list(host: &Host) -> Option<String> {
    status(host, "Cpus_allowed_list")
}

fn steal(on: &Machine) -> Found {
    let Some((before, after)) = on.ticks else {
        return unread("/proc/stat");
    };
    let (steal, when) = before.steal_percent(after);
    ok(steal, format!("{steal}% {when}")).degraded_unless(
        steal <= STEAL_PERCENT_MAX,
        "other guests take processor time: measure when the host is quieter, or ask for dedicated (pinned) processors",
    )
}

/// What has run is no judgement on what runs: a build just before is over.
fn average(on: &Machine) -> Found {
    let line = on.host.line("/proc/loadavg").unwrap_or_default();
    let first = line.split_whitespace().next();
    let load = first.and_then(|word| word.parse::<f64>().ok());
    let Some(load) = load.filter(|load| load.is_finite() && *load >= 0.0) else {
        return unread("/proc/loadavg");
    };
    let cpus = allowed(&on.host).len().max(1);
    ok(load, format!("{load}; CPUs allowed: {cpus}"))
}

/// What other programs take while this one looks.
fn elsewhere(on: &Machine) -> Found {
    let stat = on.host.text("/proc/stat").unwrap_or_default();
    let is_cpu = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    let cpus = stat.lines().filter(is_cpu).count().max(1);
    let busy = on
        .ticks
        .and_then(|(before, after)| before.busy_elsewhere(after, cpus));
    let Some(busy) = busy else {
        return ok(serde_json::Value::Null, "not known: no tick passed");
    };
    let busy = (busy * 100.0).round() / 100.0;
    ok(busy, format!("{busy} of {cpus}, now")).degraded_unless(
        busy <= BUSY_ELSEWHERE_MAX,
        "other programs run now: stop them, then measure",
    )
}

/// Threads that run or want to, ourselves among them.
fn running(on: &Machine) -> Found {
    let stat = on.host.text("/proc/stat").unwrap_or_default();
    let mut lines = stat.lines();
    let running = lines.find_map(|line| line.strip_prefix("procs_running ")?.parse::<u64>().ok());
    match running {
        None => unread("/proc/stat"),
        Some(running) => ok(running, format!("{running}, this probe included")),
    }
}

/// Share of the last ten seconds in which some thread waited for a processor
/// (Linux, `accounting/psi.rst`). As the load average, it judges nothing.
fn pressure(on: &Machine) -> Found {
    let line = on.host.line("/proc/pressure/cpu").unwrap_or_default();
    let mut words = line.split_whitespace();
    let waited = words.find_map(|word| word.strip_prefix("avg10=")?.parse().ok());
    match waited.filter(|percent: &f64| percent.is_finite()) {
        Some(percent) => ok(percent, format!("{percent}% of the time a thread waited")),
        None => absent(
            "not available",
            "boot with `psi=1` to see when threads wait for a processor",
        ),
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
