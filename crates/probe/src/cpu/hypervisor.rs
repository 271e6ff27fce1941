//! What the machine runs under, by whichever source tells.

use ::cpu::{CpuInfo, Processor};

use crate::Host;

/// Words in the firmware's vendor or product name, and the hypervisor they
/// mean.
const BY_FIRMWARE: [(&str, &str); 8] = [
    ("KVM", "KVM"),
    ("QEMU", "KVM or QEMU TCG"),
    ("linux,dummy-virt", "KVM or QEMU TCG"),
    ("Amazon EC2", "KVM"),
    ("Google Compute Engine", "KVM"),
    ("VMware", "VMware"),
    ("Virtual Machine", "Hyper-V"),
    ("VirtualBox", "VirtualBox"),
];

/// The hypervisor's name: CPUID first, then Xen's directory in sysfs, then the
/// names that firmware gives the machine (ARM has no CPUID), then the bare
/// flag that there is one.
pub(super) fn name(host: &Host, processor: Option<&Processor>, info: &CpuInfo) -> Option<String> {
    if let Some(processor) = processor {
        return processor
            .hypervisor
            .as_ref()
            .map(|known| known.name().to_owned());
    }
    host.line("/sys/hypervisor/type")
        .or_else(|| by_firmware(host))
        .or_else(|| {
            info.flags()
                .contains("hypervisor")
                .then(|| "unnamed".to_owned())
        })
}

fn by_firmware(host: &Host) -> Option<String> {
    let files = [
        "/sys/class/dmi/id/sys_vendor",
        "/sys/class/dmi/id/product_name",
        "/proc/device-tree/compatible",
    ];
    let names: Vec<String> = files.iter().filter_map(|file| host.line(file)).collect();
    let names = names.join(" ");
    // Cloud providers rent whole machines too, and name them so.
    if names.contains(".metal") {
        return None;
    }
    let found = BY_FIRMWARE.iter().find(|(word, _)| names.contains(word));
    found.map(|(_, hypervisor)| (*hypervisor).to_owned())
}
