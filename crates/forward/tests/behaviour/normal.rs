//! What may differ between two right routers, made the same: identifications of
//! packets that the DUT makes itself, and times.

use std::net::IpAddr;

use lockgate_forward::topology::plan::{Side, hosts_router};
use wire::icmp::{self, Over};
use wire::{EtherType, checksum, ethernet, ipv4, ipv6, protocol};

use super::{changes, plan};

/// The same frame for every correct router, or `None` for one that a DUT sends at
/// will: reports of groups, probes of a known neighbour.
pub fn normalised(frame: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = frame.to_vec();
    let view = ethernet::Packet::new(frame).ok()?;
    let Ok((ether_type, network)) = view.network() else {
        return Some(bytes);
    };
    let at = frame.len() - network.len();
    match ether_type {
        EtherType::ARP if view.destination() != ethernet::BROADCAST && is_arp_request(network) => {
            return None;
        }
        EtherType::IPV4 => four(&mut bytes[at..])?,
        EtherType::IPV6 => six(&mut bytes[at..])?,
        _ => {}
    }
    Some(bytes)
}

/// Whether a kernel limits its rate to one host: errors about unreachable
/// destinations (`ip_error`, five at once and then one a second).
pub fn is_limited(frame: &[u8]) -> bool {
    let is_unreachable = || {
        let (ether_type, network) = ethernet::Packet::new(frame).ok()?.network().ok()?;
        let packet = ipv4::Packet::new(network).ok()?;
        let message = icmp::Packet::new(packet.payload()).ok()?;
        let found = ether_type == EtherType::IPV4
            && is_dut(packet.source())
            && packet.protocol() == protocol::ICMPV4
            && message.kind() == icmp::v4::DESTINATION_UNREACHABLE
            && [0, 1, 13].contains(&message.code());
        Some(found)
    };
    is_unreachable().unwrap_or(false)
}

fn is_arp_request(bytes: &[u8]) -> bool {
    wire::arp::Packet::new(bytes)
        .is_ok_and(|packet| packet.operation() == wire::arp::Operation::REQUEST)
}

fn is_dut(address: impl Into<IpAddr>) -> bool {
    let address = address.into();
    let is_link_local = matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
    is_link_local
        || Side::BOTH
            .map(|side| hosts_router(side).into())
            .contains(&address)
        || plan::DUT_V4.map(IpAddr::from).contains(&address)
        || plan::DUT_V6.map(IpAddr::from).contains(&address)
        || address == changes::LOCAL_V4
        || address == changes::LOCAL_V6
}

/// `None` for a report of a group.
fn four(bytes: &mut [u8]) -> Option<()> {
    let Ok(packet) = ipv4::Packet::new(bytes) else {
        return Some(());
    };
    if !packet.is_checksum_right() {
        return Some(());
    }
    let header_bytes = packet.header_bytes();
    let is_ours = is_dut(packet.source()) || is_translated(&packet);
    if is_ours && packet.protocol() == protocol::IGMP {
        return None;
    }
    let has_time = is_ours
        && packet.protocol() == protocol::ICMPV4
        && !packet.is_fragment()
        && icmp::Packet::new(packet.payload()).is_ok_and(|message| {
            message.kind() == icmp::v4::TIMESTAMP_REPLY
                && message.is_checksum_right(Over::V4)
                && message.payload().len() >= 12
        });
    if has_time {
        let message = &mut bytes[header_bytes..];
        message[2..4].fill(0);
        message[12..20].fill(0);
    }
    if is_ours {
        bytes[4..6].fill(0);
    }
    clear_times(&mut bytes[ipv4::HEADER_BYTES..header_bytes]);
    bytes[10..12].fill(0);
    let checksum = checksum::of(&bytes[..header_bytes]);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    Some(())
}

