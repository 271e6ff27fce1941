#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;

fn receiving() -> Arc<Receiving> {
    let backend = crypto::by_name("kernels").unwrap();
    Receiving::new(&backend, &Arc::default())
}

/// As it comes out of the socket.
fn through(receiving: &Receiving, packet: &[u8]) -> Vec<u8> {
    let mut to = vec![0; packet.len()];
    let path = Path::new((Ipv4Addr::LOCALHOST, 1).into(), 0);
    receiving.open(std::iter::once((path, packet, &mut to[..])), 0);
    to
}

const OPENED: Mark = Mark::Opened { place: 0, phase: 0 };

/// Whoever knew the secret could still not bring in an opened packet.
#[test]
fn what_arrives_with_a_mark_is_spoilt() {
    for number_at in [0, 9] {
        let receiving = receiving();
        receiving.number_at.store(number_at, Ordering::Release);
        for first in [0x40, 0xc0] {
            let mut packet = vec![7; 100];
            packet[0] = first;
            packet.extend_from_slice(&OPENED.of(5));
            let out = through(&receiving, &packet);
            assert!(!Marked::of(&out).is_opened());
            assert_eq!(out[..100], packet[..100]);
        }
        assert_eq!(receiving.counters.counts().spoilt, 2);
        // A mark elsewhere is no mark.
        let packet = [&OPENED.of(5)[..], &[1; 40]].concat();
        assert_eq!(through(&receiving, &packet), packet);
        assert_eq!(receiving.counters.counts().spoilt, 2);
        for bytes in 0..40 {
            let short = vec![0x40; bytes];
            assert_eq!(through(&receiving, &short), short);
        }
    }
}

/// Takes packets, or none.
struct Inline(bool);

impl PacketKey for Inline {
    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}

    fn decrypt(&self, _: u64, _: &[u8], _: &mut BytesMut) -> Result<(), CryptoError> {
        self.0.then_some(()).ok_or(CryptoError)
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    fn confidentiality_limit(&self) -> u64 {
        1
    }

    fn integrity_limit(&self) -> u64 {
        1
    }
}

/// A mark is good for one packet number, connection and key phase.
#[test]
fn a_mark_of_another_packet_opens_nothing() {
    let receiving = receiving();
    let suite = Suite::Aes128Gcm;
    let material = suite.packets().material(&[1; 16], &[2; 16], &[3; 12]);
    let receiver = Receiver::new(&receiving, suite, &material).unwrap();
    receiver.place.store(0, Ordering::Release);
    let opening = Opening {
        inline: Box::new(Inline(false)),
        receiver,
        phase: 3,
    };
    let opens = |mark: Mark, of: u64, number: u64| {
        let mut payload = BytesMut::from(&b"text"[..]);
        payload.extend_from_slice(&mark.of(of));
        let opened = opening.decrypt(number, &[0x40], &mut payload);
        opened.map(|()| payload)
    };
    let right = Mark::Opened { place: 0, phase: 3 };
    assert_eq!(opens(right, 9, 9).unwrap(), &b"text"[..]);
    assert!(opens(right, 9, 10).is_err());
    assert!(opens(Mark::Opened { place: 1, phase: 3 }, 9, 9).is_err());
    for phase in [0, 1, 2, 4, 5] {
        assert!(opens(Mark::Opened { place: 0, phase }, 9, 9).is_err());
    }
    assert!(opens(Mark::Unsealed, 9, 9).is_err());
    assert!(opens(Mark::Unprotected, 9, 9).is_err());
    // Not in the table: nothing of it was opened there.
    opening.receiver.place.store(NOT_KNOWN, Ordering::Release);
    assert!(opens(right, 9, 9).is_err());
}

#[test]
fn the_secrets_of_marks_differ() {
    let all = [Mark::Unsealed, OPENED, Mark::Unprotected].map(|mark| mark.of(0));
    assert!(all[0][..8] != all[1][..8] && all[1][..8] != all[2][..8] && all[0][..8] != all[2][..8]);
}

/// Of the connection that [`learnt`] has.
const ID: &[u8] = b"12345678";

/// With one connection in its table, and what keeps it there.
fn learnt() -> (Arc<Receiving>, Arc<Receiver>) {
    let receiving = receiving();
    let suite = Suite::Aes128Gcm;
    let material = |phase| suite.packets().material(&[1; 16], &[phase; 16], &[3; 12]);
    let receiver = Receiver::new(&receiving, suite, &material(0)).unwrap();
    receiver.later(material(1));
    receiver.learn(ID);
    assert_ne!(receiver.place.load(Ordering::Acquire), NOT_KNOWN);
    (receiving, receiver)
}

