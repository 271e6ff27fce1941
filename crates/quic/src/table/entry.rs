//! What a table knows of one connection.

use crypto::{Backend, Key, KeyError, KeyMaterial};
use wire::quic::packet_number::NUMBER_MAX;
use zeroize::{Zeroize, Zeroizing};

use super::idle::{Links, NONE};
use super::index::{Index, Path};
use crate::Suite;

/// Ids that a connection may have at a time. RFC 9000 §5.1.1 has a peer accept two at
/// least; more than a few help nobody.
pub const IDS_MAX: usize = 8;

/// Without the key object of the back-end, of which there is one, and two from a key
/// update until [`super::Table::discard_previous`].
pub const CONNECTION_BYTES: usize = size_of::<Entry>() + Index::NAME_BYTES;
const _: () = assert!(size_of::<Entry>() <= 232 && CONNECTION_BYTES <= 768 - 448);

/// Two keys of 32 bytes and an IV: see [`crypto::Packets::material`].
const RAW_BYTES_MAX: usize = 2 * 32 + 12;

/// In the order of use: what each packet needs is in front.
#[repr(C)]
pub(super) struct Entry {
    /// `None` where no connection is.
    pub(super) key: Option<Box<dyn Key>>,
    pub(super) window: Window,
    /// Lowest number that was opened in the present phase.
    pub(super) first_of_phase: u64,
    /// When a packet was opened, to [`super::IDLE_STEP_NS`].
    pub(super) active_ns: u64,
    pub(super) failures: u64,
    /// Grows when the entry is vacated: handles of before are void.
    pub(super) generation: u32,
    pub(super) path: Path,
    pub(super) suite: Suite,
    /// Key updates so far: the number of the present phase, modulo 2^16.
    pub(super) updates: u16,
    pub(super) is_over: bool,
    pub(super) is_established: bool,
    pub(super) ids: u8,
    pub(super) previous: Option<Box<dyn Key>>,
    pub(super) next: RawKeys,
    /// Of the ids' hashes: with the entry's place they find them in the index.
    pub(super) homes: [u32; IDS_MAX],
    pub(super) links: Links,
}

impl Entry {
    pub(super) fn vacant(path: Path) -> Self {
        Self {
            key: None,
            window: Window::default(),
            first_of_phase: 0,
            active_ns: 0,
            failures: 0,
            generation: 0,
            path,
            suite: Suite::Aes128Gcm,
            updates: 0,
            is_over: false,
            is_established: false,
            ids: 0,
            previous: None,
            next: RawKeys::NONE,
            homes: [0; IDS_MAX],
            links: Links {
                before: NONE,
                after: NONE,
            },
        }
    }

    /// The key phase bit of the present phase's packets.
    pub(super) fn is_phase_set(&self) -> bool {
        self.updates & 1 == 1
    }

    /// The next phase's key opened a packet of this number. The key of the present one is
    /// kept for packets that were overtaken (RFC 9001 §6.5): it moves, so that neither raw
    /// keys nor a second set-up are needed.
    pub(super) fn advance(&mut self, key: Box<dyn Key>, number: u64) {
        self.previous = self.key.replace(key);
        self.next.zeroize();
        self.updates = self.updates.wrapping_add(1);
        self.first_of_phase = number;
    }
}

/// Numbers that were received: the largest, and which of the 127 below it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    /// One more than the largest; 0 before there is one.
    expected: u64,
    /// Low word first, the largest in its lowest bit.
    seen: [u64; 2],
}

/// Why a number is not new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    Duplicate,
    Old,
}

impl Window {
    pub(super) const NUMBERS: u64 = 128;

    #[inline]
    pub(super) fn expected(&self) -> u64 {
        self.expected.min(NUMBER_MAX)
    }

    pub(super) fn largest(&self) -> Option<u64> {
        self.expected.checked_sub(1)
    }

    /// Notes a number; whether it is the largest.
    #[inline]
    pub(super) fn note(&mut self, number: u64) -> Result<bool, Repeated> {
        let [low, high] = self.seen.map(u128::from);
        let mut seen = high << 64 | low;
        let is_largest = number >= self.expected;
        if is_largest {
            let by = number + 1 - self.expected;
            seen = if by < Self::NUMBERS { seen << by } else { 0 } | 1;
            self.expected = number + 1;
        } else {
            let behind = self.expected - 1 - number;
            if behind >= Self::NUMBERS {
                return Err(Repeated::Old);
            }
            if seen >> behind & 1 == 1 {
                return Err(Repeated::Duplicate);
            }
            seen |= 1 << behind;
        }
        self.seen = [seen as u64, (seen >> 64) as u64];
        Ok(is_largest)
    }
}

/// Keys of the next phase as bytes, a tenth of a key object. Zeroised on drop.
pub(super) struct RawKeys {
    bytes: [u8; RAW_BYTES_MAX],
    length: u8,
}

impl RawKeys {
    pub(super) const NONE: Self = Self {
        bytes: [0; RAW_BYTES_MAX],
        length: 0,
    };

    pub(super) fn is_none(&self) -> bool {
        self.length == 0
    }

    /// Filled where it stays: a move would leave a copy behind.
    pub(super) fn fill(&mut self, material: &KeyMaterial) {
        let material = material.expose();
        self.bytes[..material.len()].copy_from_slice(material);
        self.length = material.len() as u8;
    }

    pub(super) fn key(
        &self,
        backend: &dyn Backend,
        suite: Suite,
    ) -> Result<Box<dyn Key>, KeyError> {
        let mut copy = Zeroizing::new(self.bytes);
        let material = KeyMaterial::take(&mut copy[..usize::from(self.length)]);
        backend.key(crypto::Algorithm::Packets(suite.packets()), &material)
    }
}

impl Zeroize for RawKeys {
    fn zeroize(&mut self) {
        self.bytes.zeroize();
        self.length = 0;
    }
}

impl Drop for RawKeys {
    fn drop(&mut self) {
        self.zeroize();
    }
}
