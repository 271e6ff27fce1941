//! Routers in words.

use std::fmt::Write;

use forward::plane::{Plan, RouterShown, Source, XdpShown};
use forward::router::Firewall;

/// What a file asks for.
pub fn plan(plan: &Plan) -> String {
    let mut text = String::new();
    for (name, router) in &plan.routers {
        let _ = writeln!(
            text,
            "{name}: path {}{}, namespace lockgate-{name}, {} routes{}{}",
            router.path.name(),
            match router.firewall {
                Firewall::Obey => "",
                Firewall::Bypass => ", which bypasses firewalls",
            },
            router.routes.len(),
            match &router.control {
                Some(control) => format!(", {}", control.name()),
                None => String::new(),
            },
            match router.threads.is_empty() {
                true => String::new(),
                false => format!(", threads on CPUs {:?}", router.threads),
            }
        );
        for (port, plan) in &router.ports {
            let what = match &plan.source {
                Source::Veth(host) => format!("veth, {host} on the host"),
                Source::Tap => "tap, for a guest in the namespace".to_owned(),
                Source::Device(device) => {
                    format!("the device {device}: moved there, and back with its settings")
                }
                Source::Macvlan(parent) => format!("macvlan on {parent}"),
                Source::Cable { router, port } => format!("a cable to {router}.{port}"),
            };
            let addresses: Vec<_> = plan.addresses.iter().map(ToString::to_string).collect();
            let addresses = match addresses.is_empty() {
                true => "no address".to_owned(),
                false => addresses.join(", "),
            };
            let _ = writeln!(text, "  {port}: {what}; {addresses}; MTU {}", plan.mtu);
        }
    }
    text
}

/// What to do with those that are up.
pub fn up(plan: &Plan) -> String {
    let names: Vec<_> = plan.routers.keys().cloned().collect();
    let first = names.first().cloned().unwrap_or_default();
    format!(
        "up: {}\nLook inside with 'ip -n lockgate-{first} route'; 'lockgate router show FILE' counts.\n",
        names.join(", ")
    )
}

pub fn shown(routers: &[RouterShown]) -> String {
    let mut text = String::new();
    for router in routers {
        let _ = writeln!(
            text,
            "{}: path {}, {} IPv4 and {} IPv6 routes, in {}",
            router.name, router.path, router.routes[0], router.routes[1], router.namespace
        );
        if !router.control.is_empty() {
            let _ = writeln!(text, "  {}", router.control);
        }
        text += &deciders(router);
        for port in &router.ports {
            let state = if port.running { "up" } else { "down" };
            let other = match port.other.is_empty() {
                true => String::new(),
                false => format!(" ({})", port.other),
            };
            let addresses = match port.addresses.is_empty() {
                true => "no address".to_owned(),
                false => port.addresses.join(", "),
            };
            let _ = writeln!(
                text,
                "  {}: {}{other}, {state}, MTU {}, {addresses}",
                port.name, port.kind, port.mtu
            );
            let _ = writeln!(
                text,
                "    received {}, sent {}; dropped {} and {}",
                port.received, port.sent, port.received_dropped, port.sent_dropped
            );
            if !port.threads.is_empty() {
                let _ = writeln!(text, "    received by the threads {:?}", port.threads);
            }
            if let Some(xdp) = &port.xdp {
                let _ = writeln!(text, "    XDP: {}", of_xdp(xdp));
            }
        }
        if let Some(xdp) = &router.xdp {
            let _ = writeln!(text, "  XDP, all ports: {}", of_xdp(xdp));
        }
    }
    text
}

/// What stands in XDP's way, and what `firewall = "bypass"` passes by; nothing where nothing
/// does.
pub fn deciders(router: &RouterShown) -> String {
    let mut text = String::new();
    if router.firewall == Firewall::Bypass {
        let _ = writeln!(
            text,
            "  firewall = \"bypass\": XDP asks no firewall, filter or queue, only IPsec's policies"
        );
    }
    for decider in &router.deciders {
        let what = match decider.is_obeyed {
            true => "the kernel forwards these frames, and asks it",
            false => "bypassed",
        };
        let _ = writeln!(text, "  {}: {}; {what}", decider.about, decider.name);
    }
    text
}

fn of_xdp(xdp: &XdpShown) -> String {
    if !xdp.failed.is_empty() {
        return xdp.failed.clone();
    }
    let mut text = format!(
        "received {}, forwarded {} ({} by a kept answer), dropped {}",
        xdp.received, xdp.forwarded, xdp.hits, xdp.dropped
    );
    let reasons: Vec<_> = xdp
        .to_kernel
        .iter()
        .map(|(reason, count)| format!("{reason} {count}"))
        .collect();
    if !reasons.is_empty() {
        let _ = write!(text, "; to the kernel: {}", reasons.join(", "));
    }
    text
}
