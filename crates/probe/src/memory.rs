//! Memory, NUMA nodes and huge pages.

use trial::Fact;

use crate::fact::{Found, absent, bytes_text, ok, shown, unread};
use crate::list::{chosen, value_of};
use crate::machine::Machine;
use crate::row::Row::{self, Many, One};

pub(super) const FACTS: &[Row] = &[
    One("memory.total_bytes", "Memory", |on| amount(on, "MemTotal")),
    One("memory.available_bytes", "Memory available", |on| {
        amount(on, "MemAvailable")
    }),
    One("memory.numa_nodes", "NUMA nodes", nodes),
    One(
        "memory.transparent_hugepages",
        "Transparent huge pages",
        transparent,
    ),
    Many(huge_pages),
];

fn amount(on: &Machine, field: &str) -> Found {
    let text = on.host.text("/proc/meminfo").unwrap_or_default();
    let number = value_of(&text, field).and_then(|value| value.split_whitespace().next());
    match number.and_then(|number| number.parse::<u64>().ok()) {
        None => unread("/proc/meminfo"),
        Some(kibibytes) => {
            let bytes = kibibytes.saturating_mul(1024);
            ok(bytes, bytes_text(bytes))
        }
    }
}

/// Nodes with their processors: `0: 0-31 · 1: 32-63`.
fn nodes(on: &Machine) -> Found {
    let dir = "/sys/devices/system/node";
    let is_id = |id: &str| id.parse::<u32>().is_ok();
    let mut nodes = on.host.names(dir);
    nodes.retain(|name| name.strip_prefix("node").is_some_and(is_id));
    if nodes.is_empty() {
        return ok(1, "1 (the kernel shows no nodes)");
    }
    let text = |node: &String| {
        let cpus = on.host.line(&format!("{dir}/{node}/cpulist"));
        format!("{node}: CPUs {}", cpus.unwrap_or_default())
    };
    let text: Vec<_> = nodes.iter().take(64).map(text).collect();
    ok(nodes.len(), text.join(" · "))
}

fn transparent(on: &Machine) -> Found {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let text = on.host.line(path).unwrap_or_default();
    match chosen(&text) {
        Some(mode) => shown(mode).degraded_unless(
            ["always", "madvise"].contains(&mode),
            format!("echo madvise > {path}"),
        ),
        None => absent(
            "not in this kernel",
            "a kernel with CONFIG_TRANSPARENT_HUGEPAGE",
        ),
    }
}

/// One fact a size that the kernel can reserve.
fn huge_pages(on: &Machine) -> Vec<Fact> {
    let dir = "/sys/kernel/mm/hugepages";
    let size = |name: String| {
        let kibibytes = name.strip_prefix("hugepages-")?.strip_suffix("kB")?;
        Some((kibibytes.parse::<u64>().ok()?, format!("{dir}/{name}")))
    };
    let sizes = on.host.names(dir).into_iter().filter_map(size).take(16);
    let mut facts: Vec<Fact> = sizes.map(|(size, dir)| pages(on, size, &dir)).collect();
    if facts.is_empty() {
        let none = absent("not in this kernel", "a kernel with CONFIG_HUGETLBFS");
        facts.push(none.named("memory.hugepages", "Huge pages"));
    }
    facts
}

fn pages(on: &Machine, kibibytes: u64, dir: &str) -> Fact {
    let count = |name: &str| on.host.parsed::<u64>(&format!("{dir}/{name}")).unwrap_or(0);
    let (reserved, free) = (count("nr_hugepages"), count("free_hugepages"));
    // 128 MiB hold the rings and buffers of a small guest.
    let some = (131_072 / kibibytes.max(1)).max(1);
    let remedy = format!(
        "to back guests and DMA: echo {some} > {dir}/nr_hugepages, or `hugepagesz={kibibytes}K hugepages={some}` on the kernel command line"
    );
    let size = bytes_text(kibibytes.saturating_mul(1024));
    ok(free, format!("{free} free of {reserved} reserved"))
        .degraded_unless(free > 0, remedy)
        .named(
            format!("memory.hugepages.{kibibytes}k"),
            format!("Huge pages of {size}"),
        )
}
