//! Captures that end at any byte, and packets that end at any byte: what is left opens,
//! and nothing more does.

use lockgate_quic::capture::{Capture, Datagram, KeyLog, Writer};
use lockgate_quic::trace::{Reason, Summary, Traced, trace};

use crate::trace::{Row, datagrams, expected, found, names, read};
use proptest::prelude::*;

/// Every place when thorough; else some, at a stride that is no length of a header.
const STRIDE: u32 = 29;

fn traced(keys: &[u8], capture: &[u8]) -> Option<Traced> {
    let backend = crypto::by_name("aws-lc").unwrap();
    let capture = Capture::open(capture).ok()?;
    let keys = KeyLog::read(keys).unwrap();
    let none: Option<&mut Writer<Vec<u8>>> = None;
    let traced = trace(&*backend, keys, capture, none).unwrap();
    let summary = &traced.summary;
    let accounted = summary.opened + summary.unprotected + summary.not_opened;
    assert_eq!(summary.packets, accounted);
    assert_eq!(summary.not_opened, summary.unopened.len() as u64);
    Some(traced)
}

fn stream_bytes(summary: &Summary) -> u64 {
    let streams = summary.connections.iter().flat_map(|own| &own.streams);
    streams.map(|one| one.bytes).sum()
}

#[test]
fn a_capture_that_ends_anywhere_opens_as_far() {
    for name in ["go-plain", "ngtcp2-retry", "quiche-zero-rtt"] {
        let (keys, capture) = (read(name, "keys"), read(name, "pcap"));
        let mut before = Summary::default();
        for end in (0..=capture.len()).step_by(testing::cases(STRIDE, 1) as usize) {
            let Some(own) = traced(&keys, &capture[..end]) else {
                assert!(end < 24, "{name} {end}: the header of the file is whole");
                continue;
            };
            let summary = own.summary;
            // What had to wait for a later packet waits no more when that comes.
            assert!(summary.packets >= before.packets, "{name} {end}");
            assert!(summary.opened >= before.opened, "{name} {end}");
            assert!(stream_bytes(&summary) >= stream_bytes(&before));
            let waits = [Reason::UnknownConnection, Reason::NoClientHello];
            let is_known = |reason: &Reason| waits.contains(reason);
            assert!(summary.reasons.keys().all(is_known), "{name} {end}");
            before = summary;
        }
        let whole = traced(&keys, &capture).unwrap();
        assert!(whole.broken.is_none() && whole.summary.not_opened == 0);
        assert!(before.opened <= whole.summary.opened);
    }
}

/// Packets that open, or have nothing to open.
fn good(summary: &Summary) -> u64 {
    summary.opened + summary.unprotected
}

fn written(all: &[Datagram]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for one in all {
        writer.datagram(one).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn a_packet_that_ends_anywhere_does_not_open_and_the_others_do() {
    for name in ["go-plain", "ngtcp2-retry"] {
        let (keys, all) = (read(name, "keys"), datagrams(name));
        let whole = traced(&keys, &written(&all)).unwrap().summary;
        assert_eq!(whole.not_opened, 0);
        for (at, one) in all.iter().enumerate() {
            let mut others = all.clone();
            others.remove(at);
            let others = traced(&keys, &written(&others)).unwrap().summary;
            let cuts = 0..one.payload.len();
            for end in cuts.step_by(testing::cases(STRIDE, 1) as usize) {
                let mut cut = all.clone();
                cut[at].payload.truncate(end);
                let summary = traced(&keys, &written(&cut)).unwrap().summary;
                let what = format!("{name} {at} {end}");
                assert!(
                    (good(&others)..good(&whole)).contains(&good(&summary)),
                    "{what}"
                );
                assert!(stream_bytes(&summary) <= stream_bytes(&whole), "{what}");
                // Behind the handshake no packet opens another.
                if one.payload[0] & 0x80 == 0 {
                    let is_own = |frame| frame == at as u64 + 1;
                    let mut lost = summary.unopened.iter();
                    assert!(lost.all(|lost| is_own(lost.frame)), "{what}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(64, 4096)))]

    /// Datagrams are lost, come again and come late: a stream that is whole is the one that
    /// was sent, and of packets none opens that did not.
    #[test]
    fn whatever_is_lost_no_stream_is_another(
        at in any::<proptest::sample::Index>(),
        fates in proptest::collection::vec(0_u8..20, 600),
        is_twice in any::<bool>(),
    ) {
        let names = names();
        let name = at.get(&names);
        let all = datagrams(name);
        let mut changed = Vec::new();
        let mut late: Option<Datagram> = None;
        for (one, fate) in all.iter().zip(fates.iter().cycle()) {
            match fate {
                0 => continue,
                1 if is_twice => changed.push(one.clone()),
                2 => changed.extend(late.replace(one.clone())),
                _ => {}
            }
            if *fate != 2 {
                changed.push(one.clone());
            }
        }
        changed.extend(late);
        let summary = traced(&read(name, "keys"), &written(&changed)).unwrap().summary;
        let streams = expected(name);
        let with_id = streams.iter().all(|row| !row.0.is_empty());
        let got: Vec<_> = found(&summary, with_id);
        // Where an application reads no stream to its end, it does not tell of it.
        let of = |row: &Row| streams.iter().find(|own| own.0 == row.0 && own.1 == row.1 && own.2 == row.2);
        for row in &got {
            prop_assert!(of(row).is_none_or(|own| own == row), "{name} {row:?}");
        }
        let whole = traced(&read(name, "keys"), &written(&all)).unwrap().summary;
        prop_assert!(is_twice || summary.opened <= whole.opened, "{name}");
    }
}
