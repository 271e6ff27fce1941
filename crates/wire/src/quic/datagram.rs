use super::Packet;
use crate::error::ParseError;

/// The packets of a datagram (RFC 9000, section 12.2); ends with the first error.
/// Whether they belong together is for the caller to see: [`Packet::destination`].
#[derive(Clone, Debug)]
pub struct Datagram<'a, F> {
    rest: &'a [u8],
    local_id_bytes: F,
    is_over: bool,
}

impl<'a, F: FnMut(&'a [u8]) -> usize> Datagram<'a, F> {
    /// The payload of a UDP datagram. `local_id_bytes` says how long the connection ID
    /// of a short header is, as for [`Packet::new`].
    pub fn new(bytes: &'a [u8], local_id_bytes: F) -> Self {
        Self {
            rest: bytes,
            local_id_bytes,
            is_over: false,
        }
    }

    /// What was not read; after an error it begins with the packet that is none.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a, F: FnMut(&'a [u8]) -> usize> Iterator for Datagram<'a, F> {
    type Item = Result<Packet<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over || self.rest.is_empty() {
            return None;
        }
        let packet = Packet::new(self.rest, &mut self.local_id_bytes);
        match &packet {
            Ok(packet) => self.rest = &self.rest[packet.bytes().len()..],
            Err(_) => self.is_over = true,
        }
        Some(packet)
    }
}
