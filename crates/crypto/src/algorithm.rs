//! What can be computed, by its usual name.

use std::fmt;
use std::str::FromStr;

use crate::{Operation, Packets, Sectors};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// AES-128, each block alone (SP 800-38A §6.1), no padding. Equal blocks
    /// show: for other modes to build on, and for measuring.
    Aes128Ecb,
    /// AES-192, each block alone.
    Aes192Ecb,
    /// AES-256, each block alone.
    Aes256Ecb,
    /// AES-128 in cipher block chaining mode (SP 800-38A §6.2), no padding.
    Aes128Cbc,
    /// AES-192 in cipher block chaining mode, no padding.
    Aes192Cbc,
    /// AES-256 in cipher block chaining mode, no padding.
    Aes256Cbc,
    /// AES-128 in counter mode (SP 800-38A §6.5), 128-bit big-endian counter.
    Aes128Ctr,
    /// AES-192 in counter mode.
    Aes192Ctr,
    /// AES-256 in counter mode.
    Aes256Ctr,
    /// AES-128 in Galois/counter mode (SP 800-38D), 12-byte IV, 16-byte tag.
    Aes128Gcm,
    /// AES-192 in Galois/counter mode, 12-byte IV, 16-byte tag.
    Aes192Gcm,
    /// AES-256 in Galois/counter mode, 12-byte IV, 16-byte tag.
    Aes256Gcm,
    /// AES-128 in XTS (IEEE 1619, SP 800-38E): 32-byte key, 16-byte tweak.
    Aes128Xts,
    /// AES-256 in XTS (IEEE 1619, SP 800-38E): 64-byte key, 16-byte tweak.
    Aes256Xts,
    /// ChaCha20-Poly1305 (RFC 8439 §2.8), 12-byte nonce, 16-byte tag.
    ChaCha20Poly1305,
    /// SHA-1 (FIPS 180-4). Collisions are known: for old protocols and for
    /// measuring.
    Sha1,
    /// SHA-256 (FIPS 180-4).
    Sha256,
    /// SHA-384 (FIPS 180-4).
    Sha384,
    /// SHA-512 (FIPS 180-4).
    Sha512,
    /// HMAC with SHA-256 (RFC 2104, FIPS 198-1), 32-byte result.
    HmacSha256,
    /// RSA (RFC 8017) with SHA-256 wherever a hash is needed.
    Rsa(RsaBits, RsaScheme),
    /// ECDSA on P-256 over a SHA-256 digest (FIPS 186-5 §6).
    EcdsaP256,
    /// X25519 (RFC 7748 §5).
    X25519,
    /// Finite-field Diffie-Hellman in a group of RFC 7919.
    Ffdh(FfdhGroup),
    /// AES over sectors of a disk, of `kernels` alone. There are so many ways that none is
    /// in [`Self::ALL`] or known by name.
    Sectors(Sectors),
    /// Packets of QUIC, a job each; like sectors, in no list and without a name that can be
    /// asked for.
    Packets(Packets),
}

/// Bits of an RSA modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RsaBits {
    /// Broken in public: for measuring only.
    B512,
    /// Too short since 2013 (SP 800-131A): for measuring only.
    B1024,
    /// About 112 bits of security.
    B2048,
    /// About 128 bits of security.
    B3072,
    /// About 140 bits of security.
    B4096,
}

impl RsaBits {
    pub const fn bits(self) -> usize {
        match self {
            Self::B512 => 512,
            Self::B1024 => 1024,
            Self::B2048 => 2048,
            Self::B3072 => 3072,
            Self::B4096 => 4096,
        }
    }
}

/// How a message or digest becomes a number for RSA, and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RsaScheme {
    /// PKCS#1 v1.5: encryption (RFC 8017 §7.2) and signatures (§8.2).
    Pkcs1,
    /// OAEP with SHA-256 for label and mask, empty label (§7.1): encryption.
    Oaep,
    /// PSS with SHA-256 and a salt of 32 bytes (§8.1): signatures.
    Pss,
}

