//! RSA against OpenSSL: signatures and ciphertexts that its command line made.

use lockgate_crypto::{Algorithm, Operation, RsaBits, RsaScheme, Status};

use super::{apart, hex, key, signature, with};

/// SHA-256 of `abc`, which every signature here is over.
const DIGEST: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
/// What every ciphertext here holds.
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

/// Both schemes' signatures, with the scheme.
fn signatures(vector: &Vector) -> Vec<(Algorithm, &'static [u8])> {
    let pkcs1 = (
        Algorithm::Rsa(vector.bits, RsaScheme::Pkcs1),
        vector.signature,
    );
    let pss = vector
        .pss
        .map(|pss| (Algorithm::Rsa(vector.bits, RsaScheme::Pss), pss));
    [pkcs1].into_iter().chain(pss).collect()
}

fn ciphertexts(vector: &Vector) -> Vec<(Algorithm, &'static [u8])> {
    let pkcs1 = (
        Algorithm::Rsa(vector.bits, RsaScheme::Pkcs1),
        vector.ciphertext,
    );
    let oaep = vector
        .oaep
        .map(|oaep| (Algorithm::Rsa(vector.bits, RsaScheme::Oaep), oaep));
    [pkcs1].into_iter().chain(oaep).collect()
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
                // Another length, another ciphertext, and one above the modulus.
                let refused = |bytes| (Status::InvalidInput, vec![0; bytes]);
                for bytes in [0, 1, MESSAGE.len() - 1, MESSAGE.len() + 1] {
                    assert_eq!(decrypted(ciphertext, bytes), refused(bytes), "{name}");
                }
                let mut other = ciphertext.to_vec();
                other[ciphertext.len() - 1] ^= 1;
                let zeros = refused(MESSAGE.len());
                assert_eq!(decrypted(&other, MESSAGE.len()), zeros, "{name}");
                let above = vec![0xff; ciphertext.len()];
                assert_eq!(decrypted(&above, MESSAGE.len()), zeros, "{name}");
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
