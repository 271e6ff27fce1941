//! The receiving sides of many connections (RFC 9000 §5.1, RFC 9001 §6): found by
//! connection id, opened in batches, within memory that is reserved when a table is made.

mod connection;
mod entry;
mod error;
mod idle;
mod index;
mod open;
mod outcome;

pub use connection::{Added, Connection, Handle, State};
pub use entry::{CONNECTION_BYTES, IDS_MAX};
pub use error::{
    AddError, CapacityError, Gone, IssueError, MigrateError, NextKeysError, RetireError,
};
pub use index::Path;
pub(crate) use open::BATCH_PACKETS;
pub use outcome::{OpenRequest, Opened, Outcome, Phase};

use std::fmt;

use crypto::KeyMaterial;
use wire::quic::ConnectionId;
use zeroize::Zeroize;

use crate::Suite;
use entry::{Entry, Window};
use idle::{NONE, Order};
use index::{Hash, Index, Name};

/// How exact the idle order is, nanoseconds: a packet within this time after the last that
/// counted does not move its connection, which spares most packets two cache misses.
pub const IDLE_STEP_NS: u64 = 1_000_000_000;

/// How much a table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// 1 to 2^30.
    pub connections: u32,
    /// Ids of all connections, as many as those at least, up to 2^31; paths of connections
    /// without an id count.
    pub ids: u32,
    /// Packets of a connection that may fail to open before it is over, where that is less
    /// than [`Suite::integrity_limit`].
    pub failures: u64,
}

/// What a full table does with a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    Refuse,
    /// The connection that is idle longest among those not marked established makes room;
    /// where all are, the one idle longest, if it opened no packet for `kept_ns`
    /// nanoseconds (give or take [`IDLE_STEP_NS`]). Else the new one is refused: a flood of
    /// handshakes ends handshakes, never connections in use.
    Evict {
        kept_ns: u64,
    },
}

/// The receiving sides of many connections. Time is an argument, in nanoseconds of any
/// clock that does not run backwards.
pub struct Table {
    entries: Vec<Entry>,
    /// First vacant entry; the others follow by their links.
    vacant: u32,
    index: Index,
    /// Of connections not established, and established.
    orders: [Order; 2],
    connections: u32,
    connections_max: u32,
    failures_max: u64,
    when_full: WhenFull,
    prefetches: bool,
}

impl Table {
    /// Reserves all memory: [`CONNECTION_BYTES`] for each connection with one id.
    ///
    /// # Errors
    /// [`CapacityError`].
    pub fn new(capacity: Capacity, when_full: WhenFull) -> Result<Self, CapacityError> {
        let Capacity {
            connections, ids, ..
        } = capacity;
        if !(1..=1 << 30).contains(&connections) || !(connections..=1 << 31).contains(&ids) {
            return Err(CapacityError::Range { connections, ids });
        }
        let mut entries = Vec::new();
        let reserved = entries.try_reserve_exact(connections as usize);
        reserved.map_err(CapacityError::Memory)?;
        crypto::prefer_huge_pages(entries.spare_capacity_mut());
        Ok(Self {
            entries,
            vacant: NONE,
            index: Index::new(ids as usize).map_err(CapacityError::Memory)?,
            orders: [Order::EMPTY; 2],
            connections: 0,
            connections_max: connections,
            failures_max: capacity.failures,
            when_full,
            prefetches: true,
        })
    }

    /// Whether batches ask for memory ahead; they do unless told otherwise, to measure.
    pub fn set_prefetches(&mut self, prefetches: bool) {
        self.prefetches = prefetches;
    }

    pub fn connections(&self) -> usize {
        self.connections as usize
    }

    pub fn ids(&self) -> usize {
        self.index.count()
    }

