//! In a process of its own: it has an allocator that counts, and that looks into what is
//! freed.
//!
//! Sealing, and opening packets of the present key phase, allocates nothing, whatever
//! becomes of them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crypto::{Algorithm, Backend};
use lockgate_quic::sealer::{SealError, SealRequest, seal_batch};
use lockgate_quic::table::{
    Capacity, Connection, IDLE_STEP_NS, OpenRequest, Outcome, Path, WhenFull,
};
use lockgate_quic::{Protocol, Sealer, Secret, Suite, Table};
use wire::quic::ConnectionId;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static SECRET: Cell<Option<[u8; 16]>> = const { Cell::new(None) };
    static LEAKS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator as it came; counting
// touches only a thread-local without a destructor, which itself allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller upholds `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        if let Some(secret) = SECRET.get() {
            // SAFETY: a block that is still the caller's, of that many bytes.
            let bytes = unsafe { std::slice::from_raw_parts(pointer, layout.size()) };
            let leaks = bytes.windows(16).filter(|one| **one == secret).count();
            LEAKS.set(LEAKS.get() + leaks as u64);
        }
        // SAFETY: the caller upholds `dealloc`'s contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

const CONNECTIONS: u8 = 12;

fn sides(backend: &dyn Backend) -> (Vec<Sealer>, Table) {
    let capacity = Capacity {
        connections: CONNECTIONS.into(),
        ids: CONNECTIONS.into(),
        failures: u64::MAX,
    };
    let mut table = Table::new(capacity, WhenFull::Evict { kept_ns: 0 }).expect("it is small");
    let sealers = (0..CONNECTIONS).map(|at| {
        let suite = Suite::ALL[usize::from(at) % 3];
        let secret = Secret::new(vec![at; suite.secret_bytes()]);
        let material = Protocol::V1.packets_key(suite, &secret, &secret);
        let key = || {
            let algorithm = Algorithm::Packets(suite.packets());
            backend.key(algorithm, &material).expect("a good key")
        };
        let new = Connection {
            suite,
            key: key(),
            next: &material,
            id: ConnectionId::new(&[at; 8]).expect("eight bytes"),
            path: Path::new(([127, 0, 0, 1], 1).into(), 0),
        };
        table.add(new, 0).expect("there is room");
        Sealer::new(suite, key())
    });
    (sealers.collect(), table)
}

#[test]
fn sealing_and_opening_allocate_nothing() {
    for name in ["aws-lc", "kernels", "ipsec-mb"] {
        let backend = crypto::by_name(name);
        let Some(backend) = backend.ok().filter(|one| {
            let packets = Suite::ALL.map(|suite| Algorithm::Packets(suite.packets()));
            let mut kinds = packets.iter().flat_map(|algorithm| {
                [crypto::Operation::Encrypt, crypto::Operation::Decrypt]
                    .map(|operation| crypto::Kind::new(*algorithm, operation))
            });
            kinds.all(|kind| one.supports(kind))
        }) else {
            continue;
        };
        let (mut sealers, mut table) = sides(&*backend);
        // The first time libraries set themselves up for the thread.
        let rounds = [0, 1].map(|round| seal_and_open(&*backend, &mut sealers, &mut table, round));
        assert_eq!(rounds[1], 0, "{name}");
    }
}

/// Allocations of a batch to all, every seventh packet forged and every fifth sent twice.
fn seal_and_open(
    backend: &dyn Backend,
    sealers: &mut [Sealer],
    table: &mut Table,
    round: u64,
) -> u64 {
    let mut plains: Vec<_> = (0..100_u8)
        .map(|at| {
            let mut plain = [1; 60];
            plain[0] = 0x41;
            plain[1..9].fill(at % CONNECTIONS);
            plain
        })
        .collect();
    let mut sealed = vec![[0; 76]; plains.len()];
    let mut requests: Vec<_> = plains
        .iter_mut()
        .zip(&mut sealed)
        .enumerate()
        .map(|(at, (source, destination))| SealRequest {
            sealer: at % usize::from(CONNECTIONS),
            number: 100 * round + at as u64,
            number_at: 9,
            source,
            destination,
            outcome: Err(SealError::Waiting),
        })
        .collect();
    let mut counted = allocations(|| seal_batch(backend, sealers, &mut requests));
    assert!(requests.iter().all(|one| one.outcome.is_ok()));
    let mut packets: Vec<_> = sealed.iter().enumerate().collect();
    packets.extend(sealed.iter().enumerate().step_by(5));
    let packets: Vec<_> = packets
        .into_iter()
        .map(|(at, packet)| {
            let mut packet = *packet;
            packet[70] ^= u8::from(at % 7 == 0);
            packet
        })
        .collect();
    let mut destinations = vec![[0; 60]; packets.len()];
    let mut requests: Vec<_> = packets
        .iter()
        .zip(&mut destinations)
        .map(|(packet, destination)| OpenRequest {
            path: Path::new(([127, 0, 0, 1], 1).into(), 0),
            packet,
            number_at: 9,
            destination,
            outcome: Outcome::Waiting,
        })
        .collect();
    let now_ns = (round + 1) * IDLE_STEP_NS;
    counted += allocations(|| table.open_batch(backend, &mut requests, now_ns));
    let count = |is: fn(&Outcome) -> bool| requests.iter().filter(|one| is(&one.outcome)).count();
    assert_eq!(count(|one| matches!(one, Outcome::Opened(_))), 85);
    assert_eq!(count(|one| matches!(one, Outcome::Failed { .. })), 18);
    assert_eq!(count(|one| matches!(one, Outcome::Duplicate { .. })), 17);
    counted
}

/// Blocks that are freed during `work` and still hold the secret.
fn leaks(secret: [u8; 16], work: impl FnOnce()) -> u64 {
    LEAKS.set(0);
    SECRET.set(Some(secret));
    work();
    SECRET.set(None);
    LEAKS.get()
}

#[test]
fn keys_of_the_next_phase_are_wiped_where_they_lay() {
    let backend = crypto::by_name("aws-lc").expect("it is always there");
    let suite = Suite::Aes128Gcm;
    let secret = Secret::new(vec![3; suite.secret_bytes()]);
    let material = Protocol::V1.packets_key(suite, &secret, &secret);
    let payload = *material.expose()[16..].first_chunk().expect("two keys");
    let copy = Box::new(payload);
    assert_eq!(leaks(payload, || drop(copy)), 1, "a leak would be found");
    let (_, mut table) = sides(&*backend);
    let add = |table: &mut Table, id| {
        let new = Connection {
            suite,
            key: backend.key(Algorithm::Packets(suite.packets()), &material)?,
            next: &material,
            id: ConnectionId::new(id).expect("few bytes"),
            path: Path::new(([127, 0, 0, 1], 1).into(), 0),
        };
        Ok::<_, crypto::KeyError>(table.add(new, 0).expect("another is evicted"))
    };
    let leaked = leaks(payload, || {
        let removed = add(&mut table, b"a").expect("a good key");
        table.remove(removed.connection).expect("it was added");
        add(&mut table, b"b").expect("a good key");
        // Tried on a forged packet of the other phase, perhaps.
        for first in 0x40..0x60 {
            let packet = [&[first, b'b'][..], &[first; 40]].concat();
            let mut requests = [OpenRequest {
                path: Path::new(([127, 0, 0, 1], 1).into(), 0),
                packet: &packet,
                number_at: 2,
                destination: &mut [0; 26],
                outcome: Outcome::Waiting,
            }];
            table.open_batch(&*backend, &mut requests, 0);
        }
        drop(table);
    });
    assert_eq!(leaked, 0);
}
