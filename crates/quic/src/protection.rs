//! One packet after the other, by any back-end that has its cipher: the second opinion on
//! whatever does many at once, and what opens captures.

use crypto::{
    Backend, Data, HeaderMask, Key, KeyError, KeyMaterial, Kind, Operation, Slices, Status,
    packet_nonce,
};
use wire::quic::{FirstByte, packet_number};
pub use wire::quic::{SAMPLE_BYTES, TAG_BYTES};

use crate::keys::IV_BYTES;
use crate::{Protocol, Secret, Suite};

const NUMBER_BYTES_MAX: usize = packet_number::BYTES_MAX;

/// Hides and shows the first byte and the packet number (§5.4). It serves a connection's
/// side through all its key phases.
pub struct HeaderKey(HeaderMask);

impl HeaderKey {
    /// # Panics
    /// When the secret is not of the suite.
    pub fn derive(protocol: Protocol, suite: Suite, secret: &Secret) -> Self {
        let key = protocol.header_key(suite, secret);
        let mask = HeaderMask::new(suite.algorithm(), &key);
        Self(mask.expect("keys are derived as long as the suite has them"))
    }

    /// The mask of a packet; `None` where it is too short to have one.
    fn mask(&self, packet: &[u8], number_at: usize) -> Option<[u8; 5]> {
        let sample = packet.get(number_at + NUMBER_BYTES_MAX..)?.first_chunk()?;
        Some(self.0.mask(sample))
    }

    /// Shows the header of a packet: its packet number's length is known afterwards.
    ///
    /// # Errors
    /// `None` where the packet is too short; it stays as it is.
    fn unmask(&self, packet: &mut [u8], number_at: usize) -> Option<usize> {
        let mask = self.mask(packet, number_at)?;
        let first = FirstByte(packet[0]).masked(mask[0]);
        packet[0] = first.0;
        let bytes = first.packet_number_bytes();
        xor(&mut packet[number_at..number_at + bytes], &mask[1..]);
        Some(bytes)
    }
}

fn xor(bytes: &mut [u8], with: &[u8]) {
    for (byte, mask) in bytes.iter_mut().zip(with) {
        *byte ^= mask;
    }
}

/// Seals and opens the packets of one side in one key phase (§5.3).
pub struct PacketKey<'b> {
    backend: &'b dyn Backend,
    suite: Suite,
    key: Box<dyn Key>,
    iv: [u8; IV_BYTES],
}

/// Why a packet is not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("the packet has {bytes} bytes, and {needed} at least are needed for its sample")]
    Short { bytes: usize, needed: usize },
    #[error("the tag does not match: another key, or a changed packet")]
    Authentication,
    #[error("reserved bits of the header are set, though the tag matches")]
    ReservedBits,
    #[error("the cipher failed")]
    Backend,
}

/// An opened packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'p> {
    /// As the sender had it.
    pub first: FirstByte,
    pub number: u64,
    pub payload: &'p [u8],
}

impl<'b> PacketKey<'b> {
    /// # Errors
    /// [`KeyError`] of a back-end without the suite's cipher.
    ///
    /// # Panics
    /// When the secret is not of the suite.
    pub fn derive(
        backend: &'b dyn Backend,
        protocol: Protocol,
        suite: Suite,
        secret: &Secret,
    ) -> Result<Self, KeyError> {
        let (mut key, iv) = protocol.packet_key(suite, secret);
        let key = backend.key(suite.algorithm(), &KeyMaterial::take(&mut key))?;
        Ok(Self {
            backend,
            suite,
            key,
            iv,
        })
    }

    fn run(
        &self,
        operation: Operation,
        number: u64,
        aad: &[u8],
        text: &mut [u8],
        tag: &mut [u8],
    ) -> Status {
        let kind = Kind::new(self.suite.algorithm(), operation);
        let slices = Slices {
            iv: packet_nonce(&self.iv, number),
            aad,
            data: Data::InPlace(text),
            tag,
        };
        crypto::process_slices(self.backend, &*self.key, kind, slices)
    }

    /// Seals `packet` in place: a header with its packet number, the payload, and room for
    /// the tag. The caller never gives a number twice.
    ///
    /// # Errors
    /// [`OpenError::Short`] where there is no room for a sample, [`OpenError::Backend`].
    pub fn seal(
        &self,
        header: &HeaderKey,
        packet: &mut [u8],
        number_at: usize,
        number: u64,
    ) -> Result<(), OpenError> {
        let needed = number_at + NUMBER_BYTES_MAX + SAMPLE_BYTES;
        let bytes = packet.len();
        if bytes < needed {
            return Err(OpenError::Short { bytes, needed });
        }
        let first = FirstByte(packet[0]);
        let number_bytes = first.packet_number_bytes();
        let (head, rest) = packet.split_at_mut(number_at + number_bytes);
        let (text, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
        if self.run(Operation::Encrypt, number, head, text, tag) != Status::Ok {
            text.fill(0);
            return Err(OpenError::Backend);
        }
        let mask = header.mask(packet, number_at).expect("it was measured");
        packet[0] = first.masked(mask[0]).0;
        xor(&mut packet[number_at..number_at + number_bytes], &mask[1..]);
        Ok(())
    }
}

/// A packet whose header is shown, and whose payload is not.
pub struct Unmasked<'p> {
    packet: &'p mut [u8],
    header_bytes: usize,
    pub number: u64,
}

impl<'p> Unmasked<'p> {
    /// Shows the header of a packet. `largest` is the largest number that was opened before
    /// in the packet's number space.
    ///
    /// # Errors
    /// [`OpenError::Short`].
    pub fn new(
        key: &HeaderKey,
        packet: &'p mut [u8],
        number_at: usize,
        largest: Option<u64>,
    ) -> Result<Self, OpenError> {
        let short = OpenError::Short {
            bytes: packet.len(),
            needed: number_at + NUMBER_BYTES_MAX + SAMPLE_BYTES,
        };
        let bytes = key.unmask(packet, number_at).ok_or(short)?;
        let shown = packet[number_at..number_at + bytes].iter();
        let truncated = shown.fold(0, |number, byte| number << 8 | u32::from(*byte));
        Ok(Self {
            header_bytes: number_at + bytes,
            number: packet_number::expand(truncated, 8 * bytes as u32, largest),
            packet,
        })
    }

    pub fn first(&self) -> FirstByte {
        FirstByte(self.packet[0])
    }

    /// Opens the payload in place.
    ///
    /// # Errors
    /// [`OpenError`], and the packet as it was, so that another key may be tried.
    pub fn open(self, key: &PacketKey<'_>) -> Result<Opened<'p>, (Self, OpenError)> {
        let (head, rest) = self.packet.split_at_mut(self.header_bytes);
        let (text, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
        // A tag that does not match leaves zeros.
        let before = text.to_vec();
        let error = match key.run(Operation::Decrypt, self.number, head, text, tag) {
            // Looked at only once the tag has matched (RFC 9001 §5.4.1).
            Status::Ok if FirstByte(head[0]).is_reserved_clear() => {
                let text_bytes = text.len();
                return Ok(Opened {
                    first: FirstByte(self.packet[0]),
                    number: self.number,
                    payload: &self.packet[self.header_bytes..][..text_bytes],
                });
            }
            Status::Ok => OpenError::ReservedBits,
            Status::AuthenticationFailed => OpenError::Authentication,
            _ => OpenError::Backend,
        };
        text.copy_from_slice(&before);
        Err((self, error))
    }
}
