//! A public key alone: it verifies and encrypts what the whole key signed and
//! can decrypt, and it does neither of the other two.

use crate::published::rsa_key;
use crate::support::keys::pkcs8;
use lockgate_crypto::{
    Algorithm, Backend, Data, Key, KeyError, KeyForm, KeyMaterial, Kind, Operation, RsaScheme,
    Slices, Status, backends, process_slices,
};
use rsa::RsaPrivateKey;
use rsa::pkcs8::DecodePrivateKey;
use rsa::traits::PublicKeyParts;

/// Of a point that is not compressed, with the header of RFC 5480 §2.
const P256_HEADER: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

#[test]
fn a_public_key_does_half_of_the_operations() {
    for backend in backends() {
        for algorithm in Algorithm::ALL {
            if algorithm.key_form() == KeyForm::Pkcs8 {
                half(&*backend, algorithm);
            }
        }
    }
}

fn half(backend: &dyn Backend, algorithm: Algorithm) {
    let [der, other] = pkcs8(algorithm);
    let Some(whole) = key(backend, algorithm, der) else {
        return;
    };
    let public = |der| key(backend, algorithm, &spki(algorithm, der)).expect("has the algorithm");
    let (public, other) = (public(der), public(other));
    let does = |operation| algorithm.operations().contains(&operation);
    let pair = Pair {
        backend,
        algorithm,
        whole: &*whole,
        public: &*public,
        other: &*other,
    };
    if does(Operation::Sign) {
        pair.signs();
    }
    if does(Operation::Encrypt) {
        pair.encrypts();
    }
}

struct Pair<'p> {
    backend: &'p dyn Backend,
    algorithm: Algorithm,
    whole: &'p dyn Key,
    public: &'p dyn Key,
    other: &'p dyn Key,
}

impl Pair<'_> {
    fn signs(&self) {
        let (sign, verify) = (Operation::Sign, Operation::Verify);
        let mut tag = vec![0x5a; self.algorithm.tag_bytes(sign)];
        let refused = self.run(self.public, sign, &[7; 32], &mut [], &mut tag);
        assert_eq!(refused, Status::Unsupported, "{self}");
        assert!(tag.iter().all(|&byte| byte == 0x5a), "{self} wrote");
        let signed = self.run(self.whole, sign, &[7; 32], &mut [], &mut tag);
        assert_eq!(signed, Status::Ok, "{self}");
        let verified = self.run(self.public, verify, &[7; 32], &mut [], &mut tag);
        assert_eq!(verified, Status::Ok, "{self}");
        let by_other = self.run(self.other, verify, &[7; 32], &mut [], &mut tag);
        assert_eq!(by_other, Status::AuthenticationFailed, "{self}");
    }

    fn encrypts(&self) {
        let (encrypt, decrypt) = (Operation::Encrypt, Operation::Decrypt);
        let mut ciphertext = vec![0; self.algorithm.modulus_bytes()];
        let encrypted = self.run(self.public, encrypt, b"message", &mut ciphertext, &mut []);
        assert_eq!(encrypted, Status::Ok, "{self}");
        let mut message = *b"nothing";
        let refused = self.run(self.public, decrypt, &ciphertext, &mut message, &mut []);
        assert_eq!(
            (refused, &message),
            (Status::Unsupported, b"nothing"),
            "{self}"
        );
        let decrypted = self.run(self.whole, decrypt, &ciphertext, &mut message, &mut []);
        assert_eq!((decrypted, &message), (Status::Ok, b"message"), "{self}");
    }

    fn run(
        &self,
        key: &dyn Key,
        operation: Operation,
        source: &[u8],
        destination: &mut [u8],
        tag: &mut [u8],
    ) -> Status {
        let kind = Kind::new(self.algorithm, operation);
        let slices = Slices {
            tag,
            ..Slices::plain(Data::apart(source, destination))
        };
        process_slices(self.backend, key, kind, slices)
    }
}

impl std::fmt::Display for Pair<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.backend.name(), self.algorithm)
    }
}

fn key(backend: &dyn Backend, algorithm: Algorithm, der: &[u8]) -> Option<Box<dyn Key>> {
    match backend.key(algorithm, &KeyMaterial::take(&mut der.to_vec())) {
        Err(KeyError::Unsupported { .. }) => None,
        key => Some(key.unwrap_or_else(|error| panic!("{}: {error}", backend.name()))),
    }
}

fn spki(algorithm: Algorithm, pkcs8: &[u8]) -> Vec<u8> {
    if let Algorithm::Rsa(..) = algorithm {
        let key = RsaPrivateKey::from_pkcs8_der(pkcs8).expect("a key of ours");
        return rsa_key::public(&key.n().to_be_bytes(), &key.e().to_be_bytes());
    }
    // The point is what a PKCS#8 key on a curve ends with (RFC 5915 §3).
    let point = &pkcs8[pkcs8.len() - 65..];
    assert_eq!(point[0], 4, "not compressed");
    [&P256_HEADER, point].concat()
}

#[test]
fn a_public_key_of_another_size_or_kind_is_malformed() {
    let rsa = |bits| rsa_key::algorithm(bits, RsaScheme::Pkcs1).expect("ours");
    let [small, large, curve] = [rsa(2048), rsa(3072), Algorithm::EcdsaP256];
    for backend in backends() {
        for (of, for_algorithm) in [(small, large), (curve, small), (small, curve)] {
            let mut der = spki(of, pkcs8(of)[0]);
            let refused = backend.key(for_algorithm, &KeyMaterial::take(&mut der));
            let Err(KeyError::Malformed { .. } | KeyError::Unsupported { .. }) = refused else {
                panic!("{}: {of} for {for_algorithm}", backend.name());
            };
        }
    }
}
