//! The register state that the operating system enabled.

use ::cpu::Component;
use trial::Fact;

use crate::cpu::Context;
use crate::fact::{Judge, fact};

pub(crate) fn facts(cpu: &Context) -> Vec<Fact> {
    let Some(processor) = &cpu.processor else {
        let none = fact(
            "cpu.xstate",
            "Register state (XCR0)",
            serde_json::Value::Null,
            "not readable",
        );
        return vec![none.absent(
            "nothing to do: only x86-64 has XCR0; elsewhere the kernel lists what may be used",
        )];
    };
    let xcr0 = processor.xstate.xcr0;
    let register = match xcr0 {
        Some(bits) => fact("cpu.xstate", "Register state (XCR0)", bits, format!("{bits:#x}")),
        None => fact("cpu.xstate", "Register state (XCR0)", serde_json::Value::Null, "XSAVE is off")
            .degraded("AVX and AVX-512 cannot be used: remove `noxsave` from the kernel command line, or have the hypervisor offer XSAVE (QEMU: `-cpu host`)"),
    };
    let components = Component::ALL.iter().map(|&component| one(cpu, component));
    std::iter::once(register).chain(components).collect()
}

fn one(cpu: &Context, component: Component) -> Fact {
    let xstate = cpu.processor.as_ref().map(|known| known.xstate);
    let enabled = xstate.is_some_and(|state| state.is_enabled(component));
    let supported = xstate.is_some_and(|state| state.is_supported(component));
    let key = format!("cpu.xstate.{}", component.name());
    match (enabled, supported) {
        (true, _) => fact(key, component.label(), true, "enabled"),
        (false, true) => fact(key, component.label(), false, "the processor has it, the kernel did not enable it")
            .degraded("look for `noxsave` or `clearcpuid=` on the kernel command line and at `dmesg | grep -i xfeatures`"),
        (false, false) => fact(key, component.label(), false, "the processor does not offer it")
            .absent("only a processor, or a hypervisor's CPU model, with this register state"),
    }
}
