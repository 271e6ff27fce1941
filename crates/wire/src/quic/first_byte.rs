//! The first byte of a packet (RFC 9000, sections 17.2 and 17.3).

/// Bits that header protection hides (RFC 9001, section 5.4.1).
const LONG_PROTECTED: u8 = 0x0f;
const SHORT_PROTECTED: u8 = 0x1f;

const LONG: u8 = 0x80;
const FIXED: u8 = 0x40;

const LONG_RESERVED: u8 = 0x0c;
const SHORT_RESERVED: u8 = 0x18;
const SPIN: u8 = 0x20;
const KEY_PHASE: u8 = 0x04;
const PACKET_NUMBER: u8 = 0x03;

/// The first byte, protected or not: what says that it needs an unprotected byte is
/// noise before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FirstByte(pub u8);

impl FirstByte {
    pub fn is_long(self) -> bool {
        self.0 & LONG != 0
    }

    /// Always set in versions 1 and 2, unless the peer agreed to the extension that
    /// makes it random (RFC 9287).
    pub fn is_fixed_bit_set(self) -> bool {
        self.0 & FIXED != 0
    }

    /// The two bits that [`super::LongType::from_bits`] explains; of a long header.
    pub fn long_type_bits(self) -> u8 {
        self.0 >> 4 & 3
    }

    /// The bits that header protection hides: 0x0f of a long header, 0x1f of a short.
    pub fn protected_bits(self) -> u8 {
        if self.is_long() {
            LONG_PROTECTED
        } else {
            SHORT_PROTECTED
        }
    }

    /// Protects, or unprotects, with the first byte of the mask (RFC 9001, section
    /// 5.4.1).
    #[must_use]
    pub fn masked(self, mask: u8) -> Self {
        Self(self.0 ^ mask & self.protected_bits())
    }

    /// Whether the two reserved bits are 0, as they must be (RFC 9000, sections 17.2
    /// and 17.3.1). Needs an unprotected byte.
    pub fn is_reserved_clear(self) -> bool {
        let reserved = if self.is_long() {
            LONG_RESERVED
        } else {
            SHORT_RESERVED
        };
        self.0 & reserved == 0
    }

    /// Bytes of the packet number, 1 to 4. Needs an unprotected byte.
    pub fn packet_number_bytes(self) -> usize {
        usize::from(self.0 & PACKET_NUMBER) + 1
    }

    /// The latency spin bit (RFC 9000, section 17.4) of a short header; it is not
    /// protected.
    pub fn is_spin_set(self) -> bool {
        self.0 & SPIN != 0
    }

    /// Which of two keys a short header's packet has (RFC 9001, section 6). Needs an
    /// unprotected byte.
    pub fn is_key_phase_set(self) -> bool {
        self.0 & KEY_PHASE != 0
    }

    /// Of an unprotected long header.
    pub(super) fn long(type_bits: u8, packet_number_bytes: usize) -> Self {
        Self(LONG | FIXED | type_bits << 4 | number_bits(packet_number_bytes))
    }

    /// Of an unprotected short header.
    pub(super) fn short(spin: bool, key_phase: bool, packet_number_bytes: usize) -> Self {
        let spin = if spin { SPIN } else { 0 };
        let key_phase = if key_phase { KEY_PHASE } else { 0 };
        Self(FIXED | spin | key_phase | number_bits(packet_number_bytes))
    }

    /// Of a packet without protection, of which the low bits mean nothing.
    pub(super) fn unprotected(high: u8, unused: u8, unused_bits: u8) -> Self {
        Self(LONG | FIXED | high | unused & unused_bits)
    }
}

fn number_bits(bytes: usize) -> u8 {
    u8::try_from(bytes - 1).expect("a packet number has 1 to 4 bytes")
}
