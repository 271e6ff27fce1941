//! The time stamp counter, which ARM does not have, and the kernel's clock.

use crate::fact::{Found, absent, ok, shown, unread};
use crate::machine::Machine;
use crate::row::Row::{self, Maybe, One};

pub(crate) const FACTS: &[Row] = &[
    Maybe("cpu.tsc", "Time stamp counter", counter),
    Maybe("cpu.tsc.frequency_hz", "TSC frequency stated", frequency),
    One("cpu.clocksource", "Clock source", source),
];

fn counter(on: &Machine) -> Option<Found> {
    let cpu = &on.cpu;
    if cpu.info.is_arm() {
        return None;
    }
    let flags = cpu.info.flags();
    let is_invariant = cpu
        .processor
        .as_ref()
        .is_some_and(|known| known.tsc.invariant);
    let (constant, nonstop) = (
        flags.contains("constant_tsc"),
        flags.contains("nonstop_tsc"),
    );
    if is_invariant || (constant && nonstop) {
        let known = match flags.contains("tsc_known_freq") {
            true => ", frequency known",
            false => "",
        };
        return Some(ok(
            "invariant",
            format!("invariant: constant and nonstop{known}"),
        ));
    }
    let remedy = "use CLOCK_MONOTONIC only (Lockgate does); in a guest ask for an invariant counter: QEMU `-cpu host,+invtsc`";
    Some(if constant {
        ok("constant", "constant, but stops in deep sleep").degraded(remedy)
    } else if flags.contains("tsc") || cpu.processor.is_some() {
        ok("varying", "its rate may vary").degraded(remedy)
    } else {
        absent("not stated", remedy)
    })
}

fn frequency(on: &Machine) -> Option<Found> {
    if on.cpu.info.is_arm() {
        return None;
    }
    let stated = on
        .cpu
        .processor
        .as_ref()
        .and_then(|known| known.tsc.frequency_hz);
    Some(match stated {
        Some(hz) => ok(hz, format!("{} MHz", hz / 1_000_000)),
        None => absent(
            "not stated by CPUID",
            "nothing to do: a counter that is used is calibrated against CLOCK_MONOTONIC (QEMU can state it: `-cpu …,+vmware-cpuid-freq,tsc-frequency=…`)",
        ),
    })
}

fn source(on: &Machine) -> Found {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let Some(current) = on.host.line(path) else {
        return unread(path);
    };
    // Read in user space, without a system call.
    let fast = [
        "tsc",
        "kvm-clock",
        "arch_sys_counter",
        "hyperv_clocksource_tsc_page",
    ];
    let is_fast = fast.contains(&current.as_str());
    shown(current).degraded_unless(is_fast, format!(
        "each reading of the clock is a system call or slow I/O: find out why the kernel left the TSC (`dmesg | grep -i tsc`), then `echo tsc > {path}`"
    ))
}
