//! PCI devices.

use crate::Host;
use crate::fact::{Found, ok};

const DEVICES: &str = "/sys/bus/pci/devices";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Device {
    /// Domain, bus, device, function: `0000:6b:00.0`.
    pub(super) address: String,
    /// Class, subclass and programming interface, 24 bits.
    pub(super) class: u32,
    pub(super) vendor: u16,
    pub(super) device: u16,
    pub(super) driver: Option<String>,
    pub(super) is_virtual: bool,
    /// SR-IOV, where it is capable of it.
    pub(super) sriov: Option<Sriov>,
}

/// SR-IOV of a physical function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sriov {
    pub(super) total: u32,
    pub(super) on: u32,
}

impl Sriov {
    /// Degraded, with that remedy, while no function is on.
    pub(super) fn found(self, remedy: String) -> Found {
        let text = format!("{} of {} virtual functions on", self.on, self.total);
        ok(self.on, text).degraded_unless(self.on > 0, remedy)
    }
}

/// Every device, by address.
pub(super) fn devices(host: &Host) -> Vec<Device> {
    host.names(DEVICES)
        .into_iter()
        .filter_map(|address| read(host, address))
        .collect()
}

fn read(host: &Host, address: String) -> Option<Device> {
    let dir = format!("{DEVICES}/{address}");
    let number = |name: &str| host.hex(&format!("{dir}/{name}"));
    Some(Device {
        class: u32::try_from(number("class")?).ok()?,
        vendor: u16::try_from(number("vendor")?).ok()?,
        device: u16::try_from(number("device")?).ok()?,
        driver: host.link_name(&format!("{dir}/driver")),
        is_virtual: host.link_name(&format!("{dir}/physfn")).is_some(),
        sriov: sriov(host, &dir),
        address,
    })
}

/// SR-IOV of the device whose sysfs directory is `dir`; zero functions are
/// no capability.
pub(super) fn sriov(host: &Host, dir: &str) -> Option<Sriov> {
    let total = host
        .parsed(&format!("{dir}/sriov_totalvfs"))
        .filter(|&total| total > 0)?;
    Some(Sriov {
        total,
        on: host.parsed(&format!("{dir}/sriov_numvfs")).unwrap_or(0),
    })
}
