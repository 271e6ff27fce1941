//! The register state that the operating system enabled.

use ::cpu::Component;
use serde_json::Value;
use trial::Fact;

use crate::fact::{Found, absent, ok};
use crate::machine::Machine;
use crate::row::Row::{self, Many, One};

pub(crate) const FACTS: &[Row] = &[
    One("cpu.xstate", "Register state (XCR0)", register),
    Many(components),
];

fn register(on: &Machine) -> Found {
    let Some(processor) = &on.cpu.processor else {
        return absent(
            "not readable",
            "nothing to do: only x86-64 has XCR0; elsewhere the kernel lists what may be used",
        );
    };
    match processor.xstate.xcr0 {
        Some(bits) => ok(bits, format!("{bits:#x}")),
        None => ok(Value::Null, "XSAVE is off")
            .degraded("AVX and AVX-512 cannot be used: remove `noxsave` from the kernel command line, or have the hypervisor offer XSAVE (QEMU: `-cpu host`)"),
    }
}

fn components(on: &Machine) -> Vec<Fact> {
    let Some(state) = on.cpu.processor.as_ref().map(|known| known.xstate) else {
        return Vec::new();
    };
    let found = |component| {
        match (state.is_enabled(component), state.is_supported(component)) {
        (true, _) => ok(true, "enabled"),
        (false, true) => ok(false, "the processor has it, the kernel did not enable it")
            .degraded("look for `noxsave` or `clearcpuid=` on the kernel command line and at `dmesg | grep -i xfeatures`"),
        (false, false) => ok(false, "the processor does not offer it")
            .absent("only a processor, or a hypervisor's CPU model, with this register state"),
    }
    };
    let key = |component: Component| format!("cpu.xstate.{}", component.name());
    let fact = |&one: &Component| found(one).named(key(one), one.label());
    Component::ALL.iter().map(fact).collect()
}
