//! Datagrams of a connection that is real, in any order and however changed, among others.

use std::net::SocketAddr;

use quic::Protocol;
use quic::capture::{Datagram, KeyLog};
use quic::protection::{HeaderKey, PacketKey, TAG_BYTES};
use quic::trace::{Kind, Side, Trace};
use quic::{Secret, Suite};

use super::bytes::Bytes;

const DATAGRAMS_MAX: usize = 24;
const PAYLOAD_BYTES_MAX: usize = 300;
const RANDOM: [u8; 32] = [0x5a; 32];
const SECRET: [u8; 32] = [0x33; 32];
const CLIENT_ID: [u8; 4] = [0xc1; 4];
const SERVER_ID: [u8; 4] = [0x5e; 4];
/// Enough for a sample, whatever the frames are.
const PADDING_BYTES: usize = 20;

/// Whatever comes, each packet is opened or has a reason, and what was sealed rightly opens
/// when its connection is known.
pub fn quic_trace(data: &[u8]) {
    let mut input = Bytes::new(data);
    let backend = crypto::by_name("aws-lc").expect("it is built in");
    let mut trace = Trace::new(&*backend, key_log());
    let mut number = 0;
    for frame in 1..=DATAGRAMS_MAX as u64 {
        if input.is_empty() {
            break;
        }
        number += 1 + u64::from(input.byte() & 3);
        let from = if input.byte() & 1 == 0 {
            Side::Client
        } else {
            Side::Server
        };
        let mut payload = match input.below(8) {
            0 => input.rest_of(PAYLOAD_BYTES_MAX),
            1 => hello(&*backend, number),
            _ => packet(&*backend, &mut input, from, number),
        };
        if input.below(8) == 0 && !payload.is_empty() {
            let at = input.below(payload.len());
            payload[at] ^= input.byte();
        }
        trace.take(&datagram(frame, from, payload));
    }
    let summary = trace.finish();
    let sum = summary.opened + summary.unprotected + summary.not_opened;
    assert_eq!(summary.packets, sum);
    let kinds: u64 = summary.kinds.values().map(|count| count.packets).sum();
    assert_eq!(summary.packets, kinds);
    assert_eq!(summary.not_opened, summary.reasons.values().sum::<u64>());
    assert_eq!(summary.not_opened, summary.unopened.len() as u64);
    let bare = |kind: &Kind| !kind.is_protected();
    let opened = summary.kinds.iter().filter(|(kind, _)| bare(kind));
    assert!(opened.into_iter().all(|(_, count)| count.opened == 0));
}

fn key_log() -> KeyLog {
    let digits = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let (random, secret) = (digits(&RANDOM), digits(&SECRET));
    let labels = [
        "CLIENT_EARLY_TRAFFIC_SECRET",
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
    ];
    let lines = labels.map(|label| format!("{label} {random} {secret}\n"));
    KeyLog::read(lines.concat().as_bytes()).expect("it is one")
}

fn datagram(number: u64, from: Side, payload: Vec<u8>) -> Datagram {
    let [client, server] = ["10.0.0.1:5", "10.0.0.2:443"].map(|text| {
        let address: SocketAddr = text.parse().expect("it is one");
        address
    });
    let (source, destination) = match from {
        Side::Client => (client, server),
        Side::Server => (server, client),
    };
    Datagram {
        time_ns: number,
        number,
        source,
        destination,
        payload,
        frames: 1,
    }
}

/// The client's first packet.
fn hello(backend: &dyn crypto::Backend, number: u64) -> Vec<u8> {
    let body = [&[3, 3], &RANDOM[..], &[0]].concat();
    let message = [&[1, 0, 0, body.len() as u8], &body[..]].concat();
    let frame = [&[6, 0, message.len() as u8], &message[..]].concat();
    sealed(backend, Some(0), Side::Client, number, 0, &frame)
}

/// A packet of any level, whose frames are the input's.
fn packet(
    backend: &dyn crypto::Backend,
    input: &mut Bytes<'_>,
    from: Side,
    number: u64,
) -> Vec<u8> {
    let kind = input.pick(&[None, None, Some(0), Some(1), Some(2)]);
    let phase = input.byte() & 1;
    let frames = input.rest_of(PAYLOAD_BYTES_MAX);
    sealed(backend, kind, from, number, phase, &frames)
}

/// With a long header of that type, or a short one.
fn sealed(
    backend: &dyn crypto::Backend,
    kind: Option<u8>,
    from: Side,
    number: u64,
    phase: u8,
    frames: &[u8],
) -> Vec<u8> {
    let (to, own) = match from {
        Side::Client => (SERVER_ID, CLIENT_ID),
        Side::Server => (CLIENT_ID, SERVER_ID),
    };
    let secret = match kind {
        Some(0) => Protocol::V1.initial_secrets(&SERVER_ID)[from as usize].clone(),
        _ => Secret::new(SECRET.to_vec()),
    };
    let rest_bytes = 4 + frames.len() + PADDING_BYTES + TAG_BYTES;
    let mut packet = match kind {
        None => [&[0x43 | phase << 2], &to[..]].concat(),
        Some(kind) => {
            let first = [0xc3 | kind << 4, 0, 0, 0, 1];
            let token: &[u8] = if kind == 0 { &[0] } else { &[] };
            let length = (0x4000 | rest_bytes as u16).to_be_bytes();
            [&first[..], &[4], &to, &[4], &own, token, &length].concat()
        }
    };
    let number_at = packet.len();
    packet.extend((number as u32).to_be_bytes());
    packet.extend(frames);
    packet.resize(number_at + rest_bytes, 0);
    let suite = Suite::Aes128Gcm;
    let key = PacketKey::derive(backend, Protocol::V1, suite, &secret).expect("it has AES");
    let header = HeaderKey::derive(Protocol::V1, suite, &secret);
    key.seal(&header, &mut packet, number_at, number)
        .expect("it is long enough");
    packet
}
