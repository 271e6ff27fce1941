//! Keys of RSA and ECDSA: both halves, as PKCS#8 (RFC 5208), or the public
//! one alone, as SubjectPublicKeyInfo (RFC 5280 §4.1).

use p256::ecdsa::{SigningKey, VerifyingKey};
use p256::pkcs8::{DecodePrivateKey, DecodePublicKey};
use rsa::pkcs1::ALGORITHM_OID;
use rsa::pkcs8::spki::SubjectPublicKeyInfoRef;
use rsa::traits::PublicKeyParts;
use rsa::{BoxedUint, RsaPrivateKey, RsaPublicKey};

use crate::{RsaBits, Status};

pub(super) struct KeyPair<Public, Private> {
    pub(super) public: Public,
    private: Option<Private>,
}

pub(super) type RsaPair = KeyPair<RsaPublicKey, RsaPrivateKey>;
/// Of ECDSA on P-256.
pub(super) type EcdsaPair = KeyPair<VerifyingKey, SigningKey>;

impl<Public, Private> KeyPair<Public, Private> {
    pub(super) fn private(&self) -> Result<&Private, Status> {
        self.private.as_ref().ok_or(Status::Unsupported)
    }
}

impl RsaPair {
    /// `None` when `der` is not an RSA key of this size.
    pub(super) fn parse(der: &[u8], bits: RsaBits) -> Option<Box<Self>> {
        let pair = match RsaPrivateKey::from_pkcs8_der(der) {
            Ok(private) => Self {
                public: private.to_public_key(),
                private: Some(private),
            },
            Err(_) => Self {
                public: public_rsa(der)?,
                private: None,
            },
        };
        let is_of_size = pair.public.n().bits_vartime() as usize == bits.bits();
        is_of_size.then(|| Box::new(pair))
    }
}

/// Not by the library's own parser, which refuses the short moduli that are
/// for measuring only.
fn public_rsa(der: &[u8]) -> Option<RsaPublicKey> {
    let info = SubjectPublicKeyInfoRef::try_from(der).ok()?;
    info.algorithm.assert_algorithm_oid(ALGORITHM_OID).ok()?;
    let key = info.subject_public_key.as_bytes()?;
    let key = rsa::pkcs1::RsaPublicKeyRef::try_from(key).ok()?;
    let [modulus, exponent] = [key.modulus, key.public_exponent]
        .map(|number| BoxedUint::from_be_slice_vartime(number.as_bytes()));
    let sizes = RsaBits::B512.bits()..=RsaBits::B4096.bits();
    RsaPublicKey::new_with_size_limits(modulus, exponent, sizes).ok()
}

impl EcdsaPair {
    /// `None` when `der` is no key on P-256.
    pub(super) fn parse(der: &[u8]) -> Option<Box<Self>> {
        let pair = match SigningKey::from_pkcs8_der(der) {
            Ok(private) => Self {
                public: *private.verifying_key(),
                private: Some(private),
            },
            Err(_) => Self {
                public: VerifyingKey::from_public_key_der(der).ok()?,
                private: None,
            },
        };
        Some(Box::new(pair))
    }
}
