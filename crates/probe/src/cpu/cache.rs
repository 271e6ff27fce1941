//! Caches, by the kernel and by CPUID.

use ::cpu::{Cache, CacheKind};
use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::cpu::Context;
use crate::fact::{Judge, bytes_text, fact};
use crate::list::cpu_list;

/// (key, label, level, whether it holds data).
const SHOWN: [(&str, &str, u32, bool); 4] = [
    ("cpu.cache.l1d_bytes", "L1 data cache", 1, true),
    ("cpu.cache.l1i_bytes", "L1 instruction cache", 1, false),
    ("cpu.cache.l2_bytes", "L2 cache", 2, true),
    ("cpu.cache.l3_bytes", "L3 cache", 3, true),
];

/// A cache as sysfs shows it.
struct Shown {
    level: u32,
    kind: CacheKind,
    bytes: u64,
    shared: String,
    /// Whether only the threads of one core share it.
    of_one_core: bool,
}

pub(super) fn facts(host: &Host, cpu: &Context) -> Vec<Fact> {
    let shown = shown(host);
    let stated: &[Cache] = cpu.processor.as_ref().map_or(&[], |known| &known.caches);
    SHOWN
        .iter()
        .map(|place| one(*place, &shown, stated))
        .collect()
}

fn one(
    (key, label, level, data): (&str, &str, u32, bool),
    shown: &[Shown],
    stated: &[Cache],
) -> Fact {
    let holds = |kind: CacheKind| {
        kind != if data {
            CacheKind::Instruction
        } else {
            CacheKind::Data
        }
    };
    let by_kernel = shown
        .iter()
        .find(|cache| cache.level == level && holds(cache.kind));
    let by_cpuid = stated
        .iter()
        .find(|cache| cache.level == level && holds(cache.kind));
    match (by_kernel, by_cpuid) {
        (Some(kernel), Some(cpuid)) if kernel.bytes != cpuid.bytes => {
            let text = format!("{}; CPUID states {}", describe(kernel), bytes_text(cpuid.bytes));
            fact(key, label, kernel.bytes, text).degraded(
                "the two disagree, usually a hypervisor's invention: QEMU `-cpu host,host-cache-info=on`; until then read working-set verdicts with care",
            )
        }
        (Some(kernel), _) => fact(key, label, kernel.bytes, describe(kernel)),
        (None, Some(cpuid)) => {
            let text = format!("{}, by CPUID", bytes_text(cpuid.bytes));
            fact(key, label, cpuid.bytes, text)
        }
        (None, None) => fact(key, label, Value::Null, "not stated").absent(
            "the hypervisor or firmware hides it: QEMU `-cpu host,host-cache-info=on`; ARM: firmware with a PPTT table",
        ),
    }
}

fn describe(cache: &Shown) -> String {
    let size = bytes_text(cache.bytes);
    match cpu_list(&cache.shared).as_slice() {
        [] => size,
        _ if cache.of_one_core => format!("{size} a core"),
        _ => format!("{size}, shared by CPUs {}", cache.shared),
    }
}

/// The first processor's caches.
fn shown(host: &Host) -> Vec<Shown> {
    let dir = "/sys/devices/system/cpu/cpu0/cache";
    let indices = host
        .names(dir)
        .into_iter()
        .filter(|name| name.starts_with("index"));
    indices
        .filter_map(|index| read(host, &format!("{dir}/{index}")))
        .collect()
}

fn read(host: &Host, dir: &str) -> Option<Shown> {
    let shared = host
        .line(&format!("{dir}/shared_cpu_list"))
        .unwrap_or_default();
    let core = ["core_cpus_list", "thread_siblings_list"]
        .iter()
        .find_map(|name| host.line(&format!("/sys/devices/system/cpu/cpu0/topology/{name}")));
    Some(Shown {
        level: host.parsed(&format!("{dir}/level"))?,
        kind: match host.line(&format!("{dir}/type"))?.as_str() {
            "Data" => CacheKind::Data,
            "Instruction" => CacheKind::Instruction,
            "Unified" => CacheKind::Unified,
            _ => return None,
        },
        bytes: size(&host.line(&format!("{dir}/size"))?)?,
        of_one_core: core.is_none_or(|core| cpu_list(&core) == cpu_list(&shared)),
        shared,
    })
}

/// `1024K` in bytes.
fn size(text: &str) -> Option<u64> {
    let kibibytes: u64 = text.strip_suffix('K')?.parse().ok()?;
    kibibytes.checked_mul(1024)
}
