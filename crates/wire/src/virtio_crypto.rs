//! Requests to a crypto device and its configuration (virtio 1.2 §5.9), little-endian.

use crate::bytes::array_at;

/// Of the device-readable header of a request to a data queue (§5.9.7.4).
pub const HEADER_BYTES: usize = 72;

/// Of the configuration space (§5.9.4).
pub const CONFIG_BYTES: usize = 56;

/// How a request ended: the last byte that the device may write (§5.9.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[must_use = "it says whether the request was done"]
pub enum Status {
    Ok = 0,
    Failed = 1,
    BadMessage = 2,
    NotSupported = 3,
    InvalidSession = 4,
    NoSpace = 5,
    KeyRejected = 6,
}

impl Status {
    pub const ALL: [Self; 7] = [
        Self::Ok,
        Self::Failed,
        Self::BadMessage,
        Self::NotSupported,
        Self::InvalidSession,
        Self::NoSpace,
        Self::KeyRejected,
    ];

    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }
}

/// Services (§5.9.4), and what is asked of them: `service << 8 | operation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Opcode {
    CipherEncrypt = 0x000,
    CipherDecrypt = 0x001,
    CreateCipher = 0x002,
    Hash = 0x100,
    CreateHash = 0x102,
    Mac = 0x200,
    CreateMac = 0x202,
    AkcipherEncrypt = 0x400,
    AkcipherDecrypt = 0x401,
    AkcipherSign = 0x402,
    AkcipherVerify = 0x403,
    CreateAkcipher = 0x404,
}

impl Opcode {
    pub const ALL: [Self; 12] = [
        Self::CipherEncrypt,
        Self::CipherDecrypt,
        Self::CreateCipher,
        Self::Hash,
        Self::CreateHash,
        Self::Mac,
        Self::CreateMac,
        Self::AkcipherEncrypt,
        Self::AkcipherDecrypt,
        Self::AkcipherSign,
        Self::AkcipherVerify,
        Self::CreateAkcipher,
    ];

    /// `None` for what this program does not offer.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|one| *one as u32 == number)
    }

    fn service(self) -> u32 {
        self as u32 >> 8
    }
}

pub const SERVICE_CIPHER: u32 = 0;
pub const SERVICE_HASH: u32 = 1;
pub const SERVICE_MAC: u32 = 2;
pub const SERVICE_AKCIPHER: u32 = 4;

pub const CIPHER_AES_CBC: u32 = 3;
pub const HASH_SHA1: u32 = 2;
pub const HASH_SHA256: u32 = 4;
pub const HASH_SHA384: u32 = 5;
pub const HASH_SHA512: u32 = 6;
pub const MAC_HMAC_SHA256: u32 = 4;
pub const AKCIPHER_RSA: u32 = 1;

/// Of a symmetric request: a cipher alone, without a hash chained to it.
pub const SYM_CIPHER: u32 = 1;

/// A request's header as a value. Lengths are as the guest states them, and no more
/// than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub opcode: Opcode,
    pub session: u64,
    /// Of a cipher; 0 of others.
    pub iv_bytes: u32,
    pub source_bytes: u32,
    pub destination_bytes: u32,
}

/// Why a header is no request that this program knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    #[error("operation {0:#x} is not offered")]
    Opcode(u32),
    #[error("symmetric requests of type {0} are not offered: take {SYM_CIPHER}, a cipher alone")]
    Chained(u32),
    #[error("operation {0:?} makes a session, and has no place in a data queue")]
    Session(Opcode),
}

impl Header {
    /// # Errors
    /// [`HeaderError`].
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Self, HeaderError> {
        let number = u32_at(bytes, 0);
        let opcode = Opcode::from_number(number).ok_or(HeaderError::Opcode(number))?;
        let session = u64::from(u32_at(bytes, 12)) << 32 | u64::from(u32_at(bytes, 8));
        let (first, second, third) = (u32_at(bytes, 24), u32_at(bytes, 28), u32_at(bytes, 32));
        let (iv_bytes, source_bytes, destination_bytes) = match opcode {
            Opcode::CipherEncrypt | Opcode::CipherDecrypt => (first, second, third),
            Opcode::CreateCipher
            | Opcode::CreateHash
            | Opcode::CreateMac
            | Opcode::CreateAkcipher => {
                return Err(HeaderError::Session(opcode));
            }
            _ => (0, first, second),
        };
        if opcode.service() == SERVICE_CIPHER && u32_at(bytes, 64) != SYM_CIPHER {
            return Err(HeaderError::Chained(u32_at(bytes, 64)));
        }
        Ok(Self {
            opcode,
            session,
            iv_bytes,
            source_bytes,
            destination_bytes,
        })
    }

