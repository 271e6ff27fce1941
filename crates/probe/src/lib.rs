//! What this host can do: facts for `lockgate probe`, embedded in every
//! result.
//!
//! Everything is read through a [`Host`], so that a directory with recorded
//! files stands for another machine. Nothing here changes anything, waits for
//! long or panics: a strange, missing or unreadable file makes a fact
//! `absent` or `degraded`, with its remedy.

#![forbid(unsafe_code)]

mod bpf;
pub mod calibration;
mod capabilities;
mod cgroups;
pub mod command;
mod cpu;
mod crypto_devices;
mod crypto_drivers;
pub mod fact;
mod guests;
mod host;
mod interrupts;
mod iommu;
mod kernel;
mod kvm;
mod libraries;
mod limits;
mod list;
mod load;
mod memory;
mod nic;
mod pci;
mod qemu;
pub mod site;
pub mod tier;
pub mod versions;
mod vfio;

use std::time::{Duration, Instant};

use trial::{Fact, Group, Probe};

pub use host::Host;

/// Steal is measured over at least this long: some twenty of the kernel's
/// 10 ms ticks a processor.
const STEAL_WINDOW: Duration = Duration::from_millis(200);

/// Probes `host`: about a quarter of a second for this machine, a second more
/// the first time, when its crypto back-ends are calibrated; less for a
/// recorded one.
#[must_use]
pub fn probe(host: &Host) -> Probe {
    let started = Instant::now();
    let before = load::Ticks::read(host);
    let cpu = cpu::Context::read(host);
    let devices = pci::devices(host);
    let mut groups = vec![
        group("CPU", cpu::facts(host, &cpu)),
        group("CPU flags", cpu::flag_facts(&cpu)),
        group("CPU register state", cpu::xstate_facts(&cpu)),
        group("Memory", memory::facts(host)),
        group("Kernel", kernel::facts(host, &cpu)),
        group("Kernel crypto drivers", crypto_drivers::facts(host, &cpu)),
        group("Crypto devices", crypto_devices::facts(&devices)),
        group("Network interfaces", nic::facts(host)),
        group("Device assignment", assignment(host, &cpu, &devices)),
        group("Virtualisation", virtualisation(host, &cpu)),
        group("Privileges", privileges(host)),
        group("Crypto libraries", libraries::facts(host, &cpu)),
    ];
    if host.is_live() {
        groups.push(group("Crypto back-ends", calibration::facts()));
        std::thread::sleep(STEAL_WINDOW.saturating_sub(started.elapsed()));
    }
    let mut load = load::facts(host, before, load::Ticks::read(host));
    load.extend(limits::facts(host));
    groups.insert(3, group("Load and limits now", load));
    let tier = crate::tier::facts();
    if host.is_live() && !tier.is_empty() {
        groups.insert(0, group("Tier of these measurements", tier));
    }
    Probe { groups }
}

fn group(title: &str, facts: Vec<Fact>) -> Group {
    Group {
        title: title.to_owned(),
        facts,
    }
}

fn assignment(host: &Host, cpu: &cpu::Context, devices: &[pci::Device]) -> Vec<Fact> {
    let mut facts = iommu::facts(host, cpu);
    facts.extend(vfio::facts(host, devices));
    facts.push(interrupts::posted(host, cpu));
    facts
}

fn virtualisation(host: &Host, cpu: &cpu::Context) -> Vec<Fact> {
    let mut facts = kvm::facts(host, cpu);
    facts.extend(qemu::facts(host));
    if host.is_live() {
        facts.extend(guests::facts());
    }
    facts
}

fn privileges(host: &Host) -> Vec<Fact> {
    let mut facts = capabilities::facts(host);
    facts.extend(cgroups::facts(host));
    facts.extend(bpf::facts(host));
    facts
}