/// Whether the DUT made this error, and NAT gave it the address of the packet's destination,
/// which it sent on to another.
fn is_translated(packet: &ipv4::Packet<'_>) -> bool {
    let made = || {
        let message = icmp::Packet::new(packet.payload()).ok()?;
        // Cut short, it is no whole packet: its destination is where it always is.
        let destination = message.payload().get(16..20)?;
        let is_error =
            [icmp::v4::DESTINATION_UNREACHABLE, icmp::v4::TIME_EXCEEDED].contains(&message.kind());
        Some(is_error && destination == packet.source().octets())
    };
    packet.protocol() == protocol::ICMPV4 && made().unwrap_or(false)
}

fn clear_times(options: &mut [u8]) {
    let mut at = 0;
    while at < options.len() {
        match options[at] {
            ipv4::HeaderOption::END => return,
            ipv4::HeaderOption::NO_OPERATION => at += 1,
            kind => {
                let length = options.get(at + 1).map_or(0, |length| usize::from(*length));
                if length < 2 || at + length > options.len() {
                    return;
                }
                if kind == ipv4::HeaderOption::TIMESTAMP && length > 4 {
                    options[at + 4..at + length].fill(0);
                }
                at += length;
            }
        }
    }
}

/// `None` for reports of groups and for probes of a known neighbour.
fn six(bytes: &mut [u8]) -> Option<()> {
    let Ok(packet) = ipv6::Packet::new(bytes) else {
        return Some(());
    };
    let is_ours = is_dut(packet.source()) || packet.source().is_unspecified();
    let Ok(upper) = packet.upper() else {
        return Some(());
    };
    if !is_ours {
        return Some(());
    }
    if upper.protocol == protocol::ICMPV6
        && let Ok(message) = icmp::Packet::new(upper.payload)
    {
        match message.kind() {
            icmp::v6::MULTICAST_REPORT_V2 | icmp::v6::ROUTER_SOLICITATION => return None,
            icmp::v6::NEIGHBOUR_SOLICITATION if !packet.destination().is_multicast() => {
                return None;
            }
            _ => {}
        }
    }
    if upper.fragment.is_some() && packet.next_header() == ipv6::extension::FRAGMENT {
        bytes[ipv6::HEADER_BYTES + 4..ipv6::HEADER_BYTES + 8].fill(0);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifications_count_only_where_a_packet_is_not_the_duts_own() {
        let frame = |source, identification| {
            let packet = ipv4::Repr {
                identification,
                ..ipv4::Repr::new(source, plan::TESTER_V4[0], 253)
            };
            ethernet::Repr {
                destination: plan::TESTER[0],
                source: plan::DUT[0],
                ether_type: EtherType::IPV4,
            }
            .to_bytes(&packet.to_bytes(b"data").unwrap())
        };
        let same = |source| normalised(&frame(source, 1)) == normalised(&frame(source, 2));
        assert!(same(plan::DUT_V4[0]));
        assert!(!same(plan::HOST_V4[1]));
    }

    #[test]
    fn a_wrong_checksum_stays_seen() {
        let packet = ipv4::Repr::new(plan::DUT_V4[0], plan::TESTER_V4[0], 253);
        let mut packet = packet.to_bytes(b"data").unwrap();
        packet[10] ^= 1;
        let frame = ethernet::Repr {
            destination: plan::TESTER[0],
            source: plan::DUT[0],
            ether_type: EtherType::IPV4,
        }
        .to_bytes(&packet);
        assert_eq!(normalised(&frame), Some(frame));
    }

    #[test]
    fn times_of_options_are_cleared_and_nothing_else() {
        let mut options = [1, 68, 12, 9, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 7, 3, 4];
        clear_times(&mut options);
        assert_eq!(
            options,
            [1, 68, 12, 9, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 7, 3, 4]
        );
        let mut damaged = [68, 40, 5, 0];
        clear_times(&mut damaged);
        assert_eq!(damaged, [68, 40, 5, 0]);
    }
}
