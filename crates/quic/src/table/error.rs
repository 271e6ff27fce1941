//! Why a table refuses: an enum for each operation.

use wire::quic::ConnectionId;

use super::{IDS_MAX, Path};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapacityError {
    #[error(
        "a table for {connections} connections and {ids} ids: give 1 to 2^30, and as many ids \
         at least, 2^31 at most"
    )]
    Range { connections: u32, ids: u32 },
    #[error("the memory cannot be reserved: make the table smaller")]
    Memory(#[source] std::collections::TryReserveError),
}

/// The connection is not in the table: it was removed or evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection is not in the table any more")]
pub struct Gone;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    #[error("the table is full with {connections} connections, {ids} ids, and none may be evicted")]
    Full { connections: usize, ids: usize },
    #[error("id '{0}', or its path where it is empty, is in use: draw another")]
    InUse(ConnectionId),
    #[error(transparent)]
    Next(#[from] NextKeysError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IssueError {
    #[error(transparent)]
    Gone(#[from] Gone),
    #[error("id '{0}', or its path where it is empty, is in use: draw another")]
    InUse(ConnectionId),
    #[error("the connection has {IDS_MAX} ids, the most: retire one first")]
    OfConnection,
    #[error("the table is full with {ids} ids: retire some first")]
    Full { ids: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RetireError {
    #[error(transparent)]
    Gone(#[from] Gone),
    #[error("id '{0}' is none of the connection's")]
    NotOfConnection(ConnectionId),
    #[error("id '{0}' is the connection's last: remove the connection, or issue another first")]
    Last(ConnectionId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MigrateError {
    #[error(transparent)]
    Gone(#[from] Gone),
    #[error("another connection without an id has the path of {}", .0.peer())]
    InUse(Path),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NextKeysError {
    #[error(transparent)]
    Gone(#[from] Gone),
    #[error("keys of the next phase have {got} bytes, the suite takes {expected}")]
    Length { expected: usize, got: usize },
    #[error("the next phase's keys were not used yet: wait for its first packet")]
    NotUsed,
}
