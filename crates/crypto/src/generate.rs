//! New keys.

use zeroize::Zeroizing;

use crate::{Algorithm, KeyMaterial, aws_lc};

/// A fresh random key for `algorithm`, from AWS-LC's generator, which the
/// operating system seeds. For RSA: a 2048-bit key with exponent 65537 as
/// PKCS#8 DER, which takes a tenth of a second or so.
///
/// # Panics
/// When memory runs out. Where there is no randomness, the library aborts.
#[must_use]
pub fn generate_key(algorithm: Algorithm) -> KeyMaterial {
    let Some(key_bytes) = algorithm.key_bytes() else {
        return aws_lc::generate_rsa().expect("making an RSA key fails only without memory");
    };
    loop {
        let material = random(key_bytes);
        // An XTS key with equal halves is refused; that is one in 2^256.
        if material.expose_for(algorithm).is_ok() {
            return material;
        }
    }
}

fn random(bytes: usize) -> KeyMaterial {
    let mut buffer = Zeroizing::new(vec![0; bytes]);
    aws_lc::random(&mut buffer);
    KeyMaterial::take(&mut buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_length_and_differ() {
        for algorithm in Algorithm::ALL
            .into_iter()
            .filter(|a| a.key_bytes() > Some(0))
        {
            let (a, b) = (generate_key(algorithm), generate_key(algorithm));
            assert_eq!(Some(a.expose().len()), algorithm.key_bytes());
            assert_ne!(a.expose(), b.expose());
        }
    }
}
