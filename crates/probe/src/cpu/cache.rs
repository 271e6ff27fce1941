//! Caches, by the kernel and by CPUID.

use ::cpu::CacheKind;

use crate::Host;
use crate::cpu::topology::of_core;
use crate::fact::{Found, absent, bytes_text, ok};
use crate::list::cpu_list;
use crate::machine::Machine;
use crate::row::Row::{self, One};

pub(crate) const FACTS: &[Row] = &[
    One("cpu.cache.l1d_bytes", "L1 data cache", |on| {
        found(on, 1, true)
    }),
    One("cpu.cache.l1i_bytes", "L1 instruction cache", |on| {
        found(on, 1, false)
    }),
    One("cpu.cache.l2_bytes", "L2 cache", |on| found(on, 2, true)),
    One("cpu.cache.l3_bytes", "L3 cache", |on| found(on, 3, true)),
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

/// The cache of that level that holds data, or instructions.
fn found(on: &Machine, level: u32, data: bool) -> Found {
    let other = match data {
        true => CacheKind::Instruction,
        false => CacheKind::Data,
    };
    let by_kernel = shown(&on.host).find(|cache| cache.level == level && cache.kind != other);
    let stated = on.cpu.processor.iter().flat_map(|known| &known.caches);
    let by_cpuid = stated
        .clone()
        .find(|cache| cache.level == level && cache.kind != other);
    match (by_kernel, by_cpuid) {
        (Some(kernel), Some(cpuid)) if kernel.bytes != cpuid.bytes => {
            let text = format!(
                "{}; CPUID states {}",
                describe(&kernel),
                bytes_text(cpuid.bytes)
            );
            ok(kernel.bytes, text).degraded(
                "the two disagree, usually a hypervisor's invention: QEMU `-cpu host,host-cache-info=on`; until then read working-set verdicts with care",
            )
        }
        (Some(kernel), _) => ok(kernel.bytes, describe(&kernel)),
        (None, Some(cpuid)) => ok(
            cpuid.bytes,
            format!("{}, by CPUID", bytes_text(cpuid.bytes)),
        ),
        (None, None) => absent(
            "not stated",
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
fn shown(host: &Host) -> impl Iterator<Item = Shown> {
    let dir = "/sys/devices/system/cpu/cpu0/cache";
    let names = host.names(dir).into_iter();
    let indices = names.filter(|name| name.starts_with("index"));
    indices.filter_map(move |index| read(host, &format!("{dir}/{index}")))
}

fn read(host: &Host, dir: &str) -> Option<Shown> {
    let line = |name: &str| host.line(&format!("{dir}/{name}"));
    let shared = line("shared_cpu_list").unwrap_or_default();
    Some(Shown {
        level: line("level")?.parse().ok()?,
        kind: match line("type")?.as_str() {
            "Data" => CacheKind::Data,
            "Instruction" => CacheKind::Instruction,
            "Unified" => CacheKind::Unified,
            _ => return None,
        },
        bytes: size(&line("size")?)?,
        of_one_core: of_core(host, 0).is_none_or(|core| cpu_list(&core) == cpu_list(&shared)),
        shared,
    })
}

/// `1024K` in bytes.
fn size(text: &str) -> Option<u64> {
    let kibibytes: u64 = text.strip_suffix('K')?.parse().ok()?;
    kibibytes.checked_mul(1024)
}
