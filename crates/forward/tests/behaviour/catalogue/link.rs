//! Ethernet: addresses, types, tags, lengths.

use wire::{EtherType, vlan};

use super::Expect::{Any, Dropped, Forwarded};
use super::{Case, case, ethernet, plain4, plain6};
use crate::behaviour::plan;

pub fn cases() -> Vec<Case> {
    let mut cases = addresses();
    cases.extend(types());
    cases.extend(tags());
    cases.extend(lengths());
    cases
}

fn with_addresses(frame: &[u8], destination: [u8; 6], source: [u8; 6]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    wire::ethernet::readdress(&mut frame, source, destination).unwrap();
    frame
}

fn addresses() -> Vec<Case> {
    let mut cases = Vec::new();
    for (family, frame) in [("IPv4", plain4(0)), ("IPv6", plain6(0))] {
        for port in [0, 1] {
            let frame = if family == "IPv4" {
                plain4(port)
            } else {
                plain6(port)
            };
            let name = format!("{family} into port {port}");
            cases.push(case(name, Forwarded, frame).into_port(port));
        }
        let to = |what: &str, expect, destination| {
            let frame = with_addresses(&frame, destination, plan::TESTER[0]);
            case(format!("{family} to {what}"), expect, frame)
        };
        let from = |what: &str, source| {
            let frame = with_addresses(&frame, plan::DUT[0], source);
            case(format!("{family} from {what}"), Any, frame)
        };
        cases.extend([
            to("another station", Dropped, [2, 0, 0, 0, 9, 9]),
            to("the DUT's other port", Dropped, plan::DUT[1]),
            to("the sender", Dropped, plan::TESTER[0]),
            to("the broadcast address", Dropped, [0xff; 6]),
            to("a group", Dropped, [1, 0, 0x5e, 0, 0, 1]),
            to("a group of IPv6", Dropped, [0x33, 0x33, 0, 0, 0, 1]),
            to("the zero address", Dropped, [0; 6]),
            to("a bridge's group", Dropped, [1, 0x80, 0xc2, 0, 0, 0]),
            from("a group", [1, 0, 0x5e, 0, 0, 1]),
            from("the broadcast address", [0xff; 6]),
            from("the zero address", [0; 6]),
            from("the DUT itself", plan::DUT[0]),
            from("another station", [2, 0, 0, 0, 9, 9]),
        ]);
    }
    cases
}

fn types() -> Vec<Case> {
    let payload = &plain4(0)[14..];
    let types = [
        0x0000, 0x0001, 0x002e, 0x05dc, 0x05ff, 0x0600, 0x0801, 0x0805, 0x0842, 0x22f3, 0x8035,
        0x809b, 0x8137, 0x8808, 0x8847, 0x8848, 0x8863, 0x8864, 0x888e, 0x88cc, 0x88e5, 0x88f7,
        0x9000, 0xffff,
    ];
    let mut cases: Vec<_> = types
        .into_iter()
        .map(|kind| {
            let frame = ethernet(0, EtherType(kind), payload);
            case(format!("type {kind:#06x}"), Dropped, frame)
        })
        .collect();
    let six = &plain6(0)[14..];
    let name = "IPv6 under the type of IPv4";
    cases.push(case(name, Dropped, ethernet(0, EtherType::IPV4, six)));
    let name = "IPv4 under the type of IPv6";
    cases.push(case(name, Dropped, ethernet(0, EtherType::IPV6, payload)));
    cases
}

fn tagged(frame: &[u8], tags: &[(EtherType, u16)]) -> Vec<u8> {
    let inner = EtherType(u16::from_be_bytes([frame[12], frame[13]]));
    let mut ether_type = inner;
    let mut payload = frame[14..].to_vec();
    for (kind, identifier) in tags.iter().rev() {
        let tag = vlan::Repr {
            identifier: identifier & 0xfff,
            priority: (identifier >> 13) as u8,
            drop_eligible: false,
            ether_type,
        };
        payload = tag.to_bytes(&payload).unwrap();
        ether_type = *kind;
    }
    ethernet(0, ether_type, &payload)
}

/// The DUT's ports have no VLAN interface: a frame whose tag names a
/// VLAN is dropped; a tag that names none is only a priority.
fn tags() -> Vec<Case> {
    const C: EtherType = EtherType::VLAN;
    const S: EtherType = EtherType::PROVIDER_VLAN;
    let mut cases = Vec::new();
    for (family, frame) in [("IPv4", plain4(0)), ("IPv6", plain6(0))] {
        let mut with = |expect, tags: &[(EtherType, u16)]| {
            let name = format!("{family} behind {tags:04x?}");
            cases.push(case(name, expect, tagged(&frame, tags)));
        };
        with(Forwarded, &[(C, 0)]);
        with(Forwarded, &[(C, 7 << 13)]);
        with(Forwarded, &[(S, 0)]);
        for identifier in [1, 5, 2 << 13 | 5, 4094, 4095] {
            with(Dropped, &[(C, identifier)]);
            with(Dropped, &[(S, identifier)]);
        }
        with(Any, &[(C, 0), (C, 0)]);
        with(Any, &[(S, 0), (C, 0)]);
        with(Any, &[(C, 0), (C, 5)]);
        with(Dropped, &[(C, 5), (C, 0)]);
        with(Dropped, &[(S, 5), (C, 6)]);
        with(Any, &[(C, 0), (C, 0), (C, 0)]);
        let whole = tagged(&frame, &[(C, 0)]);
        for length in 14..24 {
            let cut = whole[..length].to_vec();
            cases.push(case(format!("{family} tag cut to {length}"), Any, cut));
        }
    }
    cases
}

fn lengths() -> Vec<Case> {
    let mut cases = Vec::new();
    for (family, frame) in [("IPv4", plain4(0)), ("IPv6", plain6(0))] {
        for length in 14..frame.len() {
            let name = format!("{family} frame cut to {length}");
            cases.push(case(name, Any, frame[..length].to_vec()));
        }
        for more in [1, 2, 6, 7, 18, 46, 100, 500] {
            let mut frame = frame.clone();
            frame.resize(frame.len() + more, 0xee);
            cases.push(case(format!("{family} padded by {more}"), Forwarded, frame));
        }
    }
    cases
}
