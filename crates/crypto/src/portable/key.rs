//! A key expanded for the RustCrypto crates.

use aes::cipher::{KeyInit, consts::U12};
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::{Aes128Gcm, Aes256Gcm, AesGcm};
use chacha20poly1305::ChaCha20Poly1305;
use hmac::Hmac;
use sha2::Sha256;
use x25519_dalek::StaticSecret;
use xts_mode::Xts128;

use super::NAME;
use super::agreement::FfdhKey;
use super::key_pair::{EcdsaPair, RsaPair};
use crate::work::OwnKey;
use crate::{Algorithm, KeyError, KeyMaterial, RsaScheme};

pub(super) struct PortableKey {
    algorithm: Algorithm,
    pub(super) context: Context,
}

/// The block cipher; boxed, since a vector register's worth of round keys is
/// large.
pub(super) enum Aes {
    Of128(Box<Aes128>),
    Of192(Box<Aes192>),
    Of256(Box<Aes256>),
}

/// AES-192 in Galois/counter mode, which `aes-gcm` gives no name.
type Aes192Gcm = AesGcm<Aes192, U12>;

pub(super) enum Context {
    Ecb(Aes),
    Cbc(Aes),
    Ctr(Aes),
    Gcm128(Box<Aes128Gcm>),
    Gcm192(Box<Aes192Gcm>),
    Gcm256(Box<Aes256Gcm>),
    ChaCha20Poly1305(Box<ChaCha20Poly1305>),
    Xts128(Box<Xts128<Aes128>>),
    Xts256(Box<Xts128<Aes256>>),
    Sha1,
    Sha256,
    Sha384,
    Sha512,
    Hmac(Box<Hmac<Sha256>>),
    Rsa(RsaScheme, Box<RsaPair>),
    Ecdsa(Box<EcdsaPair>),
    X25519(Box<StaticSecret>),
    Ffdh(Box<FfdhKey>),
}

impl PortableKey {
    pub(super) fn new(algorithm: Algorithm, material: &KeyMaterial) -> Result<Self, KeyError> {
        use Algorithm as A;
        let key = material.expose_for(algorithm)?;
        let malformed = KeyError::Malformed { algorithm };
        let context = match algorithm {
            A::Aes128Ecb | A::Aes192Ecb | A::Aes256Ecb => Context::Ecb(aes(key, algorithm)?),
            A::Aes128Cbc | A::Aes192Cbc | A::Aes256Cbc => Context::Cbc(aes(key, algorithm)?),
            A::Aes128Ctr | A::Aes192Ctr | A::Aes256Ctr => Context::Ctr(aes(key, algorithm)?),
            A::Aes128Gcm => Context::Gcm128(expanded(key, algorithm)?),
            A::Aes192Gcm => Context::Gcm192(expanded(key, algorithm)?),
            A::Aes256Gcm => Context::Gcm256(expanded(key, algorithm)?),
            A::ChaCha20Poly1305 => Context::ChaCha20Poly1305(expanded(key, algorithm)?),
            A::Aes128Xts => Context::Xts128(xts(key, algorithm)?),
            A::Aes256Xts => Context::Xts256(xts(key, algorithm)?),
            A::Sha1 => Context::Sha1,
            A::Sha256 => Context::Sha256,
            A::Sha384 => Context::Sha384,
            A::Sha512 => Context::Sha512,
            A::HmacSha256 => Context::Hmac(expanded(key, algorithm)?),
            A::Rsa(bits, scheme) => RsaPair::parse(key, bits)
                .map(|key| Context::Rsa(scheme, key))
                .ok_or(malformed)?,
            A::EcdsaP256 => EcdsaPair::parse(key).map(Context::Ecdsa).ok_or(malformed)?,
            A::X25519 => {
                let bytes: [u8; 32] = key.try_into().expect("its length was checked");
                Context::X25519(Box::new(StaticSecret::from(bytes)))
            }
            A::Ffdh(group) => Context::Ffdh(Box::new(FfdhKey::new(group, key))),
            A::Sectors(_) | A::Packets(_) => {
                return Err(KeyError::Unsupported {
                    backend: NAME,
                    algorithm,
                });
            }
        };
        Ok(Self { algorithm, context })
    }
}

fn aes(key: &[u8], algorithm: Algorithm) -> Result<Aes, KeyError> {
    Ok(match key.len() {
        16 => Aes::Of128(expanded(key, algorithm)?),
        24 => Aes::Of192(expanded(key, algorithm)?),
        _ => Aes::Of256(expanded(key, algorithm)?),
    })
}

fn xts<C>(key: &[u8], algorithm: Algorithm) -> Result<Box<Xts128<C>>, KeyError>
where
    C: KeyInit + super::cipher::Cipher,
{
    let (data_key, tweak_key) = key.split_at(key.len() / 2);
    let (data, tweak) = (cipher(data_key, algorithm)?, cipher(tweak_key, algorithm)?);
    Ok(Box::new(Xts128::new(data, tweak)))
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

impl OwnKey for PortableKey {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
