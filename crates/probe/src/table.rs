//! Every fact about a host in the order shown: headings, and below them the
//! facts of the modules that read them.

use crate::cpu::{cache, clock, flags, frequency, identity, leaves, tier, topology, xstate};
use crate::row::{Row, Titled};
use crate::{
    bpf, capabilities, cgroups, crypto_devices, crypto_drivers, guests, interrupts, iommu, kernel,
    kvm, libraries, limits, load, memory, nic, qemu, vfio,
};

const CPU: &[&[Row]] = &[
    identity::FACTS,
    topology::FACTS,
    cache::FACTS,
    tier::FACTS,
    clock::FACTS,
    frequency::FACTS,
    leaves::FACTS,
];

/// The processor; [`LOAD`] is shown behind it, and read last.
pub(crate) const PROCESSOR: [Titled; 3] = [
    Titled("CPU", CPU),
    Titled("CPU flags", &[flags::FACTS]),
    Titled("CPU register state", &[xstate::FACTS]),
];

pub(crate) const LOAD: Titled = Titled("Load and limits now", &[load::FACTS, limits::FACTS]);

pub(crate) const REST: [Titled; 9] = [
    Titled("Memory", &[memory::FACTS]),
    Titled("Kernel", &[kernel::FACTS]),
    Titled("Kernel crypto drivers", &[crypto_drivers::FACTS]),
    Titled("Crypto devices", &[crypto_devices::FACTS]),
    Titled("Network interfaces", &[nic::FACTS]),
    Titled(
        "Device assignment",
        &[iommu::FACTS, vfio::FACTS, interrupts::FACTS],
    ),
    Titled("Virtualisation", &[kvm::FACTS, qemu::FACTS, guests::FACTS]),
    Titled(
        "Privileges",
        &[capabilities::FACTS, cgroups::FACTS, bpf::FACTS],
    ),
    Titled("Crypto libraries", &[libraries::FACTS]),
];
