//! RSA and ECDSA.

use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use hmac::{Hmac, KeyInit, Mac};
use p256::ecdsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
use rsa::hazmat::rsa_decrypt_and_check;
use rsa::traits::{PrivateKeyParts, PublicKeyParts};
use rsa::{BoxedUint, Oaep, Pkcs1v15Encrypt, Pkcs1v15Sign, Pss, RsaPrivateKey, RsaPublicKey};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::compute::Private;
use crate::check::SIGNED_DIGEST_BYTES;
use crate::rejection::{self, HASH_BYTES, Hash};
use crate::{RsaScheme, Status};

/// The operating system's; a host without randomness cannot go on.
fn random() -> UnwrapErr<SysRng> {
    UnwrapErr(SysRng)
}

pub(super) fn sign(
    key: &RsaPrivateKey,
    scheme: RsaScheme,
    digest: &[u8],
) -> Result<Private, Status> {
    let signed = match scheme {
        RsaScheme::Pss => key.sign_with_rng(&mut random(), pss(), digest),
        _ => key.sign_with_rng(&mut random(), Pkcs1v15Sign::new::<Sha256>(), digest),
    };
    signed.map(Private::from).map_err(|_| Status::BackendFailed)
}

pub(super) fn verify(
    key: &RsaPublicKey,
    scheme: RsaScheme,
    digest: &[u8],
    signature: &[u8],
) -> Result<(), Status> {
    let verified = match scheme {
        RsaScheme::Pss => key.verify(pss(), digest, signature),
        _ => key.verify(Pkcs1v15Sign::new::<Sha256>(), digest, signature),
    };
    verified.map_err(|_| Status::AuthenticationFailed)
}

fn pss() -> Pss<Sha256> {
    Pss::new_with_salt(SIGNED_DIGEST_BYTES)
}

pub(super) fn encrypt(
    key: &RsaPublicKey,
    scheme: RsaScheme,
    message: &[u8],
) -> Result<Private, Status> {
    let encrypted = match scheme {
        RsaScheme::Oaep => key.encrypt(&mut random(), Oaep::<Sha256>::new(), message),
        _ => key.encrypt(&mut random(), Pkcs1v15Encrypt, message),
    };
    let encrypted = encrypted.map_err(|_| Status::BackendFailed)?;
    Ok(encrypted.into())
}

/// The message, of `message_bytes`; with PKCS#1 v1.5 its replacement, where there is
/// none.
///
/// # Errors
/// [`Status::InvalidInput`] of no number that the key decrypts; with OAEP also
/// where there is no such message.
pub(super) fn decrypt(
    key: &RsaPrivateKey,
    scheme: RsaScheme,
    ciphertext: &[u8],
    message_bytes: usize,
) -> Result<Private, Status> {
    if scheme != RsaScheme::Oaep {
        return decrypt_pkcs1(key, ciphertext, message_bytes);
    }
    key.decrypt_blinded(&mut random(), Oaep::<Sha256>::new(), ciphertext)
        .map(Private::from)
        .ok()
        .filter(|message| message.len() == message_bytes)
        .ok_or(Status::InvalidInput)
}

/// Not the library's own way, which makes up a length, too.
fn decrypt_pkcs1(
    key: &RsaPrivateKey,
    ciphertext: &[u8],
    message_bytes: usize,
) -> Result<Private, Status> {
    let bits = key.n().bits_precision();
    let number = BoxedUint::from_be_slice(ciphertext, bits).map_err(|_| Status::InvalidInput)?;
    let one = BoxedUint::one_with_precision(bits);
    if number <= one || number >= key.n().wrapping_sub(&one) {
        return Err(Status::InvalidInput);
    }
    let padded = rsa_decrypt_and_check(key, Some(&mut random()), &number)
        .map_err(|_| Status::InvalidInput)?;
    let padded = Zeroizing::new(padded);
    let mut padded = as_long_as_modulus(key, &padded);
    let exponent: Hash = Zeroizing::new(Sha256::digest(&*as_long_as_modulus(key, key.d())).into());
    let mut alternative = Zeroizing::new(vec![0; message_bytes]);
    rejection::alternative(hmac, &exponent, ciphertext, &mut alternative)
        .ok_or(Status::BackendFailed)?;
    Ok(rejection::message_or(&alternative, &mut padded)
        .to_vec()
        .into())
}

fn as_long_as_modulus(key: &RsaPrivateKey, number: &BoxedUint) -> Private {
    let bytes = Zeroizing::new(number.to_be_bytes());
    bytes[bytes.len() - key.size()..].to_vec().into()
}

fn hmac(key: &[u8; HASH_BYTES], text: &[u8], code: &mut [u8; HASH_BYTES]) -> bool {
    let keyed = Hmac::<Sha256>::new_from_slice(key).expect("any length");
    *code = keyed.chain_update(text).finalize().into_bytes().into();
    true
}

pub(super) fn sign_ecdsa(key: &SigningKey, digest: &[u8]) -> Result<Private, Status> {
    let signature: Signature = key
        .sign_prehash(digest)
        .map_err(|_| Status::BackendFailed)?;
    Ok(signature.to_bytes().to_vec().into())
}

pub(super) fn verify_ecdsa(
    key: &VerifyingKey,
    digest: &[u8],
    signature: &[u8],
) -> Result<(), Status> {
    Signature::from_slice(signature)
        .and_then(|signature| key.verify_prehash(digest, &signature))
        .map_err(|_| Status::AuthenticationFailed)
}
