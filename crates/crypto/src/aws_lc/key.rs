//! A key expanded for AWS-LC.

use std::any::{Any, TypeId};

use aws_lc_sys as lc;

use super::NAME;
use super::aes_key::AesKey;
use super::cbc::CbcKey;
use super::cipher::Cipher;
use super::rsa::RsaKey;
use super::xts::XtsKey;
use crate::work::OwnKey;
use crate::{Algorithm, Key, KeyError, KeyMaterial, RsaBits, RsaScheme};

/// A key and the algorithm it was made for.
pub(super) struct AwsKey {
    algorithm: Algorithm,
    pub(super) context: Context,
}

/// What each algorithm keeps between jobs. All of it lives in memory that is
/// wiped when the key is dropped.
pub(super) enum Context {
    Cbc(CbcKey),
    Ctr(AesKey),
    Gcm(Cipher),
    Xts(XtsKey),
    Sha256,
    Rsa(RsaKey),
}

impl AwsKey {
    pub(super) fn new(algorithm: Algorithm, material: &KeyMaterial) -> Result<Self, KeyError> {
        let bytes = material.expose_for(algorithm)?;
        let context = match algorithm {
            Algorithm::Aes128Cbc | Algorithm::Aes256Cbc => CbcKey::new(bytes).map(Context::Cbc),
            Algorithm::Aes128Ctr | Algorithm::Aes256Ctr => {
                AesKey::encrypting(bytes).map(Context::Ctr)
            }
            Algorithm::Aes128Gcm | Algorithm::Aes256Gcm => gcm(bytes).map(Context::Gcm),
            Algorithm::Aes256Xts => XtsKey::new(bytes).map(Context::Xts),
            Algorithm::Sha256 => Some(Context::Sha256),
            Algorithm::Rsa(RsaBits::B2048, RsaScheme::Pkcs1) => {
                return Ok(Self::rsa(RsaKey::from_pkcs8(bytes)?));
            }
            _ => {
                return Err(KeyError::Unsupported {
                    backend: NAME,
                    algorithm,
                });
            }
        };
        let context = context.ok_or(KeyError::Backend {
            backend: NAME,
            algorithm,
        })?;
        Ok(Self { algorithm, context })
    }

    fn rsa(key: RsaKey) -> Self {
        Self {
            algorithm: Algorithm::Rsa(RsaBits::B2048, RsaScheme::Pkcs1),
            context: Context::Rsa(key),
        }
    }
}

fn gcm(key: &[u8]) -> Option<Cipher> {
    // SAFETY: these return pointers to constants of the library.
    let cipher = unsafe {
        if key.len() == 16 {
            lc::EVP_aes_128_gcm()
        } else {
            lc::EVP_aes_256_gcm()
        }
    };
    Cipher::new(cipher, key, true)
}

impl Key for AwsKey {
    fn part(&self, of: TypeId) -> Option<&dyn Any> {
        (of == TypeId::of::<Self>()).then_some(self)
    }
}

impl OwnKey for AwsKey {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
