//! What `/proc/crypto` says of a driver.

use std::fs;

use crate::kspeed::af_alg::AfAlgError;
use crate::kspeed::af_alg::request::{AfAlg, AfAlgType};

/// An entry of `/proc/crypto`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Driver {
    /// `cbc(aes)`.
    pub(super) name: String,
    /// `cbc-aes-aesni`.
    pub(super) driver: String,
    pub(super) is_async: bool,
    /// Bytes that a cipher works on at once; 0 where not said.
    block_bytes: usize,
    key_bytes: Option<(usize, usize)>,
    pub(super) iv_bytes: usize,
    tag_bytes_max: usize,
    pub(super) digest_bytes: usize,
    priority: i64,
    is_internal: bool,
    kind: String,
}

impl Driver {
    /// The entry that a socket bound to that name has got; `None` where the
    /// list cannot be read or does not have it.
    pub(super) fn find(kind: AfAlgType, name: &str) -> Option<Self> {
        Self::find_in(&fs::read_to_string("/proc/crypto").ok()?, kind, name)
    }

    fn find_in(list: &str, kind: AfAlgType, name: &str) -> Option<Self> {
        let entries = list.split("\n\n").map(Self::parse);
        let fits = |entry: &Self| entry.is_of(kind) && !entry.is_internal;
        let (exact, by_name): (Vec<_>, Vec<_>) = entries
            .filter(|entry| fits(entry) && (entry.driver == name || entry.name == name))
            .partition(|entry| entry.driver == name);
        let best = by_name.into_iter().max_by_key(|entry| entry.priority);
        exact.into_iter().next().or(best)
    }

    fn is_of(&self, kind: AfAlgType) -> bool {
        match kind {
            AfAlgType::Skcipher => ["skcipher", "lskcipher"].contains(&self.kind.as_str()),
            AfAlgType::Aead => self.kind == "aead",
            AfAlgType::Hash => ["ahash", "shash"].contains(&self.kind.as_str()),
        }
    }

    fn parse(entry: &str) -> Self {
        let mut own = Self::default();
        let (mut least, mut most) = (None, None);
        for (key, value) in entry.lines().filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            let number = value.parse().ok();
            match key.trim() {
                "name" => value.clone_into(&mut own.name),
                "driver" => value.clone_into(&mut own.driver),
                "type" => value.clone_into(&mut own.kind),
                "async" => own.is_async = value == "yes",
                "internal" => own.is_internal = value == "yes",
                "priority" => own.priority = value.parse().unwrap_or(0),
                "blocksize" => own.block_bytes = number.unwrap_or(0),
                "min keysize" => least = number,
                "max keysize" => most = number,
                "ivsize" => own.iv_bytes = number.unwrap_or(0),
                "maxauthsize" => own.tag_bytes_max = number.unwrap_or(0),
                "digestsize" => own.digest_bytes = number.unwrap_or(0),
                _ => {}
            }
        }
        own.key_bytes = least.zip(most);
        own
    }

    /// Refuses what the driver is known not to take.
    pub(super) fn check(&self, request: &AfAlg) -> Result<(), AfAlgError> {
        if request.kind == AfAlgType::Hash {
            return Ok(());
        }
        if let Some((least, most)) = self.key_bytes
            && !(least..=most).contains(&request.key_bytes)
        {
            return Err(AfAlgError::Value {
                what: "key",
                got: request.key_bytes,
                limit: format!("{} takes {least} to {most} bytes", self.driver),
            });
        }
        // XTS takes a rest by ciphertext stealing and says a block of 16.
        let takes_rest = self.name.contains("xts") && request.size_bytes > self.block_bytes;
        let block_bytes = self.block_bytes.max(1);
        if request.kind == AfAlgType::Skcipher
            && !takes_rest
            && !request.size_bytes.is_multiple_of(block_bytes)
        {
            return Err(AfAlgError::Value {
                what: "size",
                got: request.size_bytes,
                limit: format!("{} takes multiples of {block_bytes} bytes", self.driver),
            });
        }
        if request.kind == AfAlgType::Aead && request.tag_bytes > self.tag_bytes_max {
            return Err(AfAlgError::Value {
                what: "tag",
                got: request.tag_bytes,
                limit: format!("{} has at most {} bytes", self.driver, self.tag_bytes_max),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kspeed::af_alg::request::tests::cbc;

    const LIST: &str = "\
name         : cbc(aes)
driver       : virtio_crypto_aes_cbc
priority     : 150
internal     : no
type         : skcipher
async        : yes
blocksize    : 16
min keysize  : 16
max keysize  : 32
ivsize       : 16

name         : __cbc(aes)
driver       : __cbc-aes-aesni
priority     : 400
internal     : yes
type         : skcipher
async        : no

name         : cbc(aes)
driver       : cbc-aes-aesni
priority     : 400
internal     : no
type         : skcipher
async        : no
blocksize    : 16
min keysize  : 16
max keysize  : 32
ivsize       : 16

name         : gcm(aes)
driver       : generic-gcm-aesni
type         : aead
async        : no
blocksize    : 1
ivsize       : 12
maxauthsize  : 16

name         : sha256
driver       : sha256-generic
type         : shash
blocksize    : 64
digestsize   : 32
";

    #[test]
    fn a_driver_is_found_by_its_own_name_and_by_the_algorithms() {
        let find = |kind, name| Driver::find_in(LIST, kind, name);
        let virtio = find(AfAlgType::Skcipher, "virtio_crypto_aes_cbc").unwrap();
        assert!(virtio.is_async);
        let best = find(AfAlgType::Skcipher, "cbc(aes)").unwrap();
        assert_eq!((best.driver.as_str(), best.iv_bytes), ("cbc-aes-aesni", 16));
        assert_eq!(
            find(AfAlgType::Hash, "sha256").unwrap().digest_bytes,
            32,
            "a synchronous hash is a hash"
        );
        for (kind, name) in [
            (AfAlgType::Aead, "cbc(aes)"),
            (AfAlgType::Skcipher, "__cbc-aes-aesni"),
            (AfAlgType::Skcipher, "nope"),
        ] {
            assert_eq!(find(kind, name), None, "{name}");
        }
    }

    #[test]
    fn what_the_driver_does_not_take_is_said_with_its_limit() {
        let driver = Driver::find_in(LIST, AfAlgType::Skcipher, "cbc(aes)").unwrap();
        let refused = |driver: &Driver, request: AfAlg| {
            let error = driver.check(&request).unwrap_err();
            assert!(error.is_usage());
            error.to_string()
        };
        assert!(driver.check(&cbc()).is_ok());
        let rest = AfAlg {
            size_bytes: 17,
            ..cbc()
        };
        assert!(refused(&driver, rest).contains("size 17"));
        let key = AfAlg {
            key_bytes: 64,
            ..cbc()
        };
        assert!(refused(&driver, key).contains("16 to 32"));
        let gcm = Driver::find_in(LIST, AfAlgType::Aead, "gcm(aes)").unwrap();
        let tag = AfAlg {
            kind: AfAlgType::Aead,
            tag_bytes: 32,
            ..cbc()
        };
        assert!(refused(&gcm, tag).contains("at most 16"));
    }
}
