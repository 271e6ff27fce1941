//! Interrupts: remapped by the IOMMU, and posted to guests.

use crate::fact::{Found, ok, whether};
use crate::iommu::{posts_interrupts, remapping_chip};
use crate::list::option;
use crate::machine::Machine;
use crate::row::Row::{self, One};

pub(super) const FACTS: &[Row] = &[One("interrupts.posted", "Posted interrupts", posted)];

/// Whether a device can interrupt a running guest without an exit.
fn posted(on: &Machine) -> Found {
    if on.cpu.info.is_arm() {
        return arm(on);
    }
    let switch = |name: &str| on.host.switch(&format!("/sys/module/{name}"));
    let virtual_apic =
        switch("kvm_intel/parameters/enable_apicv").or_else(|| switch("kvm_amd/parameters/avic"));
    let parameter = match on.cpu.is_amd() {
        true => "kvm_amd avic=1",
        false => "kvm_intel enable_apicv=1",
    };
    match (virtual_apic, posts_interrupts(&on.host)) {
        (Some(true), true) => ok(true, "virtual APIC on; the IOMMU posts device interrupts"),
        (Some(true), false) => ok(false, "between virtual CPUs only: the IOMMU does not post device interrupts")
            .degraded("enable the IOMMU with interrupt remapping in the firmware setup; a processor without IOMMU support cannot"),
        (Some(false), _) => ok(false, "virtual APIC off: each interrupt to a guest is an exit")
            .degraded(format!("`options {parameter}` in /etc/modprobe.d, then reload KVM")),
        (None, _) => ok(false, "no KVM module that could use them").absent(format!(
            "needs hardware virtualisation: load KVM ({parameter}) on bare metal"
        )),
    }
}

fn arm(on: &Machine) -> Found {
    let asked = option(&on.cpu.command_line, "kvm-arm.vgic_v4_enable");
    let is_asked = asked == Some("kvm-arm.vgic_v4_enable=1");
    whether(
        is_asked && remapping_chip(&on.host).is_some(),
        "GICv4: direct injection asked for on the kernel command line",
        "GICv4: direct injection not asked for",
        "with a GICv4 boot with `kvm-arm.vgic_v4_enable=1`; `dmesg | grep GICv4` shows whether there is one",
    )
}
