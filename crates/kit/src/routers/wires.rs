//! What lies between tester and router, in a scenario: `ports = "veth"`,
//! `ports = "tap"`, or devices of this host: `ports = ["eth1", "eth2"]`.

use forward::topology::Wires;
use serde::{Deserialize, Serialize};

use crate::ConfigError;

const KEY: &str = "ports";

/// As it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "write \"veth\", \"tap\", or the names of devices, e.g. [\"eth1\", \"eth2\"]"
)]
pub enum Ports {
    Kind(String),
    Devices(Vec<String>),
}

impl Default for Ports {
    fn default() -> Self {
        Self::Kind("veth".to_owned())
    }
}

impl Ports {
    /// What is meant. Whether the devices are there, and free, is seen when they
    /// are lent.
    ///
    /// # Errors
    /// [`ConfigError`] for another kind, or a number of devices that makes no
    /// cables.
    pub fn wires(&self) -> Result<Wires, ConfigError> {
        match self {
            Self::Kind(kind) if kind == "veth" => Ok(Wires::Veth),
            Self::Kind(kind) if kind == "tap" => Ok(Wires::Tap),
            Self::Kind(kind) => Err(ConfigError::value(
                KEY,
                format!(
                    "'{kind}' is no kind of port: take \"veth\", \"tap\", or a list of two or four devices of this host"
                ),
            )),
            Self::Devices(names) => {
                Wires::devices(names).map_err(|error| ConfigError::value(KEY, error))
            }
        }
    }
}

/// Why so many routers cannot be had over those wires; none where they can.
pub fn too_many(wires: &Wires, routers: usize) -> Option<ConfigError> {
    let is_one_set = matches!(wires, Wires::Devices { .. });
    (is_one_set && routers > 1).then(|| {
        ConfigError::value(
            KEY,
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

    fn wires(text: &str) -> Result<Wires, ConfigError> {
        #[derive(Deserialize)]
        struct Table {
            ports: Ports,
        }
        let table: Table = toml::from_str(&format!("ports = {text}")).expect("toml");
        table.ports.wires()
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
            ("[]", "[]"),
            ("['eth1']", "eth1"),
            ("['eth1', 'eth1']", "two different ones"),
        ] {
            let error = wires(text).unwrap_err();
            assert_eq!(error.key(), "ports");
            let said = error.to_string();
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}
