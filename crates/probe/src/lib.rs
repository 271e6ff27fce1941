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
mod fact;
mod guests;
mod host;
mod interrupts;
mod iommu;
pub mod kept;
mod kernel;
mod kvm;
mod libraries;
mod limits;
mod list;
mod load;
mod machine;
mod memory;
mod nic;
pub mod offer;
mod pci;
mod qemu;
mod row;
pub mod site;
mod table;
mod ticks;
pub mod tier;
mod vfio;

use std::time::{Duration, Instant};

use trial::{Fact, Group, Probe};

pub use fact::NOTHING_TO_DO;
pub use host::Host;

use machine::Machine;
use ticks::Ticks;

/// Steal is measured over at least this long: some twenty of the kernel's
/// 10 ms ticks a processor.
const STEAL_WINDOW: Duration = Duration::from_millis(200);

/// Probes `host`: about a quarter of a second for this machine, a second more
/// the first time, when its crypto back-ends are calibrated; less for a
/// recorded one.
#[must_use]
pub fn probe(host: &Host) -> Probe {
    let started = Instant::now();
    let before = Ticks::read(host);
    let mut on = Machine::read(host);
    let rest = read(&table::REST, &on);
    let (mut groups, mut last) = (Vec::new(), None);
    if host.is_live() {
        groups.extend(group("Tier of these measurements", tier::facts()));
        last = group("Crypto back-ends", calibration::facts());
        std::thread::sleep(STEAL_WINDOW.saturating_sub(started.elapsed()));
    }
    on.ticks = before.zip(Ticks::read(host));
    groups.extend(read(&table::PROCESSOR, &on));
    groups.push(table::LOAD.read(&on));
    groups.extend(rest);
    groups.extend(last);
    Probe { groups }
}

/// What can be read of `host` without measuring anything: what its guests may see, for
/// one, in milliseconds.
#[must_use]
pub fn brief(host: &Host) -> Probe {
    let on = Machine::read(host);
    let mut groups = read(&table::PROCESSOR, &on);
    groups.extend(read(&table::REST, &on));
    Probe { groups }
}

fn read(titled: &[row::Titled], on: &Machine) -> Vec<Group> {
    titled.iter().map(|titled| titled.read(on)).collect()
}

/// A group of facts about this process; none where there is none.
fn group(title: &str, facts: Vec<Fact>) -> Option<Group> {
    let title = title.to_owned();
    (!facts.is_empty()).then_some(Group { title, facts })
}
