//! How packets of QUIC are protected (RFC 9001 §5): an algorithm for each cipher suite, a
//! packet for each job.

pub(crate) mod composed;
pub(crate) mod place;
mod slices;

pub use place::{PacketPlace, packet_nonce};
pub use slices::{PacketSlices, process_packets};

use std::mem::MaybeUninit;

use wire::quic::TAG_BYTES;
use zeroize::Zeroizing;

use crate::scatter::{Cursor, wipe};
use crate::work::Work;
use crate::{Algorithm, KeyMaterial, Operation, Status};

pub(crate) const IV_BYTES: usize = 12;
/// More than a UDP datagram carries.
const PACKET_BYTES_MAX: usize = u16::MAX as usize;

/// A cipher suite, which seals payloads and hides headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Packets {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
}

impl Packets {
    pub const ALL: [Self; 3] = [Self::Aes128Gcm, Self::Aes256Gcm, Self::ChaCha20Poly1305];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128Gcm => "quic packets aes-128-gcm",
            Self::Aes256Gcm => "quic packets aes-256-gcm",
            Self::ChaCha20Poly1305 => "quic packets chacha20-poly1305",
        }
    }

    /// What seals the payload.
    pub const fn aead(self) -> Algorithm {
        match self {
            Self::Aes128Gcm => Algorithm::Aes128Gcm,
            Self::Aes256Gcm => Algorithm::Aes256Gcm,
            Self::ChaCha20Poly1305 => Algorithm::ChaCha20Poly1305,
        }
    }

    /// Of a packet's key, and of its header's.
    pub const fn cipher_key_bytes(self) -> usize {
        match self {
            Self::Aes128Gcm => 16,
            Self::Aes256Gcm | Self::ChaCha20Poly1305 => 32,
        }
    }

    /// Of all that a key is made of: see [`Self::material`].
    pub const fn key_bytes(self) -> usize {
        2 * self.cipher_key_bytes() + IV_BYTES
    }

    /// A key of one side in one key phase: the key of its headers, which all phases share,
    /// that of its payloads, and their IV (RFC 9001 §5.1).
    ///
    /// # Panics
    /// When a part has another length than the suite says.
    pub fn material(self, header: &[u8], payload: &[u8], iv: &[u8; IV_BYTES]) -> KeyMaterial {
        let bytes = self.cipher_key_bytes();
        assert!(header.len() == bytes && payload.len() == bytes);
        KeyMaterial::take(&mut Zeroizing::new([header, payload, iv].concat()))
    }

    /// The parts of a key of the right length.
    pub(crate) fn parts(self, key: &[u8]) -> (&[u8], &[u8], [u8; IV_BYTES]) {
        let (header, rest) = key.split_at(self.cipher_key_bytes());
        let (payload, iv) = rest.split_at(self.cipher_key_bytes());
        (
            header,
            payload,
            iv.try_into().expect("keys have their length"),
        )
    }
}

/// Runs `run(source, destination, bytes)` on one whole packet in private memory, which it
/// is gathered into and scattered from; `bytes` without its tag. Zeros where it fails.
///
/// # Safety
/// The work passed the checks for packets; sources are readable, destinations writable.
#[allow(unsafe_code, reason = "moves bytes between segments")]
#[inline(never)]
pub(crate) unsafe fn in_private(
    operation: Operation,
    work: &Work<'_>,
    run: impl FnOnce(*const u8, *mut u8, usize) -> Status,
) -> Status {
    let mut memory = MaybeUninit::<[[u8; PACKET_BYTES_MAX]; 2]>::uninit();
    let source = memory.as_mut_ptr().cast::<u8>();
    let destination = source.wrapping_add(PACKET_BYTES_MAX);
    let (bytes, sealed) = match operation {
        Operation::Encrypt => (work.source_bytes, work.source_bytes + TAG_BYTES),
        _ => (work.source_bytes - TAG_BYTES, work.source_bytes - TAG_BYTES),
    };
    // SAFETY: the caller's; both halves are ours and have room for the longest packet.
    unsafe {
        Cursor::new(work.source).gather(source, work.source_bytes);
        let status = run(source, destination, bytes);
        if status == Status::Ok {
            Cursor::new(work.destination).scatter(destination, sealed);
        } else {
            wipe(work.destination);
        }
        for half in [source, destination] {
            aws_lc_sys::OPENSSL_cleanse(half.cast(), bytes + TAG_BYTES);
        }
        status
    }
}
