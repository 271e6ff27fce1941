#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

use std::net::Ipv4Addr;

use proptest::prelude::*;
use quic::protection::{HeaderKey, PacketKey, Unmasked};
use quic::{Protocol, Secret};
use wire::quic::SAMPLE_BYTES;

use super::*;
use crate::keys::testing::{failing_key, seal_key};

const ID: &[u8] = b"12345678";
const SUITE: quic::Suite = quic::Suite::Aes128Gcm;

fn secret(which: u8) -> Secret {
    Secret::new(vec![which; 32])
}

/// A datagram: what comes before its last packet, and whether that is still to be sealed.
#[derive(Clone, Debug)]
struct Planned {
    before: usize,
    text: usize,
    is_unsealed: bool,
}

#[derive(Clone, Debug)]
struct Turn {
    to: u16,
    ecn: bool,
    key: u8,
    /// All but the last have the first's size.
    datagrams: Vec<Planned>,
}

struct Expected {
    way: (u16, bool),
    built: Vec<u8>,
    note: Option<Unsealed>,
    key: u8,
}

fn planned() -> impl Strategy<Value = Planned> {
    (0_usize..40, 20_usize..200, any::<bool>()).prop_map(|(before, text, is_unsealed)| Planned {
        before: if before < 30 { 0 } else { before },
        text,
        is_unsealed,
    })
}

fn turn() -> impl Strategy<Value = Turn> {
    let datagrams = prop::collection::vec(planned(), 1..12);
    (1_u16..4, any::<bool>(), 0_u8..2, datagrams).prop_map(|(to, ecn, key, datagrams)| Turn {
        to,
        ecn,
        key,
        datagrams,
    })
}

/// A datagram as quinn leaves it, and its note.
fn datagram(planned: &Planned, number: u64, bytes: usize) -> (Vec<u8>, Option<Unsealed>) {
    let mut built = vec![0xc3; planned.before];
    built.push(0x43);
    built.extend_from_slice(ID);
    built.extend_from_slice(&(number as u32).to_be_bytes());
    let fill = bytes - built.len() - TAG_BYTES;
    built.extend((0..fill).map(|at| (at as u64 * 31 + number) as u8));
    let unsealed = Unsealed {
        number,
        number_at: 1 + ID.len() as u16,
        bytes: bytes - planned.before,
    };
    match planned.is_unsealed {
        true => {
            built.extend_from_slice(&unsealed.mark());
            (built, Some(unsealed))
        }
        false => {
            built.extend_from_slice(&[0x77; TAG_BYTES]);
            (built, None)
        }
    }
}

