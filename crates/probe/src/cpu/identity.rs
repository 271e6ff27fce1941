//! The processor's vendor and model, and the hypervisor it runs under.

use ::cpu::Processor;

use crate::fact::{Found, absent, ok, shown, unread};
use crate::machine::Machine;
use crate::row::Row::{self, Maybe, One};

pub(crate) const FACTS: &[Row] = &[
    One("cpu.vendor", "Vendor", vendor),
    One("cpu.model", "Model", model),
    One(
        "cpu.microarchitecture",
        "Microarchitecture",
        microarchitecture,
    ),
    Maybe("cpu.signature", "Family, model, stepping", signature),
    Maybe("cpu.level", "CPUID level", level),
    Maybe("cpu.address_bits.physical", "Physical addresses", |on| {
        address_bits(on, |known| known.physical_bits)
    }),
    Maybe("cpu.address_bits.virtual", "Virtual addresses", |on| {
        address_bits(on, |known| known.virtual_bits)
    }),
    One("cpu.hypervisor", "Hypervisor", hypervisor),
    One("cpu.microcode", "Microcode", microcode),
];

fn vendor(on: &Machine) -> Found {
    let cpu = &on.cpu;
    let implementer = || cpu.info.field("CPU implementer");
    let name = match (cpu.vendor(), cpu.arm_core) {
        (Some(vendor), _) => Some(vendor.name().to_owned()),
        (None, Some(core)) => Some(core.designer.to_owned()),
        (None, None) => implementer().map(|number| format!("ARM implementer {number}")),
    };
    name.map_or_else(|| unread("/proc/cpuinfo"), shown)
}

fn model(on: &Machine) -> Found {
    let cpu = &on.cpu;
    let by_cpuid = cpu
        .processor
        .as_ref()
        .map(|known| known.model_name.as_str());
    let name = by_cpuid
        .filter(|name| !name.is_empty())
        .or_else(|| cpu.info.field("model name"))
        .or(cpu.arm_core.map(|core| core.name));
    name.map_or_else(|| unread("/proc/cpuinfo"), shown)
}

fn microarchitecture(on: &Machine) -> Found {
    let known = on.cpu.microarchitecture.as_ref().map(|known| known.name);
    if let Some(name) = known.or(on.cpu.arm_core.map(|core| core.name)) {
        return shown(name);
    }
    ok(serde_json::Value::Null, "unknown").degraded(match on.cpu.is_guest() {
        true => "the hypervisor invents the CPU model, so flags cannot be checked against it: use QEMU `-cpu host` (libvirt: host-passthrough)",
        false => "missing flags cannot be told from hidden ones: report the family and model to Lockgate",
    })
}

fn signature(on: &Machine) -> Option<Found> {
    let signature = on.cpu.processor.as_ref()?.signature;
    let (family, model, stepping) = (signature.family, signature.model, signature.stepping);
    let text = format!("family {family:#x}, model {model:#x}, stepping {stepping}");
    Some(ok(vec![family, model, stepping], text))
}

fn level(on: &Machine) -> Option<Found> {
    let processor = on.cpu.processor.as_ref()?;
    let (basic, extended) = (processor.level, processor.extended_level);
    // Seven is where AVX2, VAES, SHA-NI and AVX-512 are stated.
    Some(ok(basic, format!("{basic:#x}, extended {extended:#x}")).degraded_unless(
        basic >= 7,
        "below level 7 no AVX2, VAES, SHA-NI or AVX-512 can be seen: set \"Limit CPUID Maximum\" to disabled in the firmware setup, or QEMU `-cpu …,level=0xd`",
    ))
}

fn address_bits(on: &Machine, bits: fn(&Processor) -> Option<u32>) -> Option<Found> {
    Some(match bits(on.cpu.processor.as_ref()?) {
        Some(bits) => ok(bits, format!("{bits} bits")),
        None => absent(
            "not stated",
            "an extended CPUID level of 0x80000008 (QEMU: `xlevel=0x80000008`)",
        ),
    })
}

fn hypervisor(on: &Machine) -> Found {
    let none = || ok(serde_json::Value::Null, "none (bare metal)");
    on.cpu.hypervisor.as_deref().map_or_else(none, shown)
}

fn microcode(on: &Machine) -> Found {
    let stated = on.cpu.info.field("microcode").map(str::to_owned);
    let shown = || {
        on.host
            .line("/sys/devices/system/cpu/cpu0/microcode/version")
    };
    let Some(version) = stated.or_else(shown) else {
        return absent(
            "not stated",
            "nothing to do: this processor or hypervisor does not state it",
        );
    };
    let guest = match on.cpu.is_guest() {
        true => " (as the hypervisor states it)",
        false => "",
    };
    let old = on
        .host
        .line("/sys/devices/system/cpu/vulnerabilities/old_microcode");
    let is_old = old.is_some_and(|state| state.starts_with("Vulnerable"));
    ok(version.clone(), format!("{version}{guest}")).degraded_unless(
        !is_old,
        "the kernel knows a newer one: install intel-microcode or amd64-microcode and reboot (a guest: update the outer host)",
    )
}
