//! What decides the processor's frequency.

use std::collections::BTreeSet;

use crate::fact::{Found, absent, ok};
use crate::load;
use crate::machine::Machine;
use crate::row::Row::{self, Maybe, One};

pub(crate) const FACTS: &[Row] = &[
    One("cpu.governor", "Frequency governor", governor),
    One("cpu.frequency_mhz", "Frequency", speed),
    Maybe("cpu.turbo", "Turbo", turbo),
];

const CPUS: &str = "/sys/devices/system/cpu";

/// The governors of the processors we may use.
fn governor(on: &Machine) -> Found {
    let read = |cpu: u32, name: &str| on.host.line(&format!("{CPUS}/cpu{cpu}/cpufreq/{name}"));
    let allowed = load::allowed(&on.host).into_iter();
    let names: BTreeSet<_> = allowed
        .filter_map(|cpu| read(cpu, "scaling_governor"))
        .collect();
    if names.is_empty() {
        let remedy = match on.cpu.is_guest() {
            true => {
                "the hypervisor's host decides: ask its operator for the `performance` governor, and watch for drift between repetitions"
            }
            false => {
                "load the frequency driver (intel_pstate, amd_pstate, acpi-cpufreq) or see the firmware's power profile"
            }
        };
        return absent("none visible", remedy);
    }
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    let driver = read(0, "scaling_driver").unwrap_or_default();
    ok(names.clone(), format!("{names} ({driver})")).degraded_unless(
        names == "performance",
        "the frequency follows the load, so short trials run slower than long ones: `cpupower frequency-set -g performance` while measuring",
    )
}

fn speed(on: &Machine) -> Found {
    let mhz = |name: &str| {
        let khz = on
            .host
            .parsed::<u64>(&format!("{CPUS}/cpu0/cpufreq/{name}"));
        khz.map(|khz| khz / 1000)
    };
    if let Some(max) = mhz("cpuinfo_max_freq") {
        let now = mhz("scaling_cur_freq").map_or(String::new(), |now| format!(", now {now} MHz"));
        return ok(max, format!("up to {max} MHz{now}"));
    }
    let stated = on
        .cpu
        .info
        .field("cpu MHz")
        .and_then(|text| text.parse::<f64>().ok());
    match stated.filter(|mhz| *mhz >= 0.0 && *mhz < 1e6) {
        Some(mhz) => ok(mhz.round() as u64, format!("{} MHz as stated", mhz.round())),
        None => absent(
            "not stated",
            "nothing to do: neither the kernel nor the hypervisor states it",
        ),
    }
}

fn turbo(on: &Machine) -> Option<Found> {
    let switch = |name: &str| on.host.switch(&format!("{CPUS}/{name}"));
    let off = switch("intel_pstate/no_turbo").or_else(|| switch("cpufreq/boost").map(|on| !on))?;
    let text = match off {
        true => "off: one steady frequency",
        false => "on: frequency falls as more cores work, and with AVX-512 on older parts",
    };
    Some(ok(!off, text))
}
