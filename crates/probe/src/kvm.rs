//! KVM: whether guests really run on it.

use crate::Host;
use crate::cpu::Context;
use crate::fact::{Found, absent, ok, shown, whether};
use crate::machine::Machine;
use crate::row::Row::{self, One};

pub(super) const FACTS: &[Row] = &[
    One("kvm.usable", "KVM", usable),
    One("kvm.module", "KVM module", module),
    One("kvm.nested", "Nested virtualisation for guests", nested),
    One("virt.vhost_net", "vhost-net", vhost),
];

const DEVICE: &str = "/dev/kvm";
const FALL_BACK: &str = "Lockgate falls back to emulation (TCG)";

/// That the device opens does not mean that a guest runs: without VMX or SVM
/// something imitates them, and stock guest kernels hang on it.
fn usable(on: &Machine) -> Found {
    let (host, is_arm) = (&on.host, on.cpu.info.is_arm());
    let degraded =
        |text: String, remedy: &str| ok(false, text).degraded(format!("{remedy}; {FALL_BACK}"));
    if !host.exists(DEVICE) {
        return ok(false, format!("no {DEVICE}"))
            .absent(format!("{}; {FALL_BACK}", appear(&on.cpu)));
    }
    if !is_arm && !on.cpu.virtualises() {
        return degraded(
            format!(
                "{DEVICE} is there, but the processor shows neither vmx nor svm: stock guests hang on it"
            ),
            "enable nested virtualisation on the outer hypervisor (`kvm_intel nested=1` or `kvm_amd nested=1`, and `-cpu host`)",
        );
    }
    if !is_arm && hardware_module(host).is_none() {
        return degraded(
            format!("{DEVICE} is there, but neither kvm_intel nor kvm_amd runs it"),
            "`modprobe kvm_intel` or `modprobe kvm_amd`",
        );
    }
    match host.opens(DEVICE) {
        Ok(()) => ok(
            true,
            format!("{DEVICE} opens and the processor virtualises"),
        ),
        Err(error) => degraded(
            format!("{DEVICE}: {}", error.kind()),
            "add your user to the group of /dev/kvm (`usermod -aG kvm $USER`, then log in again)",
        ),
    }
}

/// How the device would come to be.
fn appear(cpu: &Context) -> &'static str {
    if cpu.info.is_arm() {
        "boot a kernel with CONFIG_KVM at EL2 (in a guest: nested virtualisation), or pass the device into the container"
    } else if cpu.virtualises() {
        "`modprobe kvm_intel` or `modprobe kvm_amd`, or pass /dev/kvm into the container"
    } else if cpu.is_guest() {
        "enable nested virtualisation on the outer hypervisor"
    } else {
        "enable VT-x or SVM in the firmware setup"
    }
}

/// A module, or the same code built in, shows its parameters.
fn hardware_module(host: &Host) -> Option<&'static str> {
    ["kvm_intel", "kvm_amd"]
        .into_iter()
        .find(|name| host.exists(&format!("/sys/module/{name}/parameters")))
}

fn module(on: &Machine) -> Found {
    if let Some(name) = hardware_module(&on.host) {
        return shown(name);
    }
    if on.cpu.info.is_arm() && on.host.exists(DEVICE) {
        return ok("kvm", "built in");
    }
    let mut loaded = on.host.names("/sys/module").into_iter();
    let Some(other) = loaded.find(|name| name.starts_with("kvm_")) else {
        return absent("none loaded", "`modprobe kvm_intel` or `modprobe kvm_amd`");
    };
    let text = format!("{other}, which is not kvm_intel or kvm_amd");
    ok(other, text).degraded(
        "it runs only guests prepared for it: load kvm_intel or kvm_amd on hardware that virtualises",
    )
}

fn nested(on: &Machine) -> Found {
    let module = hardware_module(&on.host);
    let parameter = |name| {
        on.host
            .switch(&format!("/sys/module/{name}/parameters/nested"))
    };
    match module.and_then(parameter) {
        Some(true) => ok(true, "on"),
        Some(false) => ok(false, "off").degraded(
            "`options kvm_intel nested=1` (or kvm_amd) in /etc/modprobe.d, then reload the module",
        ),
        None => ok(false, "no KVM module that could offer it")
            .absent("needs KVM on hardware that virtualises"),
    }
}

fn vhost(on: &Machine) -> Found {
    whether(
        on.host.exists("/dev/vhost-net"),
        "/dev/vhost-net is there",
        "no /dev/vhost-net",
        "`modprobe vhost_net`: without it guests' packets pass through QEMU",
    )
}
