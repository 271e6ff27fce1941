//! What a table holds, and what it does when it is full.

use lockgate_quic::table::{
    AddError, CONNECTION_BYTES, Capacity, CapacityError, IDLE_STEP_NS, IDS_MAX, IssueError,
    MigrateError, RetireError, Table, WhenFull,
};
use wire::quic::ConnectionId;

use super::{CAPACITY, Peer, add, added, id, open, path, portable};

const KEPT_NS: u64 = 10 * IDLE_STEP_NS;

#[test]
fn a_connection_is_small() {
    assert_eq!(CONNECTION_BYTES, 232 + 24);
}

#[test]
fn a_capacity_out_of_range_is_refused() {
    for (connections, ids) in [(0, 8), (8, 7), (1 << 30 | 1, 1 << 31), (8, 1 << 31 | 1)] {
        let capacity = Capacity {
            connections,
            ids,
            failures: 1,
        };
        let refused = Table::new(capacity, WhenFull::Refuse).map(drop);
        assert_eq!(refused, Err(CapacityError::Range { connections, ids }));
    }
}

#[test]
fn a_full_table_refuses_or_evicts_as_it_was_told() {
    let peer = Peer::fixed();
    let full = |connections| AddError::Full {
        connections,
        ids: connections,
    };
    let mut refusing = super::table(CAPACITY, WhenFull::Refuse);
    let mut evicting = super::table(CAPACITY, WhenFull::Evict { kept_ns: KEPT_NS });
    for name in 0..8 {
        added(&mut refusing, &peer, &[name]);
        let handle = added(&mut evicting, &peer, &[name]);
        // All but the last.
        if name < 7 {
            evicting.establish(handle).unwrap();
        }
    }
    let refused = add(&mut refusing, &peer, b"new", path(1), 0);
    assert_eq!(refused, Err(full(8)));
    assert!(refused.unwrap_err().to_string().contains("8 connections"));
    // A flood: newcomers take each other's place alone.
    for flood in 0..10_000_u32 {
        let name = [&[9], &flood.to_be_bytes()[..]].concat();
        let added = add(&mut evicting, &peer, &name, path(1), 1).unwrap();
        assert!(added.evicted.is_some());
        assert_eq!((evicting.connections(), evicting.ids()), (8, 8));
    }
    let flooded = add(&mut evicting, &peer, b"z", path(1), 1).unwrap();
    evicting.establish(flooded.connection).unwrap();
    assert_eq!(add(&mut evicting, &peer, b"y", path(1), 1), Err(full(8)));
    // One opens a packet; of the others the one that is idle longest goes.
    let packets = [(path(1), 2, peer.short(0, 1, 0))];
    open(&mut evicting, &*portable(), &packets, KEPT_NS - 1);
    assert_eq!(
        add(&mut evicting, &peer, b"y", path(1), KEPT_NS - 1),
        Err(full(8))
    );
    let evicted = add(&mut evicting, &peer, b"y", path(1), KEPT_NS)
        .unwrap()
        .evicted;
    let unknown = [(path(1), 2, peer.short(1, 1, 0))];
    let [(outcome, _)] = &open(&mut evicting, &*portable(), &unknown, 0)[..] else {
        panic!("one packet, one outcome");
    };
    assert_eq!(*outcome, lockgate_quic::table::Outcome::Unknown);
    assert!(evicting.state(evicted.unwrap()).is_err());
}

#[test]
fn ids_are_never_another_connections() {
    let peer = Peer::fixed();
    let mut table = super::table(CAPACITY, WhenFull::Evict { kept_ns: 0 });
    let [a, b] = [b"a", b"b"].map(|name| added(&mut table, &peer, name));
    assert_eq!(
        add(&mut table, &peer, b"a", path(2), 0),
        Err(AddError::InUse(id(b"a")))
    );
    assert_eq!(table.issue(a, id(b"b")), Err(IssueError::InUse(id(b"b"))));
    assert_eq!(
        table.retire(a, id(b"b")),
        Err(RetireError::NotOfConnection(id(b"b")))
    );
    assert_eq!(table.retire(b, id(b"b")), Err(RetireError::Last(id(b"b"))));
    for name in 1..IDS_MAX as u8 {
        table.issue(a, id(&[name])).unwrap();
    }
    assert_eq!(table.issue(a, id(b"c")), Err(IssueError::OfConnection));
    for name in 1..IDS_MAX as u8 {
        table.issue(b, id(&[name, 0])).unwrap();
    }
    let c = added(&mut table, &peer, b"c");
    for name in 0..3 {
        table.issue(c, id(&[9, name])).unwrap();
    }
    let full = IssueError::Full { ids: 20 };
    assert_eq!(table.issue(c, id(b"d")), Err(full));
    table.remove(a).unwrap();
    assert!(table.remove(a).is_err() && table.issue(a, id(b"d")).is_err());
    assert_eq!(table.ids(), 12);
    table.issue(c, id(b"d")).unwrap();
}

#[test]
fn paths_tell_connections_without_ids_apart() {
    let peer = Peer::fixed();
    let mut table = super::table(CAPACITY, WhenFull::Refuse);
    let [a, b] = [1, 2].map(|at| add(&mut table, &peer, b"", path(at), 0).unwrap().connection);
    let taken = add(&mut table, &peer, b"", path(1), 0);
    assert_eq!(taken, Err(AddError::InUse(ConnectionId::EMPTY)));
    assert_eq!(table.migrate(a, path(2)), Err(MigrateError::InUse(path(2))));
    table.migrate(b, path(3)).unwrap();
    table.migrate(a, path(2)).unwrap();
    let packet = |at, number| (path(at), 1, peer.packet(b"", number, 4, 0));
    let done = open(
        &mut table,
        &*portable(),
        &[packet(2, 1), packet(3, 2), packet(1, 3)],
        0,
    );
    let of = |at: usize| match done[at].0 {
        lockgate_quic::table::Outcome::Opened(opened) => Some(opened.connection),
        _ => None,
    };
    assert_eq!([of(0), of(1), of(2)], [Some(a), Some(b), None]);
    // IPv4, IPv6 and the caller's sockets.
    let mapped = std::net::SocketAddr::from((std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped(), 1));
    let plain = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
    let new = lockgate_quic::table::Path::new;
    assert_eq!(new(mapped, 0), new(plain, 0));
    assert_eq!((new(mapped, 7).peer(), new(mapped, 7).local()), (plain, 7));
    assert_ne!(new(plain, 0), new(plain, 1));
}
