//! Processors, cores, sockets, threads, and which of them we may use.

use std::collections::BTreeSet;

use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::fact::{Judge, fact, unread};
use crate::list::cpu_list;
use crate::load;

const CPUS: &str = "/sys/devices/system/cpu";

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    let online = online(host);
    vec![
        cores_online(&online),
        cores_physical(host, &online),
        sockets(host, &online),
        smt(host),
        allowed(host, &online),
        isolated(host),
    ]
}

/// Logical processors that are on.
fn online(host: &Host) -> Vec<u32> {
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

fn cores_online(online: &[u32]) -> Fact {
    let (key, label) = ("cpu.cores.online", "Logical CPUs online");
    if online.is_empty() {
        return unread(key, label, "/sys/devices/system/cpu/online");
    }
    fact(key, label, online.len(), online.len().to_string())
}

/// How many different values an attribute of the topology takes.
fn distinct(host: &Host, online: &[u32], attributes: [&str; 2]) -> usize {
    let read = |cpu: &u32| {
        attributes
            .iter()
            .find_map(|name| host.line(&format!("{CPUS}/cpu{cpu}/topology/{name}")))
    };
    online
        .iter()
        .filter_map(read)
        .collect::<BTreeSet<_>>()
        .len()
}

fn cores_physical(host: &Host, online: &[u32]) -> Fact {
    let (key, label) = ("cpu.cores.physical", "Cores");
    match distinct(host, online, ["core_cpus_list", "thread_siblings_list"]) {
        0 => unread(key, label, "/sys/devices/system/cpu/cpu0/topology"),
        cores => fact(key, label, cores, cores.to_string()),
    }
}

fn sockets(host: &Host, online: &[u32]) -> Fact {
    let (key, label) = ("cpu.sockets", "Sockets");
    match distinct(host, online, ["physical_package_id", "package_cpus_list"]) {
        0 => unread(key, label, "/sys/devices/system/cpu/cpu0/topology"),
        sockets => fact(key, label, sockets, sockets.to_string()),
    }
}

fn smt(host: &Host) -> Fact {
    let (key, label) = ("cpu.smt", "Simultaneous multithreading");
    let siblings = host.line(&format!("{CPUS}/cpu0/topology/thread_siblings_list"));
    let shared = siblings.is_some_and(|list| cpu_list(&list).len() > 1);
    let control = host
        .line(&format!("{CPUS}/smt/control"))
        .unwrap_or_default();
    match (
        host.switch(&format!("{CPUS}/smt/active")).unwrap_or(shared),
        control.as_str(),
    ) {
        (true, _) => fact(
            key,
            label,
            true,
            "on: two logical CPUs share a core, so place client and worker on different cores",
        ),
        (false, "" | "notsupported" | "notimplemented") => fact(
            key,
            label,
            false,
            "none: each logical CPU is a core, as far as can be seen",
        ),

        (false, control) => fact(key, label, false, format!("off ({control})")),
    }
}

fn allowed(host: &Host, online: &[u32]) -> Fact {
    let (key, label) = ("cpu.allowed", "CPUs this process may use");
    let allowed = load::allowed(host);
    if allowed.is_empty() {
        return unread(key, label, "/proc/self/status");
    }
    let text = host.text("/proc/self/status").unwrap_or_default();
    let list = crate::list::value_of(&text, "Cpus_allowed_list").unwrap_or_default();
    let fact = fact(
        key,
        label,
        allowed.clone(),
        format!("{list} ({} of {})", allowed.len(), online.len()),
    );
    match allowed.len() {
        1 if online.len() > 1 => fact.degraded(
            "client and worker have to share one CPU: widen the cpuset (`taskset`, `AllowedCPUs=`, Kubernetes CPU manager)",
        ),
        _ => fact,
    }
}

/// Processors kept free of other work (`isolcpus=`): good for measuring.
fn isolated(host: &Host) -> Fact {
    let (key, label) = ("cpu.isolated", "CPUs kept free (isolcpus)");
    match host.line(&format!("{CPUS}/isolated")).filter(|list| !cpu_list(list).is_empty()) {
        Some(list) => fact(key, label, cpu_list(&list), list),
        None => fact(key, label, Value::Null, "none").absent(
            "optional: `isolcpus=` on the kernel command line keeps other work off the measured CPUs",
        ),
    }
}