/// What arrived is what was built: sealed packets open by the reference.
fn is_as_built(arrived: &[u8], built: &[u8], unsealed: Option<Unsealed>, key: u8) {
    let Some(unsealed) = unsealed else {
        assert_eq!(arrived, built);
        return;
    };
    let before = built.len() - unsealed.bytes;
    assert_eq!(arrived[..before], built[..before]);
    let backend = crypto::by_name("aws-lc").unwrap();
    let secret = secret(key);
    let header = HeaderKey::derive(Protocol::V1, SUITE, &secret);
    let packets = PacketKey::derive(&*backend, Protocol::V1, SUITE, &secret).unwrap();
    let mut packet = arrived[before..].to_vec();
    let largest = unsealed.number.checked_sub(1);
    let shown = Unmasked::new(
        &header,
        &mut packet,
        usize::from(unsealed.number_at),
        largest,
    );
    let opened = shown.unwrap().open(&packets).ok().expect("it is sealed");
    let payload_at = before + usize::from(unsealed.number_at) + 4;
    assert_eq!(opened.number, unsealed.number);
    assert_eq!(*opened.payload, built[payload_at..built.len() - TAG_BYTES]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(150, 5000)))]

    /// Every datagram arrives, on its way, in order, once; sealed if it was to be; in
    /// messages that a kernel takes.
    #[test]
    fn datagrams_arrive_as_they_were_built(
        turns in prop::collection::vec(turn(), 1..40),
        segments_max in 1_usize..65,
        seals_later in any::<bool>(),
        flushes in prop::collection::vec(any::<bool>(), 40),
    ) {
        let keys = [0, 1].map(|which| seal_key(&secret(which)));
        let mut outbox = Outbox::new(segments_max, seals_later);
        let mut sealed = buffer();
        let mut expected: Vec<Expected> = Vec::new();
        let mut arrived: Vec<(u16, bool, Vec<u8>)> = Vec::new();
        let mut number = 0;
        let mut drain = |outbox: &mut Outbox, only_complete| {
            while let Some(mut message) = outbox.next(only_complete) {
                message.seal(&mut sealed).unwrap();
                let transmit = message.transmit();
                let bytes = transmit.contents.len();
                let segment = transmit.segment_size.unwrap_or(bytes);
                assert!(bytes <= MESSAGE_BYTES_MAX && bytes.div_ceil(segment) <= segments_max);
                assert_eq!(bytes.div_ceil(segment), message.count);
                for one in transmit.contents.chunks(segment) {
                    let to = transmit.destination.port();
                    arrived.push((to, transmit.ecn.is_some(), one.to_vec()));
                }
                outbox.recycle(message);
            }
        };
        for (turn, flush) in turns.iter().zip(flushes) {
            let size = |one: &Planned| one.before + 13 + one.text + SAMPLE_BYTES;
            let most = turn.datagrams.iter().map(size).max().unwrap();
            let count = turn.datagrams.len();
            let (mut contents, mut notes) = (Vec::new(), Vec::new());
            for (index, one) in turn.datagrams.iter().enumerate() {
                let bytes = if index + 1 == count { size(one) } else { most };
                let (built, note) = datagram(one, number, bytes);
                number += 1;
                notes.extend(note);
                contents.extend_from_slice(&built);
                expected.push(Expected { way: (turn.to, turn.ecn), built, note, key: turn.key });
            }
            let transmit = Transmit {
                destination: (Ipv4Addr::LOCALHOST, turn.to).into(),
                ecn: turn.ecn.then_some(EcnCodepoint::Ect0),
                contents: &contents,
                segment_size: (count > 1).then_some(most),
                src_ip: None,
            };
            let key = &keys[usize::from(turn.key)];
            let key = (!notes.is_empty()).then_some(key);
            let taken = outbox.take(&transmit, key, &notes).unwrap();
            let sealed_now = if seals_later { 0 } else { notes.len() };
            prop_assert_eq!(taken, Taken { sealed: sealed_now, not_sealed: 0 });
            drain(&mut outbox, !flush);
        }
        drain(&mut outbox, false);
        prop_assert_eq!(outbox.messages(), 0);
        prop_assert_eq!(arrived.len(), expected.len());
        for ((to, ecn, bytes), expected) in arrived.iter().zip(&expected) {
            prop_assert_eq!((*to, *ecn), expected.way);
            is_as_built(bytes, &expected.built, expected.note, expected.key);
        }
    }
}

fn transmit(contents: &[u8]) -> Transmit<'_> {
    Transmit {
        destination: (Ipv4Addr::LOCALHOST, 1).into(),
        ecn: None,
        contents,
        segment_size: None,
        src_ip: None,
    }
}

/// A note without its packet: nothing is taken in.
#[test]
fn what_does_not_match_its_note_is_not_sent() {
    let key = seal_key(&secret(1));
    for seals_later in [false, true] {
        let planned = Planned {
            before: 0,
            text: 50,
            is_unsealed: true,
        };
        let (built, note) = datagram(&planned, 7, 100);
        let note = note.unwrap();
        let mut others = built.clone();
        *others.last_mut().unwrap() ^= 1;
        let wrong = [
            (&others[..], note),
            (&built[..99], note),
            (&built[..], Unsealed { number: 8, ..note }),
            (&built[..], Unsealed { bytes: 101, ..note }),
            (
                &built[..],
                Unsealed {
                    number_at: 0,
                    ..note
                },
            ),
        ];
        for (contents, note) in wrong {
            let mut outbox = Outbox::new(64, seals_later);
            assert!(
                outbox
                    .take(&transmit(contents), Some(&key), &[note])
                    .is_err()
            );
            assert_eq!(outbox.messages(), 0);
        }
        let mut outbox = Outbox::new(64, seals_later);
        let taken = outbox.take(&transmit(&built), Some(&key), &[note]).unwrap();
        assert_eq!(taken.sealed, usize::from(!seals_later));
        assert_eq!(outbox.messages(), 1);
    }
}

/// A datagram to that port, all of it one packet that is to be sealed.
fn take(
    outbox: &mut Outbox,
    key: &Arc<SealKey>,
    (to, number): (u16, u64),
    bytes: usize,
) -> (Vec<u8>, Taken) {
    let planned = Planned {
        before: 0,
        text: 50,
        is_unsealed: true,
    };
    let (built, note) = datagram(&planned, number, bytes);
    let transmit = Transmit {
        destination: (Ipv4Addr::LOCALHOST, to).into(),
        ..transmit(&built)
    };
    let taken = outbox.take(&transmit, Some(key), &[note.unwrap()]).unwrap();
    (built, taken)
}

