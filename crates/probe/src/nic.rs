//! Network interfaces: driver, queues, XDP, coalescing, SR-IOV.

mod coalescing;
mod xdp;

use trial::Fact;

use crate::fact::{Found, absent, joined, ok, shown};
use crate::load;
use crate::machine::Machine;
use crate::pci;
use crate::row::Row::{self, Many};

pub(super) const FACTS: &[Row] = &[Many(facts)];

const NET: &str = "/sys/class/net";
/// Physical interfaces shown one by one.
const SHOWN_MAX: usize = 16;

fn facts(on: &Machine) -> Vec<Fact> {
    let (physical, other): (Vec<_>, Vec<_>) = on
        .host
        .names(NET)
        .into_iter()
        .partition(|name| on.host.exists(&format!("{NET}/{name}/device")));
    let others = joined(&other);
    let mut facts = vec![
        summary(&physical).named("nic", "Interfaces with a device"),
        ok(other, others).named("nic.virtual", "Other interfaces"),
    ];
    let attached = xdp::Attached::read(&on.host);
    for name in physical.iter().take(SHOWN_MAX) {
        facts.extend(interface(on, name, &attached));
    }
    facts
}

fn summary(physical: &[String]) -> Found {
    if physical.is_empty() {
        return absent(
            "none visible",
            "in a container run with the host's network to see its interfaces; a guest: give it a virtio-net device",
        );
    }
    ok(physical, physical.join(", "))
}

fn interface(on: &Machine, name: &str, attached: &xdp::Attached) -> [Fact; 6] {
    let dir = format!("{NET}/{name}");
    let driver = on.host.link_name(&format!("{dir}/device/driver"));
    let xdp = xdp::found(name, driver.as_deref(), attached);
    [
        ("driver", "driver", driver_found(driver)),
        ("link", "link", link(on, name, &dir)),
        ("queues", "queues", queues(on, name, &dir)),
        ("xdp", "XDP", xdp),
        (
            "coalescing",
            "coalescing",
            coalescing::found(&on.host, name),
        ),
        ("sriov", "SR-IOV", sriov(on, &dir)),
    ]
    .map(|(key, label, found)| found.named(format!("nic.{name}.{key}"), format!("{name} {label}")))
}

fn driver_found(driver: Option<String>) -> Found {
    let remedy = "mount /sys where Lockgate runs, or load the device's driver";
    driver.map_or_else(|| absent("not visible", remedy), shown)
}

fn link(on: &Machine, name: &str, dir: &str) -> Found {
    let state = on.host.line(&format!("{dir}/operstate"));
    let state = state.unwrap_or_else(|| "unknown".to_owned());
    // -1 and an error both mean that it is not known.
    let speed = on.host.parsed::<u32>(&format!("{dir}/speed"));
    let text = match speed.filter(|_| state != "down") {
        Some(mbit) => format!("{state}, {mbit} Mbit/s"),
        None => format!("{state}, speed not stated"),
    };
    let is_good = ["up", "unknown"].contains(&&*state);
    let remedy = format!("`ip link set {name} up`, and check the cable or the peer");
    ok(state, text).degraded_unless(is_good, remedy)
}

fn queues(on: &Machine, name: &str, dir: &str) -> Found {
    let names = on.host.names(&format!("{dir}/queues"));
    let count = |prefix: &str| names.iter().filter(|name| name.starts_with(prefix)).count();
    let (receive, transmit) = (count("rx-"), count("tx-"));
    let text = format!("{receive} receive, {transmit} transmit");
    let cpus = load::allowed(&on.host).len();
    ok(vec![receive, transmit], text).degraded_unless(receive >= 2 || cpus <= 1, format!(
        "one receive queue keeps one CPU busy while {cpus} are allowed: `ethtool -L {name} combined {cpus}`; a guest's device needs them first (QEMU: `queues=` on the netdev and `mq=on`)"
    ))
}

fn sriov(on: &Machine, dir: &str) -> Found {
    let Some(sriov) = pci::sriov(&on.host, &format!("{dir}/device")) else {
        return absent(
            "not offered by this device",
            "optional: enable SR-IOV in the firmware setup and the card's own settings; a guest cannot",
        );
    };
    sriov.found(format!(
        "to hand functions to guests: echo N > {dir}/device/sriov_numvfs (at most {})",
        sriov.total
    ))
}
