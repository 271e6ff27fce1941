//! VFIO: giving devices to guests and user-space drivers.

use crate::fact::{Found, absent, ok};
use crate::iommu::has_groups;
use crate::machine::Machine;
use crate::row::Row::{self, One};

pub(super) const FACTS: &[Row] = &[
    One("vfio.usable", "VFIO", usable),
    One("vfio.devices", "Devices bound to VFIO", bound),
];

fn usable(on: &Machine) -> Found {
    let mut nodes = ["/dev/vfio/vfio", "/dev/iommu"].into_iter();
    let Some(node) = nodes.find(|node| on.host.exists(node)) else {
        return ok(false, "no /dev/vfio/vfio")
            .absent("`modprobe vfio-pci`, or a kernel with CONFIG_VFIO_PCI; needs an IOMMU");
    };
    if !has_groups(&on.host) {
        return ok(false, format!("{node} is there, but there is no IOMMU group")).degraded(
            "turn the IOMMU on (see DMA remapping); the no-IOMMU mode lets a device write all memory",
        );
    }
    let unsafe_mode = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode";
    if on.host.switch(unsafe_mode) == Some(true) {
        return ok(
            true,
            format!("{node}, with the unsafe no-IOMMU mode allowed"),
        )
        .degraded(format!("echo 0 > {unsafe_mode}"));
    }
    match on.host.opens(node) {
        Ok(()) => ok(true, format!("{node} opens")),
        Err(error) => ok(false, format!("{node}: {}", error.kind())).degraded(format!(
            "give your user access to {node} (a udev rule or group), or run as root"
        )),
    }
}

fn bound(on: &Machine) -> Found {
    let devices = on
        .devices
        .iter()
        .filter(|device| device.driver.as_deref() == Some("vfio-pci"));
    let addresses: Vec<&str> = devices.map(|device| &device.address[..]).collect();
    if addresses.is_empty() {
        return absent(
            "none",
            "optional: `driverctl set-override <address> vfio-pci` prepares a device for a guest",
        );
    }
    let text = addresses.join(", ");
    ok(addresses, text)
}
