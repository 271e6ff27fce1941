//! Memory, NUMA nodes and huge pages.

use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::fact::{Judge, bytes_text, fact, unread};
use crate::list::{chosen, value_of};

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    let mut facts = vec![
        amount(host, "memory.total_bytes", "Memory", "MemTotal"),
        amount(
            host,
            "memory.available_bytes",
            "Memory available",
            "MemAvailable",
        ),
        nodes(host),
        transparent(host),
    ];
    facts.extend(huge_pages(host));
    facts
}

fn amount(host: &Host, key: &str, label: &str, field: &str) -> Fact {
    let text = host.text("/proc/meminfo").unwrap_or_default();
    let kibibytes: Option<u64> = value_of(&text, field)
        .and_then(|value| value.split_whitespace().next())
        .and_then(|number| number.parse().ok());
    match kibibytes {
        None => unread(key, label, "/proc/meminfo"),
        Some(kibibytes) => {
            let bytes = kibibytes.saturating_mul(1024);
            fact(key, label, bytes, bytes_text(bytes))
        }
    }
}

/// Nodes with their processors: `0: 0-31 · 1: 32-63`.
fn nodes(host: &Host) -> Fact {
    let (key, label) = ("memory.numa_nodes", "NUMA nodes");
    let dir = "/sys/devices/system/node";
    let nodes: Vec<String> = host
        .names(dir)
        .into_iter()
        .filter(|name| {
            name.strip_prefix("node")
                .is_some_and(|id| id.parse::<u32>().is_ok())
        })
        .collect();
    if nodes.is_empty() {
        return fact(key, label, 1, "1 (the kernel shows no nodes)");
    }
    let cpus = |node: &String| {
        host.line(&format!("{dir}/{node}/cpulist"))
            .unwrap_or_default()
    };
    let text: Vec<_> = nodes
        .iter()
        .take(64)
        .map(|node| format!("{node}: CPUs {}", cpus(node)))
        .collect();
    fact(key, label, nodes.len(), text.join(" · "))
}

fn transparent(host: &Host) -> Fact {
    let (key, label) = ("memory.transparent_hugepages", "Transparent huge pages");
    let text = host
        .line("/sys/kernel/mm/transparent_hugepage/enabled")
        .unwrap_or_default();
    match chosen(&text) {
        Some(mode @ ("always" | "madvise")) => fact(key, label, mode, mode),
        Some(mode) => fact(key, label, mode, mode)
            .degraded("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
        None => fact(key, label, Value::Null, "not in this kernel")
            .absent("a kernel with CONFIG_TRANSPARENT_HUGEPAGE"),
    }
}

/// One fact a size that the kernel can reserve.
fn huge_pages(host: &Host) -> Vec<Fact> {
    let dir = "/sys/kernel/mm/hugepages";
    let sizes: Vec<(u64, String)> = host
        .names(dir)
        .into_iter()
        .filter_map(|name| {
            let size = name
                .strip_prefix("hugepages-")?
                .strip_suffix("kB")?
                .parse()
                .ok()?;
            Some((size, name))
        })
        .collect();
    if sizes.is_empty() {
        let fact = fact(
            "memory.hugepages",
            "Huge pages",
            Value::Null,
            "not in this kernel",
        );
        return vec![fact.absent("a kernel with CONFIG_HUGETLBFS")];
    }
    sizes
        .into_iter()
        .take(16)
        .map(|(size, name)| pages(host, size, &format!("{dir}/{name}")))
        .collect()
}

fn pages(host: &Host, kibibytes: u64, dir: &str) -> Fact {
    let size = bytes_text(kibibytes.saturating_mul(1024));
    let (key, label) = (
        format!("memory.hugepages.{kibibytes}k"),
        format!("Huge pages of {size}"),
    );
    let count = |name: &str| host.parsed::<u64>(&format!("{dir}/{name}")).unwrap_or(0);
    let (reserved, free) = (count("nr_hugepages"), count("free_hugepages"));
    let fact = fact(
        key,
        label,
        free,
        format!("{free} free of {reserved} reserved"),
    );
    if free > 0 {
        return fact;
    }
    // 128 MiB hold the rings and buffers of a small guest.
    let some = (131_072 / kibibytes.max(1)).max(1);
    fact.degraded(format!(
        "to back guests and DMA: echo {some} > {dir}/nr_hugepages, or `hugepagesz={kibibytes}K hugepages={some}` on the kernel command line"
    ))
}
