//! What lies between tester and router, in a scenario: `ports = "veth"`,
//! `ports = "tap"`, or devices of this host: `ports = ["eth1", "eth2"]`.

use forward::topology::Wires;
use toml::Value as Toml;

use crate::ConfigError;
use crate::config::value::{Value, items, read_each};

/// What is meant. Whether devices are there, and free, is seen when they are
/// lent.
#[derive(Clone, Debug, PartialEq)]
pub struct Ports(pub Wires);

impl From<Wires> for Ports {
    fn from(wires: Wires) -> Self {
        Self(wires)
    }
}

impl Value for Ports {
    fn parse(value: &Toml) -> Result<Self, String> {
        let names = items(value)
            .iter()
            .map(|item| item.as_str().map(str::to_owned));
        let names: Vec<_> = names
            .collect::<Option<_>>()
            .ok_or_else(|| format!("{value} is no kind of port: take {}", Self::allowed()))?;
        match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["veth"] => Ok(Self(Wires::Veth)),
            ["tap"] => Ok(Self(Wires::Tap)),
            [kind] if !value.is_array() => Err(format!(
                "'{kind}' is no kind of port: take {}",
                Self::allowed()
            )),
            _ => Wires::devices(&names)
                .map(Self)
                .map_err(|error| error.to_string()),
        }
    }

    fn read(text: &str) -> Toml {
        read_each::<String>(text)
    }

    fn written(&self) -> Toml {
        match &self.0 {
            Wires::Veth => Toml::from("veth"),
            Wires::Tap => Toml::from("tap"),
            Wires::Devices { zero, one } => {
                let pairs = std::iter::once(zero).chain(one);
                let names = pairs.flat_map(|pair| [&pair.tester, &pair.router]);
                Toml::Array(names.map(|name| Toml::from(name.as_str())).collect())
            }
        }
    }

    fn allowed() -> String {
        "veth, tap, or a list of two or four devices of this host".to_owned()
    }
}

/// Why this many routers cannot be had over those wires; none where they can.
pub fn too_many(wires: &Wires, routers: usize) -> Option<ConfigError> {
    let is_one_set = matches!(wires, Wires::Devices { .. });
    (is_one_set && routers > 1).then(|| {
        ConfigError::value(
            "ports",
            format!(
                "devices are lent to one router at a time, and homes times paths are {routers}: name one home and one path"
            ),
        )
    })
}

/// For people: what frames cross, and what that means for the figures.
pub fn note(wires: &Wires) -> String {
    match wires {
        Wires::Veth => "Frames cross veth pairs as pointers: no wire limits them, and large ones cost hardly more than small ones.".to_owned(),
        Wires::Tap => "Frames cross taps: each is copied twice, by the tester's system calls, and no wire limits them.".to_owned(),
        Wires::Devices { zero, one } => {
            let cable = |pair: &forward::topology::Pair| format!("{} to {}", pair.tester, pair.router);
            let second = one.as_ref().map_or_else(|| "a veth pair".to_owned(), cable);
            format!("Frames cross devices of this host: {}; and {second}.", cable(zero))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wires(text: &str) -> Result<Wires, String> {
        let table: toml::Table = format!("ports = {text}").parse().expect("toml");
        let ports = Ports::parse(&table["ports"])?;
        assert_eq!(Ports::parse(&ports.written()), Ok(ports.clone()));
        Ok(ports.0)
    }

    #[test]
    fn kinds_and_devices_are_wires() {
        assert_eq!(wires("'veth'").unwrap(), Wires::Veth);
        assert_eq!(wires("'tap'").unwrap(), Wires::Tap);
        let lent = wires("['eth1', 'eth2']").unwrap();
        assert!(too_many(&lent, 1).is_none());
        let error = too_many(&lent, 3).unwrap().to_string();
        assert!(error.contains("3: name one home"), "{error}");
        assert!(too_many(&Wires::Tap, 3).is_none());
        assert!(note(&lent).contains("eth1 to eth2; and a veth pair"));
        let both = wires("['a', 'b', 'c', 'd']").unwrap();
        assert!(note(&both).contains("a to b; and c to d"));
    }

    #[test]
    fn what_makes_no_cable_is_named() {
        for (text, part) in [
            ("'sriov'", "'sriov'"),
            ("[-7]", "-7"),
            ("[]", "[]"),
            ("['eth1']", "eth1"),
            ("['eth1', 'eth1']", "two different ones"),
        ] {
            let said = wires(text).unwrap_err();
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}
