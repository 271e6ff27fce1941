//! What a table does, said plainly: maps, sets, and one packet after the other.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use crypto::Backend;
use lockgate_quic::protection::{PacketKey, TAG_BYTES, Unmasked};
use lockgate_quic::table::{Handle, IDLE_STEP_NS, IDS_MAX, Opened, Outcome, Path, Phase, State};
use wire::quic::ConnectionId;

use super::Peer;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Name {
    Id(ConnectionId),
    Path(std::net::SocketAddr, u16),
}

pub(super) struct Known {
    pub(super) peer: Rc<Peer>,
    pub(super) phase: usize,
    pub(super) state: State,
    pub(super) ids: Vec<ConnectionId>,
    pub(super) is_established: bool,
    received: BTreeSet<u64>,
    first_of_phase: u64,
    active_ns: u64,
    order: u64,
}

pub(super) struct Model {
    backend: Arc<dyn Backend>,
    names: HashMap<Name, Handle>,
    pub(super) known: HashMap<Handle, Known>,
    pub(super) capacity: lockgate_quic::table::Capacity,
    pub(super) kept_ns: Option<u64>,
    order: u64,
}

fn name(id: ConnectionId, path: &Path) -> Name {
    match id.is_empty() {
        true => Name::Path(path.peer(), path.local()),
        false => Name::Id(id),
    }
}

/// Why an operation is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum No {
    InUse,
    Full,
    Other,
}

impl Model {
    pub(super) fn new(capacity: lockgate_quic::table::Capacity, kept_ns: Option<u64>) -> Self {
        Self {
            backend: super::portable(),
            names: HashMap::new(),
            known: HashMap::new(),
            capacity,
            kept_ns,
            order: 0,
        }
    }

    pub(super) fn ids(&self) -> usize {
        self.names.len()
    }

    fn is_full_of_ids(&self) -> bool {
        self.names.len() == self.capacity.ids as usize
    }

    /// Who makes room for a new connection, before it has a handle.
    pub(super) fn admits(
        &self,
        id: ConnectionId,
        path: &Path,
        now_ns: u64,
    ) -> Result<Option<Handle>, No> {
        if self.names.contains_key(&name(id, path)) {
            return Err(No::InUse);
        }
        let is_full = self.known.len() == self.capacity.connections as usize;
        if !is_full && !self.is_full_of_ids() {
            return Ok(None);
        }
        let kept_ns = self.kept_ns.ok_or(No::Full)?;
        let oldest = self
            .known
            .iter()
            .min_by_key(|(_, one)| (one.is_established, one.order));
        let (handle, oldest) = oldest.ok_or(No::Full)?;
        let is_kept = oldest.is_established && now_ns - oldest.active_ns < kept_ns;
        if is_kept {
            Err(No::Full)
        } else {
            Ok(Some(*handle))
        }
    }

    pub(super) fn add(
        &mut self,
        handle: Handle,
        peer: Rc<Peer>,
        id: ConnectionId,
        path: Path,
        now_ns: u64,
    ) {
        self.order += 1;
        let state = State {
            largest: None,
            is_phase_set: false,
            wants_next: false,
            has_previous: false,
            failures: 0,
            is_over: false,
            path,
        };
        self.names.insert(name(id, &path), handle);
        let known = Known {
            peer,
            phase: 0,
            state,
            ids: vec![id],
            is_established: false,
            received: BTreeSet::new(),
            first_of_phase: 0,
            active_ns: now_ns,
            order: self.order,
        };
        assert!(self.known.insert(handle, known).is_none());
    }

    pub(super) fn establish(&mut self, handle: Handle) {
        self.order += 1;
        let known = self.known.get_mut(&handle).unwrap();
        if !known.is_established {
            (known.is_established, known.order) = (true, self.order);
        }
    }

    pub(super) fn remove(&mut self, handle: Handle) {
        self.known.remove(&handle).unwrap();
        self.names.retain(|_, of| *of != handle);
    }

    pub(super) fn issue(&mut self, handle: Handle, id: ConnectionId) -> Result<(), No> {
        let is_full = self.is_full_of_ids();
        let known = self.known.get_mut(&handle).unwrap();
        let name = name(id, &known.state.path);
        if self.names.contains_key(&name) {
            return Err(No::InUse);
        }
        if is_full || known.ids.len() == IDS_MAX {
            return Err(No::Full);
        }
        known.ids.push(id);
        self.names.insert(name, handle);
        Ok(())
    }

    pub(super) fn retire(&mut self, handle: Handle, id: ConnectionId) -> Result<(), No> {
        let known = self.known.get_mut(&handle).unwrap();
        let name = name(id, &known.state.path);
        if self.names.get(&name) != Some(&handle) || known.ids.len() == 1 {
            return Err(No::Other);
        }
        known.ids.retain(|one| *one != id);
        self.names.remove(&name);
        Ok(())
    }

    pub(super) fn migrate(&mut self, handle: Handle, path: Path) -> Result<(), No> {
        let known = self.known.get_mut(&handle).unwrap();
        let [old, new] = [known.state.path, path].map(|path| name(ConnectionId::EMPTY, &path));
        if known.ids.contains(&ConnectionId::EMPTY) && old != new {
            if self.names.contains_key(&new) {
                return Err(No::InUse);
            }
            self.names.remove(&old);
            self.names.insert(new, handle);
        }
        known.state.path = path;
        Ok(())
    }

