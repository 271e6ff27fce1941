//! What a topology is to be: plain data, checked before anything is made.

use std::io;

use super::plan::{SOURCES_MAX, Side, table_addresses};
use crate::tester::stream::DESTINATIONS_MAX;

/// The most queues of a port: more than a host of today has CPUs for.
pub const QUEUES_MAX: u32 = 64;

/// The most routes of a table: all /28 networks of 10.0.0.0/8.
pub const ROUTES_MAX: u32 = 1 << 20;

/// The least and most MTU: RFC 8200, section 5, and a veth's own limit.
pub const MTU_RANGE: std::ops::RangeInclusive<u32> = MTU_MIN..=MTU_MAX;
const MTU_MIN: u32 = 1280;
const MTU_MAX: u32 = 65_535;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Family {
    /// IPv4, blocks of RFC 6815, section 2.
    #[default]
    V4,
    /// IPv6, block of RFC 5180, section 8.
    V6,
}

/// What lies between the tester's port and the router's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Attachment {
    #[default]
    Direct,
    /// A veth pair, a bridge in a namespace of the host's own, another veth
    /// pair: how containers are usually attached, and source 004's set-up.
    Bridged,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    pub tester: String,
    pub router: String,
}

/// What the wires between tester and router are made of.
///
/// In scenario files: `ports = "veth"`, `ports = "tap"`, or names of devices of this
/// host for [`Wires::devices`], e.g. `ports = ["eth1", "eth2"]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wires {
    #[default]
    Veth,
    /// Taps: each is a port of the router, and the tester reads and writes its
    /// file. They need [`PortKind::Tap`](crate::bench::PortKind), and a path
    /// that is the kernel's own: XDP programs of a tap run in the writer's context.
    Tap,
    /// Devices of the host, which are lent to tester and router
    /// ([`net::device`]). Port 1 has a veth pair where there is one pair only.
    Devices { zero: Pair, one: Option<Pair> },
}

impl Wires {
    /// By the names of two devices, the tester's and the router's at the two ends
    /// of one cable; or of four, those of port 0 and then those of port 1.
    ///
    /// # Errors
    /// [`SpecError::Devices`] for another number, or a name that comes twice.
    pub fn devices(names: &[String]) -> Result<Self, SpecError> {
        let pair = |tester: &String, router: &String| Pair {
            tester: tester.clone(),
            router: router.clone(),
        };
        let wires = match names {
            [tester, router] => Self::Devices {
                zero: pair(tester, router),
                one: None,
            },
            [a, b, c, d] => Self::Devices {
                zero: pair(a, b),
                one: Some(pair(c, d)),
            },
            _ => return Err(SpecError::Devices(names.to_vec())),
        };
        wires.check()?;
        Ok(wires)
    }

    /// The devices of one side, where it has some.
    pub fn pair(&self, side: Side) -> Option<&Pair> {
        match (self, side) {
            (Self::Devices { zero, .. }, Side::Zero) => Some(zero),
            (Self::Devices { one, .. }, Side::One) => one.as_ref(),
            _ => None,
        }
    }

    fn check(&self) -> Result<(), SpecError> {
        let pairs = Side::BOTH.iter().filter_map(|&side| self.pair(side));
        let names: Vec<_> = pairs
            .flat_map(|pair| [pair.tester.clone(), pair.router.clone()])
            .collect();
        let all_differ = (1..names.len()).all(|index| !names[..index].contains(&names[index]));
        if all_differ {
            Ok(())
        } else {
            Err(SpecError::Devices(names))
        }
    }
}

/// What the router's table holds besides its own links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Routes {
    #[default]
    Networks,
    /// This many IPv4 routes (2 to `ROUTES_MAX`, even): /25 networks, or /28 of more
    /// than 131,072. Those behind port 1 begin at 10.0.0.0, those behind port 0 at
    /// 10.128.0.0. IPv4 streams spread over them.
    Table(u32),
}

/// Which CPUs do what. The same CPU may appear twice: a verdict says when that spoils
/// a trial.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cpus {
    pub generator: usize,
    /// The router's, queue by queue, at least one; queue `q` is on CPU
    /// `router[q mod len]`.
    pub router: Vec<usize>,
    pub sink: usize,
}

impl Cpus {
    /// A generator on the first CPU, router and sink on the second; with three CPUs
    /// or more the sink on the third. With one, all share it.
    ///
    /// # Panics
    /// If `allowed` is empty: a process always has a CPU.
    pub fn among(allowed: &[usize]) -> Self {
        let pick = |index: usize| {
            let last = allowed.len().checked_sub(1).expect("a process has a CPU");
            allowed[index.min(last)]
        };
        Self {
            generator: pick(0),
            router: vec![pick(1)],
            sink: pick(2),
        }
    }

    /// [`among`](Self::among) the CPUs that this process may use.
    pub fn of_host() -> io::Result<Self> {
        sys::affinity::allowed_cpus().map(|allowed| Self::among(&allowed))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub wires: Wires,
    pub attachment: Attachment,
    /// Queues of each port, each way: 1 to `QUEUES_MAX`.
    pub queues: u32,
    pub ipv6: bool,
    /// The router's addresses are on this 802.1Q tag (1 to 4094) of its ports.
    pub vlan: Option<u16>,
    /// Bytes of an IP packet on every link, in `MTU_RANGE`.
    pub mtu: u32,
    pub routes: Routes,
    pub cpus: Cpus,
}

impl Spec {
    /// Two ports of one queue, IPv4 and IPv6, MTU 1500, no tag, no table.
    pub fn new(cpus: Cpus) -> Self {
        Self {
            wires: Wires::Veth,
            attachment: Attachment::Direct,
            queues: 1,
            ipv6: true,
            vlan: None,
            mtu: 1500,
            routes: Routes::Networks,
            cpus,
        }
    }

