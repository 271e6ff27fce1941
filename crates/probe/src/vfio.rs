//! VFIO: giving devices to guests and user-space drivers.

use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::fact::{Judge, fact};
use crate::pci::Device;

pub(super) fn facts(host: &Host, devices: &[Device]) -> Vec<Fact> {
    vec![usable(host), bound(devices)]
}

fn usable(host: &Host) -> Fact {
    let (key, label) = ("vfio.usable", "VFIO");
    let node = ["/dev/vfio/vfio", "/dev/iommu"]
        .into_iter()
        .find(|node| host.exists(node));
    let Some(node) = node else {
        return fact(key, label, false, "no /dev/vfio/vfio")
            .absent("`modprobe vfio-pci`, or a kernel with CONFIG_VFIO_PCI; needs an IOMMU");
    };
    if host.names("/sys/kernel/iommu_groups").is_empty() {
        return fact(key, label, false, format!("{node} is there, but there is no IOMMU group")).degraded(
            "turn the IOMMU on (see DMA remapping); the no-IOMMU mode lets a device write all memory",
        );
    }
    let unsafe_mode = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode";
    if host.switch(unsafe_mode) == Some(true) {
        return fact(
            key,
            label,
            true,
            format!("{node}, with the unsafe no-IOMMU mode allowed"),
        )
        .degraded(format!("echo 0 > {unsafe_mode}"));
    }
    match host.opens(node) {
        Ok(()) => fact(key, label, true, format!("{node} opens")),
        Err(error) => fact(key, label, false, format!("{node}: {}", error.kind())).degraded(
            format!("give your user access to {node} (a udev rule or group), or run as root"),
        ),
    }
}

fn bound(devices: &[Device]) -> Fact {
    let (key, label) = ("vfio.devices", "Devices bound to VFIO");
    let bound: Vec<&str> = devices
        .iter()
        .filter(|device| device.driver.as_deref() == Some("vfio-pci"))
        .map(|device| device.address.as_str())
        .collect();
    if bound.is_empty() {
        return fact(key, label, Value::Null, "none").absent(
            "optional: `driverctl set-override <address> vfio-pci` prepares a device for a guest",
        );
    }
    fact(key, label, bound.clone(), bound.join(", "))
}
