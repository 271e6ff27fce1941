//! What a request should give: established before anything is counted.

use crypto::{Algorithm, Data, KeyMaterial, Kind, Slices, Status};
use nix::errno::Errno;

use crate::kspeed::af_alg::AfAlgError;
use crate::kspeed::af_alg::driver::Driver;
use crate::kspeed::af_alg::request::{AfAlg, AfAlgType, Direction};
use crate::kspeed::af_alg::socket::{Head, Operation, Transform, iv, key};

/// The request that is repeated, and its result.
pub(super) struct Expected {
    pub(super) head: Head,
    pub(super) input: Vec<u8>,
    pub(super) output: Vec<u8>,
    /// Bytes at the beginning of the output that are associated data.
    pub(super) skip: usize,
    /// `known-answer`, `round-trip` or `repeated`.
    pub(super) how: &'static str,
}

impl Expected {
    /// Asks once in each direction, and compares: with the input, and with
    /// another implementation where we have one.
    pub(super) fn establish(
        request: &AfAlg,
        transform: &Transform,
        driver: Option<&Driver>,
    ) -> Result<Self, AfAlgError> {
        let asked = Asked {
            request,
            transform,
            operation: transform.operation()?,
            iv_bytes: driver.map_or(0, |known| known.iv_bytes),
        };
        let name = driver.map_or(request.driver.as_str(), |known| &known.name);
        match request.kind {
            AfAlgType::Hash => asked.hash(name, driver.map_or(0, |known| known.digest_bytes)),
            AfAlgType::Skcipher | AfAlgType::Aead => asked.cipher(name),
        }
    }
}

struct Asked<'a> {
    request: &'a AfAlg,
    transform: &'a Transform,
    operation: Operation,
    iv_bytes: usize,
}

impl Asked<'_> {
    fn hash(&self, name: &str, digest_bytes: usize) -> Result<Expected, AfAlgError> {
        let input = pattern(self.request.size_bytes);
        let head = Head::Hash;
        // SHA-512's is the longest there is where /proc/crypto says nothing.
        let mut output = vec![0; if digest_bytes == 0 { 64 } else { digest_bytes }];
        self.run(&head, &input, &mut output)?;
        let known = Known::of(name, self.request.key_bytes).and_then(|own| own.hash(&input));
        let how = self.compare(known.as_deref(), &output, "repeated")?;
        Ok(Expected {
            head,
            input,
            output,
            skip: 0,
            how,
        })
    }

    fn cipher(&self, name: &str) -> Result<Expected, AfAlgError> {
        let request = self.request;
        let (aad_bytes, tag_bytes) = match request.kind {
            AfAlgType::Aead => (request.aad_bytes, request.tag_bytes),
            _ => (0, 0),
        };
        let plain = pattern(aad_bytes + request.size_bytes);
        let mut sealed = vec![0; plain.len() + tag_bytes];
        let (seal, open) = (
            Head::of(request, Direction::Encrypt, self.iv_bytes),
            Head::of(request, Direction::Decrypt, self.iv_bytes),
        );
        self.run(&seal, &plain, &mut sealed)?;
        // Kernels differ in whether associated data is copied; it is ours.
        sealed[..aad_bytes].copy_from_slice(&plain[..aad_bytes]);
        let mut opened = vec![0; plain.len()];
        self.run(&open, &sealed, &mut opened)?;
        if opened[aad_bytes..] != plain[aad_bytes..] {
            return Err(self.wrong("what it encrypted does not decrypt to the input"));
        }
        let known = Known::of(name, request.key_bytes)
            .filter(|_| tag_bytes == 0 || tag_bytes == 16)
            .and_then(|own| own.seal(&plain[..aad_bytes], &plain[aad_bytes..], self.iv_bytes));
        let how = self.compare(known.as_deref(), &sealed[aad_bytes..], "round-trip")?;
        let (head, input, output) = match request.direction {
            Direction::Encrypt => (seal, plain, sealed),
            Direction::Decrypt => (open, sealed, plain),
        };
        Ok(Expected {
            head,
            input,
            output,
            skip: aad_bytes,
            how,
        })
    }

    fn compare(
        &self,
        known: Option<&[u8]>,
        got: &[u8],
        otherwise: &'static str,
    ) -> Result<&'static str, AfAlgError> {
        match known {
            Some(known) if known == got => Ok("known-answer"),
            Some(_) => Err(self.wrong("another implementation's output differs")),
            None => Ok(otherwise),
        }
    }

    fn run(&self, head: &Head, input: &[u8], output: &mut [u8]) -> Result<(), AfAlgError> {
        self.operation.run(head, input, output).map_err(|source| {
            let remedy = match source.raw_os_error().map(Errno::from_raw) {
                Some(Errno::ENOKEY) => ": it wants a key; give --key its bytes",
                Some(Errno::EINVAL) => ": it does not take this size; give --size another",
                Some(Errno::EMSGSIZE) => ": lower --size",
                _ => "",
            };
            AfAlgError::System {
                call: "a first request",
                driver: self.transform.driver.clone(),
                remedy,
                source,
            }
        })
    }

    fn wrong(&self, what: &'static str) -> AfAlgError {
        AfAlgError::Wrong {
            driver: self.transform.driver.clone(),
            what,
        }
    }
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index % 251) as u8).collect()
}

