//! What does not open: each packet says why, and nothing else is lost.

use std::net::SocketAddr;

use lockgate_quic::capture::{Datagram, KeyLog, Label};
use lockgate_quic::protection::{HeaderKey, PacketKey, TAG_BYTES};
use lockgate_quic::trace::{Kind, Reason, Side, Summary, Trace};
use lockgate_quic::{Protocol, Secret, Suite};

use crate::trace::{Row, datagrams, expected, found, read, whole};

fn traced(keys: &[u8], all: &[Datagram]) -> Summary {
    let backend = crypto::by_name("aws-lc").unwrap();
    let mut trace = Trace::new(&*backend, KeyLog::read(keys).unwrap());
    all.iter().for_each(|datagram| trace.take(datagram));
    trace.finish()
}

/// A datagram that one side sends behind the others, on the same path.
fn behind(all: &[Datagram], from: Side, payload: Vec<u8>) -> Datagram {
    let (client, last) = (all[0].source, all.last().unwrap());
    let is_own = |one: &&Datagram| (one.source == client) == (from == Side::Client);
    Datagram {
        number: last.number + 1,
        time_ns: last.time_ns,
        payload,
        ..all.iter().rfind(is_own).unwrap().clone()
    }
}

/// One datagram more is one packet more that is not open, of that kind and reason.
fn adds(name: &str, more: Datagram, kind: Kind, reason: Reason) {
    let (before, mut all) = (whole(name), datagrams(name));
    let number = more.number;
    all.push(more);
    let after = traced(&read(name, "keys"), &all);
    let [own] = after.unopened[..] else {
        panic!("{name}: {:?}", after.unopened);
    };
    assert_eq!((own.frame, own.kind, own.reason), (number, kind, reason));
    assert_eq!(after.opened, before.opened, "{name}");
    assert_eq!(found(&after, true), found(&before, true), "{name}");
}

/// The server chose AES-128-CCM: only Initial packets open.
#[test]
fn a_suite_that_is_not_supported_is_said() {
    let summary = whole("ngtcp2-ccm");
    let initial = summary.kinds[&Kind::Initial];
    assert_eq!(initial.opened, initial.packets);
    assert_eq!(summary.opened, initial.opened);
    assert_eq!(summary.packets, summary.opened + summary.not_opened);
    let is_it = |reason: &Reason| *reason == Reason::Suite;
    assert!(summary.reasons.keys().all(is_it), "{:?}", summary.reasons);
    let own = &summary.connections[0];
    assert_eq!((own.suite, own.packets), (None, summary.packets));
}

/// A whole connection of another version: its ids are nobody's.
#[test]
fn a_connection_of_another_version_is_said() {
    let summary = whole("ngtcp2-draft");
    assert_eq!(summary.packets, summary.not_opened);
    assert!(summary.connections.is_empty());
    for one in &summary.unopened {
        let wanted = match one.kind {
            Kind::UnknownVersion => Reason::Version,
            Kind::OneRtt => Reason::UnknownConnection,
            // Without the fixed bit nothing says that it is QUIC (RFC 9287).
            _ => Reason::Header,
        };
        assert_eq!(one.reason, wanted, "{one:?}");
    }
    assert!(summary.reasons[&Reason::Version] > 1);
}

/// Of a version that greases (RFC 9000 §15), and of a draft, amid a connection.
#[test]
fn a_packet_of_another_version_disturbs_nothing() {
    for version in [0x1a2a_3a4a_u32, 0xff00_001d, 0xffff_ffff] {
        for from in Side::ALL {
            let ids = [&[8][..], &[1; 8], &[0], &[7; 40]].concat();
            let packet = [&[0xc3][..], &version.to_be_bytes(), &ids].concat();
            let more = behind(&datagrams("plain"), from, packet);
            adds("plain", more, Kind::UnknownVersion, Reason::Version);
        }
    }
}

