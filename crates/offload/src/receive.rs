//! Packets of 1-RTT that are opened as they arrive, many by one call, before quinn sees
//! them.
//!
//! The socket looks each packet up by its connection id. What the table opens is handed to
//! quinn opened, with a [mark](crate::mark) in its tag's place; all else as it came, for
//! quinn's own keys to open or refuse. The mark cannot be forged: it begins with a secret,
//! and what arrives with that in its tag's place is spoilt before quinn sees it.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::BytesMut;
use crypto::{Algorithm, Backend, Key, KeyMaterial};
use quic::table::{
    Capacity, Connection, Handle, IssueError, OpenRequest, Outcome, Path, Phase, WhenFull,
};
use quic::{Suite, Table};
use quinn::crypto::{CryptoError, HeaderKey, PacketKey};
use wire::quic::{ConnectionId, FirstByte, TAG_BYTES};

use crate::counters::Counters;
use crate::mark::{Mark, Marked};

/// Connections whose packets are opened together; those of others are opened one by one.
/// A mark names the place of one in two bytes.
const CONNECTIONS_MAX: u32 = 1 << 16;
/// A connection that received nothing for so long makes room for another.
const KEPT_NS: u64 = 30_000_000_000;

/// No connection has this place.
const NOT_KNOWN: u32 = u32::MAX;

/// The connections of the endpoints of one [`crate::Offload`].
pub(crate) struct Receiving {
    backend: Arc<dyn Backend>,
    pub counters: Arc<Counters>,
    known: Mutex<Known>,
    /// Of all ids that were learnt, plus one: an endpoint's have one length. 0: none yet.
    number_at: AtomicU16,
}

struct Known {
    table: Table,
    /// Keys of phases that come after those in the table.
    later: HashMap<Handle, VecDeque<KeyMaterial>>,
}

