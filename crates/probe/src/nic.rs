//! Network interfaces: driver, queues, XDP, coalescing, SR-IOV.

mod coalescing;
mod xdp;

use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::fact::{Judge, fact, joined};
use crate::load;
use crate::pci;

const NET: &str = "/sys/class/net";
/// Physical interfaces shown one by one.
const SHOWN_MAX: usize = 16;

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    let (physical, other): (Vec<_>, Vec<_>) = host
        .names(NET)
        .into_iter()
        .partition(|name| host.exists(&format!("{NET}/{name}/device")));
    let mut facts = vec![summary(&physical), others(&other)];
    let attached = xdp::Attached::read(host);
    for name in physical.iter().take(SHOWN_MAX) {
        facts.extend(interface(host, name, &attached));
    }
    facts
}

fn summary(physical: &[String]) -> Fact {
    let (key, label) = ("nic", "Interfaces with a device");
    if physical.is_empty() {
        return fact(key, label, Value::Null, "none visible").absent(
            "in a container run with the host's network to see its interfaces; a guest: give it a virtio-net device",
        );
    }
    fact(key, label, physical.to_vec(), physical.join(", "))
}

fn others(names: &[String]) -> Fact {
    let text = joined(names);
    fact("nic.virtual", "Other interfaces", names.to_vec(), text)
}

fn interface(host: &Host, name: &str, attached: &xdp::Attached) -> Vec<Fact> {
    let dir = format!("{NET}/{name}");
    let driver = host.link_name(&format!("{dir}/device/driver"));
    vec![
        driver_fact(name, driver.as_deref()),
        link(host, name, &dir),
        queues(host, name, &dir),
        xdp::fact(name, driver.as_deref(), attached),
        coalescing::fact(host, name),
        sriov(host, name, &dir),
    ]
}

fn driver_fact(name: &str, driver: Option<&str>) -> Fact {
    let (key, label) = (format!("nic.{name}.driver"), format!("{name} driver"));
    match driver {
        Some(driver) => fact(key, label, driver, driver),
        None => fact(key, label, Value::Null, "not visible")
            .absent("mount /sys where Lockgate runs, or load the device's driver"),
    }
}

fn link(host: &Host, name: &str, dir: &str) -> Fact {
    let state = host
        .line(&format!("{dir}/operstate"))
        .unwrap_or_else(|| "unknown".to_owned());
    let (key, label) = (format!("nic.{name}.link"), format!("{name} link"));
    // -1 and an error both mean that nobody knows.
    let speed = host
        .parsed::<u32>(&format!("{dir}/speed"))
        .filter(|_| state != "down");
    let speed = speed.map_or("speed not stated".to_owned(), |mbit| {
        format!("{mbit} Mbit/s")
    });
    let fact = fact(key, label, state.clone(), format!("{state}, {speed}"));
    match state.as_str() {
        "up" | "unknown" => fact,
        _ => fact.degraded(format!(
            "`ip link set {name} up`, and check the cable or the peer"
        )),
    }
}

fn queues(host: &Host, name: &str, dir: &str) -> Fact {
    let names = host.names(&format!("{dir}/queues"));
    let count = |prefix: &str| names.iter().filter(|name| name.starts_with(prefix)).count();
    let (receive, transmit) = (count("rx-"), count("tx-"));
    let text = format!("{receive} receive, {transmit} transmit");
    let value = vec![receive, transmit];
    let fact = fact(
        format!("nic.{name}.queues"),
        format!("{name} queues"),
        value,
        text,
    );
    let cpus = load::allowed(host).len();
    if receive >= 2 || cpus <= 1 {
        return fact;
    }
    fact.degraded(format!(
        "one receive queue keeps one CPU busy while {cpus} are allowed: `ethtool -L {name} combined {cpus}`; a guest's device needs them first (QEMU: `queues=` on the netdev and `mq=on`)"
    ))
}

fn sriov(host: &Host, name: &str, dir: &str) -> Fact {
    let (key, label) = (format!("nic.{name}.sriov"), format!("{name} SR-IOV"));
    let Some(sriov) = pci::sriov(host, &format!("{dir}/device")) else {
        return fact(key, label, Value::Null, "not offered by this device").absent(
            "optional: enable SR-IOV in the firmware setup and the card's own settings; a guest cannot",
        );
    };
    let text = format!("{} of {} virtual functions on", sriov.on, sriov.total);
    let fact = fact(key, label, sriov.on, text);
    if sriov.on > 0 {
        return fact;
    }
    fact.degraded(format!(
        "to hand functions to guests: echo N > {dir}/device/sriov_numvfs (at most {})",
        sriov.total
    ))
}
