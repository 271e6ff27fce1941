//! Interrupts: remapped by the IOMMU, and posted to guests.

use trial::Fact;

use crate::Host;
use crate::cpu::Context;
use crate::fact::{Judge, fact};
use crate::iommu::{posts_interrupts, remapping_chip};

/// Whether a device can interrupt a running guest without an exit.
pub(super) fn posted(host: &Host, cpu: &Context) -> Fact {
    if cpu.info.is_arm() {
        return arm(host, cpu);
    }
    let virtual_apic = host
        .switch("/sys/module/kvm_intel/parameters/enable_apicv")
        .or_else(|| host.switch("/sys/module/kvm_amd/parameters/avic"));
    let parameter = if cpu.is_amd() {
        "kvm_amd avic=1"
    } else {
        "kvm_intel enable_apicv=1"
    };
    let by_iommu = posts_interrupts(host);
    let (key, label) = ("interrupts.posted", "Posted interrupts");
    match (virtual_apic, by_iommu) {
        (Some(true), true) => fact(key, label, true, "virtual APIC on; the IOMMU posts device interrupts"),
        (Some(true), false) => fact(key, label, false, "between virtual CPUs only: the IOMMU does not post device interrupts")
            .degraded("enable the IOMMU with interrupt remapping in the firmware setup; a processor without IOMMU support cannot"),
        (Some(false), _) => fact(key, label, false, "virtual APIC off: each interrupt to a guest is an exit")
            .degraded(format!("`options {parameter}` in /etc/modprobe.d, then reload KVM")),
        (None, _) => fact(key, label, false, "no KVM module that could use them").absent(format!(
            "needs hardware virtualisation: load KVM ({parameter}) on bare metal"
        )),
    }
}

fn arm(host: &Host, cpu: &Context) -> Fact {
    let (key, label) = ("interrupts.posted", "Posted interrupts (GICv4)");
    let asked = crate::list::option(&cpu.command_line, "kvm-arm.vgic_v4_enable");
    if remapping_chip(host).is_some() && asked == Some("kvm-arm.vgic_v4_enable=1") {
        return fact(
            key,
            label,
            true,
            "direct injection asked for on the kernel command line",
        );
    }
    fact(key, label, false, "direct injection not asked for").absent(
        "with a GICv4 boot with `kvm-arm.vgic_v4_enable=1`; `dmesg | grep GICv4` shows whether there is one",
    )
}
