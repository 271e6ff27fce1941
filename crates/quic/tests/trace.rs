//! Captures of other people's stacks (`scripts/quic-captures.sh`): every packet is
//! accounted for, and streams carried what their applications say.

use std::path::{Path, PathBuf};

use lockgate_quic::capture::{Capture, Datagram, Datagrams, Item, KeyLog, Writer};
use lockgate_quic::trace::{Kind, Reason, Summary, Trace, trace};
use lockgate_quic::{Protocol, Suite};

/// Of a suite and of a version that are not supported: see `unopened.rs`.
const NOT_SUPPORTED: [&str; 2] = ["ngtcp2-ccm", "ngtcp2-draft"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures")
}

pub fn names() -> Vec<String> {
    let all = std::fs::read_dir(folder()).unwrap();
    let names = all.filter_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.strip_suffix(".pcap").map(str::to_owned)
    });
    let mut names: Vec<_> = names.collect();
    names.retain(|name| !NOT_SUPPORTED.contains(&&**name));
    names.sort();
    assert!(names.len() >= 31, "{names:?}");
    names
}

pub fn read(name: &str, kind: &str) -> Vec<u8> {
    std::fs::read(folder().join(format!("{name}.{kind}"))).unwrap()
}

pub fn datagrams(name: &str) -> Vec<Datagram> {
    let mut datagrams = Datagrams::new();
    let capture = read(name, "pcap");
    let all = Capture::open(&capture[..]).unwrap().map(|item| {
        let Item::Packet(frame) = item.unwrap() else {
            panic!("tcpdump writes packets only");
        };
        datagrams.datagram(&frame).expect("all are UDP")
    });
    all.collect()
}

/// What is made of a capture, of which `change` may change and leave out datagrams.
fn traced(name: &str, keys: &[u8], mut change: impl FnMut(u64, &mut Vec<u8>) -> bool) -> Summary {
    let backend = crypto::by_name("aws-lc").unwrap();
    let keys = KeyLog::read(keys).unwrap();
    let mut trace = Trace::new(&*backend, keys);
    for mut datagram in datagrams(name) {
        if change(datagram.number, &mut datagram.payload) {
            trace.take(&datagram);
        }
    }
    trace.finish()
}

pub fn whole(name: &str) -> Summary {
    traced(name, &read(name, "keys"), |_, _| true)
}

/// Connection, stream, sender, bytes and digest.
pub type Row = (String, u64, String, u64, String);

/// Streams as the applications saw them, without the connection's id where that is not known.
pub fn expected(name: &str) -> Vec<Row> {
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&read(name, "json")).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let row = |row: &serde_json::Value| {
        assert_eq!(row["is_whole"], true);
        (
            text(&row["connection"]),
            row["id"].as_u64().unwrap(),
            text(&row["from"]),
            row["bytes"].as_u64().unwrap(),
            text(&row["sha256"]),
        )
    };
    let mut rows: Vec<_> = rows.iter().map(row).collect();
    rows.sort();
    rows
}

pub fn found(summary: &Summary, with_id: bool) -> Vec<Row> {
    let of = summary.connections.iter().flat_map(|own| {
        let id = if with_id {
            own.id.clone()
        } else {
            String::new()
        };
        own.streams
            .iter()
            .filter(|one| one.is_whole)
            .map(move |one| {
                let from = one.from.name().to_owned();
                (id.clone(), one.id, from, one.bytes, one.sha256.clone())
            })
    });
    let mut rows: Vec<_> = of.collect();
    rows.sort();
    rows
}

#[test]
fn every_packet_opens_and_every_stream_is_as_it_was_sent() {
    for name in names() {
        let summary = whole(&name);
        assert_eq!(summary.unopened, [], "{name}");
        assert_eq!(summary.not_opened, 0, "{name}");
        assert_eq!(
            summary.packets,
            summary.opened + summary.unprotected,
            "{name}"
        );
        let streams = expected(&name);
        let with_id = streams.iter().all(|row| !row.0.is_empty());
        let got = found(&summary, with_id);
        assert!(!streams.is_empty());
        for row in &streams {
            assert!(got.contains(row), "{name}: {row:?} is not among {got:?}");
        }
        for own in &summary.connections {
            assert_eq!((own.strange_frames, own.left_out), (0, 0), "{name}");
        }
    }
}

