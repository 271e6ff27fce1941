//! Key updates, also such that race within one batch.

use lockgate_quic::table::{Handle, NextKeysError, Outcome, Phase, Table, WhenFull};

use super::{CAPACITY, Peer, added, outcomes};

fn fixed() -> (Peer, Table, Handle) {
    let peer = Peer::fixed();
    let mut table = super::table(CAPACITY, WhenFull::Refuse);
    let handle = added(&mut table, &peer, b"i");
    (peer, table, handle)
}

fn phases(outcomes: &[Outcome]) -> Vec<Option<Phase>> {
    let phase = |one: &Outcome| match one {
        Outcome::Opened(opened) => Some(opened.phase),
        _ => None,
    };
    outcomes.iter().map(phase).collect()
}

/// All orders of a few.
fn orders<T: Clone>(of: &[T]) -> Vec<Vec<T>> {
    if of.is_empty() {
        return vec![vec![]];
    }
    let with = |at: usize| {
        let mut rest = of.to_vec();
        let first = rest.remove(at);
        orders(&rest).into_iter().map(move |mut order| {
            order.insert(0, first.clone());
            order
        })
    };
    (0..of.len()).flat_map(with).collect()
}

#[test]
fn packets_of_both_phases_open_in_any_order() {
    let peer = Peer::fixed();
    let mut forged = peer.short(b'i', 7, 1);
    *forged.last_mut().unwrap() ^= 1;
    let all =
        [(1, 0), (2, 0), (3, 1), (4, 1), (5, 1)].map(|(at, phase)| peer.short(b'i', at, phase));
    for order in orders(&[&all[..], &[forged.clone()]].concat()) {
        let [(_, mut together, handle), (_, mut alone, _)] = [fixed(), fixed()];
        let done = outcomes(&mut together, &order);
        let one_by_one: Vec<_> = order
            .iter()
            .flat_map(|one| outcomes(&mut alone, std::slice::from_ref(one)))
            .collect();
        assert_eq!(done, one_by_one);
        for (outcome, packet) in done.iter().zip(&order) {
            let is_forged = *packet == forged;
            assert_eq!(matches!(outcome, Outcome::Opened(_)), !is_forged);
        }
        let state = together.state(handle).unwrap();
        assert_eq!(state, alone.state(handle).unwrap());
        assert!(state.is_phase_set && state.failures == 1 && state.largest == Some(5));
        let news = phases(&done);
        assert_eq!(
            news.iter().filter(|one| **one == Some(Phase::Next)).count(),
            1
        );
    }
}

#[test]
fn phases_follow_each_other_as_their_keys_are_supplied() {
    let (peer, mut table, handle) = fixed();
    let one = |table: &mut Table, number, phase| {
        phases(&outcomes(table, &[peer.short(b'i', number, phase)]))[0]
    };
    let supply = |table: &mut Table, phase| table.supply_next(handle, &peer.material(phase));
    assert_eq!(supply(&mut table, 2), Err(NextKeysError::NotUsed));
    assert_eq!(one(&mut table, 0, 0), Some(Phase::Current));
    assert_eq!(one(&mut table, 2, 1), Some(Phase::Next));
    assert_eq!(one(&mut table, 1, 0), Some(Phase::Previous));
    // Those of the phase after are not there yet.
    assert_eq!(one(&mut table, 4, 2), None);
    assert!(table.state(handle).unwrap().wants_next);
    let length = NextKeysError::Length {
        expected: 44,
        got: 9,
    };
    let short = crypto::KeyMaterial::take(&mut [1; 9]);
    assert_eq!(table.supply_next(handle, &short), Err(length));
    assert_eq!(supply(&mut table, 2), Ok(()));
    assert_eq!(one(&mut table, 4, 2), Some(Phase::Next));
    assert_eq!(one(&mut table, 3, 1), Some(Phase::Previous));
    table.discard_previous(handle).unwrap();
    assert_eq!(one(&mut table, 1, 1), None);
    assert_eq!(table.state(handle).unwrap().failures, 2);
}

#[test]
fn a_key_phase_that_goes_back_ends_the_connection() {
    let peer = Peer::fixed();
    let late = |number| move |one: &Outcome| matches!(one, Outcome::KeyUpdateError { number: at, .. } if *at == number);
    // An old key above a new one's number; a new key below an old one's.
    for (packets, number) in [([(1, 0), (3, 1), (4, 0)], 4), ([(1, 0), (4, 0), (3, 1)], 3)] {
        let packets = packets.map(|(number, phase)| peer.short(b'i', number, phase));
        let (_, mut table, handle) = fixed();
        let done = outcomes(&mut table, &packets);
        assert!(late(number)(&done[2]), "{done:?}");
        assert!(table.state(handle).unwrap().is_over);
        let (_, mut alone, _) = fixed();
        let one_by_one = packets.map(|one| outcomes(&mut alone, &[one])[0]);
        assert_eq!(done, one_by_one);
        let again = outcomes(&mut table, &[peer.short(b'i', 9, 0)]);
        assert_eq!(again, [Outcome::Over { connection: handle }]);
    }
}

/// A byte of a number tells 256 apart: what came before in the batch says which it is.
#[test]
fn short_numbers_follow_the_largest_within_a_batch() {
    let (peer, mut table, handle) = fixed();
    let packets = [100, 200, 300, 400].map(|number| peer.packet(b"i", number, 1, 0));
    let done = phases(&outcomes(&mut table, &packets));
    assert_eq!(done, [Some(Phase::Current); 4]);
    let state = table.state(handle).unwrap();
    assert_eq!((state.largest, state.failures), (Some(400), 0));
}
