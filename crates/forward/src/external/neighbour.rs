//! Whose Ethernet address the device's address has: the kernel asks, by ARP or by
//! neighbour discovery.

use std::net::{IpAddr, UdpSocket};
use std::time::{Duration, Instant};

use net::Namespace;

use super::ExternalError;
use super::setup::End;
use crate::topology::NetworkError;

/// Three questions of the kernel's, a second apart, and a device that wakes up.
const WAIT: Duration = Duration::from_secs(6);
const LOOK: Duration = Duration::from_millis(20);
/// Nobody listens there (RFC 863).
const DISCARD: u16 = 9;

/// Gives the port the tester's address, and asks for the device's.
pub(super) fn resolve(
    namespace: &Namespace,
    port: &str,
    end: &End,
    go_on: &dyn Fn() -> bool,
) -> Result<[u8; 6], ExternalError> {
    let mut netlink = namespace.netlink().map_err(NetworkError::from)?;
    let index = netlink.link(port).map_err(NetworkError::from)?.index;
    netlink
        .add_address(port, end.tester.address, end.tester.bits)
        .map_err(NetworkError::from)?;
    let deadline = Instant::now() + WAIT;
    let mut asked = None;
    while Instant::now() < deadline {
        if !go_on() {
            return Err(ExternalError::Interrupted);
        }
        // Questions are given up after three, and asked again by the next packet.
        if asked.is_none_or(|at: Instant| at.elapsed() > WAIT / 4) {
            let (from, to) = (end.tester.address, end.device);
            namespace
                .run(move || ask(from, to))
                .map_err(NetworkError::from)?;
            asked = Some(Instant::now());
        }
        let known = netlink.neighbours().map_err(NetworkError::from)?;
        let own = |one: &&net::netlink::Neighbour| {
            one.interface == index && one.address == end.device && one.valid
        };
        if let Some(address) = known.iter().find(own).and_then(|one| one.link_address) {
            return Ok(address);
        }
        std::thread::sleep(LOOK);
    }
    Err(ExternalError::NoNeighbour {
        address: end.device,
        port: port.to_owned(),
    })
}

/// A failure is one of the network's, and shows as no answer.
fn ask(from: IpAddr, to: IpAddr) {
    if let Ok(socket) = UdpSocket::bind((from, 0)) {
        let _ = socket.send_to(&[0], (to, DISCARD));
    }
}