    /// Whether it can be made.
    ///
    /// # Errors
    /// [`SpecError`], the first value out of its range.
    pub fn check(&self) -> Result<(), SpecError> {
        if !(1..=QUEUES_MAX).contains(&self.queues) {
            return Err(SpecError::Queues(self.queues));
        }
        self.wires.check()?;
        if self.wires != Wires::Veth && self.attachment == Attachment::Bridged {
            return Err(SpecError::Bridged);
        }
        if self.wires == Wires::Tap && self.queues > 1 {
            return Err(SpecError::TapQueues(self.queues));
        }
        if let Some(tag) = self.vlan
            && !(1..=4094).contains(&tag)
        {
            return Err(SpecError::Vlan(tag));
        }
        if !MTU_RANGE.contains(&self.mtu) {
            return Err(SpecError::Mtu(self.mtu));
        }
        if let Routes::Table(count) = self.routes
            && (!(2..=ROUTES_MAX).contains(&count) || count % 2 == 1)
        {
            return Err(SpecError::Routes(count));
        }
        if self.cpus.router.is_empty() {
            return Err(SpecError::NoCpu);
        }
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("{0} queues: from 1 to {QUEUES_MAX} are possible")]
    Queues(u32),
    #[error("{0} queues of a tap: only one is possible; take veth pairs for more")]
    TapQueues(u32),
    #[error(
        "ports over the devices {0:?}: name two different ones, the tester's and the router's at the ends of one cable, or four, those of the second cable last"
    )]
    Devices(Vec<String>),
    #[error("bridges before a router need wires of veth pairs: take these, or attach it directly")]
    Bridged,
    #[error("VLAN {0}: tags go from 1 to 4094")]
    Vlan(u16),
    #[error("an MTU of {0} bytes: from {MTU_MIN} to {MTU_MAX} are possible")]
    Mtu(u32),
    #[error("{0} routes: an even number from 2 to {ROUTES_MAX} is possible")]
    Routes(u32),
    #[error("the router has no CPU; name one at least")]
    NoCpu,
    #[error("{0} sources: a power of two up to {SOURCES_MAX} is possible, with IPv6 one alone")]
    Sources(u32),
    #[error("{0} destinations: a power of two up to {DESTINATIONS_MAX} is possible")]
    Destinations(u32),
    #[error(
        "{count} destinations over {routes} routes, which have {} addresses each way; ask for fewer, or for more routes",
        table_addresses(*routes)
    )]
    TableTooSmall { count: u32, routes: u32 },
    #[error("an IPv6 stream over a topology without IPv6; switch `ipv6` on")]
    NoIpv6,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Spec {
        Spec::new(Cpus::among(&[0, 1]))
    }

    #[test]
    fn cpus_of_small_and_large_hosts() {
        for (allowed, chosen) in [
            (&[3][..], [3, 3, 3]),
            (&[0, 1], [0, 1, 1]),
            (&[2, 4, 6, 8], [2, 4, 6]),
        ] {
            let cpus = Cpus::among(allowed);
            let found = [cpus.generator, cpus.router[0], cpus.sink];
            assert_eq!(found, chosen, "{allowed:?}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_value() {
        assert_eq!(spec().check(), Ok(()));
        type Change = fn(&mut Spec);
        let cases: [(Change, SpecError); 8] = [
            (|spec| spec.queues = 0, SpecError::Queues(0)),
            (|spec| spec.vlan = Some(4095), SpecError::Vlan(4095)),
            (|spec| spec.mtu = 1279, SpecError::Mtu(1279)),
            (|spec| spec.routes = Routes::Table(3), SpecError::Routes(3)),
            (
                |spec| spec.routes = Routes::Table(2_000_000),
                SpecError::Routes(2_000_000),
            ),
            (|spec| spec.cpus.router.clear(), SpecError::NoCpu),
            (
                |spec| (spec.wires, spec.queues) = (Wires::Tap, 2),
                SpecError::TapQueues(2),
            ),
            (
                |spec| (spec.wires, spec.attachment) = (Wires::Tap, Attachment::Bridged),
                SpecError::Bridged,
            ),
        ];
        for (change, error) in cases {
            let mut spec = spec();
            change(&mut spec);
            assert_eq!(spec.check(), Err(error));
        }
    }

    #[test]
    fn devices_are_one_cable_or_two() {
        let names = |list: &str| list.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let one = Wires::devices(&names("eth1 eth2")).unwrap();
        assert_eq!(one.pair(Side::Zero).unwrap().router, "eth2");
        assert_eq!(one.pair(Side::One), None);
        let two = Wires::devices(&names("a b c d")).unwrap();
        assert_eq!(two.pair(Side::One).unwrap().tester, "c");
        for list in ["a", "a b c", "a a", "a b c a"] {
            let error = Wires::devices(&names(list)).unwrap_err();
            assert_eq!(error, SpecError::Devices(names(list)));
        }
    }
}
