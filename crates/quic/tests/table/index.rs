//! Ids of a large table, issued and retired in any order.

use std::collections::HashMap;

use lockgate_quic::table::{Capacity, Handle, Outcome, WhenFull};

use super::{Peer, add, id, open, path, portable};
use crate::packets::Random;

#[test]
fn every_id_is_found_and_no_other() {
    let mut random = Random(4242);
    let peer = Peer::fixed();
    let capacity = Capacity {
        connections: 300,
        ids: 1000,
        failures: u64::MAX,
    };
    let mut table = super::table(capacity, WhenFull::Refuse);
    let mut names = HashMap::<Vec<u8>, Handle>::new();
    let mut handles = Vec::new();
    for step in 0..testing::cases(20_000, 1_000_000) {
        let name = [&[7][..], &(random.below(2000) as u16).to_be_bytes()].concat();
        let owner = names.get(&name).copied();
        let any = (!handles.is_empty()).then(|| handles[random.below(handles.len())]);
        match (random.below(20), any, owner) {
            (0..3, _, None) => {
                if let Ok(added) = add(&mut table, &peer, &name, path(1), 0) {
                    handles.push(added.connection);
                    names.insert(name, added.connection);
                }
            }
            (3..11, Some(any), None) if table.issue(any, id(&name)).is_ok() => {
                names.insert(name, any);
            }
            (11..19, _, Some(owner)) if table.retire(owner, id(&name)).is_ok() => {
                names.remove(&name);
            }
            (19, Some(any), _) => {
                table.remove(any).unwrap();
                handles.retain(|one| *one != any);
                names.retain(|_, one| *one != any);
            }
            _ => {}
        }
        assert_eq!(
            (table.connections(), table.ids()),
            (handles.len(), names.len())
        );
        if step % 500 > 0 {
            continue;
        }
        // Whose a name is, a packet that fails says too.
        let name = |at: u16| [&[7][..], &at.to_be_bytes()].concat();
        let packets: Vec<_> = (0..2000)
            .map(|at| (path(1), 4, [&[0x40][..], &name(at), &[0; 30]].concat()))
            .collect();
        for (at, (outcome, _)) in open(&mut table, &*portable(), &packets, 0)
            .iter()
            .enumerate()
        {
            let owner = names.get(&name(at as u16)).copied();
            let expected = owner.map_or(Outcome::Unknown, |connection| Outcome::Failed {
                connection,
            });
            assert_eq!(*outcome, expected);
        }
    }
}
