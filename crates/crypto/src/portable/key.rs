//! A key expanded for the RustCrypto crates.

use std::any::{Any, TypeId};

use aes::cipher::KeyInit;
use aes::{Aes128, Aes256};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use rsa::RsaPrivateKey;
use rsa::pkcs8::DecodePrivateKey;
use rsa::traits::PublicKeyParts;
use xts_mode::Xts128;

use super::NAME;
use crate::work::OwnKey;
use crate::{Algorithm, Key, KeyError, KeyMaterial, RsaBits, RsaScheme};

/// Bytes of a 2048-bit modulus.
const MODULUS_BYTES: usize = 256;

/// A key and the algorithm it was made for.
pub(super) struct PortableKey {
    algorithm: Algorithm,
    pub(super) context: Context,
}

/// What each algorithm keeps between jobs; boxed, since a vector register's
/// worth of round keys is large.
pub(super) enum Context {
    Cbc128(Box<Aes128>),
    Cbc256(Box<Aes256>),
    Ctr128(Box<Aes128>),
    Ctr256(Box<Aes256>),
    Gcm128(Box<Aes128Gcm>),
    Gcm256(Box<Aes256Gcm>),
    Xts(Box<Xts128<Aes256>>),
    Sha256,
    Rsa(Box<RsaPrivateKey>),
}

impl PortableKey {
    pub(super) fn new(algorithm: Algorithm, material: &KeyMaterial) -> Result<Self, KeyError> {
        let key = material.expose_for(algorithm)?;
        let context = match algorithm {
            Algorithm::Aes128Cbc => Context::Cbc128(expanded(key, algorithm)?),
            Algorithm::Aes256Cbc => Context::Cbc256(expanded(key, algorithm)?),
            Algorithm::Aes128Ctr => Context::Ctr128(expanded(key, algorithm)?),
            Algorithm::Aes256Ctr => Context::Ctr256(expanded(key, algorithm)?),
            Algorithm::Aes128Gcm => Context::Gcm128(expanded(key, algorithm)?),
            Algorithm::Aes256Gcm => Context::Gcm256(expanded(key, algorithm)?),
            Algorithm::Aes256Xts => {
                let (data_key, tweak_key) = key.split_at(key.len() / 2);
                let data = cipher::<Aes256>(data_key, algorithm)?;
                let tweak = cipher::<Aes256>(tweak_key, algorithm)?;
                Context::Xts(Box::new(Xts128::new(data, tweak)))
            }
            Algorithm::Sha256 => Context::Sha256,
            Algorithm::Rsa(RsaBits::B2048, RsaScheme::Pkcs1) => Context::Rsa(private_key(key)?),
            _ => {
                return Err(KeyError::Unsupported {
                    backend: NAME,
                    algorithm,
                });
            }
        };
        Ok(Self { algorithm, context })
    }
}

fn expanded<C: KeyInit>(key: &[u8], algorithm: Algorithm) -> Result<Box<C>, KeyError> {
    cipher(key, algorithm).map(Box::new)
}

/// By value: moving out of a box would free its memory unwiped.
fn cipher<C: KeyInit>(key: &[u8], algorithm: Algorithm) -> Result<C, KeyError> {
    C::new_from_slice(key).map_err(|_| KeyError::Backend {
        backend: NAME,
        algorithm,
    })
}

fn private_key(der: &[u8]) -> Result<Box<RsaPrivateKey>, KeyError> {
    RsaPrivateKey::from_pkcs8_der(der)
        .ok()
        .filter(|key| key.size() == MODULUS_BYTES)
        .map(Box::new)
        .ok_or(KeyError::Malformed {
            algorithm: Algorithm::Rsa(RsaBits::B2048, RsaScheme::Pkcs1),
        })
}

impl Key for PortableKey {
    fn part(&self, of: TypeId) -> Option<&dyn Any> {
        (of == TypeId::of::<Self>()).then_some(self)
    }
}

impl OwnKey for PortableKey {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
