//! Every fact about a host in the order shown: headings, and below them the
//! facts of the modules that read them.

use trial::{Fact, Group};

use crate::cpu::{cache, clock, flags, frequency, identity, tier, topology, xstate};
use crate::fact::Found;
use crate::machine::Machine;
use crate::{
    bpf, capabilities, cgroups, crypto_devices, crypto_drivers, guests, interrupts, iommu, kernel,
    kvm, libraries, limits, load, memory, nic, qemu, vfio,
};

/// Key and label of a fact, and what reads it.
pub(crate) enum Row {
    /// Always shown.
    One(&'static str, &'static str, fn(&Machine) -> Found),
    /// Shown where it applies.
    Maybe(&'static str, &'static str, fn(&Machine) -> Option<Found>),
    /// Facts whose names or number depend on the machine.
    Many(fn(&Machine) -> Vec<Fact>),
}

impl Row {
    fn facts(&self, on: &Machine) -> Vec<Fact> {
        match self {
            Self::One(key, label, read) => vec![read(on).named(key, label)],
            Self::Maybe(key, label, read) => {
                let found = read(on).map(|found| found.named(key, label));
                found.into_iter().collect()
            }
            Self::Many(read) => read(on),
        }
    }
}

/// A heading and what stands below it.
pub(crate) struct Titled(&'static str, &'static [&'static [Row]]);

impl Titled {
    pub(crate) fn read(&self, on: &Machine) -> Group {
        let rows = self.1.iter().copied().flatten();
        Group {
            title: self.0.to_owned(),
            facts: rows.flat_map(|row| row.facts(on)).collect(),
        }
    }
}

const CPU: &[&[Row]] = &[
    identity::FACTS,
    topology::FACTS,
    cache::FACTS,
    tier::FACTS,
    clock::FACTS,
    frequency::FACTS,
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
