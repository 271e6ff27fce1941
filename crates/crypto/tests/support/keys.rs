//! Keys that are the same each time.

use lockgate_crypto::{Algorithm, KeyForm, KeyMaterial, RsaBits};

use super::noise;

/// Lengths of HMAC keys: none, short, usual, a block, longer than a block.
const HMAC_KEY_BYTES: [usize; 5] = [32, 20, 64, 131, 0];

/// A key that depends on `seed` only; of each form of PKCS#8 there are two.
pub fn material(algorithm: Algorithm, seed: u64) -> KeyMaterial {
    let mut bytes = match algorithm.key_form() {
        KeyForm::Bytes(bytes) => noise(seed, bytes),
        KeyForm::AnyBytes => noise(seed, HMAC_KEY_BYTES[(seed % 5) as usize]),
        KeyForm::Pkcs8 => pkcs8(algorithm)[(seed % 2) as usize].to_vec(),
    };
    KeyMaterial::take(&mut bytes)
}

macro_rules! both {
    ($name:literal) => {
        [
            include_bytes!(concat!("../vectors/", $name, ".pkcs8.der")).as_slice(),
            include_bytes!(concat!("../vectors/", $name, ".other.pkcs8.der")).as_slice(),
        ]
    };
}

pub fn pkcs8(algorithm: Algorithm) -> [&'static [u8]; 2] {
    match algorithm {
        Algorithm::Rsa(RsaBits::B512, _) => both!("rsa-512"),
        Algorithm::Rsa(RsaBits::B1024, _) => both!("rsa-1024"),
        Algorithm::Rsa(RsaBits::B2048, _) => both!("rsa-2048"),
        Algorithm::Rsa(RsaBits::B3072, _) => both!("rsa-3072"),
        Algorithm::Rsa(RsaBits::B4096, _) => both!("rsa-4096"),
        Algorithm::EcdsaP256 => both!("p-256"),
        _ => panic!("{algorithm} has keys of another form"),
    }
}

/// Sixteen bytes of the secret part: RSA's exponent lies behind its modulus,
/// the number of a P-256 key behind two headers. `None` of what has no key.
pub fn secret(algorithm: Algorithm, seed: u64) -> Option<[u8; 16]> {
    let from = match algorithm {
        Algorithm::Rsa(bits, _) => 56 + bits.bits() / 8 * 5 / 4,
        Algorithm::EcdsaP256 => 36,
        _ => 0,
    };
    let material = material(algorithm, seed);
    let bytes = material.expose().get(from..from + 16)?;
    bytes.try_into().ok()
}