#[test]
fn what_the_cases_are_about_is_seen() {
    let count = |summary: &Summary, kind| summary.kinds.get(&kind).map_or(0, |one| one.packets);
    let one = |name: &str| {
        let summary = whole(name);
        let connection = summary.connections.last().unwrap().clone();
        (summary, connection)
    };
    for (name, suite) in [
        ("plain", Suite::Aes128Gcm),
        ("aes256", Suite::Aes256Gcm),
        ("chacha20", Suite::ChaCha20Poly1305),
        ("quiche-chacha20", Suite::ChaCha20Poly1305),
        ("ngtcp2-aes256", Suite::Aes256Gcm),
    ] {
        let (_, connection) = one(name);
        assert_eq!(connection.suite, Some(suite));
        assert_eq!(connection.version, Protocol::V1);
    }
    for name in [
        "v2",
        "v1-to-v2",
        "retry-v2",
        "version-negotiation",
        "go-v2",
        "ngtcp2-v2",
        "ngtcp2-v1-to-v2",
    ] {
        assert_eq!(one(name).1.version, Protocol::V2, "{name}");
    }
    for name in ["retry", "retry-v2", "quiche-retry", "ngtcp2-retry"] {
        assert_eq!(count(&one(name).0, Kind::Retry), 1, "{name}");
    }
    assert!(count(&one("version-negotiation").0, Kind::VersionNegotiation) > 0);
    for name in ["zero-rtt", "quiche-zero-rtt"] {
        assert!(count(&one(name).0, Kind::ZeroRtt) > 0, "{name}");
    }
    for name in ["key-updates", "ngtcp2-key-updates"] {
        assert_eq!(one(name).1.key_updates, [3, 3], "{name}");
    }
    assert_eq!(count(&one("ngtcp2-reset").0, Kind::StatelessReset), 1);
    let updates = one("go-key-updates").1.key_updates;
    assert!(updates.iter().all(|count| *count > 0), "{updates:?}");
    assert_eq!(whole("several").connections.len(), 5);
    for name in ["migration", "quiche-migration", "ngtcp2-migration"] {
        let (summary, connection) = one(name);
        assert_eq!(summary.connections.len(), 1, "{name}");
        assert_eq!(connection.packets, summary.packets, "{name}");
    }
}

#[test]
fn the_committed_schema_is_the_types_own() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/trace-v1.schema.json");
    let own = lockgate_quic::trace::schema();
    if std::env::var_os("LOCKGATE_BLESS").is_some() {
        std::fs::write(path, &own).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert_eq!(
        committed, own,
        "the types changed: raise SCHEMA_VERSION if old documents no longer read, then LOCKGATE_BLESS=1"
    );
}

/// The copy has the secrets, and opens by itself.
#[test]
fn a_copy_with_secrets_opens_without_a_key_log() {
    let backend = crypto::by_name("aws-lc").unwrap();
    for name in ["plain", "retry", "go-key-updates"] {
        let (packets, keys) = (read(name, "pcap"), read(name, "keys"));
        let mut copy = Writer::new(Vec::new()).unwrap();
        copy.secrets(&keys).unwrap();
        let capture = Capture::open(&packets[..]).unwrap();
        let log = KeyLog::read(&keys[..]).unwrap();
        let first = trace(&*backend, log, capture, Some(&mut copy)).unwrap();
        let copy = copy.finish().unwrap();
        let capture = Capture::open(&copy[..]).unwrap();
        let none: Option<&mut Writer<Vec<u8>>> = None;
        let second = trace(&*backend, KeyLog::default(), capture, none).unwrap();
        assert_eq!(first.summary, second.summary, "{name}");
        assert_eq!(second.summary.not_opened, 0, "{name}");
    }
}

/// Without a secret nothing but Initial packets opens, and it is said why.
#[test]
fn without_secrets_it_is_said() {
    for name in names() {
        let summary = traced(&name, b"", |_, _| true);
        // Ids of later are told in packets that do not open. And of a packet to such an id
        // from elsewhere nothing says that it is one, without the fixed bit (RFC 9287).
        let mut known = vec![Reason::NoSecret, Reason::UnknownConnection];
        known.extend((name == "ngtcp2-migration").then_some(Reason::Header));
        assert!(
            summary.reasons.keys().all(|why| known.contains(why)),
            "{name}"
        );
        assert!(summary.reasons[&Reason::NoSecret] > 0, "{name}");
        let initial = summary.kinds[&Kind::Initial];
        assert_eq!(summary.opened, initial.opened, "{name}");
        assert_eq!(initial.opened, initial.packets, "{name}");
    }
}

/// A changed packet does not open, and changes nothing else.
#[test]
fn a_changed_packet_is_told_and_the_others_open() {
    for name in ["plain", "key-updates", "go-plain"] {
        let last = whole(name).packets;
        for (number, at) in [(last / 2, 30), (last / 2 + 3, 25), (last / 3, 500)] {
            let mut is_changed = false;
            let summary = traced(name, &read(name, "keys"), |own, payload| {
                if own == number && at < payload.len() {
                    payload[at] ^= 1;
                    is_changed = true;
                }
                true
            });
            if is_changed {
                assert!(
                    summary.not_opened >= 1,
                    "{name} {number}: {:?}",
                    summary.kinds
                );
                assert!(
                    summary.not_opened <= 3,
                    "{name} {number}: {:?}",
                    summary.unopened
                );
            }
        }
    }
}

/// A capture that begins late has packets of nobody that it knows.
#[test]
fn a_capture_that_begins_late_says_so() {
    let summary = traced("plain", &read("plain", "keys"), |number, _| number > 8);
    assert_eq!(summary.opened, 0);
    assert!(summary.reasons.contains_key(&Reason::UnknownConnection));
    assert_eq!(summary.packets, summary.not_opened);
}

/// In whatever order datagrams come, as long as they come soon: all open.
#[test]
fn the_order_of_datagrams_does_not_matter() {
    let backend = crypto::by_name("aws-lc").unwrap();
    for name in ["plain", "retry", "ids", "v1-to-v2", "zero-rtt"] {
        let mut all = datagrams(name);
        for pair in all.chunks_mut(2) {
            pair.reverse();
        }
        let keys = KeyLog::read(&read(name, "keys")[..]).unwrap();
        let mut trace = Trace::new(&*backend, keys);
        all.iter().for_each(|datagram| trace.take(datagram));
        let summary = trace.finish();
        assert_eq!(summary.unopened, [], "{name}");
    }
}
