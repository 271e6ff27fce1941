//! What a guest is given: processors, memory, devices, time.

use std::path::PathBuf;
use std::time::Duration;

use cpu::guest::Accelerator;

use crate::PciFunction;

pub const VCPUS_MAX: u32 = 64;

pub const MEMORY_MIB_MAX: u32 = 64 * 1024;

/// The minimum memory in which Debian's kernel and an image unpack, MiB.
const MEMORY_MIB_MIN: u32 = 256;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcceleratorChoice {
    /// KVM where a stock guest really boots with it, otherwise emulation.
    #[default]
    Auto,
    Only(Accelerator),
}

/// What a guest is given. `Shape::default()` is 1 vCPU and 2 GiB.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    pub vcpus: u32,
    pub memory_mib: u32,
    pub cpu: String,
    pub accelerator: AcceleratorChoice,
    pub crypto_devices: u32,
    /// Sockets of vhost-user crypto devices, one device each; the guest's memory is then
    /// shared with them.
    pub crypto_sockets: Vec<PathBuf>,
    /// The host's, handed over by VFIO.
    pub pci_functions: Vec<PciFunction>,
    /// Further arguments to QEMU, as they are, e.g. `-device`, `igb`.
    pub qemu_arguments: Vec<String>,
    /// Further words of the kernel's command line, e.g. `slub_debug=FZPU`.
    pub kernel_arguments: Vec<String>,
    /// Host CPUs that the guest's vCPU threads may use, one a vCPU, round
    /// robin; empty for any.
    pub host_cpus: Vec<usize>,
    pub host_node: Option<u32>,
    /// From start to end; what is left of the guest then is killed.
    pub time_limit: Duration,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            vcpus: 1,
            memory_mib: 2048,
            cpu: "max".to_owned(),
            accelerator: AcceleratorChoice::Auto,
            crypto_devices: 0,
            crypto_sockets: Vec::new(),
            pci_functions: Vec::new(),
            qemu_arguments: Vec::new(),
            kernel_arguments: Vec::new(),
            host_cpus: Vec::new(),
            host_node: None,
            time_limit: Duration::from_secs(300),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    #[error("{vcpus} vCPUs are not between 1 and {VCPUS_MAX}; give another number")]
    Vcpus { vcpus: u32 },
    #[error(
        "{memory_mib} MiB of memory are not between {MEMORY_MIB_MIN} and {MEMORY_MIB_MAX}; give another size"
    )]
    Memory { memory_mib: u32 },
    #[error(
        "CPU model {cpu:?} is not a model and its flags, such as `max` or `Nehalem,+aes`; `qemu-system-x86_64 -cpu help` lists them"
    )]
    Cpu { cpu: String },
}

impl Shape {
    /// Checks the ranges.
    ///
    /// # Errors
    /// [`ShapeError`] with the value and the limit.
    pub fn check(&self) -> Result<(), ShapeError> {
        if !(1..=VCPUS_MAX).contains(&self.vcpus) {
            return Err(ShapeError::Vcpus { vcpus: self.vcpus });
        }
        if !(MEMORY_MIB_MIN..=MEMORY_MIB_MAX).contains(&self.memory_mib) {
            return Err(ShapeError::Memory {
                memory_mib: self.memory_mib,
            });
        }
        let is_model = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.,+=".contains(&byte);
        if self.cpu.is_empty() || self.cpu.starts_with('-') || !self.cpu.bytes().all(is_model) {
            return Err(ShapeError::Cpu {
                cpu: self.cpu.clone(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_shape_is_the_issue_s() {
        let shape = Shape::default();
        assert_eq!((shape.vcpus, shape.memory_mib), (1, 2048));
        assert_eq!(shape.check(), Ok(()));
    }

    #[test]
    fn impossible_shapes_name_value_and_limit() {
        let vcpus = Shape {
            vcpus: 0,
            ..Shape::default()
        };
        assert!(vcpus.check().unwrap_err().to_string().contains("64"));
        let memory = Shape {
            memory_mib: 16,
            ..Shape::default()
        };
        assert!(memory.check().unwrap_err().to_string().contains("256"));
        for cpu in ["", "-cpu", "max -device x"] {
            let shape = Shape {
                cpu: cpu.to_owned(),
                ..Shape::default()
            };
            assert!(shape.check().is_err(), "{cpu:?}");
        }
    }
}
