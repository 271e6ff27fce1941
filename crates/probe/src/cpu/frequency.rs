//! Who decides the processor's frequency.

use std::collections::BTreeSet;

use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::cpu::Context;
use crate::fact::{Judge, fact};
use crate::load;

const CPUS: &str = "/sys/devices/system/cpu";

pub(super) fn facts(host: &Host, cpu: &Context) -> Vec<Fact> {
    let mut facts = vec![governor(host, cpu), speed(host, cpu)];
    facts.extend(turbo(host));
    facts
}

/// The governors of the processors we may use.
fn governor(host: &Host, cpu: &Context) -> Fact {
    let (key, label) = ("cpu.governor", "Frequency governor");
    let read = |cpu: &u32| host.line(&format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor"));
    let names: BTreeSet<String> = load::allowed(host).iter().filter_map(read).collect();
    let driver = host
        .line(&format!("{CPUS}/cpu0/cpufreq/scaling_driver"))
        .unwrap_or_default();
    let joined = names.into_iter().collect::<Vec<_>>().join(", ");
    if joined.is_empty() {
        return no_governor(fact(key, label, Value::Null, "none visible"), cpu);
    }
    let fact = fact(key, label, joined.clone(), format!("{joined} ({driver})"));
    if joined == "performance" {
        return fact;
    }
    fact.degraded(
        "the frequency follows the load, so short trials run slower than long ones: `cpupower frequency-set -g performance` while measuring",
    )
}

fn no_governor(fact: Fact, cpu: &Context) -> Fact {
    if cpu.is_guest() {
        return fact.absent(
            "the hypervisor's host decides: ask its operator for the `performance` governor, and watch for drift between repetitions",
        );
    }
    fact.absent("load the frequency driver (intel_pstate, amd_pstate, acpi-cpufreq) or see the firmware's power profile")
}

fn speed(host: &Host, cpu: &Context) -> Fact {
    let (key, label) = ("cpu.frequency_mhz", "Frequency");
    let khz = |name: &str| host.parsed::<u64>(&format!("{CPUS}/cpu0/cpufreq/{name}"));
    if let Some(max) = khz("cpuinfo_max_freq").map(|khz| khz / 1000) {
        let now = khz("scaling_cur_freq")
            .map_or(String::new(), |khz| format!(", now {} MHz", khz / 1000));
        return fact(key, label, max, format!("up to {max} MHz{now}"));
    }
    let stated = cpu
        .info
        .field("cpu MHz")
        .and_then(|text| text.parse::<f64>().ok());
    match stated.filter(|mhz| *mhz >= 0.0 && *mhz < 1e6) {
        Some(mhz) => fact(
            key,
            label,
            mhz.round() as u64,
            format!("{} MHz as stated", mhz.round()),
        ),
        None => fact(key, label, Value::Null, "not stated")
            .absent("nothing to do: neither the kernel nor the hypervisor states it"),
    }
}

fn turbo(host: &Host) -> Option<Fact> {
    let off = host
        .switch(&format!("{CPUS}/intel_pstate/no_turbo"))
        .or_else(|| {
            host.switch(&format!("{CPUS}/cpufreq/boost"))
                .map(|boost| !boost)
        })?;
    let text = if off {
        "off: one steady frequency"
    } else {
        "on: frequency falls as more cores work, and with AVX-512 on older parts"
    };
    Some(fact("cpu.turbo", "Turbo", !off, text))
}