/// Seals a packet whose number, 1000, is at `number_at`.
fn seal(first: &Secret, secret: &Secret, packet: &mut [u8], number_at: usize) {
    let backend = crypto::by_name("aws-lc").unwrap();
    let (protocol, suite) = (Protocol::V1, Suite::Aes128Gcm);
    let header = HeaderKey::derive(protocol, suite, first);
    let payload = PacketKey::derive(&*backend, protocol, suite, secret).unwrap();
    payload.seal(&header, packet, number_at, 1000).unwrap();
}

/// Its number, PING frames, and room for the tag.
fn body() -> Vec<u8> {
    [&[0x03, 0xe8][..], &[1; 30], &[0; TAG_BYTES]].concat()
}

/// A 1-RTT packet of the client, as it seals them after so many key updates.
fn one_rtt(name: &str, first: u8, updates: usize) -> Vec<u8> {
    let (all, keys) = (datagrams(name), read(name, "keys"));
    let text = std::str::from_utf8(&keys).unwrap();
    let random = text.split(' ').nth(1).unwrap();
    let byte = |at| u8::from_str_radix(&random[2 * at..2 * at + 2], 16).unwrap();
    let log = KeyLog::read(&keys[..]).unwrap();
    let secret = log.secret(&std::array::from_fn(byte), Label::ClientTraffic);
    let secret = secret.unwrap();
    let next = |own: Secret, _| Protocol::V1.next_secret(Suite::Aes128Gcm, &own);
    let now = (0..updates).fold(secret.clone(), next);
    let is_short = |one: &&Datagram| one.source == all[0].source && one.payload[0] & 0x80 == 0;
    let id = &all.iter().find(is_short).unwrap().payload[1..9];
    let mut packet = [&[first][..], id, &body()].concat();
    seal(secret, &now, &mut packet, 9);
    packet
}

/// An Initial packet of a side, with ids of eight bytes.
fn initial(all: &[Datagram], first: u8, from: Side) -> Vec<u8> {
    let [client, server] = &Protocol::V1.initial_secrets(&all[0].payload[6..14]);
    let secret = if from == Side::Client { client } else { server };
    let head = match from {
        Side::Client => &all[0].payload[1..23],
        Side::Server => &[&[0, 0, 0, 1][..], &all[0].payload[14..23], &[0]].concat(),
    };
    let (token_bytes, body) = (0, body());
    let length = [0x40, body.len() as u8];
    let mut packet = [&[first][..], head, &[token_bytes], &length, &body].concat();
    let number_at = packet.len() - body.len();
    seal(secret, secret, &mut packet, number_at);
    packet
}

#[test]
fn reserved_bits_under_a_tag_that_matches_are_said() {
    let reason = Reason::ReservedBits;
    for (name, updates) in [("plain", 0), ("key-updates", 3), ("key-updates", 4)] {
        let all = datagrams(name);
        let first = 0x41 | (updates as u8 & 1) << 2;
        for reserved in [0x08, 0x10, 0x18] {
            let packet = one_rtt(name, first | reserved, updates);
            adds(
                name,
                behind(&all, Side::Client, packet),
                Kind::OneRtt,
                reason,
            );
        }
        // Without them it opens.
        let more = behind(&all, Side::Client, one_rtt(name, first, updates));
        let summary = traced(&read(name, "keys"), &[all, vec![more]].concat());
        assert_eq!(summary.unopened, []);
    }
    let all = datagrams("plain");
    for from in Side::ALL {
        for reserved in [0x04, 0x08, 0x0c] {
            let packet = initial(&all, 0xc1 | reserved, from);
            adds("plain", behind(&all, from, packet), Kind::Initial, reason);
        }
        let more = behind(&all, from, initial(&all, 0xc1, from));
        let summary = traced(&read("plain", "keys"), &[all.clone(), vec![more]].concat());
        assert_eq!(summary.unopened, []);
    }
    // Of a connection's first packet, too.
    let first = behind(&all, Side::Client, initial(&all, 0xc5, Side::Client));
    let summary = traced(b"", &[first]);
    assert_eq!(
        summary.reasons.into_iter().collect::<Vec<_>>(),
        [(reason, 1)]
    );
}

