//! PCI functions of the host that guests are handed by VFIO (Linux,
//! Documentation/driver-api/vfio.rst): the guest's driver has the device itself.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A PCI function of the host, most often a virtual one of a device: its domain, bus,
/// device and function as in `0000:65:01.3`. The domain may be left out where it is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciFunction {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

/// Why a guest cannot have a host's PCI function.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VfioError {
    #[error(
        "{text} is not a PCI address: DOMAIN:BUS:DEVICE.FUNCTION in hexadecimal, such as 0000:65:01.3, device up to 1f, function up to 7; `lspci -D` lists them"
    )]
    Address { text: String },
    #[error(
        "{} cannot be used ({reason}), so no guest can have PCI function {function}; turn on the IOMMU (firmware, kernel option intel_iommu=on), load vfio-pci, and give this user the file", path.display()
    )]
    Device {
        path: PathBuf,
        reason: String,
        function: PciFunction,
    },
    #[error("this host has no PCI function {function}; `lspci -D` lists those there are")]
    Absent { function: PciFunction },
    #[error(
        "PCI function {function} is driven by {driver}, not vfio-pci; `driverctl set-override {function} vfio-pci` takes it away from the host"
    )]
    Driver {
        function: PciFunction,
        driver: String,
    },
}

impl FromStr for PciFunction {
    type Err = VfioError;

    fn from_str(text: &str) -> Result<Self, VfioError> {
        let number = |text: &str, digits, most| {
            let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
            let number = u32::from_str_radix(text, 16).ok();
            number.filter(|&number| is_hex && text.len() == digits && number <= most)
        };
        let byte = |text, digits, most| number(text, digits, most)?.try_into().ok();
        let parsed = || {
            let (rest, function) = text.rsplit_once('.')?;
            let (rest, device) = rest.rsplit_once(':')?;
            let (domain, bus) = rest.split_once(':').unwrap_or(("0000", rest));
            Some(Self {
                // Volume Management Devices have domains of five digits and more.
                domain: number(domain, domain.len().clamp(4, 8), u32::MAX)?,
                bus: byte(bus, 2, 0xff)?,
                device: byte(device, 2, 0x1f)?,
                function: byte(function, 1, 7)?,
            })
        };
        parsed().ok_or_else(|| VfioError::Address {
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for PciFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (domain, bus) = (self.domain, self.bus);
        write!(
            f,
            "{domain:04x}:{bus:02x}:{:02x}.{}",
            self.device, self.function
        )
    }
}

impl PciFunction {
    /// Whether this host can hand it to a guest now.
    pub(crate) fn check(&self) -> Result<(), VfioError> {
        self.check_in(Path::new("/sys/bus/pci/devices"), Path::new("/dev/vfio"))
    }

    fn check_in(&self, devices: &Path, vfio: &Path) -> Result<(), VfioError> {
        let function = *self;
        let opens = |path: PathBuf| {
            let opened = OpenOptions::new().read(true).write(true).open(&path);
            opened.map(drop).map_err(|error| VfioError::Device {
                path,
                reason: error.to_string(),
                function,
            })
        };
        opens(vfio.join("vfio"))?;
        let own = devices.join(function.to_string());
        if !own.exists() {
            return Err(VfioError::Absent { function });
        }
        let end = |link| {
            let target = fs::read_link(own.join(link)).ok()?;
            Some(target.file_name()?.to_string_lossy().into_owned())
        };
        let driver = end("driver").unwrap_or_else(|| "no driver".to_owned());
        if driver != "vfio-pci" {
            return Err(VfioError::Driver { function, driver });
        }
        // Without an IOMMU there is no group, and the name is none of a file.
        opens(vfio.join(end("iommu_group").unwrap_or_else(|| "(no group)".to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn addresses_are_read_as_lspci_writes_them_and_nothing_else_is() {
        for (text, whole) in [
            ("0000:65:01.3", "0000:65:01.3"),
            ("65:1F.7", "0000:65:1f.7"),
            ("10000:e1:00.0", "10000:e1:00.0"),
        ] {
            assert_eq!(text.parse::<PciFunction>().unwrap().to_string(), whole);
        }
        for wrong in [
            "",
            "65",
            "65:01",
            "65:01.8",
            "65:20.0",
            "165:01.0",
            "65:1.0",
            "+5:01.0",
            "0:65:01.0",
            "0000:65:01.0,x-pci=on",
            "0000:65:01.",
            "000000000:65:01.0",
            "é:01.0",
            "1:0000:65:01.0",
        ] {
            let error = wrong.parse::<PciFunction>().unwrap_err().to_string();
            assert!(
                error.contains(wrong) && error.contains("lspci -D"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_keeps_a_function_from_guests_is_named_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let (devices, vfio) = (folder.path().join("devices"), folder.path().join("vfio"));
        let function: PciFunction = "65:01.3".parse().unwrap();
        let own = devices.join("0000:65:01.3");
        let refused = |part: &str| {
            let error = function.check_in(&devices, &vfio).unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        };
        refused("turn on the IOMMU");
        fs::create_dir(&vfio).unwrap();
        fs::write(vfio.join("vfio"), "").unwrap();
        refused("no PCI function 0000:65:01.3");
        fs::create_dir_all(&own).unwrap();
        refused("driven by no driver");
        symlink("../../drivers/qat_4xxx", own.join("driver")).unwrap();
        refused("driven by qat_4xxx, not vfio-pci; `driverctl set-override 0000:65:01.3 vfio-pci`");
        fs::remove_file(own.join("driver")).unwrap();
        symlink("../../drivers/vfio-pci", own.join("driver")).unwrap();
        refused("(no group)");
        symlink("../../iommu_groups/17", own.join("iommu_group")).unwrap();
        refused("vfio/17 cannot be used");
        fs::write(vfio.join("17"), "").unwrap();
        assert_eq!(function.check_in(&devices, &vfio), Ok(()));
    }
}
