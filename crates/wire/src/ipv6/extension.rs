//! Extension headers (RFC 8200, section 4; RFC 4302 for authentication).

use crate::bytes::{u16_at, u32_at};
use crate::error::{EmitError, Layer, ParseError, require};

pub const HOP_BY_HOP: u8 = 0;
pub const ROUTING: u8 = 43;
pub const FRAGMENT: u8 = 44;
/// Authentication (RFC 4302).
pub const AUTHENTICATION: u8 = 51;
pub const NO_NEXT: u8 = 59;
pub const DESTINATION: u8 = 60;
/// Mobility (RFC 6275).
pub const MOBILITY: u8 = 135;
/// Host identity (RFC 7401).
pub const HOST_IDENTITY: u8 = 139;
/// Shim6 (RFC 5533).
pub const SHIM6: u8 = 140;

/// Whether a next header is an extension that says its own length.
pub fn is_extension(next_header: u8) -> bool {
    [
        HOP_BY_HOP,
        ROUTING,
        FRAGMENT,
        AUTHENTICATION,
        DESTINATION,
        MOBILITY,
        HOST_IDENTITY,
        SHIM6,
    ]
    .contains(&next_header)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    kind: u8,
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A view of the bytes where a header of that kind begins.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] if they are fewer than its length says;
    /// [`ParseError::Field`] if the kind is no extension.
    pub fn new(kind: u8, bytes: &'a [u8]) -> Result<Self, ParseError> {
        if !is_extension(kind) {
            return Err(ParseError::field(
                Layer::Ipv6Extension,
                "kind",
                kind,
                "an extension",
            ));
        }
        require(Layer::Ipv6Extension, 8, bytes.len())?;
        let length = match kind {
            FRAGMENT => 8,
            AUTHENTICATION => (usize::from(bytes[1]) + 2) * 4,
            _ => (usize::from(bytes[1]) + 1) * 8,
        };
        require(Layer::Ipv6Extension, length, bytes.len())?;
        let bytes = &bytes[..length];
        Ok(Self { kind, bytes })
    }

    pub fn kind(&self) -> u8 {
        self.kind
    }

    pub fn next_header(&self) -> u8 {
        self.bytes[0]
    }

    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// What a fragment header says; `None` for other kinds.
    pub fn fragment(&self) -> Option<Fragment> {
        (self.kind == FRAGMENT).then(|| {
            let field = u16_at(self.bytes, 2);
            Fragment {
                offset_bytes: field & !7,
                more: field & 1 != 0,
                identification: u32_at(self.bytes, 4),
            }
        })
    }
}

/// Which part of a packet (RFC 8200, section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    pub offset_bytes: u16,
    pub more: bool,
    pub identification: u32,
}

/// The extension headers of a packet; ends with the first error or the upper
/// layer.
#[derive(Clone, Debug)]
pub struct Extensions<'a> {
    next_header: u8,
    rest: &'a [u8],
}

impl<'a> Extensions<'a> {
    pub(crate) fn new(next_header: u8, rest: &'a [u8]) -> Self {
        Self { next_header, rest }
    }

    /// The bytes behind those that were read, and their next header.
    pub fn rest(&self) -> (u8, &'a [u8]) {
        (self.next_header, self.rest)
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Result<Packet<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        if !is_extension(self.next_header) {
            return None;
        }
        let header = Packet::new(self.next_header, self.rest);
        match &header {
            Ok(header) => {
                self.rest = &self.rest[header.bytes.len()..];
                // Behind a later fragment's header come bytes of its middle.
                let is_later = header
                    .fragment()
                    .is_some_and(|fragment| fragment.offset_bytes > 0);
                self.next_header = if is_later {
                    NO_NEXT
                } else {
                    header.next_header()
                };
            }
            Err(_) => (self.next_header, self.rest) = (NO_NEXT, &[]),
        }
        Some(header)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr<'a> {
    HopByHop(&'a [u8]),
    Destination(&'a [u8]),
    /// Where to go through (RFC 8200, section 4.4).
    Routing {
        kind: u8,
        segments_left: u8,
        /// The data of that variant: 4 bytes and whole words.
        data: &'a [u8],
    },
    Fragment(Fragment),
}

impl Repr<'_> {
    pub fn kind(&self) -> u8 {
        match self {
            Self::HopByHop(_) => HOP_BY_HOP,
            Self::Destination(_) => DESTINATION,
            Self::Routing { .. } => ROUTING,
            Self::Fragment(_) => FRAGMENT,
        }
    }

    /// The header, with what follows it.
    ///
    /// # Errors
    /// [`EmitError`] if its contents are longer than 2,046 bytes, or a
    /// fragment's offset is no multiple of 8.
    pub fn to_bytes(&self, next_header: u8, payload: &[u8]) -> Result<Vec<u8>, EmitError> {
        let mut bytes = vec![next_header, 0];
        match self {
            Self::HopByHop(options) | Self::Destination(options) => {
                bytes.extend(*options);
                pad(&mut bytes);
            }
            Self::Routing {
                kind,
                segments_left,
                data,
            } => {
                bytes.extend([*kind, *segments_left]);
                bytes.extend(*data);
                bytes.resize(bytes.len().next_multiple_of(8), 0);
            }
            Self::Fragment(fragment) => {
                if !fragment.offset_bytes.is_multiple_of(8) {
                    return Err(EmitError::field(
                        Layer::Ipv6Extension,
                        "fragment offset",
                        fragment.offset_bytes,
                        "a multiple of 8",
                    ));
                }
                bytes.extend((fragment.offset_bytes | u16::from(fragment.more)).to_be_bytes());
                bytes.extend(fragment.identification.to_be_bytes());
            }
        }
        bytes[1] = u8::try_from(bytes.len() / 8 - 1).map_err(|_| EmitError::Long {
            layer: Layer::Ipv6Extension,
            found_bytes: bytes.len(),
            limit_bytes: 2048,
        })?;
        bytes.extend(payload);
        Ok(bytes)
    }
}

/// Fills with a Pad1 or PadN option (RFC 8200, section 4.2).
fn pad(bytes: &mut Vec<u8>) {
    let missing = bytes.len().next_multiple_of(8) - bytes.len();
    match missing {
        0 => {}
        1 => bytes.push(0),
        _ => {
            bytes.extend([1, u8::try_from(missing - 2).expect("below 8")]);
            bytes.resize(bytes.len() + missing - 2, 0);
        }
    }
}