/// Only a token that the connection was told makes a reset.
#[test]
fn a_stateless_reset_is_known_by_its_token() {
    let (name, mut all) = ("ngtcp2-reset", datagrams("ngtcp2-reset"));
    let before = whole(name);
    let is_it = |summary: &Summary| summary.kinds.contains_key(&Kind::StatelessReset);
    assert!(is_it(&before));
    let last = all.last_mut().unwrap();
    *last.payload.last_mut().unwrap() ^= 1;
    let number = last.number;
    let forged = traced(&read(name, "keys"), &all);
    let [own] = forged.unopened[..] else {
        panic!("{:?}", forged.unopened);
    };
    assert_eq!((own.frame, own.reason), (number, Reason::Authentication));
    assert!(!is_it(&forged));
    assert_eq!(forged.opened, before.opened);
}

/// Of clients with ids of no bytes only the port tells which one is meant: at once on
/// several ports, and one after the other on the same one.
#[test]
fn clients_without_ids_are_told_apart_by_their_ports() {
    let names = ["go-plain", "go-v2", "go-key-updates"];
    let keys = names.map(|name| read(name, "keys")).concat();
    let all = names.map(datagrams);
    let mut streams: Vec<_> = names.iter().flat_map(|name| expected(name)).collect();
    streams.sort();
    let longest = all.iter().map(Vec::len).max().unwrap();
    let at_once = (0..longest).flat_map(|at| all.iter().filter_map(move |own| own.get(at)));
    let port_of = |own: &[Datagram]| own[0].source.port();
    let ports: std::collections::BTreeSet<_> = all.iter().map(|own| port_of(own)).collect();
    assert_eq!(ports.len(), names.len());
    let in_turn = all.iter().flat_map(|own| {
        own.iter().map(|one| {
            let moved = |end: SocketAddr| match end.port() == port_of(own) {
                true => SocketAddr::new(end.ip(), 50_000),
                false => end,
            };
            Datagram {
                source: moved(one.source),
                destination: moved(one.destination),
                ..one.clone()
            }
        })
    });
    for all in [at_once.cloned().collect(), in_turn.collect::<Vec<_>>()] {
        let summary = traced(&keys, &all);
        assert_eq!(summary.unopened, []);
        assert_eq!(summary.connections.len(), names.len());
        assert_eq!(found(&summary, false), streams);
    }
}

/// Without one side's secrets the other's packets open, and its streams are whole. Where a
/// client moves to another port, the ids from then on were told in what does not open.
#[test]
fn secrets_of_one_side_open_what_it_sent() {
    for name in crate::trace::names() {
        for side in Side::ALL {
            let keys = String::from_utf8(read(&name, "keys")).unwrap();
            let label = side.other().name().to_uppercase();
            let own = keys.lines().filter(|line| !line.starts_with(&label));
            let own = own.collect::<Vec<_>>().join("\n");
            let summary = traced(own.as_bytes(), &datagrams(&name));
            let mut reasons = summary.reasons.keys();
            if name.ends_with("migration") {
                let known = [Reason::NoSecret, Reason::UnknownConnection, Reason::Header];
                assert!(reasons.all(|reason| known.contains(reason)), "{name}");
                continue;
            }
            let is_it = reasons.all(|reason| *reason == Reason::NoSecret);
            assert!(is_it, "{name}: {:?}", summary.reasons);
            let of_side = |mut rows: Vec<Row>| {
                rows.retain(|row| row.2 == side.name());
                rows
            };
            let wanted = of_side(found(&whole(&name), true));
            assert_eq!(of_side(found(&summary, true)), wanted, "{name}");
        }
    }
}
