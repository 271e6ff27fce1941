//! The table beside a model that opens one packet after the other.

mod index;
mod limits;
mod model;
mod peer;
mod phases;
mod runs;
mod security;

pub(crate) use peer::Peer;

use std::net::SocketAddr;
use std::sync::Arc;

use crypto::{Algorithm, Backend, Kind, Operation};
use lockgate_quic::Suite;
use lockgate_quic::table::{
    Added, Capacity, Connection, Handle, OpenRequest, Outcome, Path, Table, WhenFull,
};
use wire::quic::ConnectionId;

const CAPACITY: Capacity = Capacity {
    connections: 8,
    ids: 20,
    failures: u64::MAX,
};

/// Those that have all suites.
pub(crate) fn backends() -> Vec<Arc<dyn Backend>> {
    let mut backends = crypto::backends();
    backends.retain(|one| {
        Suite::ALL.iter().all(|suite| {
            [Operation::Encrypt, Operation::Decrypt]
                .map(|operation| Kind::new(Algorithm::Packets(suite.packets()), operation))
                .iter()
                .all(|kind| one.supports(*kind))
        })
    });
    backends
}

pub(crate) fn portable() -> Arc<dyn Backend> {
    crypto::by_name("portable").expect("it is always there")
}

fn table(capacity: Capacity, when_full: WhenFull) -> Table {
    Table::new(capacity, when_full).expect("it is small")
}

fn id(bytes: &[u8]) -> ConnectionId {
    ConnectionId::new(bytes).expect("20 bytes at most")
}

fn path(number: u16) -> Path {
    let [high, low] = number.to_be_bytes();
    Path::new(SocketAddr::from(([10, 0, high, low], 4433)), 0)
}

fn connection<'k>(
    peer: &Peer,
    backend: &dyn Backend,
    next: &'k crypto::KeyMaterial,
    id: &[u8],
    path: Path,
) -> Connection<'k> {
    Connection {
        suite: peer.suite,
        key: peer.key(backend, 0),
        next,
        id: self::id(id),
        path,
    }
}

fn add(
    table: &mut Table,
    peer: &Peer,
    id: &[u8],
    path: Path,
    now_ns: u64,
) -> Result<Added, lockgate_quic::table::AddError> {
    let next = peer.material(1);
    table.add(connection(peer, &*portable(), &next, id, path), now_ns)
}

fn added(table: &mut Table, peer: &Peer, id: &[u8]) -> Handle {
    add(table, peer, id, path(1), 0).unwrap().connection
}

/// Opens a batch; each destination is there to be looked at.
fn open(
    table: &mut Table,
    backend: &dyn Backend,
    packets: &[(Path, u16, Vec<u8>)],
    now_ns: u64,
) -> Vec<(Outcome, Vec<u8>)> {
    let mut destinations: Vec<_> = packets
        .iter()
        .map(|(_, _, packet)| vec![0xa5; packet.len().saturating_sub(16)])
        .collect();
    let mut requests: Vec<_> = packets
        .iter()
        .zip(&mut destinations)
        .map(|((path, number_at, packet), destination)| OpenRequest {
            path: *path,
            packet,
            number_at: *number_at,
            destination,
            outcome: Outcome::Waiting,
        })
        .collect();
    table.open_batch(backend, &mut requests, now_ns);
    let outcomes: Vec<_> = requests.iter().map(|one| one.outcome).collect();
    outcomes.into_iter().zip(destinations).collect()
}

/// Of packets to a connection with an id of one byte, from its path.
fn outcomes(table: &mut Table, packets: &[Vec<u8>]) -> Vec<Outcome> {
    let packets: Vec<_> = packets
        .iter()
        .map(|packet| (path(1), 2, packet.clone()))
        .collect();
    let all = open(table, &*portable(), &packets, 0);
    for (outcome, destination) in &all {
        let is_open = matches!(outcome, Outcome::Opened(_));
        let is_clear = destination.iter().all(|byte| *byte == 0);
        assert_ne!(is_open, is_clear, "{outcome:?}");
    }
    all.into_iter().map(|(outcome, _)| outcome).collect()
}
