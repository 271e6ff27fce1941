//! What is tested, and how its ports are addressed: plain data, checked before any
//! port is touched.

use std::net::IpAddr;

use super::ExternalError;
use super::tasks::is_there;
use crate::bench::offer::ETHERNET_BYTES;
use crate::bench::{Directions, PortKind};
use crate::tester::stream::{Addresses, DESTINATIONS_MAX};
use crate::topology::address::Layer;
use crate::topology::plan::{self, Network, Side};
use crate::topology::{Cpus, Family, NetworkError};

/// Kinds of links that the kernel moves to no other namespace.
const STAYING: [&str; 4] = ["bridge", "bond", "team", "openvswitch"];

/// Addresses on one side of a routed device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The tester's own, with its network: the device's gateway to `behind`.
    pub tester: Network,
    /// The device's, in the same network.
    pub device: IpAddr,
    /// Where the other side's frames go to.
    pub behind: Network,
}

/// Addresses of both sides. A bridged device has none, and frames carry these all
/// the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addressing(pub [End; 2]);

impl Addressing {
    /// Those of RFC 2544, C.2.2, in the blocks of RFC 6815, section 2; for IPv6 those
    /// of RFC 5180, section 8.
    pub fn of_standard(family: Family) -> Self {
        Self(Side::BOTH.map(|side| End {
            tester: Network {
                address: plan::tester_address(side, family),
                bits: plan::link_bits(family),
            },
            device: plan::router_address(side, family),
            behind: plan::network_behind(side, family),
        }))
    }

    pub fn family(&self) -> Family {
        match self.0[0].tester.address {
            IpAddr::V4(_) => Family::V4,
            IpAddr::V6(_) => Family::V6,
        }
    }

    /// What the stream that enters on that side carries.
    fn stream(&self, from: Side, (count, stride): (u32, u32)) -> Addresses {
        let to = self.0[from.other().index()].behind.address;
        match (self.0[from.index()].tester.address, to) {
            (IpAddr::V4(source), IpAddr::V4(first)) => Addresses::V4 {
                source,
                sources: 1,
                first,
                count,
                stride,
            },
            (IpAddr::V6(source), IpAddr::V6(first)) => Addresses::V6 {
                source,
                first,
                count,
                stride,
            },
            _ => unreachable!("checked to be of one family"),
        }
    }

    /// # Errors
    /// [`ExternalError::Setup`] for families that differ, a device outside the
    /// tester's network, networks that overlap, more destinations than a network has.
    fn check(&self, addresses: u64) -> Result<(), ExternalError> {
        let is_v4 = self.0[0].tester.address.is_ipv4();
        let bits_max = self.0[0].tester.bits_max();
        for End {
            tester,
            device,
            behind,
        } in &self.0
        {
            let all = [tester.address, *device, behind.address];
            if let Some(other) = all.iter().find(|one| one.is_ipv4() != is_v4) {
                return Err(wrong(format!(
                    "the address {other} is not of the family of {}: give all of them in one",
                    self.0[0].tester.address
                )));
            }
            if let Some(network) = [tester, behind]
                .into_iter()
                .find(|network| !(1..=bits_max).contains(&network.bits))
            {
                return Err(wrong(format!(
                    "the network {network}: 1 to {bits_max} bits are possible"
                )));
            }
            if !tester.contains(*device) || tester.address == *device {
                return Err(wrong(format!(
                    "the device's address {device} is not another one in the tester's network {}/{}: give both in one network",
                    tester.address, tester.bits
                )));
            }
            if behind.first() != behind.address {
                return Err(wrong(format!(
                    "the network {}/{} has bits set beyond its prefix: write {}/{}",
                    behind.address,
                    behind.bits,
                    behind.first(),
                    behind.bits
                )));
            }
            let hosts = 1_u64 << (bits_max - behind.bits).min(32);
            if addresses > hosts {
                return Err(wrong(format!(
                    "destinations over {addresses} addresses in {}/{}, which has {hosts}: ask for fewer, or give a larger network",
                    behind.address, behind.bits
                )));
            }
        }
        let [zero, one] = &self.0;
        let all = [zero.tester, one.tester, zero.behind, one.behind];
        for (index, network) in all.iter().enumerate() {
            if let Some(other) = all[..index].iter().find(|other| network.overlaps(**other)) {
                return Err(wrong(format!(
                    "the networks {}/{} and {}/{} overlap: the device could not tell its sides apart",
                    other.address, other.bits, network.address, network.bits
                )));
            }
        }
        Ok(())
    }
}

fn wrong(text: String) -> ExternalError {
    ExternalError::Setup(text)
}

#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Names of devices of the calling thread's network namespace.
    pub ports: [String; 2],
    pub layer: Layer,
    pub addressing: Addressing,
    pub directions: Directions,
    /// Different destinations each way: a power of two up to 65,536.
    pub destinations: u32,
    /// Addresses from one to the next.
    pub stride: u32,
    /// `None`: live frames where the ports take them, packet sockets else.
    pub frames: Option<PortKind>,
    pub cpus: Cpus,
    /// Processes and kernel threads of a device that lives on this host.
    pub tasks: Vec<i32>,
    /// The ports are joined by a cable: there is no device, and no router to ask.
    pub is_joined: bool,
}

