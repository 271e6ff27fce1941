//! The time stamp counter and the kernel's clock.

use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::cpu::Context;
use crate::fact::{Judge, fact};

pub(super) fn facts(host: &Host, cpu: &Context) -> Vec<Fact> {
    let mut facts = Vec::new();
    if !cpu.info.is_arm() {
        facts.extend([counter(cpu), frequency(cpu)]);
    }
    facts.push(source(host));
    facts
}

fn counter(cpu: &Context) -> Fact {
    let (key, label) = ("cpu.tsc", "Time stamp counter");
    let flags = cpu.info.flags();
    let invariant = cpu
        .processor
        .as_ref()
        .is_some_and(|known| known.tsc.invariant);
    let constant = flags.contains("constant_tsc");
    let nonstop = flags.contains("nonstop_tsc");
    let known = if flags.contains("tsc_known_freq") {
        ", frequency known"
    } else {
        ""
    };
    if invariant || (constant && nonstop) {
        return fact(
            key,
            label,
            "invariant",
            format!("invariant: constant and nonstop{known}"),
        );
    }
    let remedy = "use CLOCK_MONOTONIC only (Lockgate does); in a guest ask for an invariant counter: QEMU `-cpu host,+invtsc`";
    if constant {
        return fact(key, label, "constant", "constant, but stops in deep sleep").degraded(remedy);
    }
    let present = flags.contains("tsc") || cpu.processor.is_some();
    match present {
        true => fact(key, label, "varying", "its rate may vary").degraded(remedy),
        false => fact(key, label, Value::Null, "not stated").absent(remedy),
    }
}

fn frequency(cpu: &Context) -> Fact {
    let (key, label) = ("cpu.tsc.frequency_hz", "TSC frequency stated");
    match cpu.processor.as_ref().and_then(|known| known.tsc.frequency_hz) {
        Some(hz) => fact(key, label, hz, format!("{} MHz", hz / 1_000_000)),
        None => fact(key, label, Value::Null, "not stated by CPUID").absent(
            "nothing to do: a counter that is used is calibrated against CLOCK_MONOTONIC (QEMU can state it: `-cpu …,+vmware-cpuid-freq,tsc-frequency=…`)",
        ),
    }
}

fn source(host: &Host) -> Fact {
    let (key, label) = ("cpu.clocksource", "Clock source");
    let dir = "/sys/devices/system/clocksource/clocksource0";
    let Some(current) = host.line(&format!("{dir}/current_clocksource")) else {
        return crate::fact::unread(key, label, &format!("{dir}/current_clocksource"));
    };
    let fact = fact(key, label, current.clone(), &current);
    match current.as_str() {
        // Read in user space, without a system call.
        "tsc" | "kvm-clock" | "arch_sys_counter" | "hyperv_clocksource_tsc_page" => fact,
        _ => fact.degraded(format!(
            "each reading of the clock is a system call or slow I/O: find out why the kernel left the TSC (`dmesg | grep -i tsc`), then `echo tsc > {dir}/current_clocksource`"
        )),
    }
}
