//! The IOMMU: groups, DMA remapping and interrupt remapping.

use std::collections::BTreeMap;

use crate::Host;
use crate::cpu::Context;
use crate::fact::{Found, absent, ok};
use crate::list::option;
use crate::machine::Machine;
use crate::row::Row::{self, One};

pub(super) const FACTS: &[Row] = &[
    One("iommu.groups", "IOMMU groups", groups),
    One("iommu.dma_remapping", "DMA remapping", dma_remapping),
    One(
        "iommu.interrupt_remapping",
        "Interrupt remapping",
        interrupt_remapping,
    ),
];

const UNITS: &str = "/sys/class/iommu";
const GROUPS: &str = "/sys/kernel/iommu_groups";

/// Whether there is a group of devices that can be given away.
pub(super) fn has_groups(host: &Host) -> bool {
    !host.names(GROUPS).is_empty()
}

/// The word by which one of these options is off.
fn switched_off<'a>(cpu: &'a Context, names: [&str; 3]) -> Option<&'a str> {
    let mut words = names
        .iter()
        .filter_map(|name| option(&cpu.command_line, name));
    words.find(|word| word.ends_with("=off"))
}

/// What turns an IOMMU on, by processor.
fn turn_on(cpu: &Context) -> String {
    if let Some(word) = switched_off(cpu, ["intel_iommu", "amd_iommu", "iommu"]) {
        return format!("remove `{word}` from the kernel command line and reboot");
    }
    if cpu.is_guest() {
        return "give the guest a virtual IOMMU (QEMU: `-device intel-iommu,intremap=on` or `-device virtio-iommu`), needed only to pass devices on to nested guests".to_owned();
    }
    let (firmware, option) = match (cpu.info.is_arm(), cpu.is_amd()) {
        (true, _) => ("the SMMU", "`iommu.passthrough=0`"),
        (_, true) => ("\"IOMMU\" and \"SVM\"", "`amd_iommu=on`"),
        _ => ("\"VT-d\"", "`intel_iommu=on iommu=pt`"),
    };
    format!("enable {firmware} in the firmware setup and boot with {option}")
}

fn groups(on: &Machine) -> Found {
    match on.host.names(GROUPS).len() {
        0 => ok(0, "none: no device can be given to a guest safely").absent(turn_on(&on.cpu)),
        count => ok(count, count.to_string()),
    }
}

fn dma_remapping(on: &Machine) -> Found {
    let units = on.host.names(UNITS);
    if units.is_empty() {
        return absent("no IOMMU visible", turn_on(&on.cpu));
    }
    let mut text = format!("{} units", units.len());
    let types = domain_types(&on.host);
    if !types.is_empty() {
        text += &format!("; groups by domain: {}", types.join(", "));
    }
    ok(units, text).degraded_unless(has_groups(&on.host), turn_on(&on.cpu))
}

/// `DMA-FQ 40`, `identity 10`: how the groups' addresses are translated.
fn domain_types(host: &Host) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for group in host.names(GROUPS) {
        if let Some(kind) = host.line(&format!("{GROUPS}/{group}/type")) {
            *counts.entry(kind).or_default() += 1;
        }
    }
    counts
        .into_iter()
        .take(8)
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect()
}

fn interrupt_remapping(on: &Machine) -> Found {
    if let Some(chip) = remapping_chip(&on.host) {
        return ok(true, format!("on ({chip} in /proc/interrupts)"));
    }
    if let Some(word) = switched_off(&on.cpu, ["intremap", "intel_iommu", "amd_iommu"]) {
        return ok(false, format!("off by `{word}`")).degraded(format!(
            "remove `{word}` from the kernel command line and reboot"
        ));
    }
    // Extended capability register, bit 3 (Intel VT-d specification, 11.4.3).
    let extended = registers(&on.host, "intel-iommu/ecap");
    if extended.iter().any(|ecap| ecap >> 3 & 1 == 1) {
        return ok(false, "the IOMMU has it, the kernel does not use it").degraded(
            "enable x2APIC and interrupt remapping in the firmware setup; `dmesg | grep -i 'remapping'` says why it is off",
        );
    }
    ok(false, "not in use").absent(turn_on(&on.cpu))
}

/// The interrupt chip whose name says that the IOMMU remaps: on x86 the
/// kernel prefixes `IR-`; on ARM the GIC's ITS translates.
pub(super) fn remapping_chip(host: &Host) -> Option<String> {
    let text = host.text("/proc/interrupts")?;
    let remaps = |word: &&str| word.starts_with("IR-") || word.starts_with("ITS-");
    text.split_whitespace().find(remaps).map(str::to_owned)
}

/// Whether every unit posts device interrupts to running guests: bit 59 of
/// Intel's capability register (VT-d specification, 11.4.2), bit 7 of AMD's
/// extended feature register (AMD IOMMU specification, MMIO offset 0030h).
pub(super) fn posts_interrupts(host: &Host) -> bool {
    let all = |register: &str, bit: u32| {
        let values = registers(host, register);
        !values.is_empty() && values.iter().all(|value| value >> bit & 1 == 1)
    };
    all("intel-iommu/cap", 59) || all("amd-iommu/features", 7)
}

/// A register of every unit. AMD's file holds EFR, then from Linux 5.13
/// `EFR2:EFR`, and from 6.7 `EFR:EFR2`; EFR is the larger of the two, since
/// EFR2 has few and low bits.
fn registers(host: &Host, register: &str) -> Vec<u64> {
    let value = |unit: &String| {
        let line = host.line(&format!("{UNITS}/{unit}/{register}"))?;
        line.split(':')
            .filter_map(|part| u64::from_str_radix(part.trim(), 16).ok())
            .max()
    };
    host.names(UNITS).iter().filter_map(value).collect()
}