impl Setup {
    /// A routed device with the addresses of the standards.
    pub fn new(ports: [String; 2], cpus: Cpus) -> Self {
        Self {
            ports,
            layer: Layer::Three,
            addressing: Addressing::of_standard(Family::V4),
            directions: Directions::OneWay,
            destinations: 1,
            stride: 1,
            frames: None,
            cpus,
            tasks: Vec::new(),
            is_joined: false,
        }
    }

    /// # Errors
    /// [`ExternalError::Setup`] names the value and the limit.
    pub fn check(&self) -> Result<(), ExternalError> {
        let [one, other] = &self.ports;
        if one == other {
            return Err(wrong(format!(
                "the port {one} twice: a device is between two ports"
            )));
        }
        if !self.destinations.is_power_of_two() || self.destinations > DESTINATIONS_MAX {
            return Err(wrong(format!(
                "{} destinations: a power of two up to {DESTINATIONS_MAX} is possible",
                self.destinations
            )));
        }
        if let Some(kind @ (PortKind::AfXdp | PortKind::Tap)) = self.frames {
            return Err(wrong(format!(
                "{} frames: a device needs answers to ARP besides, which only live-frame and af-packet ports leave to the kernel",
                kind.name()
            )));
        }
        self.addressing
            .check(u64::from(self.destinations) * u64::from(self.stride))
    }

    /// Whether these ports can be taken, as far as looking tells: they are there, carry
    /// Ethernet, can be moved, and nobody uses them. Nothing is touched, and no
    /// privilege is needed. Gives the longest frame that both take.
    ///
    /// # Errors
    /// [`ExternalError::Setup`] names the port, what it is, and the remedy.
    pub fn look(&self) -> Result<u32, ExternalError> {
        // Of a process that is not there no waiting is seen: every loss would be the device's.
        if let Some(absent) = self.tasks.iter().find(|&&task| !is_there(task)) {
            return Err(wrong(format!(
                "there is no process {absent}: name those of the device, or none"
            )));
        }
        let mut mtu = u32::MAX;
        for name in &self.ports {
            let link = net::device::find(name).map_err(NetworkError::from)?;
            let stays = STAYING.contains(&link.kind.as_str());
            if !link.is_ethernet || stays {
                let what = match stays {
                    true => format!("a {}, which stays in its network namespace", link.kind),
                    false => "no Ethernet device".to_owned(),
                };
                return Err(wrong(format!(
                    "the device {name} is {what}: name a network card, a virtual function, a tap or a veth"
                )));
            }
            net::device::check_free(&link).map_err(NetworkError::from)?;
            mtu = mtu.min(link.mtu);
        }
        Ok(mtu.saturating_add(ETHERNET_BYTES))
    }

    /// Whether the device must be asked whose address it has.
    pub(super) fn is_routed(&self) -> bool {
        self.layer == Layer::Three && !self.is_joined
    }

    pub(super) fn addresses(&self, from: Side) -> Addresses {
        self.addressing
            .stream(from, (self.destinations, self.stride))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> Setup {
        let ports = ["eth1", "eth2"].map(str::to_owned);
        Setup::new(ports, Cpus::among(&[0, 1]))
    }

    #[test]
    fn the_standards_addresses_fit() {
        for family in [Family::V4, Family::V6] {
            let setup = Setup {
                addressing: Addressing::of_standard(family),
                destinations: DESTINATIONS_MAX,
                ..setup()
            };
            setup.check().unwrap();
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_value() {
        type Change = fn(&mut Setup);
        let network = |address: &str, bits| Network {
            address: address.parse().unwrap(),
            bits,
        };
        let cases: [(&str, Change); 9] = [
            ("eth1 twice", |setup| setup.ports[1] = "eth1".to_owned()),
            ("3 destinations", |setup| setup.destinations = 3),
            ("131072", |setup| setup.destinations = 131_072),
            ("af-xdp", |setup| setup.frames = Some(PortKind::AfXdp)),
            ("2001:2::1", |setup| {
                setup.addressing.0[1].device = "2001:2::1".parse().unwrap();
            }),
            ("10.0.0.1", |setup| {
                setup.addressing.0[0].device = "10.0.0.1".parse().unwrap();
            }),
            ("198.18.0.0/33", |setup| {
                setup.addressing.0[0].behind.bits = 33
            }),
            ("write 198.18.0.0/15", |setup| {
                setup.addressing.0[1].behind.bits = 15;
            }),
            ("198.18.0.0/16 and 198.18.3.0/24", |setup| {
                setup.addressing.0[1].behind = Network {
                    address: "198.18.3.0".parse().unwrap(),
                    bits: 24,
                };
            }),
        ];
        for (value, change) in cases {
            let mut setup = setup();
            change(&mut setup);
            let error = setup.check().unwrap_err().to_string();
            assert!(error.contains(value), "{value}: {error}");
        }
        let mut small = setup();
        small.addressing.0[0].behind = network("10.1.0.0", 30);
        small.destinations = 8;
        let error = small.check().unwrap_err().to_string();
        assert!(error.contains("8 addresses in 10.1.0.0/30"), "{error}");
    }
}
