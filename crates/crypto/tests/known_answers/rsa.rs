//! RSA against OpenSSL: signatures and ciphertexts that its command line made.

use lockgate_crypto::{Algorithm, Operation, RsaBits, RsaScheme, Status};
use rsa::pkcs8::DecodePrivateKey;
use rsa::traits::PublicKeyParts;
use rsa::{BoxedUint, RsaPrivateKey};

use super::{apart, hex, key, signature, with};
use crate::published::rejection::Rejection;
use crate::published::rsa_key;

/// SHA-256 of `abc`, which every signature here is over.
const DIGEST: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const MESSAGE: &[u8] = b"a canal lock lifts boats";

struct Vector {
    bits: RsaBits,
    key: &'static [u8],
    signature: &'static [u8],
    ciphertext: &'static [u8],
    pss: Option<&'static [u8]>,
    oaep: Option<&'static [u8]>,
}

macro_rules! vector {
    ($bits:ident, $name:literal $(, $with:ident)?) => {
        Vector {
            bits: RsaBits::$bits,
            key: include_bytes!(concat!("../vectors/rsa-", $name, ".pkcs8.der")),
            signature: include_bytes!(concat!("../vectors/rsa-", $name, ".abc.signature")),
            ciphertext: include_bytes!(concat!("../vectors/rsa-", $name, ".pkcs1.ciphertext")),
            pss: vector!(@ $name, ".abc.pss.signature" $(, $with)?),
            oaep: vector!(@ $name, ".oaep.ciphertext" $(, $with)?),
        }
    };
    (@ $name:literal, $rest:literal, with_all_schemes) => {
        Some(include_bytes!(concat!("../vectors/rsa-", $name, $rest)))
    };
    (@ $name:literal, $rest:literal) => {
        None
    };
}

const VECTORS: [Vector; 5] = [
    vector!(B512, "512"),
    vector!(B1024, "1024", with_all_schemes),
    vector!(B2048, "2048", with_all_schemes),
    vector!(B3072, "3072", with_all_schemes),
    vector!(B4096, "4096", with_all_schemes),
];

