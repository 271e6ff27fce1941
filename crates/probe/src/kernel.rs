//! The kernel and the system on it.

use serde_json::Value;

use crate::fact::{Found, joined, ok, shown, unread};
use crate::list::{option, value_of};
use crate::machine::Machine;
use crate::row::Row::{self, One};

pub(super) const FACTS: &[Row] = &[
    One("host.kernel", "Kernel", release),
    One("host.os", "System", system),
    One("host.architecture", "Architecture", architecture),
    One("host.container", "Container", container),
    One("host.command_line", "Kernel command line", command_line),
    One("host.mitigations", "CPU mitigations", mitigations),
    One("host.modules", "Loadable modules", modules),
];

fn release(on: &Machine) -> Found {
    let path = "/proc/sys/kernel/osrelease";
    // `Linux version 6.1.0 (…)`.
    let from_version = || {
        let line = on.host.line("/proc/version")?;
        let rest = line.strip_prefix("Linux version ")?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    let release = on.host.line(path).or_else(from_version);
    release.map_or_else(|| unread(path), shown)
}

fn system(on: &Machine) -> Found {
    let path = "/etc/os-release";
    let text = on.host.text(path);
    let text = text
        .or_else(|| on.host.text("/usr/lib/os-release"))
        .unwrap_or_default();
    let name = value_of(&text, "PRETTY_NAME").map(|name| name.trim_matches('"'));
    name.map_or_else(|| unread(path), shown)
}

fn architecture(on: &Machine) -> Found {
    let guessed = match on.cpu.info.is_arm() {
        true => "aarch64",
        false => "x86_64",
    };
    let stated = on.host.line("/proc/sys/kernel/arch");
    shown(stated.unwrap_or_else(|| guessed.to_owned()))
}

fn container(on: &Machine) -> Found {
    let marked = |mark: &str, name: &str| on.host.exists(mark).then(|| name.to_owned());
    let stated = on.host.line("/run/systemd/container");
    let named = stated
        .or_else(|| marked("/.dockerenv", "docker"))
        .or_else(|| marked("/run/.containerenv", "podman"));
    let Some(name) = named else {
        return ok(Value::Null, "none seen");
    };
    let text = format!("{name}: what is not readable here may exist outside");
    ok(name, text)
}

/// Boot loaders and agents put their secrets here too: only what bears on speed
/// leaves the host.
fn command_line(on: &Machine) -> Found {
    if on.cpu.command_line.is_empty() {
        return unread("/proc/cmdline");
    }
    match telling(&on.cpu.command_line).join(" ") {
        told if told.is_empty() => ok("", "nothing that bears on speed"),
        told => shown(told),
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
fn mitigations(on: &Machine) -> Found {
    let dir = "/sys/devices/system/cpu/vulnerabilities";
    let names = on.host.names(dir).into_iter().take(64);
    let state = |name: String| {
        on.host
            .line(&format!("{dir}/{name}"))
            .map(|state| (name, state))
    };
    let states: Vec<(String, String)> = names.filter_map(state).collect();
    if states.is_empty() {
        return unread(dir);
    }
    let named = |prefix: &str| -> Vec<&str> {
        let those = states.iter().filter(|(_, state)| state.starts_with(prefix));
        those.map(|(name, _)| name.as_str()).collect()
    };
    let (closed, open) = (named("Mitigation"), named("Vulnerable"));
    let text = format!(
        "mitigated: {}; vulnerable: {}",
        joined(&closed),
        joined(&open)
    );
    let remedy = match option(&on.cpu.command_line, "mitigations") {
        Some("mitigations=off") => {
            "crossings look cheaper than on a protected host: remove `mitigations=off` before quoting them"
        }
        _ => "update microcode and kernel (a guest: the outer host too), then reboot",
    };
    ok(closed, text).degraded_unless(open.is_empty(), remedy)
}

fn modules(on: &Machine) -> Found {
    if !on.host.exists("/proc/modules") {
        return ok(false, "this kernel cannot load modules")
            .absent("drivers must be built in: boot a kernel with CONFIG_MODULES");
    }
    match on.host.switch("/proc/sys/kernel/modules_disabled") {
        Some(true) => ok(false, "loading is switched off until reboot")
            .degraded("reboot without `kernel.modules_disabled=1`"),
        _ => ok(true, "can be loaded by root"),
    }
}
