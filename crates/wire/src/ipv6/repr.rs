use std::net::Ipv6Addr;

use super::{HEADER_BYTES, Packet};
use crate::error::{EmitError, Layer, length_field};

/// A header without extensions: those are the first bytes of its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    pub source: Ipv6Addr,
    pub destination: Ipv6Addr,
    pub next_header: u8,
    pub hop_limit: u8,
    pub traffic_class: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
}

impl Repr {
    pub fn new(source: Ipv6Addr, destination: Ipv6Addr, next_header: u8) -> Self {
        Self {
            source,
            destination,
            next_header,
            hop_limit: 64,
            traffic_class: 0,
            flow_label: 0,
        }
    }

    pub fn parse(packet: &Packet<'_>) -> Self {
        Self {
            source: packet.source(),
            destination: packet.destination(),
            next_header: packet.next_header(),
            hop_limit: packet.hop_limit(),
            traffic_class: packet.traffic_class(),
            flow_label: packet.flow_label(),
        }
    }

    /// Writes the header of a packet with this many bytes of payload.
    ///
    /// # Errors
    /// [`EmitError::Long`] above 65,535 bytes of payload, [`EmitError::Field`]
    /// for a flow label of more than 20 bits; then nothing was written.
    ///
    /// # Panics
    /// If `header` is not 40 bytes long.
    pub fn write_header(&self, payload_bytes: usize, header: &mut [u8]) -> Result<(), EmitError> {
        assert_eq!(header.len(), HEADER_BYTES, "room for the header alone");
        if self.flow_label >= 1 << 20 {
            return Err(EmitError::field(
                Layer::Ipv6,
                "flow label",
                self.flow_label,
                "it has 20 bits",
            ));
        }
        let length = length_field(Layer::Ipv6, payload_bytes)?;
        let first = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label;
        header[..4].copy_from_slice(&first.to_be_bytes());
        header[4..6].copy_from_slice(&length.to_be_bytes());
        header[6..8].copy_from_slice(&[self.next_header, self.hop_limit]);
        header[8..24].copy_from_slice(&self.source.octets());
        header[24..].copy_from_slice(&self.destination.octets());
        Ok(())
    }

    /// A packet with this payload.
    pub fn to_bytes(&self, payload: &[u8]) -> Result<Vec<u8>, EmitError> {
        let mut bytes = vec![0; HEADER_BYTES];
        self.write_header(payload.len(), &mut bytes)?;
        bytes.extend(payload);
        Ok(bytes)
    }
}