    /// A packet of that number and phase was opened by somebody else.
    pub(super) fn note(&mut self, handle: Handle, number: u64, phase: usize, now_ns: u64) {
        let known = self.known.get_mut(&handle).unwrap();
        let (present, largest) = (known.phase, known.state.largest);
        let is_early = phase == present + 1 && !known.state.wants_next && largest < Some(number);
        let is_overtaken =
            phase + 1 == present && known.state.has_previous && number < known.first_of_phase;
        if known.state.is_over || !(phase == present || is_early || is_overtaken) {
            return;
        }
        if phase == present {
            known.first_of_phase = known.first_of_phase.min(number);
        }
        if is_early {
            known.update(number);
        }
        let is_old = largest.is_some_and(|largest| number + 128 <= largest);
        if is_old || !known.received.insert(number) {
            return;
        }
        known.state.largest = largest.max(Some(number));
        self.touch(handle, now_ns);
    }

    fn touch(&mut self, handle: Handle, now_ns: u64) {
        let known = self.known.get_mut(&handle).unwrap();
        if now_ns - known.active_ns >= IDLE_STEP_NS {
            self.order += 1;
            (known.active_ns, known.order) = (now_ns, self.order);
        }
    }

    /// Opens a packet as RFC 9001 §6.3 to §6.5 say, by the number that its header shows.
    pub(super) fn open(
        &mut self,
        (path, number_at, packet): &(Path, u16, Vec<u8>),
        now_ns: u64,
    ) -> (Outcome, Vec<u8>) {
        let mut plain = vec![0; packet.len().saturating_sub(TAG_BYTES)];
        let at = usize::from(*number_at);
        let is_sound = (1..=21).contains(&at) && packet.len() >= at + 20 && packet[0] < 0x80;
        if !is_sound {
            return (Outcome::Malformed, plain);
        }
        let id = ConnectionId::new(&packet[1..at]).unwrap();
        let Some(&connection) = self.names.get(&name(id, path)) else {
            return (Outcome::Unknown, plain);
        };
        let known = self.known.get_mut(&connection).unwrap();
        if known.state.is_over {
            return (Outcome::Over { connection }, plain);
        }
        let key = |phase| known.peer.alone(&*self.backend, phase);
        let mut copy = packet.clone();
        let largest = known.state.largest;
        let shown = Unmasked::new(&known.peer.header, &mut copy, at, largest).unwrap();
        let (number, first) = (shown.number, shown.first());
        let is_present = first.is_key_phase_set() == known.state.is_phase_set;
        let present = known.phase;
        let mut phases = Vec::new();
        if is_present {
            phases.push(present);
        } else {
            phases.extend((!known.state.wants_next).then_some(present + 1));
            phases.extend(known.state.has_previous.then(|| present - 1));
        }
        let tried = phases.into_iter().find_map(|phase| {
            let mut copy = packet.clone();
            opens(&known.peer, &key(phase), &mut copy, at, largest)
                .map(|clear| (phase, copy, clear))
        });
        let Some((phase, copy, is_reserved_clear)) = tried else {
            known.state.failures += 1;
            let failures = known.state.failures;
            known.state.is_over = failures >= self.capacity.failures;
            let outcome = match known.state.is_over {
                true => Outcome::IntegrityLimit {
                    connection,
                    failures,
                },
                false => Outcome::Failed { connection },
            };
            return (outcome, plain);
        };
        let is_late = phase < present && number >= known.first_of_phase
            || phase > present && largest >= Some(number);
        if is_late || !is_reserved_clear {
            known.state.is_over = true;
            let outcome = match is_late {
                true => Outcome::KeyUpdateError { connection, number },
                false => Outcome::ReservedBits { connection, number },
            };
            return (outcome, plain);
        }
        if largest.is_some_and(|largest| number + 128 <= largest) {
            return (Outcome::Old { connection, number }, plain);
        }
        if !known.received.insert(number) {
            return (Outcome::Duplicate { connection, number }, plain);
        }
        let updates = phase as u16;
        let phase = match phase.cmp(&present) {
            std::cmp::Ordering::Less => Phase::Previous,
            std::cmp::Ordering::Equal => {
                known.first_of_phase = known.first_of_phase.min(number);
                Phase::Current
            }
            std::cmp::Ordering::Greater => {
                known.update(number);
                Phase::Next
            }
        };
        known.state.largest = largest.max(Some(number));
        let is_other_path = *path != known.state.path;
        self.touch(connection, now_ns);
        plain.copy_from_slice(&copy[..packet.len() - TAG_BYTES]);
        let opened = Opened {
            connection,
            number,
            header_bytes: (at + first.packet_number_bytes()) as u16,
            phase,
            updates,
            is_largest: largest < Some(number),
            is_other_path,
        };
        (Outcome::Opened(opened), plain)
    }
}

impl Known {
    /// A packet of that number was the first of the next phase.
    fn update(&mut self, number: u64) {
        self.phase += 1;
        self.first_of_phase = number;
        let state = &mut self.state;
        (state.has_previous, state.wants_next) = (true, true);
        state.is_phase_set = !state.is_phase_set;
    }
}

/// Whether the key opens a packet, and then whether its reserved bits are clear.
fn opens(
    peer: &Peer,
    key: &PacketKey<'_>,
    copy: &mut [u8],
    at: usize,
    largest: Option<u64>,
) -> Option<bool> {
    use lockgate_quic::protection::OpenError;
    let shown = Unmasked::new(&peer.header, copy, at, largest).unwrap();
    match shown.open(key) {
        Ok(_) => Some(true),
        Err((_, OpenError::ReservedBits)) => Some(false),
        Err((_, OpenError::Authentication)) => None,
        Err((_, error)) => panic!("{error}"),
    }
}
