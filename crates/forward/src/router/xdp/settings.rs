//! Settings whose changes the kernel tells nobody of: they are looked at each time.

use net::Namespace;
use net::sysctl::Setting;

/// Of the namespace: whether a destination's path MTU counts, and whether neighbours of
/// IPv6 are stood in for.
pub const OF_ALL: [&str; 2] = ["ipv4/ip_forward_use_pmtu", "ipv6/conf/all/proxy_ndp"];
/// Of each port: the MTU of IPv6, and whether there is IPv6 at all.
pub const OF_PORT: [&str; 2] = ["mtu", "disable_ipv6"];

pub struct Settings(Vec<(Setting, Option<u32>)>);

impl Settings {
    /// Those that this kernel has.
    pub fn open<'l>(namespace: &Namespace, links: impl Iterator<Item = &'l str>) -> Self {
        let of_ports = links.flat_map(|link| OF_PORT.map(|one| of_port(link, one)));
        let names = OF_ALL.map(str::to_owned).into_iter().chain(of_ports);
        let open = |name: String| {
            let setting = namespace.open_sysctl(&name).ok()?;
            let value = setting.number();
            Some((setting, value))
        };
        Self(names.filter_map(open).collect())
    }

    /// Whether one is another than when it was looked at last.
    pub fn have_changed(&mut self) -> bool {
        let mut is_any = false;
        for (setting, before) in &mut self.0 {
            let now = setting.number();
            is_any |= std::mem::replace(before, now) != now;
        }
        is_any
    }
}

pub fn of_port(link: &str, setting: &str) -> String {
    format!("ipv6/conf/{link}/{setting}")
}