/// The kernel's algorithm where we have it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    algorithm: Algorithm,
    key_bytes: usize,
}

impl Known {
    fn of(name: &str, key_bytes: usize) -> Option<Self> {
        let bits = key_bytes * 8;
        let own = match name {
            "ecb(aes)" => format!("aes-{bits}-ecb"),
            "cbc(aes)" => format!("aes-{bits}-cbc"),
            "ctr(aes)" => format!("aes-{bits}-ctr"),
            "gcm(aes)" => format!("aes-{bits}-gcm"),
            // Its key is two of AES.
            "xts(aes)" => format!("aes-{}-xts", bits / 2),
            "rfc7539(chacha20,poly1305)" => "chacha20-poly1305".to_owned(),
            "sha1" | "sha256" | "sha384" | "sha512" if key_bytes == 0 => name.to_owned(),
            "hmac(sha256)" => "hmac-sha256".to_owned(),
            _ => return None,
        };
        let algorithm = own.parse().ok()?;
        Some(Self {
            algorithm,
            key_bytes,
        })
    }

    fn hash(self, input: &[u8]) -> Option<Vec<u8>> {
        let mut output = vec![0; 64];
        let digest_bytes = match self.algorithm {
            Algorithm::Sha1 => 20,
            Algorithm::Sha384 => 48,
            Algorithm::Sha512 => 64,
            _ => 32,
        };
        output.truncate(digest_bytes);
        let data = Data::Apart {
            source: input,
            destination: &mut output,
        };
        self.process([0; 16], &[], data, &mut [])?;
        Some(output)
    }

    /// Ciphertext, and the tag behind it where there is one.
    fn seal(self, aad: &[u8], plain: &[u8], iv_bytes: usize) -> Option<Vec<u8>> {
        let mut own_iv = [0; 16];
        own_iv[..iv_bytes.min(16)].copy_from_slice(&iv(iv_bytes.min(16)));
        let kind = self.kind();
        let mut tag = vec![0; kind.algorithm.tag_bytes(kind.operation)];
        let mut text = plain.to_vec();
        self.process(own_iv, aad, Data::InPlace(&mut text), &mut tag)?;
        text.extend(tag);
        Some(text)
    }

    fn kind(self) -> Kind {
        Kind {
            algorithm: self.algorithm,
            operation: self.algorithm.operations()[0],
        }
    }

    /// By the plainest back-end that can: a second opinion.
    fn process(self, iv: [u8; 16], aad: &[u8], data: Data<'_>, tag: &mut [u8]) -> Option<()> {
        let kind = self.kind();
        let backends = crypto::backends();
        let backend = backends.iter().rev().find(|one| one.supports(kind))?;
        let material = KeyMaterial::take(&mut key(self.key_bytes));
        let key = backend.key(self.algorithm, &material).ok()?;
        let slices = Slices { iv, aad, data, tag };
        let status = crypto::process_slices(&**backend, &*key, kind, slices);
        (status == Status::Ok).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_algorithms_are_found_by_the_kernels_names() {
        let found = |name, key_bytes| Known::of(name, key_bytes).map(|own| own.algorithm);
        assert_eq!(found("cbc(aes)", 16), Some(Algorithm::Aes128Cbc));
        assert_eq!(found("xts(aes)", 64), Some(Algorithm::Aes256Xts));
        assert_eq!(found("sha512", 0), Some(Algorithm::Sha512));
        assert_eq!(found("cbc(aes)", 17), None);
        assert_eq!(found("cbc(des)", 8), None);
    }

    #[test]
    fn a_second_opinion_is_another_implementations() {
        let sha = Known::of("sha256", 0).unwrap().hash(b"abc").unwrap();
        assert_eq!(sha[..4], [0xba, 0x78, 0x16, 0xbf], "FIPS 180-4's example");
        for (name, key_bytes, iv_bytes) in [
            ("ecb(aes)", 16, 0),
            ("cbc(aes)", 24, 16),
            ("ctr(aes)", 32, 16),
            ("xts(aes)", 32, 16),
            ("gcm(aes)", 16, 12),
        ] {
            let own = Known::of(name, key_bytes).unwrap();
            let sealed = own.seal(b"", &pattern(64), iv_bytes);
            let tag_bytes = if name == "gcm(aes)" { 16 } else { 0 };
            assert_eq!(sealed.unwrap().len(), 64 + tag_bytes, "{name}");
        }
    }
}
