//! The IOMMU: groups, DMA remapping and interrupt remapping.

use std::collections::BTreeMap;

use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::cpu::Context;
use crate::fact::{Judge, fact};
use crate::list::option;

const UNITS: &str = "/sys/class/iommu";
const GROUPS: &str = "/sys/kernel/iommu_groups";

pub(super) fn facts(host: &Host, cpu: &Context) -> Vec<Fact> {
    vec![
        groups(host, cpu),
        dma_remapping(host, cpu),
        interrupt_remapping(host, cpu),
    ]
}

/// What turns an IOMMU on, by processor.
fn turn_on(cpu: &Context) -> String {
    for name in ["intel_iommu", "amd_iommu", "iommu"] {
        if let Some(word) = option(&cpu.command_line, name).filter(|word| word.ends_with("=off")) {
            return format!("remove `{word}` from the kernel command line and reboot");
        }
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

fn groups(host: &Host, cpu: &Context) -> Fact {
    let (key, label) = ("iommu.groups", "IOMMU groups");
    match host.names(GROUPS).len() {
        0 => fact(
            key,
            label,
            0,
            "none: no device can be given to a guest safely",
        )
        .absent(turn_on(cpu)),
        count => fact(key, label, count, count.to_string()),
    }
}

fn dma_remapping(host: &Host, cpu: &Context) -> Fact {
    let (key, label) = ("iommu.dma_remapping", "DMA remapping");
    let units = host.names(UNITS);
    if units.is_empty() {
        return fact(key, label, Value::Null, "no IOMMU visible").absent(turn_on(cpu));
    }
    let types = domain_types(host);
    let text = match types.is_empty() {
        true => format!("{} units", units.len()),
        false => format!(
            "{} units; groups by domain: {}",
            units.len(),
            types.join(", ")
        ),
    };
    let fact = fact(key, label, units, text);
    if host.names(GROUPS).is_empty() {
        return fact.degraded(turn_on(cpu));
    }
    fact
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

fn interrupt_remapping(host: &Host, cpu: &Context) -> Fact {
    let (key, label) = ("iommu.interrupt_remapping", "Interrupt remapping");
    if let Some(chip) = remapping_chip(host) {
        return fact(key, label, true, format!("on ({chip} in /proc/interrupts)"));
    }
    let off = ["intremap", "intel_iommu", "amd_iommu"]
        .iter()
        .filter_map(|name| option(&cpu.command_line, name))
        .find(|word| word.ends_with("=off"));
    if let Some(word) = off {
        return fact(key, label, false, format!("off by `{word}`")).degraded(format!(
            "remove `{word}` from the kernel command line and reboot"
        ));
    }
    if intel_supports(host) {
        return fact(key, label, false, "the IOMMU has it, the kernel does not use it").degraded(
            "enable x2APIC and interrupt remapping in the firmware setup; `dmesg | grep -i 'remapping'` says why it is off",
        );
    }
    fact(key, label, false, "not in use").absent(turn_on(cpu))
}

/// Extended capability register, bit 3 (Intel VT-d specification, 11.4.3).
fn intel_supports(host: &Host) -> bool {
    extended_capabilities(host)
        .iter()
        .any(|ecap| ecap >> 3 & 1 == 1)
}

/// The extended capability registers of Intel's units.
fn extended_capabilities(host: &Host) -> Vec<u64> {
    registers(host, "intel-iommu/ecap")
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
