//! VLAN tags (IEEE 802.1Q, 9.6).

use crate::bytes::u16_at;
use crate::error::{EmitError, Layer, ParseError, require};
use crate::ethernet::EtherType;

/// Bytes of a tag behind the type that announces it.
pub const TAG_BYTES: usize = 4;

/// The largest identifier of a VLAN; 4095 is reserved.
pub const IDENTIFIER_MAX: u16 = 4094;

/// A view of a tag and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A view of the bytes behind a type 0x8100 or 0x88a8.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] below 4 bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        require(Layer::Vlan, TAG_BYTES, bytes.len())?;
        Ok(Self { bytes })
    }

    /// The VLAN's number; 0: none, only a priority.
    pub fn identifier(&self) -> u16 {
        u16_at(self.bytes, 0) & 0x0fff
    }

    pub fn priority(&self) -> u8 {
        self.bytes[0] >> 5
    }

    pub fn drop_eligible(&self) -> bool {
        self.bytes[0] & 0x10 != 0
    }

    pub fn ether_type(&self) -> EtherType {
        EtherType(u16_at(self.bytes, 2))
    }

    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[TAG_BYTES..]
    }
}

/// The tags of a frame, the outer one first; ends with the first error.
#[derive(Clone, Debug)]
pub struct Tags<'a> {
    ether_type: EtherType,
    rest: &'a [u8],
}

impl<'a> Tags<'a> {
    pub(crate) fn new(ether_type: EtherType, rest: &'a [u8]) -> Self {
        Self { ether_type, rest }
    }
}

impl<'a> Iterator for Tags<'a> {
    type Item = Result<Packet<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        if !self.ether_type.is_tag() {
            return None;
        }
        let tag = Packet::new(self.rest);
        match &tag {
            Ok(tag) => (self.ether_type, self.rest) = (tag.ether_type(), tag.payload()),
            Err(_) => self.ether_type = EtherType(0),
        }
        Some(tag)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// The VLAN's number, 0 to 4095.
    pub identifier: u16,
    pub priority: u8,
    pub drop_eligible: bool,
    pub ether_type: EtherType,
}

impl Repr {
    pub fn parse(packet: &Packet<'_>) -> Self {
        Self {
            identifier: packet.identifier(),
            priority: packet.priority(),
            drop_eligible: packet.drop_eligible(),
            ether_type: packet.ether_type(),
        }
    }

    /// The tag alone, to go behind a type 0x8100 or 0x88a8.
    ///
    /// # Errors
    /// [`EmitError::Field`] if identifier or priority does not fit.
    pub fn header(&self) -> Result<[u8; TAG_BYTES], EmitError> {
        if self.identifier > 0x0fff {
            return Err(EmitError::field(
                Layer::Vlan,
                "identifier",
                self.identifier,
                "it has 12 bits",
            ));
        }
        if self.priority > 7 {
            return Err(EmitError::field(
                Layer::Vlan,
                "priority",
                self.priority,
                "it has 3 bits",
            ));
        }
        let control =
            u16::from(self.priority) << 13 | u16::from(self.drop_eligible) << 12 | self.identifier;
        let [a, b] = control.to_be_bytes();
        let [c, d] = self.ether_type.0.to_be_bytes();
        Ok([a, b, c, d])
    }

    /// The tag with what follows it.
    pub fn to_bytes(&self, payload: &[u8]) -> Result<Vec<u8>, EmitError> {
        Ok([&self.header()?, payload].concat())
    }
}
