//! What is asked of a table, and what it answers, packet by packet.

use crypto::Status;

#[cfg(doc)]
use super::Table;
use super::{Handle, Path};

/// One packet to open, and what became of it.
pub struct OpenRequest<'b> {
    /// Where its datagram came from.
    pub path: Path,
    /// With a short header (RFC 9000 §17.3.1).
    pub packet: &'b [u8],
    /// Bytes in front of the packet number: the first byte and the connection id. Where the
    /// id has no bytes, the connection is found by its path.
    pub number_at: u16,
    /// 16 bytes less than the packet: gets the header as the sender had it, and the payload
    /// behind it. Zeros unless the outcome is [`Outcome::Opened`].
    pub destination: &'b mut [u8],
    pub outcome: Outcome,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it says whether the packet was opened"]
pub enum Outcome {
    Waiting,
    Opened(Opened),
    /// A long header, a place of the number that is not 1 to 21 bytes, too few bytes for a
    /// sample, or a destination of another length.
    Malformed,
    /// No connection has the id or path.
    Unknown,
    /// Received before: to be discarded (RFC 9000 §12.3).
    Duplicate {
        connection: Handle,
        number: u64,
    },
    /// More than 127 below the largest number: perhaps received before, to be discarded.
    Old {
        connection: Handle,
        number: u64,
    },
    /// No key of the connection opens it, or the next phase's were not supplied. Counted.
    Failed {
        connection: Handle,
    },
    /// AEAD_LIMIT_REACHED: as many packets failed as may (RFC 9001 §6.6). The connection
    /// is over, as with the next two.
    IntegrityLimit {
        connection: Handle,
        failures: u64,
    },
    /// KEY_UPDATE_ERROR: of an older key phase than a packet with a lower number, or of a
    /// newer than one with a higher (RFC 9001 §6.4).
    KeyUpdateError {
        connection: Handle,
        number: u64,
    },
    /// PROTOCOL_VIOLATION: reserved bits are set (RFC 9000 §17.3.1).
    ReservedBits {
        connection: Handle,
        number: u64,
    },
    /// The connection ended before, by one of the three above.
    Over {
        connection: Handle,
    },
    Backend {
        connection: Handle,
        status: Status,
    },
}

/// An opened packet: its payload is in the destination behind the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    pub connection: Handle,
    pub number: u64,
    pub header_bytes: u16,
    pub phase: Phase,
    /// Key updates before the phase of its key, modulo 2^16.
    pub updates: u16,
    /// Whether no larger number was opened before.
    pub is_largest: bool,
    /// The packet came from another path than the connection's: a migration, if it is the
    /// largest and has a non-probing frame (RFC 9000 §9.2, §9.3). The path stays until
    /// [`Table::migrate`].
    pub is_other_path: bool,
}

/// Whose key opened a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Current,
    /// Overtaken by packets of the present phase.
    Previous,
    /// The first of a new phase, which is the present one now: the sealing side answers
    /// with [`crate::sealer::Update::Answered`], and [`Table::supply_next`] is due.
    Next,
}
