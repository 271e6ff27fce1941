//! RSA keys from their numbers.

use lockgate_crypto::{Algorithm, RsaBits, RsaScheme};
use rsa::pkcs1::RsaPrivateKeyRef;
use rsa::pkcs8::{EncodePrivateKey, EncodePublicKey, PrivateKeyInfoRef};
use rsa::{BoxedUint, RsaPrivateKey, RsaPublicKey};

/// The algorithm for a modulus of this size, if there is one.
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

/// Modulus and private exponent of a PKCS#8 key, as long as the modulus.
pub fn numbers(pkcs8: &[u8]) -> [Vec<u8>; 2] {
    let info = PrivateKeyInfoRef::try_from(pkcs8).expect("a key");
    let key = RsaPrivateKeyRef::try_from(info.private_key.as_bytes()).expect("of RSA");
    let modulus = key.modulus.as_bytes();
    [key.modulus, key.private_exponent].map(|number| {
        let zeros = modulus.len() - number.as_bytes().len();
        [&vec![0; zeros], number.as_bytes()].concat()
    })
}

/// Whether RSA decrypts that number: 1 < c < n − 1 (SP 800-56B rev. 2 §7.1.2).
pub fn decrypts(pkcs8: &[u8], ciphertext: &[u8]) -> bool {
    let [mut most, _] = numbers(pkcs8);
    let last = most.len() - 1;
    // A modulus is odd.
    most[last] -= 1;
    let one = [vec![0; last], vec![1]].concat();
    *one < *ciphertext && *ciphertext < *most
}

/// Only as long as it must be: of the length of a number its checks depend.
fn number(bytes: &[u8]) -> BoxedUint {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    BoxedUint::from_be_slice_vartime(&bytes[zeros..])
}
