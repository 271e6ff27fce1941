//! RSA keys from their numbers.

use lockgate_crypto::{Algorithm, RsaBits, RsaScheme};
use rsa::pkcs8::{EncodePrivateKey, EncodePublicKey};
use rsa::{BoxedUint, RsaPrivateKey, RsaPublicKey};

/// The algorithm for a modulus of so many bits, when we have it.
pub fn algorithm(bits: usize, scheme: RsaScheme) -> Option<Algorithm> {
    let sizes = [
        RsaBits::B512,
        RsaBits::B1024,
        RsaBits::B2048,
        RsaBits::B3072,
        RsaBits::B4096,
    ];
    let size = sizes.into_iter().find(|size| size.bits() == bits)?;
    Some(Algorithm::Rsa(size, scheme))
}

/// Modulus and exponent, big-endian, as SubjectPublicKeyInfo in DER.
pub fn public(modulus: &[u8], exponent: &[u8]) -> Vec<u8> {
    let [n, e] = [modulus, exponent].map(number);
    let key = RsaPublicKey::new_unchecked(n, e);
    key.to_public_key_der().expect("numbers").into_vec()
}

/// Modulus, public and private exponent and two primes, big-endian, as PKCS#8
/// in DER; `None` when they do not belong together.
pub fn private(numbers: [&[u8]; 5]) -> Option<Vec<u8>> {
    let [n, e, d, p, q] = numbers.map(number);
    let key = RsaPrivateKey::from_components(n, e, d, vec![p, q]).ok()?;
    key.validate().ok()?;
    Some(key.to_pkcs8_der().ok()?.as_bytes().to_vec())
}

/// Only as long as it must be: of the length of a number its checks depend.
fn number(bytes: &[u8]) -> BoxedUint {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    BoxedUint::from_be_slice_vartime(&bytes[zeros..])
}