    /// As a driver writes it.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        put(&mut bytes, 0, self.opcode as u32);
        put(&mut bytes, 8, self.session as u32);
        put(&mut bytes, 12, (self.session >> 32) as u32);
        let is_cipher = self.opcode.service() == SERVICE_CIPHER;
        let at = if is_cipher { 28 } else { 24 };
        put(&mut bytes, at, self.source_bytes);
        put(&mut bytes, at + 4, self.destination_bytes);
        if is_cipher {
            put(&mut bytes, 24, self.iv_bytes);
            put(&mut bytes, 64, SYM_CIPHER);
        }
        bytes
    }
}

/// What a device offers. Bits of algorithms are `1 << number`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    pub is_ready: bool,
    pub queues: u32,
    pub services: u32,
    pub ciphers: u32,
    pub hashes: u32,
    pub macs: u32,
    pub akciphers: u32,
    pub cipher_key_bytes_max: u32,
    pub auth_key_bytes_max: u32,
    /// Of the content of one request.
    pub bytes_max: u64,
}

impl Config {
    pub fn to_bytes(&self) -> [u8; CONFIG_BYTES] {
        let mut bytes = [0; CONFIG_BYTES];
        let fields = [
            u32::from(self.is_ready),
            self.queues,
            self.services,
            self.ciphers,
            0,
            self.hashes,
            self.macs,
            0,
            0,
            self.cipher_key_bytes_max,
            self.auth_key_bytes_max,
            self.akciphers,
            self.bytes_max as u32,
            (self.bytes_max >> 32) as u32,
        ];
        for (index, field) in fields.into_iter().enumerate() {
            put(&mut bytes, index * 4, field);
        }
        bytes
    }

    pub fn parse(bytes: &[u8; CONFIG_BYTES]) -> Self {
        let field = |index: usize| u32_at(bytes, index * 4);
        Self {
            is_ready: field(0) & 1 == 1,
            queues: field(1),
            services: field(2),
            ciphers: field(3),
            hashes: field(5),
            macs: field(6),
            akciphers: field(11),
            cipher_key_bytes_max: field(9),
            auth_key_bytes_max: field(10),
            bytes_max: u64::from(field(13)) << 32 | u64::from(field(12)),
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip() {
        for opcode in Opcode::ALL {
            let header = Header {
                opcode,
                session: 0x1234_5678_9abc_def0,
                iv_bytes: if opcode.service() == SERVICE_CIPHER {
                    16
                } else {
                    0
                },
                source_bytes: 4096,
                destination_bytes: 4112,
            };
            let parsed = Header::parse(&header.to_bytes());
            let makes_session = format!("{opcode:?}").starts_with("Create");
            let expected = if makes_session {
                Err(HeaderError::Session(opcode))
            } else {
                Ok(header)
            };
            assert_eq!(parsed, expected);
        }
    }

    /// Offsets as Linux 6.1 lays them out: `include/uapi/linux/virtio_crypto.h`.
    #[test]
    fn fields_lie_where_the_driver_has_them() {
        let header = Header {
            opcode: Opcode::CipherDecrypt,
            session: 7,
            iv_bytes: 16,
            source_bytes: 32,
            destination_bytes: 48,
        };
        let bytes = header.to_bytes();
        let at = |at: usize| u32_at(&bytes, at);
        assert_eq!(
            (at(0), at(8), at(24), at(28), at(32), at(64)),
            (1, 7, 16, 32, 48, 1)
        );
        let mut chained = bytes;
        put(&mut chained, 64, 2);
        assert_eq!(Header::parse(&chained), Err(HeaderError::Chained(2)));
        put(&mut chained, 0, 0x300);
        assert_eq!(Header::parse(&chained), Err(HeaderError::Opcode(0x300)));
    }

    #[test]
    fn configurations_round_trip() {
        let config = Config {
            is_ready: true,
            queues: 4,
            services: 1 << SERVICE_CIPHER | 1 << SERVICE_HASH,
            ciphers: 1 << CIPHER_AES_CBC,
            hashes: 1 << HASH_SHA256,
            macs: 1 << MAC_HMAC_SHA256,
            akciphers: 1 << AKCIPHER_RSA,
            cipher_key_bytes_max: 64,
            auth_key_bytes_max: 512,
            bytes_max: 1 << 40,
        };
        assert_eq!(Config::parse(&config.to_bytes()), config);
    }
}