/// Whether a part of a text that was to be sealed stands there.
fn holds(bytes: &[u8], built: &[u8]) -> bool {
    let text = &built[20..36];
    bytes.windows(text.len()).any(|window| window == text)
}

/// The buffer that packets are sealed to holds what an earlier message said: when a
/// back-end fails, that must not leave, nor what the message itself says.
#[test]
fn nothing_leaves_when_a_back_end_fails() {
    let (works, fails) = (seal_key(&secret(1)), failing_key(&secret(2)));
    let mut outbox = Outbox::new(64, true);
    let mut sealed = buffer();
    let (earlier, _) = take(&mut outbox, &works, (1, 1), 1200);
    let mut message = outbox.next(false).unwrap();
    assert_eq!(message.seal(&mut sealed), Ok(1));
    assert!(holds(&sealed[..], &earlier), "else this proves nothing");
    outbox.recycle(message);
    // Of two keys, of which one works.
    for keys in [[&works, &fails], [&fails, &works], [&fails, &fails]] {
        assert_eq!(take(&mut outbox, &works, (2, 2), 1200).1, Taken::default());
        let mut plain = outbox.next(false).unwrap();
        plain.seal(&mut sealed).unwrap();
        assert!(sealed[..100].iter().any(|byte| *byte != 0));
        outbox.recycle(plain);
        let own = keys.map(|key| take(&mut outbox, key, (1, 5), 1200).0);
        let mut message = outbox.next(false).unwrap();
        assert_eq!(message.count, 2);
        let packets = keys.iter().filter(|key| Arc::ptr_eq(key, &fails)).count();
        assert_eq!(message.seal(&mut sealed), Err(NotSealed { packets }));
        assert_eq!((message.count, message.used), (0, 0));
        for left in [&sealed[..], &message.bytes[..]] {
            assert!(!own.iter().any(|own| holds(left, own)) && !holds(left, &earlier));
        }
        outbox.recycle(message);
        assert_eq!(outbox.messages(), 0);
    }
}

/// What is sealed as it is taken in is left out where that fails; what came before it, and
/// what comes after, leaves.
#[test]
fn what_is_not_sealed_at_once_is_left_out() {
    let (works, fails) = (seal_key(&secret(1)), failing_key(&secret(2)));
    let mut outbox = Outbox::new(64, false);
    let mut arrived = Vec::new();
    let failed = Taken {
        sealed: 0,
        not_sealed: 1,
    };
    assert_eq!(take(&mut outbox, &fails, (1, 1), 300).1, failed);
    assert_eq!(outbox.messages(), 0);
    let (first, taken) = take(&mut outbox, &works, (1, 2), 300);
    assert_eq!(taken.sealed, 1);
    // Shorter, so that it would have ended the message.
    let (lost, taken) = take(&mut outbox, &fails, (1, 3), 200);
    assert_eq!(taken, failed);
    let (second, _) = take(&mut outbox, &works, (1, 4), 300);
    while let Some(message) = outbox.next(false) {
        assert!(!holds(&message.bytes[..], &lost));
        let transmit = message.transmit();
        let segment = transmit.segment_size.unwrap_or(transmit.contents.len());
        arrived.extend(transmit.contents.chunks(segment).map(<[u8]>::to_vec));
        assert_eq!(message.count, 2, "of one message");
        outbox.recycle(message);
    }
    let note = |number| Unsealed {
        number,
        number_at: 1 + ID.len() as u16,
        bytes: 300,
    };
    assert_eq!(arrived.len(), 2);
    is_as_built(&arrived[0], &first, Some(note(2)), 1);
    is_as_built(&arrived[1], &second, Some(note(4)), 1);
}

#[test]
#[should_panic(expected = "not sealed")]
fn an_unsealed_message_is_never_handed_to_the_kernel() {
    let key = seal_key(&secret(1));
    let planned = Planned {
        before: 0,
        text: 50,
        is_unsealed: true,
    };
    let (built, note) = datagram(&planned, 7, 100);
    let mut outbox = Outbox::new(64, true);
    outbox
        .take(&transmit(&built), Some(&key), &[note.unwrap()])
        .map(drop)
        .unwrap();
    let message = outbox.next(false).unwrap();
    message.transmit();
}

#[test]
fn a_datagram_that_is_longer_than_there_are_is_refused() {
    let mut outbox = Outbox::new(64, false);
    let long = vec![0x40; MESSAGE_BYTES_MAX + 1];
    assert!(outbox.take(&transmit(&long), None, &[]).is_err());
    let taken = outbox.take(&transmit(&long[1..]), None, &[]).unwrap();
    assert_eq!(taken, Taken::default());
    assert_eq!(outbox.messages(), 1);
}
