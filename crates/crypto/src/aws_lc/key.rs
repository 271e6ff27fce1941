//! A key expanded for AWS-LC.

use super::NAME;
use super::aes_key::AesKey;
use super::cbc::CbcKey;
use super::chacha20::ChaChaKey;
use super::cipher::Cipher;
use super::ecb::EcbKey;
use super::ffdh::FfdhKey;
use super::gcm;
use super::hmac::HmacKey;
use super::key_pair::KeyPair;
use super::rsa::RsaKey;
use super::x25519::X25519Key;
use super::xts::XtsKey;
use crate::work::OwnKey;
use crate::{Algorithm, KeyError, KeyMaterial};

pub(super) struct AwsKey {
    algorithm: Algorithm,
    pub(super) context: Context,
}

/// What each algorithm keeps between jobs. All of it lives in memory that is
/// wiped when the key is dropped.
pub(super) enum Context {
    Ecb(EcbKey),
    Cbc(CbcKey),
    Ctr(AesKey),
    Gcm(Cipher),
    Xts(XtsKey),
    ChaCha(ChaChaKey),
    Sha1,
    Sha256,
    Sha384,
    Sha512,
    Hmac(HmacKey),
    Rsa(RsaKey),
    Ecdsa(KeyPair),
    X25519(X25519Key),
    Ffdh(FfdhKey),
}

impl AwsKey {
    pub(super) fn new(algorithm: Algorithm, material: &KeyMaterial) -> Result<Self, KeyError> {
        if !super::has(algorithm) {
            return Err(KeyError::Unsupported {
                backend: NAME,
                algorithm,
            });
        }
        let bytes = material.expose_for(algorithm)?;
        let context = Context::new(algorithm, bytes)?.ok_or(KeyError::Backend {
            backend: NAME,
            algorithm,
        })?;
        Ok(Self { algorithm, context })
    }
}

impl Context {
    /// `None` when the library refuses.
    fn new(algorithm: Algorithm, key: &[u8]) -> Result<Option<Self>, KeyError> {
        use Algorithm as A;
        let key_pair = || KeyPair::parse(algorithm, key).ok_or(KeyError::Malformed { algorithm });
        Ok(match algorithm {
            A::Aes128Ecb | A::Aes192Ecb | A::Aes256Ecb => EcbKey::new(key).map(Self::Ecb),
            A::Aes128Cbc | A::Aes192Cbc | A::Aes256Cbc => CbcKey::new(key).map(Self::Cbc),
            A::Aes128Ctr | A::Aes192Ctr | A::Aes256Ctr => AesKey::encrypting(key).map(Self::Ctr),
            A::Aes128Gcm | A::Aes192Gcm | A::Aes256Gcm => gcm::context(key).map(Self::Gcm),
            A::Aes128Xts | A::Sectors(_) | A::Packets(_) => None,
            A::Aes256Xts => XtsKey::new(key).map(Self::Xts),
            A::ChaCha20Poly1305 => ChaChaKey::new(key).map(Self::ChaCha),
            A::Sha1 => Some(Self::Sha1),
            A::Sha256 => Some(Self::Sha256),
            A::Sha384 => Some(Self::Sha384),
            A::Sha512 => Some(Self::Sha512),
            A::HmacSha256 => HmacKey::new(key).map(Self::Hmac),
            A::Rsa(bits, scheme) => RsaKey::new(key_pair()?, bits, scheme).map(Self::Rsa),
            A::EcdsaP256 => Some(Self::Ecdsa(key_pair()?)),
            A::X25519 => Some(Self::X25519(X25519Key::new(key))),
            A::Ffdh(group) => FfdhKey::new(group, key).map(Self::Ffdh),
        })
    }
}

impl OwnKey for AwsKey {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
