//! Batches of packets to a table of connections, as a socket hands them over: sealed
//! rightly, changed on the way, repeated, or made up.

use std::net::SocketAddr;

use crypto::{
    Algorithm, Backend, KeyMaterial, Operation, PacketPlace, PacketSlices, Status, process_packets,
};
use quic::Suite;
use quic::table::{Capacity, Connection, Handle, OpenRequest, Outcome, Path, Table, WhenFull};
use wire::quic::ConnectionId;

use super::bytes::Bytes;

const BATCHES_MAX: usize = 6;
const PACKETS_MAX: usize = 20;
const TEXT_BYTES_MAX: usize = 200;
const ID_BYTES: usize = 8;
const TAG_BYTES: usize = 16;
const SUITES: [Suite; 2] = [Suite::Aes128Gcm, Suite::Aes256Gcm];

/// What a packet was made as.
enum Made {
    /// For the first time, with that number.
    Fresh {
        of: usize,
        number: u64,
        open: Vec<u8>,
    },
    /// Of a packet before, which the table has seen.
    Again,
    /// Nobody sealed it.
    Foreign,
}

/// What was sealed for a connection opens once and is what it was; nothing else opens, and
/// nothing of it can be seen.
pub fn quic_table(data: &[u8]) {
    let mut input = Bytes::new(data);
    let backend = crypto::by_name("kernels").expect("it is built in");
    let (mut table, handles) = table(&*backend);
    let mut numbers = [0_u64; SUITES.len()];
    let mut sent: Vec<Vec<u8>> = Vec::new();
    for _ in 0..BATCHES_MAX {
        if input.is_empty() {
            break;
        }
        // What this batch brings is seen only once it is opened.
        let before = sent.len();
        let count = 1 + input.below(PACKETS_MAX);
        let batch: Vec<_> = (0..count)
            .map(|_| packet(&mut input, &mut numbers, (&mut sent, before)))
            .collect();
        open(&mut table, &*backend, &handles, &batch);
    }
    for (handle, number) in handles.iter().zip(numbers) {
        let state = table.state(*handle).expect("nothing removes it");
        assert!(!state.is_over, "no packet of its peer's ends it");
        assert!(state.largest.is_none_or(|largest| largest <= number));
    }
}

fn open(table: &mut Table, backend: &dyn Backend, handles: &[Handle], batch: &[(Vec<u8>, Made)]) {
    let mut places: Vec<_> = batch
        .iter()
        .map(|(packet, _)| vec![0xa5; packet.len().saturating_sub(TAG_BYTES)])
        .collect();
    let mut requests: Vec<_> = batch
        .iter()
        .zip(&mut places)
        .map(|((packet, _), destination)| OpenRequest {
            path: path(),
            packet,
            number_at: 1 + ID_BYTES as u16,
            destination,
            outcome: Outcome::Waiting,
        })
        .collect();
    table.open_batch(backend, &mut requests, 0);
    let outcomes: Vec<_> = requests.iter().map(|one| one.outcome).collect();
    for (((_, made), place), outcome) in batch.iter().zip(&places).zip(outcomes) {
        match (made, outcome) {
            (Made::Fresh { of, number, open }, Outcome::Opened(opened)) => {
                assert_eq!((opened.connection, opened.number), (handles[*of], *number));
                assert_eq!(place, open);
            }
            (Made::Fresh { .. }, other) => panic!("a packet that is its own: {other:?}"),
            (Made::Again | Made::Foreign, Outcome::Opened(opened)) => {
                panic!("nobody sealed it, or it came before: {opened:?}")
            }
            (Made::Again, Outcome::Duplicate { .. } | Outcome::Old { .. })
            | (Made::Foreign, Outcome::Malformed | Outcome::Unknown | Outcome::Failed { .. }) => {
                assert!(place.iter().all(|byte| *byte == 0), "{outcome:?}");
            }
            (_, other) => panic!("no outcome of such a packet: {other:?}"),
        }
    }
}

fn table(backend: &dyn Backend) -> (Table, Vec<Handle>) {
    let capacity = Capacity {
        connections: 4,
        ids: 8,
        failures: u64::MAX,
    };
    let mut table = Table::new(capacity, WhenFull::Refuse).expect("it is small");
    let handles = SUITES.iter().enumerate().map(|(of, suite)| {
        let packets = Algorithm::Packets(suite.packets());
        let key = backend
            .key(packets, &material(*suite, 0))
            .expect("it has all suites");
        let next = material(*suite, 1);
        let new = Connection {
            suite: *suite,
            key,
            next: &next,
            id: ConnectionId::new(&id(of)).expect("it is short"),
            path: path(),
        };
        let handle = table.add(new, 0).expect("there is room").connection;
        table.establish(handle).expect("it was added");
        handle
    });
    let handles = handles.collect();
    (table, handles)
}

fn path() -> Path {
    Path::new(SocketAddr::from(([10, 0, 0, 1], 4433)), 0)
}

fn id(of: usize) -> [u8; ID_BYTES] {
    [0x11 * (1 + of as u8); ID_BYTES]
}

fn material(suite: Suite, phase: u8) -> KeyMaterial {
    let packets = suite.packets();
    let bytes = if suite == Suite::Aes128Gcm { 16 } else { 32 };
    packets.material(&vec![1 + phase; bytes], &vec![7; bytes], &[3; 12])
}

/// The next packet that the input makes; those sent before `before` may come again.
fn packet(
    input: &mut Bytes<'_>,
    numbers: &mut [u64],
    (sent, before): (&mut Vec<Vec<u8>>, usize),
) -> (Vec<u8>, Made) {
    let of = input.below(SUITES.len());
    match input.below(8) {
        0 => {
            let mut bytes = input.rest_of(TEXT_BYTES_MAX);
            let is_to_one = input.byte() & 1 == 0 && bytes.len() > ID_BYTES;
            if is_to_one {
                bytes[1..=ID_BYTES].copy_from_slice(&id(of));
            }
            (bytes, Made::Foreign)
        }
        1 if before > 0 => {
            let again = &sent[input.below(before)];
            (again.clone(), Made::Again)
        }
        choice => {
            numbers[of] += 1 + u64::from(input.byte() & 3);
            let text = input.rest_of(TEXT_BYTES_MAX);
            let (mut packet, open) = sealed(of, numbers[of], &text);
            if choice == 2 {
                let at = input.below(packet.len());
                packet[at] ^= 1 << input.below(8);
                return (packet, Made::Foreign);
            }
            sent.push(packet.clone());
            let number = numbers[of];
            (packet, Made::Fresh { of, number, open })
        }
    }
}

/// By another back-end than the one that opens; and the same open.
fn sealed(of: usize, number: u64, text: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let backend = crypto::by_name("aws-lc").expect("it is built in");
    let (suite, packets) = (SUITES[of], SUITES[of].packets());
    let key = backend.key(Algorithm::Packets(packets), &material(suite, 0));
    let key = key.expect("it has all suites");
    let mut open = [&[0x43][..], &id(of), &(number as u32).to_be_bytes()].concat();
    open.extend_from_slice(text);
    let mut packet = vec![0; open.len() + TAG_BYTES];
    let mut slices = [PacketSlices {
        key: &*key,
        place: PacketPlace {
            number,
            number_at: 1 + ID_BYTES as u16,
            phase: None,
        },
        source: &open,
        destination: &mut packet,
        status: Status::BackendFailed,
    }];
    process_packets(&*backend, packets, Operation::Encrypt, &mut slices);
    assert_eq!(slices[0].status, Status::Ok);
    (packet, open)
}