    /// Adds a connection; a full table does as it was told.
    ///
    /// # Errors
    /// [`AddError`]; nothing has changed then.
    pub fn add(&mut self, new: Connection<'_>, now_ns: u64) -> Result<Added, AddError> {
        let name = Name::of(new.id, &new.path);
        let hash = self.index.hash(&name);
        if self.index.find(hash).is_some() {
            return Err(AddError::InUse(new.id));
        }
        check_next(new.suite, new.next)?;
        let is_full = self.connections == self.connections_max || self.index.is_full();
        let evicted = if is_full {
            let full = AddError::Full {
                connections: self.connections(),
                ids: self.ids(),
            };
            Some(self.evict(now_ns).ok_or(full)?)
        } else {
            None
        };
        let place = self.take_vacant(new.path);
        let entry = &mut self.entries[place as usize];
        entry.key = Some(new.key);
        entry.next.fill(new.next);
        (entry.suite, entry.path, entry.active_ns) = (new.suite, new.path, now_ns);
        let connection = Handle {
            place,
            generation: entry.generation,
        };
        self.orders[0].append(&mut self.entries, place);
        self.connections += 1;
        self.name(place, hash);
        Ok(Added {
            connection,
            evicted,
        })
    }

    /// Marks a connection whose handshake is complete: see [`WhenFull::Evict`].
    ///
    /// # Errors
    /// [`Gone`].
    pub fn establish(&mut self, connection: Handle) -> Result<(), Gone> {
        let place = self.place(connection)?;
        let was = std::mem::replace(&mut self.entries[place as usize].is_established, true);
        if !was {
            self.orders[0].remove(&mut self.entries, place);
            self.orders[1].append(&mut self.entries, place);
        }
        Ok(())
    }

    /// Gives a connection another id.
    ///
    /// # Errors
    /// [`IssueError`]; nothing has changed then.
    pub fn issue(&mut self, connection: Handle, id: ConnectionId) -> Result<(), IssueError> {
        let place = self.place(connection)?;
        let entry = &self.entries[place as usize];
        let name = Name::of(id, &entry.path);
        let hash = self.index.hash(&name);
        if self.index.find(hash).is_some() {
            return Err(IssueError::InUse(id));
        }
        if usize::from(entry.ids) == IDS_MAX {
            return Err(IssueError::OfConnection);
        }
        if self.index.is_full() {
            let ids = self.ids();
            return Err(IssueError::Full { ids });
        }
        self.name(place, hash);
        Ok(())
    }

    /// Takes an id from a connection (RFC 9000 §19.16).
    ///
    /// # Errors
    /// [`RetireError`]; nothing has changed then.
    pub fn retire(&mut self, connection: Handle, id: ConnectionId) -> Result<(), RetireError> {
        let place = self.place(connection)?;
        let entry = &self.entries[place as usize];
        let name = Name::of(id, &entry.path);
        let hash = self.index.hash(&name);
        if self.index.find(hash) != Some(place) {
            return Err(RetireError::NotOfConnection(id));
        }
        if entry.ids == 1 {
            return Err(RetireError::Last(id));
        }
        self.unname(place, hash);
        Ok(())
    }

    /// The connection has another path: the caller validated it (RFC 9000 §9.3).
    ///
    /// # Errors
    /// [`MigrateError`]; nothing has changed then.
    pub fn migrate(&mut self, connection: Handle, path: Path) -> Result<(), MigrateError> {
        let place = self.place(connection)?;
        let before = self.entries[place as usize].path;
        let [old, new] = [before, path].map(|path| Name::of(ConnectionId::EMPTY, &path));
        let hash = self.index.hash(&old);
        if old != new && self.index.find(hash) == Some(place) {
            let new_hash = self.index.hash(&new);
            if self.index.find(new_hash).is_some() {
                return Err(MigrateError::InUse(path));
            }
            self.unname(place, hash);
            self.name(place, new_hash);
        }
        self.entries[place as usize].path = path;
        Ok(())
    }

    /// Gives the keys of the phase after the present one, once [`Phase::Next`] was told.
    ///
    /// # Errors
    /// [`NextKeysError`].
    pub fn supply_next(
        &mut self,
        connection: Handle,
        next: &KeyMaterial,
    ) -> Result<(), NextKeysError> {
        let place = self.place(connection)?;
        let entry = &mut self.entries[place as usize];
        check_next(entry.suite, next)?;
        if !entry.next.is_none() {
            return Err(NextKeysError::NotUsed);
        }
        entry.next.fill(next);
        Ok(())
    }

    /// Drops the previous phase's key: three PTO passed since the update (RFC 9001 §6.5).
    ///
    /// # Errors
    /// [`Gone`].
    pub fn discard_previous(&mut self, connection: Handle) -> Result<(), Gone> {
        let place = self.place(connection)?;
        self.entries[place as usize].previous = None;
        Ok(())
    }

