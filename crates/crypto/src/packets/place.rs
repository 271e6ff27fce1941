//! What a packet's job says of it, and what its header says.

use wire::quic::{FirstByte, SAMPLE_BYTES, TAG_BYTES, packet_number};

use super::{IV_BYTES, PACKET_BYTES_MAX};
use crate::Operation;

/// Where the sample begins, behind the first byte of the packet number (RFC 9001 §5.4.2).
const SAMPLE_AFTER: usize = packet_number::BYTES_MAX;

/// Where a packet has its number, and which: what a job of packets has for an IV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketPlace {
    /// To seal: the packet's number. To open: the one that is expected next, which is one
    /// more than the largest that was opened (RFC 9000 §A.3).
    pub number: u64,
    /// Bytes of the header in front of the number.
    pub number_at: u16,
    /// To open: whether the key is of a phase whose bit is set; a packet of the other phase
    /// is refused. `None` where headers have no such bit, and to seal.
    pub phase: Option<bool>,
}

impl PacketPlace {
    pub fn job_iv(self) -> [u8; 16] {
        let mut iv = [0; 16];
        iv[..8].copy_from_slice(&self.number.to_le_bytes());
        iv[8..10].copy_from_slice(&self.number_at.to_le_bytes());
        iv[10] = self.phase.map_or(0, |is_set| 1 + u8::from(is_set));
        iv
    }

    /// `None` of what [`Self::job_iv`] never makes, and of numbers that there are not.
    #[inline]
    pub(crate) fn of(iv: &[u8; 16]) -> Option<Self> {
        let word = u128::from_le_bytes(*iv);
        let phase = match word >> 80 {
            0 => None,
            1 => Some(false),
            2 => Some(true),
            _ => return None,
        };
        let number = word as u64;
        (number <= packet_number::NUMBER_MAX).then_some(Self {
            number,
            number_at: (word >> 64) as u16,
            phase,
        })
    }

    /// Whether a job has room for its parts.
    #[inline]
    pub(crate) fn fits(
        iv: &[u8; 16],
        operation: Operation,
        source: usize,
        destination: usize,
    ) -> bool {
        let Some(place) = Self::of(iv) else {
            return false;
        };
        let (open, sealed) = match operation {
            Operation::Encrypt => (source, destination),
            _ => (destination, source),
        };
        place.number_at > 0
            && sealed <= PACKET_BYTES_MAX
            && sealed.checked_sub(TAG_BYTES) == Some(open)
            && open >= usize::from(place.number_at) + SAMPLE_AFTER
    }

    pub(crate) fn sample_at(self) -> usize {
        usize::from(self.number_at) + SAMPLE_AFTER
    }

    /// The header of a packet to be sealed, by its first byte.
    #[inline]
    pub(crate) fn header_bytes(self, first: u8) -> usize {
        usize::from(self.number_at) + FirstByte(first).packet_number_bytes()
    }

    /// What a mask shows of a header: its first byte, then its number as it is in the
    /// packet; how many bytes that has, and all of it.
    #[inline]
    pub(crate) fn shown(self, hidden: Hidden, mask: u64) -> Shown {
        let first = FirstByte(hidden.first).masked(mask as u8);
        let bytes = first.packet_number_bytes();
        let kept = u32::MAX >> (32 - 8 * bytes as u32);
        let number = hidden.number ^ (mask >> 8) as u32 & kept;
        let truncated = number.swap_bytes() >> (32 - 8 * bytes as u32);
        Shown {
            first: first.0,
            word: number,
            header_bytes: usize::from(self.number_at) + bytes,
            number: packet_number::expand(truncated, 8 * bytes as u32, self.number.checked_sub(1)),
            is_of_phase: self
                .phase
                .is_none_or(|is_set| first.is_key_phase_set() == is_set),
        }
    }

    /// What a mask hides of the header of a sealed packet.
    #[inline]
    pub(crate) fn hidden(self, first: u8, number: u32, mask: u64) -> Hidden {
        let first = FirstByte(first);
        let kept = u32::MAX >> (32 - 8 * first.packet_number_bytes() as u32);
        Hidden {
            first: first.masked(mask as u8).0,
            number: number ^ (mask >> 8) as u32 & kept,
        }
    }
}

/// The parts of a header that are hidden.
#[derive(Clone, Copy)]
pub(crate) struct Hidden {
    pub first: u8,
    /// Four bytes, little-endian, of which up to three are ciphertext.
    pub number: u32,
}

#[derive(Clone, Copy)]
pub(crate) struct Shown {
    pub first: u8,
    /// As [`Hidden::number`]: the ciphertext as it is.
    pub word: u32,
    pub header_bytes: usize,
    pub number: u64,
    pub is_of_phase: bool,
}

/// The nonce of a packet, as a job of its AEAD has it: the IV, its end xored with the packet
/// number (RFC 9001 §5.3).
#[inline]
pub fn packet_nonce(iv: &[u8; IV_BYTES], number: u64) -> [u8; 16] {
    let [a, b, c, d, ..] = *iv;
    let first = u32::from_be_bytes([a, b, c, d]);
    let end = u64::from_be_bytes(*iv.last_chunk().expect("twelve bytes"));
    (u128::from(first) << 96 | u128::from(end ^ number) << 32).to_be_bytes()
}

const _: () = assert!(
    SAMPLE_BYTES == TAG_BYTES,
    "a sealed packet always has a sample"
);
