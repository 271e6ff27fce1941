//! The kernel and the system on it.

use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::cpu::Context;
use crate::fact::{Judge, fact, joined, unread};
use crate::list::{option, value_of};

pub(super) fn facts(host: &Host, cpu: &Context) -> Vec<Fact> {
    vec![
        release(host),
        system(host),
        architecture(host, cpu),
        container(host),
        command_line(cpu),
        mitigations(host, cpu),
        modules(host),
    ]
}

fn release(host: &Host) -> Fact {
    match host
        .line("/proc/sys/kernel/osrelease")
        .or_else(|| from_version(host))
    {
        Some(release) => fact("host.kernel", "Kernel", release.clone(), release),
        None => unread("host.kernel", "Kernel", "/proc/sys/kernel/osrelease"),
    }
}

/// `Linux version 6.1.0 (…)`.
fn from_version(host: &Host) -> Option<String> {
    let line = host.line("/proc/version")?;
    Some(
        line.strip_prefix("Linux version ")?
            .split_whitespace()
            .next()?
            .to_owned(),
    )
}

fn system(host: &Host) -> Fact {
    let text = host
        .text("/etc/os-release")
        .or_else(|| host.text("/usr/lib/os-release"));
    let text = text.unwrap_or_default();
    match value_of(&text, "PRETTY_NAME").map(|name| name.trim_matches('"')) {
        Some(name) => fact("host.os", "System", name, name),
        None => unread("host.os", "System", "/etc/os-release"),
    }
}

fn architecture(host: &Host, cpu: &Context) -> Fact {
    let guessed = if cpu.info.is_arm() {
        "aarch64"
    } else {
        "x86_64"
    };
    let name = host
        .line("/proc/sys/kernel/arch")
        .unwrap_or_else(|| guessed.to_owned());
    fact("host.architecture", "Architecture", name.clone(), name)
}

fn container(host: &Host) -> Fact {
    let (key, label) = ("host.container", "Container");
    let named = host.line("/run/systemd/container").or_else(|| {
        let marks = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
        marks
            .iter()
            .find(|(mark, _)| host.exists(mark))
            .map(|(_, name)| (*name).to_owned())
    });
    match named {
        Some(name) => fact(
            key,
            label,
            name.clone(),
            format!("{name}: what is not readable here may exist outside"),
        ),
        None => fact(key, label, Value::Null, "none seen"),
    }
}

fn command_line(cpu: &Context) -> Fact {
    let (key, label) = ("host.command_line", "Kernel command line");
    match cpu.command_line.as_str() {
        "" => unread(key, label, "/proc/cmdline"),
        // Boot loaders and agents put their secrets here too: only what
        // bears on speed leaves the host.
        line => {
            let shown = telling(line).join(" ");
            fact(
                key,
                label,
                shown.clone(),
                if shown.is_empty() {
                    "nothing that bears on speed"
                } else {
                    &shown
                },
            )
        }
    }
}

/// Options that change what this tool measures.
fn telling(line: &str) -> Vec<&str> {
    const NAMES: &str = "mitigations nosmt isolcpus nohz_full rcu_nocbs clearcpuid noxsave iommu intel_iommu \
        amd_iommu intremap iommu.passthrough iommu.strict hugepages hugepagesz \
        default_hugepagesz transparent_hugepage idle intel_idle.max_cstate processor.max_cstate \
        intel_pstate amd_pstate tsc clocksource preempt spectre_v2 psi gather_data_sampling";
    let named = NAMES.split(' ').filter_map(|name| option(line, name));
    named.collect()
}

/// Mitigations make every crossing dearer, so reports must say which ran.
fn mitigations(host: &Host, cpu: &Context) -> Fact {
    let (key, label) = ("host.mitigations", "CPU mitigations");
    let dir = "/sys/devices/system/cpu/vulnerabilities";
    let states: Vec<(String, String)> = host
        .names(dir)
        .into_iter()
        .take(64)
        .filter_map(|name| Some((name.clone(), host.line(&format!("{dir}/{name}"))?)))
        .collect();
    if states.is_empty() {
        return unread(key, label, dir);
    }
    let named = |prefix: &str| -> Vec<&str> {
        states
            .iter()
            .filter(|(_, state)| state.starts_with(prefix))
            .map(|(name, _)| name.as_str())
            .collect()
    };
    let (on, open) = (named("Mitigation"), named("Vulnerable"));
    let text = format!("mitigated: {}; vulnerable: {}", joined(&on), joined(&open));
    let fact = fact(key, label, on, text);
    if open.is_empty() {
        return fact;
    }
    match option(&cpu.command_line, "mitigations") {
        Some("mitigations=off") => fact.degraded(
            "crossings look cheaper than on a protected host: remove `mitigations=off` before quoting them",
        ),
        _ => fact.degraded("update microcode and kernel (a guest: the outer host too), then reboot"),
    }
}

fn modules(host: &Host) -> Fact {
    let (key, label) = ("host.modules", "Loadable modules");
    if !host.exists("/proc/modules") {
        return fact(key, label, false, "this kernel cannot load modules")
            .absent("drivers must be built in: boot a kernel with CONFIG_MODULES");
    }
    match host.switch("/proc/sys/kernel/modules_disabled") {
        Some(true) => fact(key, label, false, "loading is switched off until reboot")
            .degraded("reboot without `kernel.modules_disabled=1`"),
        _ => fact(key, label, true, "can be loaded by root"),
    }
}
