//! Connection IDs of versions 1 and 2.

use std::fmt;

use crate::error::{Layer, ParseError};

/// The most bytes in versions 1 and 2 (RFC 9000, section 17.2); other versions may
/// have 255 (RFC 8999, section 5.1), and those stay slices.
pub const CONNECTION_ID_BYTES_MAX: usize = 20;

/// A connection ID (RFC 9000, section 5.1): 0 to 20 bytes, ordered as slices are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ConnectionId {
    /// Zeros behind the length, so that equal IDs are equal, and in their order.
    bytes: [u8; CONNECTION_ID_BYTES_MAX],
    length: u8,
}

impl ConnectionId {
    pub const EMPTY: Self = Self {
        bytes: [0; CONNECTION_ID_BYTES_MAX],
        length: 0,
    };

    /// # Errors
    /// [`ParseError::Field`] above 20 bytes.
    pub fn new(id: &[u8]) -> Result<Self, ParseError> {
        if id.len() > CONNECTION_ID_BYTES_MAX {
            let found = u32::try_from(id.len()).unwrap_or(u32::MAX);
            let field = "length of a connection ID";
            return Err(ParseError::field(
                Layer::Quic,
                field,
                found,
                "0 to 20 bytes",
            ));
        }
        let mut bytes = [0; CONNECTION_ID_BYTES_MAX];
        bytes[..id.len()].copy_from_slice(id);
        let length = u8::try_from(id.len()).expect("20 at most");
        Ok(Self { bytes, length })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// 0 to 20.
    pub fn length(&self) -> u8 {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// Two digits a byte; nothing if it is empty.
impl fmt::Display for ConnectionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes()
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ConnectionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ConnectionId({self})")
    }
}
