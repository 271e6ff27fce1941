//! KVM: whether guests really run on it.

use ::cpu::Feature;
use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::cpu::Context;
use crate::fact::{Judge, fact};

const DEVICE: &str = "/dev/kvm";
const FALL_BACK: &str = "Lockgate falls back to emulation (TCG)";

pub(super) fn facts(host: &Host, cpu: &Context) -> Vec<Fact> {
    vec![
        usable(host, cpu),
        module(host, cpu),
        nested(host),
        vhost(host),
    ]
}

/// That the device opens does not mean that a guest runs: without VMX or SVM
/// something imitates them, and stock guest kernels hang on it.
fn usable(host: &Host, cpu: &Context) -> Fact {
    let (key, label) = ("kvm.usable", "KVM");
    let no = |text: String| fact(key, label, false, text);
    if !host.exists(DEVICE) {
        return no(format!("no {DEVICE}")).absent(format!("{}; {FALL_BACK}", appear(cpu)));
    }
    if !cpu.info.is_arm() && !cpu.has(Feature::Vmx) && !cpu.has(Feature::Svm) {
        let text = format!(
            "{DEVICE} is there, but the processor shows neither vmx nor svm: stock guests hang on it"
        );
        return no(text).degraded(format!(
            "enable nested virtualisation on the outer hypervisor (`kvm_intel nested=1` or `kvm_amd nested=1`, and `-cpu host`); {FALL_BACK}"
        ));
    }
    if !cpu.info.is_arm() && hardware_module(host).is_none() {
        return no(format!(
            "{DEVICE} is there, but neither kvm_intel nor kvm_amd runs it"
        ))
        .degraded(format!(
            "`modprobe kvm_intel` or `modprobe kvm_amd`; {FALL_BACK}"
        ));
    }
    match host.opens(DEVICE) {
        Ok(()) => fact(key, label, true, format!("{DEVICE} opens and the processor virtualises")),
        Err(error) => no(format!("{DEVICE}: {}", error.kind())).degraded(format!(
            "add your user to the group of {DEVICE} (`usermod -aG kvm $USER`, then log in again); {FALL_BACK}"
        )),
    }
}

/// How the device would come to be.
fn appear(cpu: &Context) -> &'static str {
    match (
        cpu.info.is_arm(),
        cpu.is_guest(),
        cpu.has(Feature::Vmx) || cpu.has(Feature::Svm),
    ) {
        (true, ..) => {
            "boot a kernel with CONFIG_KVM at EL2 (in a guest: nested virtualisation), or pass the device into the container"
        }
        (_, _, true) => {
            "`modprobe kvm_intel` or `modprobe kvm_amd`, or pass /dev/kvm into the container"
        }
        (_, true, false) => "enable nested virtualisation on the outer hypervisor",
        (_, false, false) => "enable VT-x or SVM in the firmware setup",
    }
}

/// A module, or the same code built in, shows its parameters.
fn hardware_module(host: &Host) -> Option<&'static str> {
    ["kvm_intel", "kvm_amd"]
        .into_iter()
        .find(|name| host.exists(&format!("/sys/module/{name}/parameters")))
}

fn module(host: &Host, cpu: &Context) -> Fact {
    let (key, label) = ("kvm.module", "KVM module");
    if let Some(name) = hardware_module(host) {
        return fact(key, label, name, name);
    }
    if cpu.info.is_arm() && host.exists(DEVICE) {
        return fact(key, label, "kvm", "built in");
    }
    let other = host
        .names("/sys/module")
        .into_iter()
        .find(|name| name.starts_with("kvm_"));
    match other {
        Some(name) => fact(key, label, name.clone(), format!("{name}, which is not kvm_intel or kvm_amd"))
            .degraded("it runs only guests prepared for it: load kvm_intel or kvm_amd on hardware that virtualises"),
        None => fact(key, label, Value::Null, "none loaded")
            .absent("`modprobe kvm_intel` or `modprobe kvm_amd`"),
    }
}

fn nested(host: &Host) -> Fact {
    let (key, label) = ("kvm.nested", "Nested virtualisation for guests");
    let parameter = hardware_module(host)
        .and_then(|name| host.switch(&format!("/sys/module/{name}/parameters/nested")));
    match parameter {
        Some(true) => fact(key, label, true, "on"),
        Some(false) => fact(key, label, false, "off").degraded(
            "`options kvm_intel nested=1` (or kvm_amd) in /etc/modprobe.d, then reload the module",
        ),
        None => fact(key, label, false, "no KVM module that could offer it")
            .absent("needs KVM on hardware that virtualises"),
    }
}

fn vhost(host: &Host) -> Fact {
    let (key, label) = ("virt.vhost_net", "vhost-net");
    if host.exists("/dev/vhost-net") {
        return fact(key, label, true, "/dev/vhost-net is there");
    }
    fact(key, label, false, "no /dev/vhost-net")
        .absent("`modprobe vhost_net`: without it guests' packets pass through QEMU")
}
