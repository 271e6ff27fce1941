use std::net::Ipv4Addr;

use super::{HEADER_BYTES, Options, Packet};
use crate::checksum;
use crate::error::{EmitError, Layer, ParseError, length_field};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fragment {
    offset_words: u16,
    more: bool,
}

impl Fragment {
    pub const WHOLE: Self = Self {
        offset_words: 0,
        more: false,
    };

    /// A part that begins at `offset_bytes`, with `more` to follow.
    ///
    /// # Errors
    /// [`EmitError::Field`] if the offset is no multiple of 8 or above 65,528.
    pub fn new(offset_bytes: u32, more: bool) -> Result<Self, EmitError> {
        match u16::try_from(offset_bytes / 8) {
            Ok(offset_words) if offset_bytes.is_multiple_of(8) && offset_words < 1 << 13 => {
                Ok(Self { offset_words, more })
            }
            _ => Err(EmitError::field(
                Layer::Ipv4,
                "fragment offset",
                offset_bytes,
                "a multiple of 8, at most 65528",
            )),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub protocol: u8,
    pub ttl: u8,
    pub traffic_class: u8,
    pub identification: u16,
    pub dont_fragment: bool,
    pub fragment: Fragment,
    pub options: Options,
}

impl Repr {
    /// A plain one, with a time to live of 64.
    pub fn new(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8) -> Self {
        Self {
            source,
            destination,
            protocol,
            ttl: 64,
            traffic_class: 0,
            identification: 0,
            dont_fragment: false,
            fragment: Fragment::WHOLE,
            options: Options::NONE,
        }
    }

    /// From a view.
    ///
    /// # Errors
    /// [`ParseError::Checksum`]; [`ParseError::Field`] if the reserved flag is
    /// set, which a valid packet never has.
    pub fn parse(packet: &Packet<'_>) -> Result<Self, ParseError> {
        if !packet.is_checksum_right() {
            return Err(ParseError::Checksum { layer: Layer::Ipv4 });
        }
        if packet.reserved_flag() {
            return Err(ParseError::field(Layer::Ipv4, "reserved flag", 1_u32, "0"));
        }
        Ok(Self {
            source: packet.source(),
            destination: packet.destination(),
            protocol: packet.protocol(),
            ttl: packet.ttl(),
            traffic_class: packet.traffic_class(),
            identification: packet.identification(),
            dont_fragment: packet.dont_fragment(),
            fragment: Fragment::new(packet.fragment_offset_bytes(), packet.more_fragments())
                .expect("the field has 13 bits of words"),
            options: Options::new(packet.option_bytes())
                .expect("a header of 15 words has 40 bytes of options"),
        })
    }

    /// Bytes of the header with its options, 20 to 60.
    pub fn header_bytes(&self) -> usize {
        HEADER_BYTES + self.options.as_bytes().len()
    }

    /// Writes the header of a packet with this many bytes of payload.
    ///
    /// # Errors
    /// [`EmitError::Long`] above 65,535 bytes with the header; then nothing was
    /// written.
    ///
    /// # Panics
    /// If `header` is not [`Self::header_bytes`] long.
    pub fn write_header(&self, payload_bytes: usize, header: &mut [u8]) -> Result<(), EmitError> {
        let header_bytes = self.header_bytes();
        assert_eq!(header.len(), header_bytes, "room for the header alone");
        let total = length_field(Layer::Ipv4, header_bytes + payload_bytes)?;
        let flags = u16::from(self.dont_fragment) << 14 | u16::from(self.fragment.more) << 13;
        let words = u8::try_from(header_bytes / 4).expect("at most 15");
        header[..2].copy_from_slice(&[0x40 | words, self.traffic_class]);
        header[2..4].copy_from_slice(&total.to_be_bytes());
        header[4..6].copy_from_slice(&self.identification.to_be_bytes());
        header[6..8].copy_from_slice(&(flags | self.fragment.offset_words).to_be_bytes());
        header[8..12].copy_from_slice(&[self.ttl, self.protocol, 0, 0]);
        header[12..16].copy_from_slice(&self.source.octets());
        header[16..20].copy_from_slice(&self.destination.octets());
        header[20..].copy_from_slice(self.options.as_bytes());
        let checksum = checksum::of(header);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        Ok(())
    }

    /// A packet with this payload.
    pub fn to_bytes(&self, payload: &[u8]) -> Result<Vec<u8>, EmitError> {
        let mut bytes = vec![0; self.header_bytes()];
        self.write_header(payload.len(), &mut bytes)?;
        bytes.extend(payload);
        Ok(bytes)
    }
}
