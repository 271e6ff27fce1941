//! Crypto accelerators on PCI.

use trial::Fact;

use crate::fact::{Found, absent, ok};
use crate::machine::Machine;
use crate::pci::Device;
use crate::row::Row::{self, Many, One};

pub(super) const FACTS: &[Row] = &[One("device.crypto", "Crypto devices", summary), Many(each)];

/// One a line in reports, so bounded; a host with more is summarised.
const SHOWN_MAX: usize = 64;

/// A known accelerator: vendor, device, name, driver. Sources: Linux
/// `drivers/crypto/**`, device tables; pci.ids.
const KNOWN: &[(u16, u16, &str, &str)] = &[
    (0x8086, 0x0435, "Intel QAT DH895xCC", "dh895xcc"),
    (0x8086, 0x0443, "Intel QAT DH895xCC VF", "dh895xccvf"),
    (0x8086, 0x37c8, "Intel QAT C62x", "c6xx"),
    (0x8086, 0x37c9, "Intel QAT C62x VF", "c6xxvf"),
    (0x8086, 0x19e2, "Intel QAT C3xxx", "c3xxx"),
    (0x8086, 0x19e3, "Intel QAT C3xxx VF", "c3xxxvf"),
    (0x8086, 0x6f54, "Intel QAT D15xx", "d15xx"),
    (0x8086, 0x4940, "Intel QAT 4xxx", "4xxx"),
    (0x8086, 0x4941, "Intel QAT 4xxx VF", "4xxxvf"),
    (0x8086, 0x4942, "Intel QAT 401xx", "4xxx"),
    (0x8086, 0x4943, "Intel QAT 401xx VF", "4xxxvf"),
    (0x8086, 0x4944, "Intel QAT 402xx", "4xxx"),
    (0x8086, 0x4945, "Intel QAT 402xx VF", "4xxxvf"),
    (0x8086, 0x4946, "Intel QAT 420xx", "420xx"),
    (0x8086, 0x4947, "Intel QAT 420xx VF", "420xxvf"),
    (0x8086, 0x4948, "Intel QAT 6xxx", "6xxx"),
    (0x8086, 0x4949, "Intel QAT 6xxx VF", "6xxxvf"),
    (0x1022, 0x1456, "AMD CCP (Zen)", "ccp"),
    (0x1022, 0x1468, "AMD CCP (Zen)", "ccp"),
    (0x1022, 0x1486, "AMD CCP (Zen 2 and 3)", "ccp"),
    (0x1022, 0x1498, "AMD CCP (Zen 2)", "ccp"),
    (0x1022, 0x14ca, "AMD CCP (Zen 4)", "ccp"),
    (0x1022, 0x17e0, "AMD CCP (Zen 5)", "ccp"),
    (0x19e5, 0xa250, "HiSilicon ZIP", "hisi_zip"),
    (0x19e5, 0xa251, "HiSilicon ZIP VF", "hisi_zip"),
    (0x19e5, 0xa255, "HiSilicon SEC", "hisi_sec2"),
    (0x19e5, 0xa256, "HiSilicon SEC VF", "hisi_sec2"),
    (0x19e5, 0xa258, "HiSilicon HPRE", "hisi_hpre"),
    (0x19e5, 0xa259, "HiSilicon HPRE VF", "hisi_hpre"),
    (0x177d, 0xa040, "Marvell CPT", "octeontx-cpt"),
    (0x177d, 0xa041, "Marvell CPT VF", "octeontx-cptvf"),
    (0x177d, 0xa0fd, "Marvell OcteonTX2 CPT", "rvu_cptpf"),
    (0x177d, 0xa0fe, "Marvell OcteonTX2 CPT VF", "rvu_cptvf"),
    (0x1af4, 0x1054, "virtio-crypto", "virtio-pci"),
];

fn crypto(on: &Machine) -> impl Iterator<Item = &Device> {
    on.devices.iter().filter(|device| is_crypto(device))
}

fn summary(on: &Machine) -> Found {
    let addresses: Vec<&str> = crypto(on).map(|device| &device.address[..]).collect();
    if addresses.is_empty() {
        return absent(
            "none on PCI",
            "optional: processor instructions do the work; a guest can be given one (QAT or other virtual function by VFIO, or virtio-crypto)",
        );
    }
    let text = format!("{} on PCI", addresses.len());
    ok(addresses, text)
}

fn each(on: &Machine) -> Vec<Fact> {
    let facts = |device| std::iter::once(presence(device)).chain(sriov(device));
    crypto(on).take(SHOWN_MAX).flat_map(facts).collect()
}

/// Encryption controllers (0x10) and co-processors (0x0b40), and devices we
/// know by number whatever their class says.
fn is_crypto(device: &Device) -> bool {
    let co_processor = matches!(device.class >> 8, 0x0b40) || device.class >> 16 == 0x10;
    co_processor || known(device).is_some()
}

fn known(device: &Device) -> Option<(&'static str, &'static str)> {
    let ids = (device.vendor, device.device);
    KNOWN
        .iter()
        .find(|known| (known.0, known.1) == ids)
        .map(|known| (known.2, known.3))
}

fn presence(device: &Device) -> Fact {
    let address = &device.address;
    let ids = format!("{:04x}:{:04x}", device.vendor, device.device);
    let (name, driver) = known(device).unwrap_or(("Crypto device", ""));
    let unbound = || absent(format!("{ids}, no driver bound"), "");
    let found = match device.driver.as_deref() {
        Some("vfio-pci") => ok("vfio-pci", format!("{ids}, given to a guest or DPDK (vfio-pci)")),
        Some(bound) => ok(bound, format!("{ids}, driver {bound}")),
        None if driver.is_empty() => {
            unbound().degraded("load its vendor's driver, or bind it to vfio-pci for a guest")
        }
        None => unbound().degraded(format!(
            "`modprobe {}` and see `dmesg | grep {address}` (firmware package linux-firmware or firmware-misc-nonfree)",
            module(driver),
        )),
    };
    found.named(
        format!("device.crypto.{address}"),
        format!("{name} {address}"),
    )
}

/// The module that holds a driver.
fn module(driver: &str) -> String {
    match driver {
        "dh895xcc" | "dh895xccvf" | "c6xx" | "c6xxvf" | "c3xxx" | "c3xxxvf" | "4xxx" | "420xx"
        | "6xxx" => format!("qat_{driver}"),
        "virtio-pci" => "virtio_crypto".to_owned(),
        other => other.to_owned(),
    }
}

fn sriov(device: &Device) -> Option<Fact> {
    let sriov = device.sriov.filter(|_| !device.is_virtual)?;
    let address = &device.address;
    let found = sriov.found(format!(
        "to hand shares to guests: echo {} > /sys/bus/pci/devices/{address}/sriov_numvfs (needs the IOMMU)",
        sriov.total
    ));
    Some(found.named(
        format!("device.crypto.{address}.sriov"),
        format!("SR-IOV of {address}"),
    ))
}