/// Each with PKCS#1 v1.5 and, where there is one, with another scheme.
fn with_schemes(
    bits: RsaBits,
    pkcs1: &'static [u8],
    (scheme, other): (RsaScheme, Option<&'static [u8]>),
) -> Vec<(Algorithm, &'static [u8])> {
    let pkcs1 = (Algorithm::Rsa(bits, RsaScheme::Pkcs1), pkcs1);
    let other = other.map(|other| (Algorithm::Rsa(bits, scheme), other));
    [pkcs1].into_iter().chain(other).collect()
}

fn signatures(vector: &Vector) -> Vec<(Algorithm, &'static [u8])> {
    with_schemes(vector.bits, vector.signature, (RsaScheme::Pss, vector.pss))
}

fn ciphertexts(vector: &Vector) -> Vec<(Algorithm, &'static [u8])> {
    with_schemes(
        vector.bits,
        vector.ciphertext,
        (RsaScheme::Oaep, vector.oaep),
    )
}

#[test]
fn signatures_of_openssl_verify() {
    for vector in VECTORS {
        for (algorithm, good) in signatures(&vector) {
            for backend in with(algorithm, Operation::Verify) {
                let key = key(&*backend, algorithm, vector.key);
                let verdict = |digest: &[u8], signed: &[u8]| {
                    let kind = (algorithm, Operation::Verify);
                    signature(&*backend, kind, &*key, digest, &mut signed.to_vec())
                };
                let name = format!("{} {algorithm}", backend.name());
                assert_eq!(verdict(&hex(DIGEST), good), Status::Ok, "{name}");
                let refused = Status::AuthenticationFailed;
                assert_eq!(verdict(&[0x11; 32], good), refused, "{name}");
                let mut forged = good.to_vec();
                forged[good.len() - 1] ^= 1;
                assert_eq!(verdict(&hex(DIGEST), &forged), refused, "{name}");
                let too_large = vec![0xff; good.len()];
                assert_eq!(verdict(&hex(DIGEST), &too_large), refused, "{name}");
            }
        }
    }
}

/// PKCS#1 v1.5 signatures are deterministic; PSS has a salt, which makes two
/// of them differ and both verify.
#[test]
fn signing_gives_the_same_or_a_salted_one() {
    for vector in VECTORS {
        for (algorithm, good) in signatures(&vector) {
            for backend in with(algorithm, Operation::Sign) {
                let key = key(&*backend, algorithm, vector.key);
                let run = |operation, tag: &mut [u8]| {
                    let kind = (algorithm, operation);
                    let status = signature(&*backend, kind, &*key, &hex(DIGEST), tag);
                    assert_eq!(status, Status::Ok, "{} {kind:?}", backend.name());
                };
                let mut signed = vec![0; good.len()];
                run(Operation::Sign, &mut signed);
                run(Operation::Verify, &mut signed);
                let is_same = signed == good;
                let has_salt = matches!(algorithm, Algorithm::Rsa(_, RsaScheme::Pss));
                assert_eq!(is_same, !has_salt, "{} {algorithm}", backend.name());
            }
        }
    }
}

#[test]
fn ciphertexts_of_openssl_decrypt() {
    for vector in VECTORS {
        for (algorithm, ciphertext) in ciphertexts(&vector) {
            let kind = (algorithm, Operation::Decrypt);
            for backend in with(algorithm, Operation::Decrypt) {
                let key = key(&*backend, algorithm, vector.key);
                let decrypted = |ciphertext: &[u8], bytes: usize| {
                    apart(&*backend, kind, &*key, ciphertext, bytes)
                };
                let name = format!("{} {algorithm}", backend.name());
                let good = (Status::Ok, MESSAGE.to_vec());
                assert_eq!(decrypted(ciphertext, MESSAGE.len()), good, "{name}");
                // Another length, and another ciphertext.
                let none = |ciphertext: &[u8], bytes| match algorithm {
                    Algorithm::Rsa(_, RsaScheme::Pkcs1) => {
                        let instead = Rejection::new(vector.key, ciphertext);
                        (Status::Ok, instead.of(bytes))
                    }
                    _ => (Status::InvalidInput, vec![0; bytes]),
                };
                for bytes in [0, 1, MESSAGE.len() - 1, MESSAGE.len() + 1] {
                    let expected = none(ciphertext, bytes);
                    assert_eq!(decrypted(ciphertext, bytes), expected, "{name}");
                }
                let mut other = ciphertext.to_vec();
                other[ciphertext.len() - 1] ^= 1;
                let expected = none(&other, MESSAGE.len());
                assert_eq!(decrypted(&other, MESSAGE.len()), expected, "{name}");
                let [modulus, _] = rsa_key::numbers(vector.key);
                let last = modulus.len() - 1;
                let with_last = |of: &[u8], byte| [&of[..last], &[byte]].concat();
                // Those that decrypt to themselves, the modulus, and one above it.
                for no_number in [
                    with_last(&[0; 512], 0),
                    with_last(&[0; 512], 1),
                    with_last(&modulus, modulus[last] - 1),
                    modulus.clone(),
                    vec![0xff; modulus.len()],
                ] {
                    let refused = (Status::InvalidInput, vec![0; MESSAGE.len()]);
                    assert_eq!(decrypted(&no_number, MESSAGE.len()), refused, "{name}");
                }
            }
        }
    }
}

/// From none to as many bytes as fit; padding is random, so twice the same
/// message gives two ciphertexts.
#[test]
fn what_is_encrypted_decrypts_and_never_twice_to_the_same() {
    for vector in VECTORS {
        for (algorithm, ciphertext) in ciphertexts(&vector) {
            let overhead = match algorithm {
                Algorithm::Rsa(_, RsaScheme::Oaep) => 66,
                _ => 11,
            };
            for backend in with(algorithm, Operation::Encrypt) {
                let key = key(&*backend, algorithm, vector.key);
                for bytes in [0, 1, 24, ciphertext.len() - overhead] {
                    let message: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
                    let run = |operation, source: &[u8], bytes| {
                        let kind = (algorithm, operation);
                        let (status, out) = apart(&*backend, kind, &*key, source, bytes);
                        assert_eq!(status, Status::Ok, "{} {kind:?}", backend.name());
                        out
                    };
                    let [one, two] =
                        [(); 2].map(|()| run(Operation::Encrypt, &message, ciphertext.len()));
                    assert_ne!(one, two, "{} {algorithm}", backend.name());
                    assert_eq!(run(Operation::Decrypt, &one, bytes), message);
                }
            }
        }
    }
}

/// Its private exponent has a byte less than its modulus.
const SHORT_EXPONENT: &[u8] = include_bytes!("../vectors/rsa-1024.short-exponent.pkcs8.der");

/// What OpenSSL 4.0 (by pyca/cryptography 48) decrypts a modulus' bytes of this
/// value to, none of which hold a message.
const OF_OPENSSL: [(RsaBits, &[u8], u8, &str); 8] = {
    use RsaBits::{B1024, B2048, B3072, B4096};
    const LONG: &str = "63c753b312ee5594e2b2de670725059c1147b2f2a8c10c595be6c4128256b660f45223";
    const LONGER: &str = "fabf5bcb5f5dd56b215185042a1e333f6d238ad15e8716cc3ab7dfa6adc5411fd8aec1a4";
    [
        (B1024, VECTORS[1].key, 60, ""),
        (B1024, VECTORS[1].key, 36, "61"),
        (B1024, SHORT_EXPONENT, 110, "a09974296f94573163"),
        (B2048, VECTORS[2].key, 66, "9462eee19168f5"),
        (B2048, VECTORS[2].key, 125, LONG),
        (B3072, VECTORS[3].key, 33, "07b86ea2c8"),
        (
            B4096,
            VECTORS[4].key,
            24,
            "37fe3dc5e193813e0731e25ac7def0af",
        ),
        (B4096, VECTORS[4].key, 85, LONGER),
    ]
};

/// The hashes that all here is compared with are the draft's, and the back-ends
/// differ from them in the length alone.
#[test]
fn what_stands_in_for_a_message_is_made_as_openssl_makes_it() {
    for (bits, der, byte, expected) in OF_OPENSSL {
        let ciphertext = vec![byte; bits.bits() / 8];
        let instead = Rejection::new(der, &ciphertext);
        assert_eq!(instead.of_the_draft(), hex(expected), "{bits:?} {byte}");
        let algorithm = Algorithm::Rsa(bits, RsaScheme::Pkcs1);
        let kind = (algorithm, Operation::Decrypt);
        for backend in with(algorithm, Operation::Decrypt) {
            let key = key(&*backend, algorithm, der);
            let expected = (Status::Ok, instead.of(40));
            let decrypted = apart(&*backend, kind, &*key, &ciphertext, 40);
            assert_eq!(decrypted, expected, "{} {bits:?} {byte}", backend.name());
        }
    }
}

/// Every way in which a block is no message of [`MESSAGE`]'s length with its
/// padding.
fn blocks_without_message(bytes: usize) -> Vec<(&'static str, Vec<u8>)> {
    let mut good = vec![0x77; bytes];
    good[..2].copy_from_slice(&[0, 2]);
    let separator = bytes - MESSAGE.len() - 1;
    good[separator] = 0;
    good[separator + 1..].copy_from_slice(MESSAGE);
    let with = |at: usize, byte| {
        let mut block = good.clone();
        block[at] = byte;
        block
    };
    vec![
        ("first byte", with(0, 1)),
        ("second byte", with(1, 1)),
        ("no filling", with(2, 0)),
        ("seven bytes of filling", with(9, 0)),
        ("a longer message", with(separator - 1, 0)),
        ("a shorter message", {
            let mut block = with(separator, 0x77);
            block[separator + 1] = 0;
            block
        }),
        ("no separator", with(separator, 0x77)),
    ]
}

/// A sender of ciphertexts cannot learn that or how a padding is wrong; lengths that
/// it asks for are as unrelated as keys.
#[test]
fn a_wrong_padding_is_told_by_nothing() {
    for vector in VECTORS {
        let algorithm = Algorithm::Rsa(vector.bits, RsaScheme::Pkcs1);
        let modulus_bytes = algorithm.modulus_bytes();
        let whole = RsaPrivateKey::from_pkcs8_der(vector.key).expect("a key of ours");
        let kind = (algorithm, Operation::Decrypt);
        for (class, block) in blocks_without_message(modulus_bytes) {
            let number = BoxedUint::from_be_slice(&block, whole.n_bits_precision());
            let encrypted = rsa::hazmat::rsa_encrypt(&whole, &number.expect("fits"));
            let ciphertext = encrypted.expect("below the modulus").to_be_bytes();
            let instead = Rejection::new(vector.key, &ciphertext);
            for backend in with(algorithm, Operation::Decrypt) {
                let key = key(&*backend, algorithm, vector.key);
                let decrypted = |bytes| apart(&*backend, kind, &*key, &ciphertext, bytes);
                let name = format!("{} {algorithm} {class}", backend.name());
                for bytes in [MESSAGE.len(), 33, modulus_bytes - 11] {
                    let expected = (Status::Ok, instead.of(bytes));
                    assert_eq!(decrypted(bytes), expected, "{name} {bytes}");
                    assert_eq!(decrypted(bytes), expected, "{name} again");
                }
                let (_, long) = decrypted(33);
                let (_, short) = decrypted(32);
                assert!(
                    !long.starts_with(&short) && !long.ends_with(&short),
                    "{name}"
                );
            }
        }
    }
}
