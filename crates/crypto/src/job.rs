//! One unit of work, over raw memory that others may write.

use crate::Key;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Segment {
    /// First byte; may dangle when `len` is 0.
    pub address: *mut u8,
    pub len: usize,
}

// SAFETY: a segment is only an address and a length; code that dereferences it
// (a back-end, under `Backend::process`'s contract) upholds its validity.
#[allow(unsafe_code, reason = "raw addresses cross threads in rings")]
unsafe impl Send for Segment {}

impl Segment {
    pub const EMPTY: Self = Self::new(std::ptr::null_mut(), 0);

    pub const fn new(address: *mut u8, len: usize) -> Self {
        Self { address, len }
    }
}

/// A source or destination: the first segment inline, since most requests
/// have just one; the rest, if any, in an array that outlives the request.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Segments {
    pub first: Segment,
    /// The others, aligned; may dangle when `rest_count` is 0. Each is read
    /// once: changing the array while a job runs changes nothing.
    pub rest: *const Segment,
    /// How many others, at most 1024.
    pub rest_count: u32,
}

// SAFETY: as for `Segment`.
#[allow(unsafe_code, reason = "raw addresses cross threads in rings")]
unsafe impl Send for Segments {}

impl Segments {
    pub const EMPTY: Self = Self::one(Segment::EMPTY);

    pub const fn one(first: Segment) -> Self {
        Self {
            first,
            rest: std::ptr::null(),
            rest_count: 0,
        }
    }
}

/// One request as a back-end sees it.
///
/// | kind | source | destination | iv | aad | tag |
/// | --- | --- | --- | --- | --- | --- |
/// | ECB, CBC | n bytes, n a multiple of 16 | n bytes | CBC: 16 | – | – |
/// | CTR | n bytes | n bytes | 16 | – | – |
/// | GCM | n ≤ 2^36 − 32 bytes | n bytes | first 12 | any | 16, written by seal, read by open |
/// | ChaCha20-Poly1305 | n ≤ 2^38 − 64 bytes | n bytes | first 12 | any | 16, as above |
/// | XTS | 16 ≤ n ≤ 2^24 bytes | n bytes | 16 (tweak) | – | – |
/// | sectors | n bytes, whole sectors | n bytes | 16: see [`Sectors::job_iv`](crate::Sectors::job_iv) | – | – |
/// | packets, seal | header and payload, n bytes | the packet, n + 16 bytes, apart | 16: see [`PacketPlace`](crate::PacketPlace) | – | – |
/// | packets, open | the packet, n bytes | header and payload, n − 16 bytes, apart | 16, as above | – | – |
/// | SHA, HMAC | n bytes | the digest: 20, 32, 48 or 64 bytes | – | – | – |
/// | RSA sign, verify | 32-byte SHA-256 digest | – | – | – | the signature: k bytes, written by sign, read by verify |
/// | RSA encrypt | a message of at most k − 11 bytes, k − 66 with OAEP | k bytes | – | – | – |
/// | RSA decrypt | k bytes | as long as the message is expected to be | – | – | – |
/// | ECDSA P-256 | 32-byte SHA-256 digest | – | – | – | r and s, 32 bytes each (IEEE P1363), written by sign, read by verify |
/// | X25519 | the peer's public value, 32 bytes | the secret, 32 bytes | – | – | – |
/// | FFDH | the peer's public value, k bytes big-endian | the secret, k bytes (RFC 7919 §5.1: leading zeros kept) | – | – | – |
///
/// k is the bytes of the modulus ([`Algorithm::modulus_bytes`](crate::Algorithm::modulus_bytes)).
///
/// The numbers of sectors have 64 bits, and one of several 512 bytes begins at a multiple
/// of them.
///
/// A packet has at most 65,535 bytes, and four at least from the beginning of its number
/// to its tag (RFC 9001 §5.4.2). One that is of the other key phase is
/// [`Status::InvalidInput`](crate::Status::InvalidInput), its destination zeros.
///
/// RSA decrypts a number c with 1 < c < n − 1, n the modulus (SP 800-56B rev. 2
/// §7.1.2); another is [`Status::InvalidInput`](crate::Status::InvalidInput).
/// With PKCS#1 v1.5 all else is [`Status::Ok`](crate::Status::Ok). Where the
/// padding is wrong or the message has another length, the destination holds
/// bytes that look random and are the same each time. A status that told of
/// either is all that an attacker needs (Bleichenbacher); the user of the
/// message must find out whether it is one. This is the implicit rejection of
/// draft-irtf-cfrg-rsa-guidance-10 §7, with the destination's length in the
/// place of one that is made up, as in TLS (RFC 5246 §7.4.7.1; RFC 8017 §7.2.2).
/// With OAEP a ciphertext without such a message is `InvalidInput`: the check
/// covers all of the padding at once, in constant time, and tells nothing.
///
/// Where the table says "–" a segment must have no bytes (the IV is ignored).
/// What a job writes must not overlap anything else that it names, save a
/// destination that is the very same bytes as the source. Destination
/// segments that overlap one another leave an undefined result; and so do,
/// which no one checks, two jobs of one call of which one writes what the
/// other names: they run side by side, in any order, and the text of one may
/// be the other's half-done result.
#[derive(Clone, Copy)]
pub struct Job<'k> {
    pub key: &'k dyn Key,
    pub source: Segments,
    /// Output: the very same segments as the source (in place), or disjoint
    /// from them; scattered differently if need be.
    pub destination: Segments,
    pub iv: [u8; 16],
    pub aad: Segment,
    pub tag: Segment,
}
