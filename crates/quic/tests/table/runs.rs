//! Random sequences of everything, compared with the model outcome by outcome.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use crypto::Backend;
use lockgate_quic::Suite;
use lockgate_quic::table::{
    AddError, Capacity, Handle, IDLE_STEP_NS, IssueError, MigrateError, Outcome, Path, Table,
    WhenFull,
};
use wire::quic::ConnectionId;

use super::model::{Model, No};
use super::peer::PAYLOAD;
use super::{Peer, connection, id, open, path};
use crate::packets::Random;

/// What a peer sent and may send.
#[derive(Default)]
struct Sent {
    next: u64,
    phase: usize,
    packets: Vec<Vec<u8>>,
}

struct Run {
    random: Random,
    backend: Arc<dyn Backend>,
    table: Table,
    model: Model,
    sent: HashMap<Handle, Sent>,
    gone: Vec<Handle>,
    now_ns: u64,
    /// How often each outcome was.
    outcomes: BTreeMap<String, usize>,
}

impl Run {
    fn new(seed: u64, backend: Arc<dyn Backend>) -> Self {
        let mut random = Random(seed | 1);
        let capacity = Capacity {
            connections: 1 + random.below(10) as u32,
            ids: 10 + random.below(20) as u32,
            failures: [7, 60, u64::MAX][random.below(3)],
        };
        let kept_ns = [None, Some(0), Some(5 * IDLE_STEP_NS)][random.below(3)];
        let when_full = kept_ns.map_or(WhenFull::Refuse, |kept_ns| WhenFull::Evict { kept_ns });
        let mut table = super::table(capacity, when_full);
        table.set_prefetches(random.below(4) > 0);
        Self {
            random,
            backend,
            table,
            model: Model::new(capacity, kept_ns),
            sent: HashMap::new(),
            gone: Vec::new(),
            now_ns: 0,
            outcomes: BTreeMap::new(),
        }
    }

    /// Few, so that they meet.
    fn any_id(&mut self) -> ConnectionId {
        let bytes = [0, 1, 1, 2, 8, 20][self.random.below(6)];
        id(&vec![self.random.below(12) as u8; bytes])
    }

    fn any_path(&mut self) -> Path {
        path(self.random.below(6) as u16)
    }

    fn any_connection(&mut self) -> Option<Handle> {
        // By place: a map's own order differs from run to run.
        let mut all: Vec<_> = self.model.known.keys().copied().collect();
        all.sort_by_key(|handle| format!("{handle:?}"));
        (!all.is_empty()).then(|| all[self.random.below(all.len())])
    }

    fn remove(&mut self, handle: Handle) {
        self.model.remove(handle);
        self.sent.remove(&handle);
        self.gone.push(handle);
    }

    fn add(&mut self) {
        let suite = Suite::ALL[self.random.below(3)];
        let peer = Rc::new(Peer::new(suite, &mut self.random));
        let (id, path) = (self.any_id(), self.any_path());
        let next = peer.material(1);
        let new = connection(&peer, &*self.backend, &next, id.bytes(), path);
        let expected = self.model.admits(id, &path, self.now_ns);
        match (self.table.add(new, self.now_ns), expected) {
            (Ok(added), Ok(evicted)) => {
                assert_eq!(added.evicted, evicted);
                evicted.into_iter().for_each(|one| self.remove(one));
                let handle = added.connection;
                self.model.add(handle, peer, id, path, self.now_ns);
                self.sent.insert(handle, Sent::default());
            }
            (Err(AddError::InUse(_)), Err(No::InUse))
            | (Err(AddError::Full { .. }), Err(No::Full)) => {}
            (result, expected) => panic!("{result:?}, {expected:?}"),
        }
    }

    fn change(&mut self) {
        let Some(handle) = self.any_connection() else {
            return;
        };
        match self.random.below(8) {
            0 => {
                self.table.remove(handle).unwrap();
                self.remove(handle);
            }
            1 => {
                self.table.establish(handle).unwrap();
                self.model.establish(handle);
            }
            2 => {
                let path = self.any_path();
                match (
                    self.table.migrate(handle, path),
                    self.model.migrate(handle, path),
                ) {
                    (Ok(()), Ok(())) | (Err(MigrateError::InUse(_)), Err(No::InUse)) => {}
                    unlike => panic!("{unlike:?}"),
                }
            }
            3 => {
                let id = self.any_id();
                match (self.table.issue(handle, id), self.model.issue(handle, id)) {
                    (Ok(()), Ok(()))
                    | (Err(IssueError::InUse(_)), Err(No::InUse))
                    | (Err(IssueError::Full { .. } | IssueError::OfConnection), Err(No::Full)) => {}
                    unlike => panic!("{unlike:?}"),
                }
            }
            4 => {
                let id = self.any_id();
                let (done, expected) =
                    (self.table.retire(handle, id), self.model.retire(handle, id));
                assert_eq!(done.is_ok(), expected.is_ok(), "{done:?}");
            }
            5 => {
                self.table.discard_previous(handle).unwrap();
                self.model
                    .known
                    .get_mut(&handle)
                    .unwrap()
                    .state
                    .has_previous = false;
            }
            _ => {
                let known = self.model.known.get_mut(&handle).unwrap();
                let next = known.peer.material(known.phase + 1);
                let done = self.table.supply_next(handle, &next);
                assert_eq!(done.is_ok(), known.state.wants_next, "{done:?}");
                known.state.wants_next = false;
            }
        }
    }

