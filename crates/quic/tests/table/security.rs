//! What an attacker may send.

use lockgate_quic::table::{Capacity, Handle, Outcome, Table, WhenFull};

use super::peer::PAYLOAD;
use super::{CAPACITY, Peer, added, outcomes, path};

fn fixed() -> (Peer, Table, Handle) {
    let peer = Peer::fixed();
    let mut table = super::table(CAPACITY, WhenFull::Refuse);
    let handle = added(&mut table, &peer, b"i");
    (peer, table, handle)
}

fn is_opened(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Opened(_))
}

#[test]
fn every_changed_bit_is_found() {
    let (peer, mut table, handle) = fixed();
    let packet = peer.short(b'i', 1, 0);
    let forged: Vec<_> = (0..8 * packet.len())
        .map(|at| {
            let mut forged = packet.clone();
            forged[at / 8] ^= 1 << (at % 8);
            forged
        })
        .collect();
    let done = outcomes(&mut table, &forged);
    for (at, outcome) in done.iter().enumerate() {
        let expected = match at {
            7 => Outcome::Malformed,
            8..16 => Outcome::Unknown,
            _ => Outcome::Failed { connection: handle },
        };
        assert_eq!(*outcome, expected, "bit {at}");
    }
    let failures = table.state(handle).unwrap().failures;
    assert_eq!(failures as usize, forged.len() - 9);
    assert!(is_opened(&outcomes(&mut table, &[packet])[0]));
}

#[test]
fn a_cut_packet_does_not_open() {
    let (peer, mut table, handle) = fixed();
    let packet = peer.short(b'i', 1, 0);
    for bytes in 0..packet.len() {
        let expected = match bytes {
            0..22 => Outcome::Malformed,
            _ => Outcome::Failed { connection: handle },
        };
        let cut = packet[..bytes].to_vec();
        assert_eq!(outcomes(&mut table, &[cut]), [expected], "{bytes} bytes");
    }
}

#[test]
fn a_packet_opens_once() {
    let (peer, mut table, connection) = fixed();
    let packet = |number| peer.short(b'i', number, 0);
    let duplicate = |number| Outcome::Duplicate { connection, number };
    let old = |number| Outcome::Old { connection, number };
    let done = outcomes(
        &mut table,
        &[packet(200), packet(200), packet(73), packet(72)],
    );
    assert!(is_opened(&done[0]) && is_opened(&done[2]));
    assert_eq!((done[1], done[3]), (duplicate(200), old(72)));
    // 63, 64 and 127 further: the window's words meet there.
    for (number, behind) in [(201, 74), (263, 136), (264, 137), (391, 264)] {
        let done = outcomes(
            &mut table,
            &[packet(number), packet(behind), packet(number)],
        );
        assert!(is_opened(&done[0]), "{number}");
        assert_eq!(done[2], duplicate(number));
        assert_eq!(is_opened(&done[1]), behind != 264, "{behind}");
    }
    let done = outcomes(&mut table, &[packet(10_000), packet(391), packet(200)]);
    assert_eq!(done[1..], [old(391), old(200)]);
}

#[test]
fn a_connection_ends_at_its_integrity_limit() {
    let peer = Peer::fixed();
    let capacity = Capacity {
        failures: 5,
        ..CAPACITY
    };
    let mut table = super::table(capacity, WhenFull::Refuse);
    let connection = added(&mut table, &peer, b"i");
    let mut forged = peer.short(b'i', 1, 0);
    forged[40] ^= 1;
    let good = peer.short(b'i', 2, 0);
    let mut batch = vec![forged; 5];
    batch.push(good.clone());
    let done = outcomes(&mut table, &batch);
    assert_eq!(done[..4], [Outcome::Failed { connection }; 4]);
    let failures = 5;
    let limit = Outcome::IntegrityLimit {
        connection,
        failures,
    };
    assert_eq!(done[4..], [limit, Outcome::Over { connection }]);
    table.remove(connection).unwrap();
    assert_eq!(outcomes(&mut table, &[good]), [Outcome::Unknown]);
}

#[test]
fn reserved_bits_end_a_connection_once_the_tag_matched() {
    let (peer, mut table, connection) = fixed();
    let mut plain = Peer::header(b"i", 3, 4, 0);
    plain[0] |= 8;
    let packet = peer.sealed([&plain[..], &PAYLOAD].concat(), b"i", (3, 0));
    let number = 3;
    let reserved = Outcome::ReservedBits { connection, number };
    assert_eq!(outcomes(&mut table, &[packet]), [reserved]);
    assert!(table.state(connection).unwrap().is_over);
}

#[test]
fn a_packet_from_elsewhere_is_told_and_changes_nothing() {
    let (peer, mut table, handle) = fixed();
    let packets = [(path(1), 1), (path(2), 2), (path(1), 3)];
    let packets = packets.map(|(path, number)| (path, 2, peer.short(b'i', number, 0)));
    let told: Vec<_> = super::open(&mut table, &*super::portable(), &packets, 0)
        .iter()
        .map(|(outcome, _)| match outcome {
            Outcome::Opened(opened) => opened.is_other_path,
            _ => panic!("{outcome:?}"),
        })
        .collect();
    assert_eq!(told, [false, true, false]);
    assert_eq!(table.state(handle).unwrap().path, path(1));
    table.migrate(handle, path(2)).unwrap();
    assert_eq!(table.state(handle).unwrap().path, path(2));
}

#[test]
fn nothing_shown_is_secret() {
    let (peer, mut table, handle) = fixed();
    let done = outcomes(
        &mut table,
        &[peer.short(b'i', 1, 0), peer.short(b'i', 2, 1)],
    );
    let shown = format!(
        "{table:?} {:?} {done:?} {:?} {:?}",
        table.state(handle),
        table.supply_next(handle, &crypto::KeyMaterial::take(&mut [0x77; 9])),
        super::add(&mut table, &peer, b"i", path(1), 0),
    );
    let mut secrets: Vec<Vec<u8>> = vec![PAYLOAD.to_vec()];
    for phase in 0..3 {
        secrets.push(peer.secret(phase).as_bytes().to_vec());
        secrets.push(peer.material(phase).expose().to_vec());
    }
    for four in secrets.iter().flat_map(|secret| secret.windows(4)) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| four[at]);
        let hex = format!("{a:02x}{b:02x}{c:02x}{d:02x}");
        assert!(!shown.contains(&hex) && !shown.contains(&format!("{a}, {b}, {c}, {d}")));
    }
    assert!(shown.starts_with("Table { connections: 1, ids: 1, when_full: Refuse, .. }"));
}