/// A group of RFC 7919 appendix A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FfdhGroup {
    Ffdhe2048,
    Ffdhe3072,
    Ffdhe4096,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown algorithm '{name}'; known: {}", Algorithm::ALL.map(Algorithm::name).join(", "))]
pub struct UnknownAlgorithm {
    pub name: String,
}

impl Algorithm {
    /// Every algorithm but sectors and packets, in the order of reports. OAEP and PSS do not fit 512 bits.
    pub const ALL: [Self; 38] = [
        Self::Aes128Ecb,
        Self::Aes192Ecb,
        Self::Aes256Ecb,
        Self::Aes128Cbc,
        Self::Aes192Cbc,
        Self::Aes256Cbc,
        Self::Aes128Ctr,
        Self::Aes192Ctr,
        Self::Aes256Ctr,
        Self::Aes128Gcm,
        Self::Aes192Gcm,
        Self::Aes256Gcm,
        Self::Aes128Xts,
        Self::Aes256Xts,
        Self::ChaCha20Poly1305,
        Self::Sha1,
        Self::Sha256,
        Self::Sha384,
        Self::Sha512,
        Self::HmacSha256,
        Self::Rsa(RsaBits::B512, RsaScheme::Pkcs1),
        Self::Rsa(RsaBits::B1024, RsaScheme::Pkcs1),
        Self::Rsa(RsaBits::B1024, RsaScheme::Oaep),
        Self::Rsa(RsaBits::B1024, RsaScheme::Pss),
        Self::Rsa(RsaBits::B2048, RsaScheme::Pkcs1),
        Self::Rsa(RsaBits::B2048, RsaScheme::Oaep),
        Self::Rsa(RsaBits::B2048, RsaScheme::Pss),
        Self::Rsa(RsaBits::B3072, RsaScheme::Pkcs1),
        Self::Rsa(RsaBits::B3072, RsaScheme::Oaep),
        Self::Rsa(RsaBits::B3072, RsaScheme::Pss),
        Self::Rsa(RsaBits::B4096, RsaScheme::Pkcs1),
        Self::Rsa(RsaBits::B4096, RsaScheme::Oaep),
        Self::Rsa(RsaBits::B4096, RsaScheme::Pss),
        Self::EcdsaP256,
        Self::X25519,
        Self::Ffdh(FfdhGroup::Ffdhe2048),
        Self::Ffdh(FfdhGroup::Ffdhe3072),
        Self::Ffdh(FfdhGroup::Ffdhe4096),
    ];

