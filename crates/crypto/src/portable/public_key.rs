//! RSA and ECDSA.

use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use p256::ecdsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
use rsa::hazmat::rsa_decrypt_and_check;
use rsa::traits::PublicKeyParts;
use rsa::{BoxedUint, Oaep, Pkcs1v15Encrypt, Pkcs1v15Sign, Pss, RsaPrivateKey, RsaPublicKey};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::compute::Private;
use crate::check::SIGNED_DIGEST_BYTES;
use crate::{RsaScheme, Status};

/// The operating system's; a host without randomness cannot go on.
fn random() -> UnwrapErr<SysRng> {
    UnwrapErr(SysRng)
}

/// # Errors
/// [`Status::BackendFailed`].
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

/// # Errors
/// [`Status::AuthenticationFailed`].
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

/// # Errors
/// [`Status::BackendFailed`].
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

/// The message, of `message_bytes`.
///
/// # Errors
/// [`Status::InvalidInput`] where there is no such message.
pub(super) fn decrypt(
    key: &RsaPrivateKey,
    scheme: RsaScheme,
    ciphertext: &[u8],
    message_bytes: usize,
) -> Result<Private, Status> {
    let message = match scheme {
        RsaScheme::Oaep => key
            .decrypt_blinded(&mut random(), Oaep::<Sha256>::new(), ciphertext)
            .map(Private::from)
            .map_err(|_| Status::InvalidInput)?,
        _ => decrypt_pkcs1(key, ciphertext, message_bytes)?,
    };
    if message.len() == message_bytes {
        Ok(message)
    } else {
        Err(Status::InvalidInput)
    }
}

/// Padding removed here: the library's own way puts a made-up message in the
/// place of one that is not there, which might have the length that is asked for.
fn decrypt_pkcs1(
    key: &RsaPrivateKey,
    ciphertext: &[u8],
    message_bytes: usize,
) -> Result<Private, Status> {
    let ciphertext = BoxedUint::from_be_slice(ciphertext, key.n().bits_precision())
        .map_err(|_| Status::InvalidInput)?;
    let padded = rsa_decrypt_and_check(key, Some(&mut random()), &ciphertext)
        .map_err(|_| Status::InvalidInput)?;
    let padded = Zeroizing::new(Zeroizing::new(padded).to_be_bytes().into_vec());
    let padded = &padded[padded.len() - key.size()..];
    let (padding, message) = padded.split_at(padded.len() - message_bytes);
    if is_padding(padding) {
        Ok(message.to_vec().into())
    } else {
        Err(Status::InvalidInput)
    }
}

/// Whether this is 0, 2, eight or more bytes that are not 0, and 0 (RFC 8017
/// §7.2.2), in the same time wherever it is not.
fn is_padding(padding: &[u8]) -> bool {
    let [first, second, filling @ .., last] = padding else {
        return false;
    };
    let zeros: u8 = filling
        .iter()
        .fold(0, |any, byte| any | u8::from(*byte == 0));
    filling.len() >= 8 && (first | (second ^ 2) | zeros | last) == 0
}

/// # Errors
/// [`Status::BackendFailed`].
pub(super) fn sign_ecdsa(key: &SigningKey, digest: &[u8]) -> Result<Private, Status> {
    let signature: Signature = key
        .sign_prehash(digest)
        .map_err(|_| Status::BackendFailed)?;
    Ok(signature.to_bytes().to_vec().into())
}

/// # Errors
/// [`Status::AuthenticationFailed`].
pub(super) fn verify_ecdsa(
    key: &VerifyingKey,
    digest: &[u8],
    signature: &[u8],
) -> Result<(), Status> {
    Signature::from_slice(signature)
        .and_then(|signature| key.verify_prehash(digest, &signature))
        .map_err(|_| Status::AuthenticationFailed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_has_its_form() {
        let good = [0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 0];
        assert!(is_padding(&good));
        for (at, byte) in [(0, 1), (1, 1), (2, 0), (9, 0), (10, 1)] {
            let mut bad = good;
            bad[at] = byte;
            assert!(!is_padding(&bad), "{at}");
        }
        assert!(!is_padding(&[0, 2, 1, 2, 3, 4, 5, 6, 7, 0]));
    }
}
