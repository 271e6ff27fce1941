//! Ciphers that protect packets.

use crypto::{Algorithm, Packets};
use hkdf::Hkdf;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Sha256, Sha384};
use zeroize::Zeroizing;

/// A TLS 1.3 cipher suite (RFC 8446 §B.4) as QUIC uses it (RFC 9001 §5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize)]
pub enum Suite {
    #[serde(rename = "aes-128-gcm")]
    Aes128Gcm,
    #[serde(rename = "aes-256-gcm")]
    Aes256Gcm,
    #[serde(rename = "chacha20-poly1305")]
    ChaCha20Poly1305,
}

impl Suite {
    pub const ALL: [Self; 3] = [Self::Aes128Gcm, Self::Aes256Gcm, Self::ChaCha20Poly1305];

    /// By its number in TLS; `None` of AES-CCM, which nobody offers, and of what does not
    /// exist.
    pub fn from_number(number: u16) -> Option<Self> {
        Some(match number {
            0x1301 => Self::Aes128Gcm,
            0x1302 => Self::Aes256Gcm,
            0x1303 => Self::ChaCha20Poly1305,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        self.algorithm().name()
    }

    pub fn algorithm(self) -> Algorithm {
        self.packets().aead()
    }

    pub fn packets(self) -> Packets {
        match self {
            Self::Aes128Gcm => Packets::Aes128Gcm,
            Self::Aes256Gcm => Packets::Aes256Gcm,
            Self::ChaCha20Poly1305 => Packets::ChaCha20Poly1305,
        }
    }

    /// Of a packet's key and of its header's.
    pub fn key_bytes(self) -> usize {
        self.packets().cipher_key_bytes()
    }

    /// Of its hash, and so of its secrets.
    pub fn secret_bytes(self) -> usize {
        match self {
            Self::Aes256Gcm => 48,
            Self::Aes128Gcm | Self::ChaCha20Poly1305 => 32,
        }
    }

    /// Packets that one key may seal (RFC 9001 §6.6).
    pub fn confidentiality_limit(self) -> u64 {
        match self {
            Self::Aes128Gcm | Self::Aes256Gcm => 1 << 23,
            // More than there are packet numbers.
            Self::ChaCha20Poly1305 => 1 << 62,
        }
    }

    /// Packets of a connection that may fail to open before it must end (§6.6).
    pub fn integrity_limit(self) -> u64 {
        match self {
            Self::Aes128Gcm | Self::Aes256Gcm => 1 << 52,
            Self::ChaCha20Poly1305 => 1 << 36,
        }
    }

    /// HKDF-Expand-Label without a context (RFC 8446 §7.1).
    ///
    /// # Panics
    /// When the secret is shorter than the suite's hash, or more than 64 bytes are wanted.
    pub(crate) fn expand(self, secret: &[u8], label: &str, bytes: usize) -> Zeroizing<Vec<u8>> {
        assert!(secret.len() >= self.secret_bytes() && bytes <= 64);
        let label = [b"tls13 ", label.as_bytes()].concat();
        let lengths = [bytes as u8, label.len() as u8].map(|one| [one]);
        let info = [&[0], &lengths[0][..], &lengths[1], &label, &[0]];
        let mut out = Zeroizing::new(vec![0; bytes]);
        let expanded =
            match self {
                Self::Aes256Gcm => Hkdf::<Sha384>::from_prk(secret)
                    .map(|prk| prk.expand_multi_info(&info, &mut out)),
                Self::Aes128Gcm | Self::ChaCha20Poly1305 => Hkdf::<Sha256>::from_prk(secret)
                    .map(|prk| prk.expand_multi_info(&info, &mut out)),
            };
        let expanded = expanded.expect("the secret is long enough");
        expanded.expect("64 bytes can be had of either hash");
        out
    }
}