    /// The name that flags, files and reports use; RSA without a scheme in
    /// its name is PKCS#1 v1.5.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128Ecb => "aes-128-ecb",
            Self::Aes192Ecb => "aes-192-ecb",
            Self::Aes256Ecb => "aes-256-ecb",
            Self::Aes128Cbc => "aes-128-cbc",
            Self::Aes192Cbc => "aes-192-cbc",
            Self::Aes256Cbc => "aes-256-cbc",
            Self::Aes128Ctr => "aes-128-ctr",
            Self::Aes192Ctr => "aes-192-ctr",
            Self::Aes256Ctr => "aes-256-ctr",
            Self::Aes128Gcm => "aes-128-gcm",
            Self::Aes192Gcm => "aes-192-gcm",
            Self::Aes256Gcm => "aes-256-gcm",
            Self::Aes128Xts => "aes-128-xts",
            Self::Aes256Xts => "aes-256-xts",
            Self::ChaCha20Poly1305 => "chacha20-poly1305",
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
            Self::HmacSha256 => "hmac-sha256",
            Self::Rsa(RsaBits::B512, RsaScheme::Pkcs1) => "rsa-512",
            Self::Rsa(RsaBits::B1024, RsaScheme::Pkcs1) => "rsa-1024",
            Self::Rsa(RsaBits::B1024, RsaScheme::Oaep) => "rsa-1024-oaep",
            Self::Rsa(RsaBits::B1024, RsaScheme::Pss) => "rsa-1024-pss",
            Self::Rsa(RsaBits::B2048, RsaScheme::Pkcs1) => "rsa-2048",
            Self::Rsa(RsaBits::B2048, RsaScheme::Oaep) => "rsa-2048-oaep",
            Self::Rsa(RsaBits::B2048, RsaScheme::Pss) => "rsa-2048-pss",
            Self::Rsa(RsaBits::B3072, RsaScheme::Pkcs1) => "rsa-3072",
            Self::Rsa(RsaBits::B3072, RsaScheme::Oaep) => "rsa-3072-oaep",
            Self::Rsa(RsaBits::B3072, RsaScheme::Pss) => "rsa-3072-pss",
            Self::Rsa(RsaBits::B4096, RsaScheme::Pkcs1) => "rsa-4096",
            Self::Rsa(RsaBits::B4096, RsaScheme::Oaep) => "rsa-4096-oaep",
            Self::Rsa(RsaBits::B4096, RsaScheme::Pss) => "rsa-4096-pss",
            Self::EcdsaP256 => "ecdsa-p256",
            Self::X25519 => "x25519",
            Self::Ffdh(FfdhGroup::Ffdhe2048) => "ffdh-2048",
            Self::Ffdh(FfdhGroup::Ffdhe3072) => "ffdh-3072",
            Self::Ffdh(FfdhGroup::Ffdhe4096) => "ffdh-4096",
            Self::Sectors(sectors) => sectors.name(),
            Self::Packets(packets) => packets.name(),
            Self::Rsa(RsaBits::B512, _) => "rsa-512-with-no-room-for-its-scheme",
        }
    }

    /// Key length in bytes, or which other form its key has.
    pub const fn key_form(self) -> KeyForm {
        match self {
            Self::Aes128Ecb | Self::Aes128Cbc | Self::Aes128Ctr | Self::Aes128Gcm => {
                KeyForm::Bytes(16)
            }
            Self::Aes192Ecb | Self::Aes192Cbc | Self::Aes192Ctr | Self::Aes192Gcm => {
                KeyForm::Bytes(24)
            }
            Self::Aes256Ecb | Self::Aes256Cbc | Self::Aes256Ctr | Self::Aes256Gcm => {
                KeyForm::Bytes(32)
            }
            Self::Aes128Xts | Self::ChaCha20Poly1305 | Self::X25519 => KeyForm::Bytes(32),
            Self::Aes256Xts => KeyForm::Bytes(64),
            Self::Sha1 | Self::Sha256 | Self::Sha384 | Self::Sha512 => KeyForm::Bytes(0),
            Self::HmacSha256 => KeyForm::AnyBytes,
            Self::Rsa(..) | Self::EcdsaP256 => KeyForm::Pkcs8,
            // RFC 7919 appendix A: 225, 275 and 325 bits at least.
            Self::Ffdh(FfdhGroup::Ffdhe2048) => KeyForm::Bytes(29),
            Self::Ffdh(FfdhGroup::Ffdhe3072) => KeyForm::Bytes(35),
            Self::Ffdh(FfdhGroup::Ffdhe4096) => KeyForm::Bytes(41),
            Self::Sectors(sectors) => KeyForm::Bytes(sectors.key_bytes()),
            Self::Packets(packets) => KeyForm::Bytes(packets.key_bytes()),
        }
    }

    /// Whether there is such an algorithm: a modulus of 512 bits has no room for
    /// OAEP or PSS with SHA-256 (RFC 8017 §7.1.1, §9.1.1).
    pub const fn exists(self) -> bool {
        !matches!(
            self,
            Self::Rsa(RsaBits::B512, RsaScheme::Oaep | RsaScheme::Pss)
        )
    }

    /// The operations this algorithm has; none of one that does not
    /// [exist](Self::exists).
    pub const fn operations(self) -> &'static [Operation] {
        match self {
            _ if !self.exists() => &[],
            Self::Sha1 | Self::Sha256 | Self::Sha384 | Self::Sha512 | Self::HmacSha256 => {
                &[Operation::Hash]
            }
            Self::Rsa(_, RsaScheme::Pkcs1) => &[
                Operation::Sign,
                Operation::Verify,
                Operation::Encrypt,
                Operation::Decrypt,
            ],
            Self::Rsa(_, RsaScheme::Oaep) => &[Operation::Encrypt, Operation::Decrypt],
            Self::Rsa(_, RsaScheme::Pss) | Self::EcdsaP256 => &[Operation::Sign, Operation::Verify],
            Self::X25519 | Self::Ffdh(_) => &[Operation::Derive],
            _ => &[Operation::Encrypt, Operation::Decrypt],
        }
    }

    /// Whether it seals and opens: text, additional data and a tag.
    pub const fn is_aead(self) -> bool {
        matches!(
            self,
            Self::Aes128Gcm | Self::Aes192Gcm | Self::Aes256Gcm | Self::ChaCha20Poly1305
        )
    }

    /// Whether it takes whole blocks only: ECB and CBC.
    pub(crate) const fn takes_blocks(self) -> bool {
        matches!(
            self,
            Self::Aes128Ecb
                | Self::Aes192Ecb
                | Self::Aes256Ecb
                | Self::Aes128Cbc
                | Self::Aes192Cbc
                | Self::Aes256Cbc
        )
    }

    pub(crate) const fn is_xts(self) -> bool {
        matches!(self, Self::Aes128Xts | Self::Aes256Xts)
    }

    pub(crate) const fn is_sectors(self) -> bool {
        matches!(self, Self::Sectors(_))
    }

    /// Whether opening can fail, and leaves no text then: AEADs and packets.
    pub const fn is_authenticated(self) -> bool {
        self.is_aead() || matches!(self, Self::Packets(_))
    }

    /// Whether it has public keys: a request has a size of its own, and costs
    /// microseconds whatever that is.
    pub const fn is_public_key(self) -> bool {
        matches!(
            self,
            Self::Rsa(..) | Self::EcdsaP256 | Self::X25519 | Self::Ffdh(_)
        )
    }

    /// Whether its keys are so short that it protects nothing.
    pub const fn is_for_measuring_only(self) -> bool {
        matches!(self, Self::Rsa(RsaBits::B512 | RsaBits::B1024, _))
    }

    /// Bytes of the tag or signature of a job; 0 where it has none.
    pub const fn tag_bytes(self, operation: Operation) -> usize {
        match (self, operation) {
            (Self::Rsa(bits, _), Operation::Sign | Operation::Verify) => bits.bits() / 8,
            (Self::EcdsaP256, _) => 64,
            _ if self.is_aead() => 16,
            _ => 0,
        }
    }

    /// Bytes of a digest or code; 0 for what is no hash.
    pub const fn digest_bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 | Self::HmacSha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
            _ => 0,
        }
    }

    /// Bytes of a number of RSA or finite-field DH; 32 for X25519; else 0.
    pub const fn modulus_bytes(self) -> usize {
        match self {
            Self::Rsa(bits, _) => bits.bits() / 8,
            Self::X25519 => 32,
            Self::Ffdh(FfdhGroup::Ffdhe2048) => 256,
            Self::Ffdh(FfdhGroup::Ffdhe3072) => 384,
            Self::Ffdh(FfdhGroup::Ffdhe4096) => 512,
            _ => 0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// This many bytes; 0 without a key. A private exponent of finite-field DH is
    /// big-endian, a private key of X25519 as RFC 7748 has it.
    Bytes(usize),
    AnyBytes,
    /// A private key as PKCS#8 in DER (RFC 5208); or a public key alone, as
    /// SubjectPublicKeyInfo in DER (RFC 5280 §4.1), which encrypts and
    /// verifies: what needs the private half is then
    /// [`Status::Unsupported`](crate::Status::Unsupported).
    Pkcs8,
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let lower = name.to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == lower)
            .ok_or_else(|| UnknownAlgorithm {
                name: name.to_owned(),
            })
    }
}
