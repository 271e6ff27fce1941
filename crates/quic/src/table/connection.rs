//! A connection as a table takes, names and shows it.

use crypto::{Key, KeyMaterial};
use wire::quic::ConnectionId;

use super::Path;
#[cfg(doc)]
use super::Table;
use crate::Suite;

/// Names a connection as long as it is in the table; void for ever after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    pub(super) place: u32,
    pub(super) generation: u32,
}

impl Handle {
    /// Below the table's capacity; no other connection has it at the same time.
    pub fn place(self) -> u32 {
        self.place
    }
}

/// The receiving side of a connection in its first key phase.
pub struct Connection<'k> {
    pub suite: Suite,
    /// For [`Suite::packets`], of the back-end that opens.
    pub key: Box<dyn Key>,
    /// Of the next phase, as [`crate::Protocol::packets_key`] makes it.
    pub next: &'k KeyMaterial,
    /// A first id; of no bytes where the path tells connections apart.
    pub id: ConnectionId,
    pub path: Path,
}

/// A connection that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    pub connection: Handle,
    /// The one that made room, and is no more.
    pub evicted: Option<Handle>,
}

/// What a table says of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pub largest: Option<u64>,
    pub is_phase_set: bool,
    /// The next phase's keys were used: [`Table::supply_next`] is due.
    pub wants_next: bool,
    /// Until [`Table::discard_previous`].
    pub has_previous: bool,
    pub failures: u64,
    pub is_over: bool,
    pub path: Path,
}
