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