    /// Ends a connection: its ids are free, its keys zeroised.
    ///
    /// # Errors
    /// [`Gone`].
    pub fn remove(&mut self, connection: Handle) -> Result<(), Gone> {
        let place = self.place(connection)?;
        self.vacate(place);
        Ok(())
    }

    /// # Errors
    /// [`Gone`].
    pub fn state(&self, connection: Handle) -> Result<State, Gone> {
        let entry = &self.entries[self.place(connection)? as usize];
        Ok(State {
            largest: entry.window.largest(),
            is_phase_set: entry.is_phase_set(),
            wants_next: entry.next.is_none(),
            has_previous: entry.previous.is_some(),
            failures: entry.failures,
            is_over: entry.is_over,
            path: entry.path,
        })
    }

    fn place(&self, connection: Handle) -> Result<u32, Gone> {
        let entry = self.entries.get(connection.place as usize);
        let is_there =
            |entry: &&Entry| entry.generation == connection.generation && entry.key.is_some();
        entry.filter(is_there).ok_or(Gone)?;
        Ok(connection.place)
    }

    fn take_vacant(&mut self, path: Path) -> u32 {
        let place = self.vacant;
        if place == NONE {
            self.entries.push(Entry::vacant(path));
            return self.entries.len() as u32 - 1;
        }
        self.vacant = self.entries[place as usize].links.after;
        place
    }

    fn vacate(&mut self, place: u32) {
        let entry = &mut self.entries[place as usize];
        for home in &entry.homes[..usize::from(entry.ids)] {
            self.index.remove_of(*home, place);
        }
        let order = &mut self.orders[usize::from(entry.is_established)];
        order.remove(&mut self.entries, place);
        let entry = &mut self.entries[place as usize];
        let generation = entry.generation.wrapping_add(1);
        // Where it stays: what is moved over it would leave a copy.
        entry.next.zeroize();
        *entry = Entry::vacant(entry.path);
        entry.generation = generation;
        entry.links.after = std::mem::replace(&mut self.vacant, place);
        self.connections -= 1;
    }

    fn evict(&mut self, now_ns: u64) -> Option<Handle> {
        let WhenFull::Evict { kept_ns } = self.when_full else {
            return None;
        };
        let [new, established] = [0, 1].map(|order: usize| self.orders[order].oldest);
        let place = if new == NONE { established } else { new };
        let entry = self.entries.get(place as usize)?;
        if entry.is_established && now_ns.saturating_sub(entry.active_ns) < kept_ns {
            return None;
        }
        let generation = entry.generation;
        self.vacate(place);
        Some(Handle { place, generation })
    }

    /// A packet of the connection was opened.
    #[inline]
    fn touch(&mut self, place: u32, now_ns: u64) {
        let entry = &mut self.entries[place as usize];
        if now_ns.saturating_sub(entry.active_ns) >= IDLE_STEP_NS {
            entry.active_ns = now_ns;
            let order = &mut self.orders[usize::from(entry.is_established)];
            order.remove(&mut self.entries, place);
            order.append(&mut self.entries, place);
        }
    }

    fn name(&mut self, place: u32, hash: Hash) {
        let entry = &mut self.entries[place as usize];
        entry.homes[usize::from(entry.ids)] = hash.home;
        entry.ids += 1;
        self.index.insert(hash, place);
    }

    fn unname(&mut self, place: u32, hash: Hash) {
        self.index.remove(hash);
        let entry = &mut self.entries[place as usize];
        let homes = &mut entry.homes[..usize::from(entry.ids)];
        let at = homes.iter().position(|one| *one == hash.home);
        homes.swap(
            at.expect("every name's hash is noted"),
            usize::from(entry.ids) - 1,
        );
        entry.ids -= 1;
    }
}

fn check_next(suite: Suite, next: &KeyMaterial) -> Result<(), NextKeysError> {
    let (expected, got) = (suite.packets().key_bytes(), next.expose().len());
    match expected == got {
        true => Ok(()),
        false => Err(NextKeysError::Length { expected, got }),
    }
}

/// Counters alone.
impl fmt::Debug for Table {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.debug_struct("Table")
            .field("connections", &self.connections)
            .field("ids", &self.ids())
            .field("when_full", &self.when_full)
            .finish_non_exhaustive()
    }
}

const _: () = assert!(Window::NUMBERS == 128, "as `Outcome::Old` says");
