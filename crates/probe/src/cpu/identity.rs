//! Who made the processor, which one it is, what it runs under.

use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::cpu::Context;
use crate::fact::{Judge, fact, unread};

pub(super) fn facts(host: &Host, cpu: &Context) -> Vec<Fact> {
    let mut facts = vec![vendor(cpu), model(cpu), microarchitecture(cpu)];
    facts.extend(signature(cpu));
    facts.extend(levels(cpu));
    facts.push(hypervisor(cpu));
    facts.push(microcode(host, cpu));
    facts
}

fn vendor(cpu: &Context) -> Fact {
    let (key, label) = ("cpu.vendor", "Vendor");
    let name = match (cpu.vendor(), cpu.arm_core) {
        (Some(vendor), _) => vendor.name().to_owned(),
        (None, Some(core)) => core.designer.to_owned(),
        (None, None) => match cpu.info.field("CPU implementer") {
            Some(implementer) => format!("ARM implementer {implementer}"),
            None => return unread(key, label, "/proc/cpuinfo"),
        },
    };
    fact(key, label, name.clone(), name)
}

fn model(cpu: &Context) -> Fact {
    let (key, label) = ("cpu.model", "Model");
    let by_cpuid = cpu
        .processor
        .as_ref()
        .map(|known| known.model_name.as_str());
    let name = by_cpuid
        .filter(|name| !name.is_empty())
        .or_else(|| cpu.info.field("model name"))
        .or(cpu.arm_core.map(|core| core.name));
    match name {
        Some(name) => fact(key, label, name, name),
        None => unread(key, label, "/proc/cpuinfo"),
    }
}

fn microarchitecture(cpu: &Context) -> Fact {
    let (key, label) = ("cpu.microarchitecture", "Microarchitecture");
    let known = cpu.microarchitecture.as_ref().map(|known| known.name);
    if let Some(name) = known.or(cpu.arm_core.map(|core| core.name)) {
        return fact(key, label, name, name);
    }
    let unknown = fact(key, label, Value::Null, "unknown");
    if cpu.is_guest() {
        return unknown.degraded(
            "the hypervisor invents the CPU model, so flags cannot be checked against it: use QEMU `-cpu host` (libvirt: host-passthrough)",
        );
    }
    unknown.degraded(
        "missing flags cannot be told from hidden ones: report the family and model to Lockgate",
    )
}

fn signature(cpu: &Context) -> Option<Fact> {
    let label = "Family, model, stepping";
    let signature = cpu.processor.as_ref().map(|known| known.signature)?;
    let text = format!(
        "family {:#x}, model {:#x}, stepping {}",
        signature.family, signature.model, signature.stepping
    );
    let value = vec![signature.family, signature.model, signature.stepping];
    Some(fact("cpu.signature", label, value, text))
}

/// CPUID levels and address sizes.
fn levels(cpu: &Context) -> Vec<Fact> {
    let Some(processor) = &cpu.processor else {
        return Vec::new();
    };
    let (basic, extended) = (processor.level, processor.extended_level);
    let level = fact(
        "cpu.level",
        "CPUID level",
        basic,
        format!("{basic:#x}, extended {extended:#x}"),
    );
    // Seven is where AVX2, VAES, SHA-NI and AVX-512 are stated.
    let level = if basic >= 7 {
        level
    } else {
        level.degraded(
            "below level 7 no AVX2, VAES, SHA-NI or AVX-512 can be seen: set \"Limit CPUID Maximum\" to disabled in the firmware setup, or QEMU `-cpu …,level=0xd`",
        )
    };
    let bits = |key: &str, label: &str, bits: Option<u32>| match bits {
        Some(bits) => fact(key, label, bits, format!("{bits} bits")),
        None => fact(key, label, Value::Null, "not stated")
            .absent("an extended CPUID level of 0x80000008 (QEMU: `xlevel=0x80000008`)"),
    };
    vec![
        level,
        bits(
            "cpu.address_bits.physical",
            "Physical addresses",
            processor.physical_bits,
        ),
        bits(
            "cpu.address_bits.virtual",
            "Virtual addresses",
            processor.virtual_bits,
        ),
    ]
}

fn hypervisor(cpu: &Context) -> Fact {
    let (key, label) = ("cpu.hypervisor", "Hypervisor");
    match &cpu.hypervisor {
        Some(name) => fact(key, label, name.clone(), name),
        None => fact(key, label, Value::Null, "none (bare metal)"),
    }
}

fn microcode(host: &Host, cpu: &Context) -> Fact {
    let (key, label) = ("cpu.microcode", "Microcode");
    let version = cpu
        .info
        .field("microcode")
        .map(str::to_owned)
        .or_else(|| host.line("/sys/devices/system/cpu/cpu0/microcode/version"));
    let Some(version) = version else {
        let fact = fact(key, label, Value::Null, "not stated");
        return fact.absent("nothing to do: this processor or hypervisor does not state it");
    };
    let old = host.line("/sys/devices/system/cpu/vulnerabilities/old_microcode");
    let guest = if cpu.is_guest() {
        " (as the hypervisor states it)"
    } else {
        ""
    };
    let fact = fact(key, label, version.clone(), format!("{version}{guest}"));
    match old.is_some_and(|state| state.starts_with("Vulnerable")) {
        true => fact.degraded(
            "the kernel knows a newer one: install intel-microcode or amd64-microcode and reboot (a guest: update the outer host)",
        ),
        false => fact,
    }
}