impl Receiving {
    pub(crate) fn new(backend: &Arc<dyn Backend>, counters: &Arc<Counters>) -> Arc<Self> {
        let capacity = Capacity {
            connections: CONNECTIONS_MAX,
            ids: 2 * CONNECTIONS_MAX,
            failures: u64::MAX,
        };
        let table = Table::new(capacity, WhenFull::Evict { kept_ns: KEPT_NS });
        Arc::new(Self {
            backend: backend.clone(),
            counters: counters.clone(),
            known: Mutex::new(Known {
                table: table.expect("within a table's limits"),
                later: HashMap::new(),
            }),
            number_at: AtomicU16::new(0),
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens what can be of datagrams that came together, from `from` to `to`, which is as
    /// long; the others are copied.
    pub(crate) fn open<'b>(
        &self,
        datagrams: impl Iterator<Item = (Path, &'b [u8], &'b mut [u8])>,
        now_ns: u64,
    ) {
        let number_at = self.number_at.load(Ordering::Acquire);
        let mut requests = Vec::with_capacity(64);
        let mut tags = Vec::with_capacity(64);
        for (path, from, to) in datagrams {
            let is_short = from
                .first()
                .is_some_and(|first| !FirstByte(*first).is_long());
            if number_at > 0 && is_short && from.len() >= TAG_BYTES {
                let (destination, tag) = to.split_at_mut(from.len() - TAG_BYTES);
                tags.push(tag);
                requests.push(OpenRequest {
                    path,
                    packet: from,
                    number_at,
                    destination,
                    outcome: Outcome::Waiting,
                });
            } else {
                to.copy_from_slice(from);
                self.spoil(to);
            }
        }
        if requests.is_empty() {
            return;
        }
        let mut opened_together = 0;
        let mut known = self.known();
        known
            .table
            .open_batch(&*self.backend, &mut requests, now_ns);
        for (request, tag) in requests.into_iter().zip(tags) {
            match request.outcome {
                Outcome::Opened(opened) => {
                    let mark = Mark::Opened {
                        place: opened.connection.place() as u16,
                        phase: opened.updates,
                    };
                    tag.copy_from_slice(&mark.of(opened.number));
                    opened_together += 1;
                    if opened.phase == Phase::Next {
                        known.supply(opened.connection);
                    }
                }
                _ => {
                    let (text, sealed_tag) = request.packet.split_at(request.destination.len());
                    request.destination.copy_from_slice(text);
                    tag.copy_from_slice(sealed_tag);
                    self.spoil(tag);
                }
            }
        }
        self.counters.opened_together.add(opened_together);
    }

    /// What came from outside has no mark.
    fn spoil(&self, packet: &mut [u8]) {
        if Marked::of(packet).is_opened() {
            let mark_at = packet.len() - TAG_BYTES;
            packet[mark_at] ^= 1;
            self.counters.spoilt.add(1);
        }
    }
}

impl Known {
    /// The table goes on to the next phase: it wants the keys of the one after it.
    fn supply(&mut self, connection: Handle) {
        let Some(later) = self.later.get_mut(&connection) else {
            return;
        };
        let wants = self
            .table
            .state(connection)
            .is_ok_and(|state| state.wants_next);
        if wants && let Some(next) = later.pop_front() {
            let supplied = self.table.supply_next(connection, &next);
            supplied.expect("they are of the suite's length, and wanted");
        }
    }
}

/// The receiving side of one connection.
pub(crate) struct Receiver {
    receiving: Arc<Receiving>,
    suite: Suite,
    /// In the table; [`NOT_KNOWN`] where it is not there.
    place: AtomicU32,
    state: Mutex<State>,
}

struct State {
    handle: Option<Handle>,
    /// Until the connection is in the table: its key, and the next phase's.
    first: Option<Box<dyn Key>>,
    next: Option<KeyMaterial>,
    /// That were learnt, the oldest first.
    ids: VecDeque<ConnectionId>,
}

impl Receiver {
    pub(crate) fn new(
        receiving: &Arc<Receiving>,
        suite: Suite,
        material: &KeyMaterial,
    ) -> Option<Arc<Self>> {
        let algorithm = Algorithm::Packets(suite.packets());
        let first = receiving.backend.key(algorithm, material).ok()?;
        Some(Arc::new(Self {
            receiving: receiving.clone(),
            suite,
            place: AtomicU32::new(NOT_KNOWN),
            state: Mutex::new(State {
                handle: None,
                first: Some(first),
                next: None,
                ids: VecDeque::new(),
            }),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// quinn has made the keys of another phase.
    pub(crate) fn later(&self, material: KeyMaterial) {
        let mut state = self.state();
        match state.handle {
            Some(handle) => {
                let mut known = self.receiving.known();
                // It made room for another: nobody would ask for its keys, nor end them.
                if known.table.state(handle).is_ok() {
                    known.later.entry(handle).or_default().push_back(material);
                    known.supply(handle);
                }
            }
            None if state.next.is_none() => state.next = Some(material),
            // Two updates before a first packet was opened: one by one, then.
            None => state.first = None,
        }
    }

    /// A packet to this id was opened: others to it may be opened as they arrive.
    fn learn(&self, id: &[u8]) {
        // Connections without ids are told apart by their paths: quinn does that.
        let Ok(id) = ConnectionId::new(id) else {
            return;
        };
        if id.is_empty() {
            return;
        }
        let mut state = self.state();
        let State {
            handle,
            first,
            next,
            ids,
        } = &mut *state;
        if ids.contains(&id) {
            return;
        }
        let mut known = self.receiving.known();
        let mut issued = match *handle {
            Some(handle) => known.table.issue(handle, id),
            None => {
                let (Some(key), Some(next_keys)) = (first.take(), next.take()) else {
                    return;
                };
                let new = Connection {
                    suite: self.suite,
                    key,
                    next: &next_keys,
                    id,
                    path: Path::new(([0, 0, 0, 0], 0).into(), 0),
                };
                let Ok(added) = known.table.add(new, sys::clock::now_ns()) else {
                    return;
                };
                if let Some(evicted) = added.evicted {
                    known.later.remove(&evicted);
                }
                // A packet of 1-RTT was opened: its handshake is complete here.
                let established = known.table.establish(added.connection);
                established.expect("it was just added");
                *handle = Some(added.connection);
                self.place
                    .store(added.connection.place(), Ordering::Release);
                Ok(())
            }
        };
        if let (Err(IssueError::OfConnection), Some(handle)) = (&issued, *handle)
            && let Some(oldest) = ids.pop_front()
        {
            let retired = known.table.retire(handle, oldest);
            if retired.is_ok() {
                issued = known.table.issue(handle, id);
            }
        }
        if issued.is_ok() {
            ids.push_back(id);
            let number_at = 1 + u16::from(id.length());
            self.receiving.number_at.store(number_at, Ordering::Release);
        }
    }
}

impl Receiver {
    /// A packet was opened alone: for the table it counts as well.
    fn note(&self, number: u64, phase: u16) {
        let Some(handle) = self.state().handle else {
            return;
        };
        let mut known = self.receiving.known();
        let (backend, now_ns) = (&*self.receiving.backend, sys::clock::now_ns());
        let noted = known.table.note(backend, handle, (number, phase), now_ns);
        if noted.is_ok() {
            known.supply(handle);
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let handle = self.state().handle;
        if let Some(handle) = handle {
            let mut known = self.receiving.known();
            known.later.remove(&handle);
            let _ = known.table.remove(handle);
        }
    }
}

/// Opens the packets of one key phase that the socket did not open.
pub(crate) struct Opening {
    pub inline: Box<dyn PacketKey>,
    pub receiver: Arc<Receiver>,
    /// Key updates before it, modulo 2^16.
    pub phase: u16,
}

impl PacketKey for Opening {
    fn encrypt(&self, number: u64, packet: &mut [u8], header_bytes: usize) {
        self.inline.encrypt(number, packet, header_bytes);
    }

    fn decrypt(
        &self,
        number: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let marked = Marked::of(payload);
        if marked.is_opened() {
            let place = self.receiver.place.load(Ordering::Acquire);
            let Ok(place) = u16::try_from(place) else {
                return Err(CryptoError);
            };
            // Of another phase it would not open with this key, and quinn must not take it
            // for the first of a new one.
            let phase = self.phase;
            if !marked.is(Mark::Opened { place, phase }.of(number)) {
                return Err(CryptoError);
            }
            payload.truncate(payload.len() - TAG_BYTES);
            return Ok(());
        }
        self.inline.decrypt(number, header, payload)?;
        self.receiver.receiving.counters.opened_alone.add(1);
        let number_bytes = header
            .first()
            .map(|first| FirstByte(*first).packet_number_bytes());
        if let Some(bytes) = number_bytes
            && let Some(id) = header.get(1..header.len().saturating_sub(bytes))
        {
            self.receiver.learn(id);
        }
        self.receiver.note(number, self.phase);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.inline.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.inline.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.inline.integrity_limit()
    }
}

/// Shows the headers of packets that the socket did not open.
pub(crate) struct Showing(pub Box<dyn HeaderKey>);

impl HeaderKey for Showing {
    fn decrypt(&self, number_at: usize, packet: &mut [u8]) {
        if !Marked::of(packet).is_opened() {
            self.0.decrypt(number_at, packet);
        }
    }

    fn encrypt(&self, number_at: usize, packet: &mut [u8]) {
        self.0.encrypt(number_at, packet);
    }

    fn sample_size(&self) -> usize {
        self.0.sample_size()
    }
}

#[cfg(test)]
mod tests;