    /// Packets that the table did not see, of any phase near the present one.
    fn note(&mut self) {
        let Some(handle) = self.any_connection() else {
            return;
        };
        let sent = self.sent.get_mut(&handle).unwrap();
        let known = &self.model.known[&handle];
        let is_update = sent.phase <= known.phase && !known.state.wants_next;
        if is_update && self.random.below(4) == 0 {
            sent.phase += 1;
        }
        for _ in 0..self.random.below(300) {
            let (mut number, mut phase) = (sent.next, sent.phase);
            match self.random.below(40) {
                0 => number = number.saturating_sub(self.random.below(200) as u64),
                1 => phase = phase.saturating_sub(1),
                2 => phase += 1,
                _ => sent.next += 1,
            }
            let noted = (number, phase as u16);
            let table = &mut self.table;
            table
                .note(&*self.backend, handle, noted, self.now_ns)
                .unwrap();
            self.model.note(handle, number, phase, self.now_ns);
        }
    }

    fn packet(&mut self) -> (Path, u16, Vec<u8>) {
        let random = &mut self.random;
        let what = random.below(100);
        let stray = (path(9), 1 + random.below(21) as u16, random.bytes(60));
        let Some(handle) = self.any_connection().filter(|_| what > 2) else {
            return stray;
        };
        let known = &self.model.known[&handle];
        let sent = self.sent.get_mut(&handle).unwrap();
        let random = &mut self.random;
        let id = known.ids[random.below(known.ids.len())];
        let mut from = known.state.path;
        if random.below(8) == 0 && !id.is_empty() {
            from = path(random.below(6) as u16);
        }
        let number_at = 1 + u16::from(id.length());
        // Before its first answer a peer has no leave to update again.
        let may_update = sent.phase <= known.phase && !known.state.wants_next;
        if random.below(12) == 0 && may_update {
            sent.phase += 1;
        }
        if what > 90 && !sent.packets.is_empty() {
            let packet = sent.packets[random.below(sent.packets.len())].clone();
            // Perhaps to an id that it was not sent to.
            return (from, number_at, packet);
        }
        let (mut number, mut phase) = (sent.next, sent.phase);
        match random.below(300) {
            0 => number = number.saturating_sub(random.below(200) as u64),
            1 => phase = phase.saturating_sub(1),
            2 => phase += 1,
            3..20 => number += random.below(150) as u64,
            _ => {}
        }
        sent.next = sent.next.max(number + 1);
        let bytes = 2 + random.below(3);
        let mut plain = Peer::header(id.bytes(), number, bytes, phase);
        plain.extend(&PAYLOAD[random.below(28)..]);
        if random.below(400) == 0 {
            plain[0] |= 0x18;
        }
        let mut packet = known.peer.sealed(plain, id.bytes(), (number, phase));
        sent.packets.push(packet.clone());
        match random.below(12) {
            0 => {
                let at = random.below(8 * packet.len());
                packet[at / 8] ^= 1 << (at % 8);
            }
            1 => packet.truncate(random.below(packet.len())),
            _ => {}
        }
        (from, number_at, packet)
    }

    fn open(&mut self) {
        let count = 1 + self.random.below(70);
        let mut packets: Vec<_> = (0..count).map(|_| self.packet()).collect();
        // Overtaken now and then.
        for _ in 0..self.random.below(count) {
            let [a, b] = [0; 2].map(|_| self.random.below(count));
            packets.swap(a, b);
        }
        let expected: Vec<_> = packets
            .iter()
            .map(|packet| self.model.open(packet, self.now_ns))
            .collect();
        let done = open(&mut self.table, &*self.backend, &packets, self.now_ns);
        for (index, (done, expected)) in done.iter().zip(&expected).enumerate() {
            assert_eq!(done, expected, "packet {index} of {count}");
            *self.outcomes.entry(kind(&done.0)).or_default() += 1;
        }
    }

    fn check(&self) {
        assert_eq!(self.table.connections(), self.model.known.len());
        assert_eq!(self.table.ids(), self.model.ids());
        for (handle, known) in &self.model.known {
            assert_eq!(self.table.state(*handle).unwrap(), known.state);
        }
        assert!(self.gone.iter().all(|one| self.table.state(*one).is_err()));
    }
}

/// Its name, and of an opened packet the phase.
fn kind(outcome: &Outcome) -> String {
    if let Outcome::Opened(opened) = outcome {
        return format!("Opened {:?}", opened.phase);
    }
    let text = format!("{outcome:?}");
    text.split(' ').next().unwrap_or_default().to_owned()
}

#[test]
fn a_table_does_what_one_packet_after_the_other_does() {
    let backends = super::backends();
    let mut outcomes = BTreeMap::<_, usize>::new();
    for round in 0..testing::cases(300, 30_000) {
        let backend = backends[round as usize % backends.len()].clone();
        let mut run = Run::new(
            0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(round.into()),
            backend,
        );
        for _ in 0..60 {
            run.now_ns += run.random.below(3) as u64 * IDLE_STEP_NS / 2;
            match run.random.below(11) {
                0 | 1 => run.add(),
                2..6 => run.change(),
                6 => run.note(),
                _ => run.open(),
            }
            run.check();
        }
        for (kind, count) in run.outcomes {
            *outcomes.entry(kind).or_default() += count;
        }
    }
    println!("{outcomes:?}");
    // All but `Waiting` and `Backend`.
    assert!(outcomes.len() == 12 && outcomes.values().all(|count| *count >= 10));
}
