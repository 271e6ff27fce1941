//! The ports: taken, set up, and what is known of them.

use std::time::{Duration, Instant};

use net::device::Lent;
use net::napi::{self, NapiThread};
use net::netlink::LinkStatistics;
use net::sysfs::Sysfs;
use net::{Journal, Namespace, Tag};

use super::{ExternalError, Setup};
use crate::topology::NetworkError;
use crate::topology::build::silence;
use crate::topology::plan::Side;
use crate::topology::wires::OFFLOADS;

/// Links of copper agree on their speed within some seconds.
const CARRIER_WAIT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
/// A driver starts its threads one after the other.
const THREADS_WAIT: Duration = Duration::from_millis(200);

/// What is known of a port.
#[derive(Clone, Debug, PartialEq)]
pub struct PortFacts {
    pub name: String,
    pub address: [u8; 6],
    /// The driver, or what made the link: `igb`, `veth`, `tun`.
    pub kind: String,
    pub mtu: u32,
    /// What its driver says, bits/s; `None` where frames lie in this host's memory and
    /// no line limits them.
    pub speed_bits_per_s: Option<f64>,
}

impl PortFacts {
    /// Whether the device behind it is on this host: the other end of a veth, or the
    /// guest that holds a tap.
    pub fn is_of_this_host(&self) -> bool {
        matches!(self.kind.as_str(), "veth" | "tun" | "macvtap" | "macvlan")
    }
}

pub(super) struct Attached {
    pub facts: PortFacts,
    /// They receive for the tester; none where the driver has no such threads.
    pub threads: Vec<NapiThread>,
    // It leaves the namespace before that goes.
    _lent: Lent,
    pub namespace: Namespace,
}

impl Attached {
    pub(super) fn take(
        journal: &Journal,
        tag: &Tag,
        setup: &Setup,
        side: Side,
    ) -> Result<Self, ExternalError> {
        Self::taken(journal, tag, setup, side).map_err(ExternalError::from)
    }

    fn taken(
        journal: &Journal,
        tag: &Tag,
        setup: &Setup,
        side: Side,
    ) -> Result<Self, NetworkError> {
        let name = &setup.ports[side.index()];
        // As long as it is among the host's own.
        let driver = std::fs::read_link(format!("/sys/class/net/{name}/device/driver"));
        let driver = driver.ok().and_then(|path| {
            let name = path.file_name()?.to_str()?;
            Some(name.to_owned())
        });
        let namespace = Namespace::create(journal, &tag.name(&format!("t{}", side.index()))?)?;
        let is_v6 = setup.addressing.0[0].tester.address.is_ipv6();
        silence(&namespace, is_v6)?;
        let lent = net::device::lend(journal, name, &namespace)?;
        let mut netlink = namespace.netlink()?;
        netlink.set_up(name)?;
        let link = netlink.link(name)?;
        if link.kind == "veth" {
            netlink.set_offloads(name, &OFFLOADS)?;
        }
        let facts = PortFacts {
            name: name.clone(),
            address: link.address,
            kind: driver.unwrap_or(link.kind),
            mtu: link.mtu,
            speed_bits_per_s: None,
        };
        Ok(Self {
            threads: receivers(&namespace, name, setup.cpus.sink)?,
            facts,
            _lent: lent,
            namespace,
        })
    }

    /// Waits for its carrier, and reads the speed that came with it.
    pub(super) fn await_carrier(&mut self, go_on: &dyn Fn() -> bool) -> Result<(), ExternalError> {
        let sysfs = Sysfs::of(&self.namespace).map_err(NetworkError::from)?;
        let name = &self.facts.name;
        let deadline = Instant::now() + CARRIER_WAIT;
        while sysfs.read(&format!("{name}/carrier")).ok().as_deref() != Some("1") {
            if !go_on() {
                return Err(ExternalError::Interrupted);
            }
            if Instant::now() > deadline {
                return Err(ExternalError::NoCarrier {
                    port: name.clone(),
                    seconds: CARRIER_WAIT.as_secs(),
                });
            }
            std::thread::sleep(LOOK);
        }
        let mbit_per_s: Option<f64> = sysfs
            .read(&format!("{name}/speed"))
            .ok()
            .and_then(|text| text.parse().ok());
        let is_line = |speed: &f64| *speed > 0.0 && !self.facts.is_of_this_host();
        self.facts.speed_bits_per_s = mbit_per_s.filter(is_line).map(|speed| speed * 1e6);
        Ok(())
    }

    pub(super) fn statistics(&self) -> Result<LinkStatistics, ExternalError> {
        let counted = self
            .namespace
            .netlink()
            .and_then(|mut netlink| netlink.statistics(&self.facts.name));
        Ok(counted.map_err(NetworkError::from)?)
    }
}

/// Lets threads of the kernel's receive on that CPU, where the driver can: else what
/// comes in takes its time from whoever runs.
fn receivers(
    namespace: &Namespace,
    name: &str,
    cpu: usize,
) -> Result<Vec<NapiThread>, NetworkError> {
    if napi::set_threaded(namespace, name, true).is_err() {
        return Ok(Vec::new());
    }
    let mut netlink = namespace.netlink()?;
    let deadline = Instant::now() + THREADS_WAIT;
    while napi::threads_now(&mut netlink, name).is_empty() && Instant::now() < deadline {
        std::thread::sleep(LOOK);
    }
    std::thread::sleep(LOOK);
    let threads = napi::threads_now(&mut netlink, name);
    for thread in &threads {
        thread.pin(&[cpu])?;
    }
    Ok(threads)
}