/// A connection that made room for another has no keys any more, and gets none.
#[test]
fn no_keys_are_kept_for_a_connection_that_is_gone() {
    let (receiving, receiver) = learnt();
    let material = |phase| {
        let suite = Suite::Aes128Gcm;
        suite.packets().material(&[1; 16], &[phase; 16], &[3; 12])
    };
    receiver.later(material(2));
    assert_eq!(receiving.known().later.len(), 1);
    let handle = receiver.state().handle.unwrap();
    receiving.known().later.clear();
    receiving.known().table.remove(handle).unwrap();
    receiver.later(material(3));
    assert!(receiving.known().later.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(200, 20_000)))]

    /// Whatever a peer sends that is not sealed for a connection comes out as it came in,
    /// beside packets that are.
    #[test]
    fn what_is_not_sealed_comes_out_as_it_came(
        datagrams in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 0..120), any::<bool>(), any::<bool>()),
            1..80,
        ),
    ) {
        let (receiving, _receiver) = learnt();
        let mut number = 0;
        let datagrams: Vec<(Vec<u8>, Option<Vec<u8>>)> = datagrams
            .into_iter()
            .map(|(mut bytes, has_id, is_sealed)| {
                if is_sealed {
                    number += 1;
                    let (packet, open) = sealed((number, 4), &bytes);
                    return (packet, Some(open));
                }
                if has_id && bytes.len() > ID.len() {
                    bytes[0] &= 0x7f;
                    bytes[1..=ID.len()].copy_from_slice(ID);
                }
                (bytes, None)
            })
            .collect();
        let mut out: Vec<Vec<u8>> = datagrams.iter().map(|(one, _)| vec![0; one.len()]).collect();
        let path = Path::new((Ipv4Addr::LOCALHOST, 1).into(), 0);
        let pairs = datagrams.iter().zip(&mut out);
        receiving.open(pairs.map(|((from, _), to)| (path, &from[..], &mut to[..])), 0);
        for ((datagram, open), out) in datagrams.iter().zip(&out) {
            match open {
                None => prop_assert_eq!(out, datagram),
                Some(open) => {
                    prop_assert!(Marked::of(out).is_opened());
                    prop_assert_eq!(&out[..open.len()], &open[..]);
                }
            }
        }
        let counts = receiving.counters.counts();
        prop_assert_eq!((counts.opened_together, counts.spoilt), (number, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(100, 2_000)))]

    /// However many packets were opened alone, as after a move to another id: the numbers
    /// of those that follow are as short as their sender may make them.
    #[test]
    fn what_was_opened_alone_counts(
        runs in prop::collection::vec((0..600_u64, 1..100_u64, any::<bool>()), 1..12),
    ) {
        let (receiving, receiver) = learnt();
        let opening = Opening {
            inline: Box::new(Inline(true)),
            receiver,
            phase: 0,
        };
        let header = [&[0x40], ID, &[0]].concat();
        let (mut next, mut together) = (1_u64, 0);
        for (alone, count, is_lost) in runs {
            for number in next..next + alone {
                let mut payload = BytesMut::from(&[0; 40][..]);
                opening.decrypt(number, &header, &mut payload).unwrap();
            }
            next += alone;
            for number in next..next + count {
                // One byte does for 128 numbers under way (RFC 9000, section 17.1).
                let (packet, open) = sealed((number, 1), &[5; 40]);
                if is_lost && number + 1 < next + count {
                    continue;
                }
                let out = through(&receiving, &packet);
                prop_assert!(Marked::of(&out).is_opened(), "{number} after {alone} alone");
                prop_assert_eq!(&out[..open.len()], &open[..]);
                together += 1;
            }
            next += count;
        }
        prop_assert_eq!(receiving.counters.counts().opened_together, together);
    }
}

/// A packet of the connection, whose number has so many bytes, and the same open.
fn sealed((number, bytes): (u64, usize), text: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let backend = crypto::by_name("aws-lc").unwrap();
    let packets = Suite::Aes128Gcm.packets();
    let material = packets.material(&[1; 16], &[0; 16], &[3; 12]);
    let key = backend.key(Algorithm::Packets(packets), &material).unwrap();
    let shown = &number.to_be_bytes()[8 - bytes..];
    let mut open = [&[0x3f + bytes as u8][..], ID, shown].concat();
    open.extend_from_slice(text);
    let mut packet = vec![0; open.len() + TAG_BYTES];
    let mut slices = [crypto::PacketSlices {
        key: &*key,
        place: crypto::PacketPlace {
            number,
            number_at: 1 + ID.len() as u16,
            phase: None,
        },
        source: &open,
        destination: &mut packet,
        status: crypto::Status::BackendFailed,
    }];
    crypto::process_packets(&*backend, packets, crypto::Operation::Encrypt, &mut slices);
    assert_eq!(slices[0].status, crypto::Status::Ok);
    (packet, open)
}
