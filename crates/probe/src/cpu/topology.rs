//! Processors, cores, sockets, threads, and which of them we may use.

use std::collections::BTreeSet;

use crate::Host;
use crate::fact::{Found, absent, ok, unread};
use crate::list::cpu_list;
use crate::load;
use crate::machine::Machine;
use crate::row::Row::{self, One};

pub(crate) const FACTS: &[Row] = &[
    One("cpu.cores.online", "Logical CPUs online", online),
    One("cpu.cores.physical", "Cores", cores),
    One("cpu.sockets", "Sockets", sockets),
    One("cpu.smt", "Simultaneous multithreading", smt),
    One("cpu.allowed", "CPUs this process may use", allowed),
    One("cpu.isolated", "CPUs kept free (isolcpus)", isolated),
];

const CPUS: &str = "/sys/devices/system/cpu";

/// Logical processors that are on.
fn cpus_online(host: &Host) -> Vec<u32> {
    let listed = host
        .line(&format!("{CPUS}/online"))
        .map(|text| cpu_list(&text));
    listed.filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| {
        let text = host.text("/proc/cpuinfo").unwrap_or_default();
        let count = text
            .lines()
            .filter(|line| line.starts_with("processor"))
            .count();
        (0..u32::try_from(count).unwrap_or(0)).collect()
    })
}

fn online(on: &Machine) -> Found {
    match cpus_online(&on.host).len() {
        0 => unread("/sys/devices/system/cpu/online"),
        count => ok(count, count.to_string()),
    }
}

/// The first of these attributes that the kernel has.
fn attribute(host: &Host, cpu: u32, names: [&str; 2]) -> Option<String> {
    let mut paths = names
        .iter()
        .map(|name| format!("{CPUS}/cpu{cpu}/topology/{name}"));
    paths.find_map(|path| host.line(&path))
}

/// The processors of that one's core, as a list.
pub(super) fn of_core(host: &Host, cpu: u32) -> Option<String> {
    attribute(host, cpu, ["core_cpus_list", "thread_siblings_list"])
}

/// How many different values there are.
fn distinct(on: &Machine, value: impl Fn(u32) -> Option<String>) -> Found {
    let values: BTreeSet<_> = cpus_online(&on.host)
        .into_iter()
        .filter_map(value)
        .collect();
    match values.len() {
        0 => unread("/sys/devices/system/cpu/cpu0/topology"),
        count => ok(count, count.to_string()),
    }
}

fn cores(on: &Machine) -> Found {
    distinct(on, |cpu| of_core(&on.host, cpu))
}

fn sockets(on: &Machine) -> Found {
    distinct(on, |cpu| {
        attribute(&on.host, cpu, ["physical_package_id", "package_cpus_list"])
    })
}

fn smt(on: &Machine) -> Found {
    let shared = of_core(&on.host, 0).is_some_and(|list| cpu_list(&list).len() > 1);
    let is_on = on
        .host
        .switch(&format!("{CPUS}/smt/active"))
        .unwrap_or(shared);
    let control = on
        .host
        .line(&format!("{CPUS}/smt/control"))
        .unwrap_or_default();
    match (is_on, control.as_str()) {
        (true, _) => ok(
            true,
            "on: two logical CPUs share a core, so place client and worker on different cores",
        ),
        (false, "" | "notsupported" | "notimplemented") => ok(
            false,
            "none: each logical CPU is a core, as far as can be seen",
        ),
        (false, control) => ok(false, format!("off ({control})")),
    }
}

fn allowed(on: &Machine) -> Found {
    let allowed = load::allowed(&on.host);
    if allowed.is_empty() {
        return unread("/proc/self/status");
    }
    let online = cpus_online(&on.host).len();
    let list = load::allowed_list(&on.host).unwrap_or_default();
    let text = format!("{list} ({} of {online})", allowed.len());
    let is_good = allowed.len() > 1 || online <= 1;
    ok(allowed, text).degraded_unless(
        is_good,
        "client and worker have to share one CPU: widen the cpuset (`taskset`, `AllowedCPUs=`, Kubernetes CPU manager)",
    )
}

/// Processors kept free of other work (`isolcpus=`): good for measuring.
fn isolated(on: &Machine) -> Found {
    let list = on
        .host
        .line(&format!("{CPUS}/isolated"))
        .unwrap_or_default();
    let cpus = cpu_list(&list);
    if cpus.is_empty() {
        return absent(
            "none",
            "optional: `isolcpus=` on the kernel command line keeps other work off the measured CPUs",
        );
    }
    ok(cpus, list)
}
