//! Published vectors, and some of OpenSSL's, through every back-end.

mod aead;
mod aes;
mod ecc;
mod ffdh;
mod hash;
mod rsa;

use std::sync::Arc;

use lockgate_crypto::{
    Algorithm, Backend, Data, Key, KeyMaterial, Kind, Operation, Slices, Status, backends,
    process_slices,
};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).expect("a hexadecimal digit") as u8)
        .collect();
    digits
        .chunks_exact(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// The back-ends that say they have it; one at least does.
fn with(algorithm: Algorithm, operation: Operation) -> Vec<Arc<dyn Backend>> {
    let kind = Kind::new(algorithm, operation);
    let mut backends = backends();
    backends.retain(|backend| backend.supports(kind));
    assert!(!backends.is_empty(), "no back-end has {kind:?}");
    backends
}

fn key(backend: &dyn Backend, algorithm: Algorithm, material: &[u8]) -> Box<dyn Key> {
    backend
        .key(algorithm, &KeyMaterial::take(&mut material.to_vec()))
        .unwrap_or_else(|error| panic!("{algorithm}: a good key, but {error}"))
}

/// A job without IV, additional data and tag: its status and what is then in
/// a destination of this size.
fn apart(
    backend: &dyn Backend,
    (algorithm, operation): (Algorithm, Operation),
    key: &dyn Key,
    source: &[u8],
    destination_bytes: usize,
) -> (Status, Vec<u8>) {
    let mut destination = vec![0xa5; destination_bytes];
    let data = Data::apart(source, &mut destination);
    let slices = Slices::plain(data);
    let kind = Kind::new(algorithm, operation);
    (process_slices(backend, key, kind, slices), destination)
}

fn signature(
    backend: &dyn Backend,
    (algorithm, operation): (Algorithm, Operation),
    key: &dyn Key,
    digest: &[u8],
    tag: &mut [u8],
) -> Status {
    let data = Data::apart(digest, &mut []);
    let slices = Slices {
        tag,
        ..Slices::plain(data)
    };
    let kind = Kind::new(algorithm, operation);
    process_slices(backend, key, kind, slices)
}

struct Vector {
    algorithm: Algorithm,
    key: Vec<u8>,
    iv: Vec<u8>,
    aad: Vec<u8>,
    plain: Vec<u8>,
    cipher: Vec<u8>,
    tag: Vec<u8>,
}

impl Vector {
    fn mode(algorithm: Algorithm, key: &str, iv: &str, plain: &str, cipher: &str) -> Self {
        let [key, iv, plain, cipher] = [key, iv, plain, cipher].map(hex);
        Self {
            algorithm,
            key,
            iv,
            aad: Vec::new(),
            plain,
            cipher,
            tag: Vec::new(),
        }
    }

    fn with(self, aad: &str, tag: &str) -> Self {
        Self {
            aad: hex(aad),
            tag: hex(tag),
            ..self
        }
    }

    fn run(&self, backend: &dyn Backend, operation: Operation) -> (Status, Vec<u8>, Vec<u8>) {
        let key = key(backend, self.algorithm, &self.key);
        let sealing = operation == Operation::Encrypt;
        let source = if sealing { &self.plain } else { &self.cipher };
        let mut destination = vec![0xa5; source.len()];
        let mut tag = if sealing {
            vec![0; self.tag.len()]
        } else {
            self.tag.clone()
        };
        let mut iv = [0; 16];
        iv[..self.iv.len()].copy_from_slice(&self.iv);
        let data = Data::apart(source, &mut destination);
        let slices = Slices {
            iv,
            aad: &self.aad,
            data,
            tag: &mut tag,
        };
        let kind = Kind::new(self.algorithm, operation);
        let status = process_slices(backend, &*key, kind, slices);
        (status, destination, tag)
    }

    fn check(&self) {
        for backend in with(self.algorithm, Operation::Encrypt) {
            let name = format!("{} {}", backend.name(), self.algorithm);
            let sealed = self.run(&*backend, Operation::Encrypt);
            let expected = (Status::Ok, self.cipher.clone(), self.tag.clone());
            assert_eq!(sealed, expected, "{name}");
            let opened = self.run(&*backend, Operation::Decrypt);
            let expected = (Status::Ok, self.plain.clone(), self.tag.clone());
            assert_eq!(opened, expected, "{name}");
        }
    }

    fn check_forgery(mut self) {
        let zeros = vec![0; self.cipher.len()];
        for flip in [
            |vector: &mut Self| vector.tag[15] ^= 1,
            |vector: &mut Self| vector.aad[0] ^= 0x80,
        ] {
            flip(&mut self);
            for backend in with(self.algorithm, Operation::Decrypt) {
                let (status, text, _) = self.run(&*backend, Operation::Decrypt);
                let refused = (Status::AuthenticationFailed, zeros.clone());
                assert_eq!((status, text), refused, "{}", backend.name());
            }
            flip(&mut self);
        }
    }
}
