//! XDP: what a driver can do and what is attached.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Host;
use crate::fact::{Found, ok};

/// Drivers that run XDP programs themselves (Linux, `ndo_bpf` with
/// XDP_SETUP_PROG); elsewhere the slower generic mode remains.
const NATIVE: &str = "virtio_net mlx5_core mlx4_en mlx4_core ice i40e iavf ixgbe ixgbevf igb igc ena bnxt_en \
    nfp veth tun hv_netvsc gve mana sfc qede thunder-nic vmxnet3 xen_netfront netsec mvneta \
    mvpp2 stmmac dpaa2-eth nicvf";

/// Interfaces with a program, and its mode.
pub(super) struct Attached(Option<BTreeMap<String, String>>);

impl Attached {
    /// From `ip -json link show`: sysfs does not tell.
    pub(super) fn read(host: &Host) -> Self {
        let printed = host.command("ip", &["-json", "link", "show"]).printed();
        Self(printed.and_then(|text| parse(&text)))
    }
}

fn parse(text: &str) -> Option<BTreeMap<String, String>> {
    let Ok(Value::Array(links)) = serde_json::from_str(text) else {
        return None;
    };
    let entry = |link: &Value| {
        let mode = mode(link.get("xdp")?);
        Some((link.get("ifname")?.as_str()?.to_owned(), mode))
    };
    Some(links.iter().filter_map(entry).collect())
}

/// Numbers of `XDP_ATTACHED_*` in Linux `if_link.h`.
fn mode(xdp: &Value) -> String {
    match xdp.get("mode").and_then(Value::as_u64) {
        Some(1) => "native",
        Some(2) => "generic",
        Some(3) => "hardware",
        Some(4) => "several modes",
        _ => "unknown mode",
    }
    .to_owned()
}

pub(super) fn found(name: &str, driver: Option<&str>, attached: &Attached) -> Found {
    let native = driver.is_some_and(|driver| NATIVE.split(' ').any(|own| own == driver));
    let (value, can) = match native {
        true => ("native", "native mode possible"),
        false => ("generic", "generic mode only"),
    };
    let mode = attached.0.as_ref().and_then(|modes| modes.get(name));
    let now = match (mode, &attached.0) {
        (_, None) => "attached program not readable (install iproute2)",
        (None, _) => "no program attached",
        (Some(mode), _) => &format!(
            "a program is attached ({mode}): it sees packets before anything measured here"
        ),
    };
    let found = ok(mode.map_or(value, String::as_str), format!("{can}; {now}"));
    match native {
        true => found.degraded_unless(
            mode.is_none_or(|mode| mode != "generic"),
            format!("reattach in native mode: `ip link set {name} xdpgeneric off`, then `xdpdrv`"),
        ),
        false => found.degraded(
            "generic XDP copies each packet: use an interface whose driver has native XDP (virtio_net, mlx5, ice, ena, …)",
        ),
    }
}

#[cfg(test)]
mod tests {
    use trial::State;

    use super::*;

    #[test]
    fn attached_programs_are_told_by_mode() {
        let text = r#"[{"ifname":"lo"},{"ifname":"eth0","xdp":{"mode":2,"prog":{"id":7}}}]"#;
        let attached = Attached(parse(text));
        let on = |name, driver| found(name, Some(driver), &attached);
        let eth0 = on("eth0", "ice");
        assert_eq!(eth0.state, State::Degraded);
        assert!(eth0.text.contains("attached (generic)"), "{eth0:?}");
        assert_eq!(on("eth1", "ice").state, State::Ok);
        assert_eq!(on("eth1", "e1000").state, State::Degraded);
        assert_eq!(parse("not json"), None);
    }
}
