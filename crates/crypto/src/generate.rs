//! New keys.

use zeroize::Zeroizing;

use crate::{Algorithm, KeyForm, KeyMaterial, aws_lc};

/// As long as what HMAC-SHA-256 puts out (RFC 2104 §3).
const HMAC_KEY_BYTES: usize = 32;

/// A fresh random key for `algorithm`, from AWS-LC's generator, which the
/// operating system seeds: as many bytes as it takes, 32 for HMAC, or PKCS#8 for
/// RSA and P-256. RSA keys have the exponent 65537 and take a tenth of a second
/// or so at 2048 bits, a second or so at 4096.
///
/// # Panics
/// When memory runs out. Where there is no randomness, the library aborts.
pub fn generate_key(algorithm: Algorithm) -> KeyMaterial {
    let key_bytes = match algorithm.key_form() {
        KeyForm::Pkcs8 => {
            return aws_lc::generate_pkcs8(algorithm)
                .expect("making a key fails only without memory");
        }
        KeyForm::AnyBytes => HMAC_KEY_BYTES,
        KeyForm::Bytes(bytes) => bytes,
    };
    loop {
        let material = random(key_bytes);
        // An XTS key with equal halves is refused; that is one in 2^128.
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
    use crate::Algorithm::Rsa;
    use crate::aws_lc::AwsLc;
    use crate::{Backend, KeyError, RsaBits, RsaScheme};

    #[test]
    fn keys_have_their_length_and_differ() {
        for algorithm in Algorithm::ALL {
            let expected = match algorithm.key_form() {
                KeyForm::Bytes(0) | KeyForm::Pkcs8 => continue,
                KeyForm::Bytes(bytes) => bytes,
                KeyForm::AnyBytes => HMAC_KEY_BYTES,
            };
            let (a, b) = (generate_key(algorithm), generate_key(algorithm));
            assert_eq!(a.expose().len(), expected);
            assert_ne!(a.expose(), b.expose());
        }
    }

    /// Taken for what they were made for, and for nothing else.
    #[test]
    fn pkcs8_keys_are_of_their_kind_and_size() {
        let short = [RsaBits::B512, RsaBits::B1024].map(|bits| Rsa(bits, RsaScheme::Pkcs1));
        let algorithms = [short[0], short[1], Algorithm::EcdsaP256];
        for made_for in algorithms {
            let material = generate_key(made_for);
            for algorithm in algorithms {
                let key = AwsLc.key(algorithm, &material).map(drop);
                let malformed = Err(KeyError::Malformed { algorithm });
                let expected = if algorithm == made_for {
                    Ok(())
                } else {
                    malformed
                };
                assert_eq!(key, expected, "{made_for} as {algorithm}");
            }
        }
    }
}
