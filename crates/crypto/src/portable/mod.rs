//! Pure Rust through the RustCrypto crates: the second opinion in tests, and
//! what the `none` tier runs.
//!
//! Each job is copied into private memory, computed there and copied back;
//! that allocates, and is meant to be right rather than fast. Keys are wiped
//! on drop, but moving them may leave copies on the stack, and what big
//! numbers leave behind is not wiped. Of the `rsa` crate's private operations
//! some parts are not constant-time (RUSTSEC-2023-0071; they are blinded):
//! keep real secrets to another back-end.

mod agreement;
mod cipher;
mod compute;
mod groups;
mod key;
mod key_pair;
mod public_key;

use key::PortableKey;

use crate::packets::composed;
use crate::{Algorithm, Backend, Job, Key, KeyError, KeyMaterial, Kind, Status};
use crate::{check, work};

pub(crate) const NAME: &str = "portable";

/// The back-end; has no state of its own.
pub(crate) struct Portable;

impl Backend for Portable {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> String {
        "RustCrypto aes 0.9, aes-gcm 0.11, cbc 0.2, chacha20poly1305 0.11, crypto-bigint 0.7, \
         ctr 0.10, hmac 0.13, p256 0.14, rsa 0.10.0-rc.20, sha1 0.11, sha2 0.11, \
         x25519-dalek 3.0, xts-mode 0.6"
            .to_owned()
    }

    fn instructions(&self) -> String {
        "each crate's own choice on this CPU; no limit reaches it".to_owned()
    }

    fn supports(&self, kind: Kind) -> bool {
        check::exists(kind) && !kind.algorithm.is_sectors()
    }

    fn key(&self, algorithm: Algorithm, material: &KeyMaterial) -> Result<Box<dyn Key>, KeyError> {
        if let Algorithm::Packets(packets) = algorithm {
            return composed::key(self, packets, material);
        }
        Ok(Box::new(PortableKey::new(algorithm, material)?))
    }

    #[allow(unsafe_code, reason = "the trait's")]
    unsafe fn process(&self, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
        // SAFETY: the caller vouches for every segment of every job, which is
        // what these ask for.
        unsafe {
            if matches!(kind.algorithm, Algorithm::Packets(_)) {
                return composed::process(self, kind, jobs, statuses);
            }
            work::each(kind, jobs, statuses, |key: &PortableKey, work| {
                compute::run(key, kind.operation, work)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_names_what_the_manifest_does() {
        let manifest = include_str!("../../Cargo.toml");
        let version = Portable.version();
        let crates = version.strip_prefix("RustCrypto ").expect("says whose");
        for (name, number) in crates.split(", ").filter_map(|text| text.split_once(' ')) {
            let line = manifest
                .lines()
                .find(|line| line.starts_with(&format!("{name} =")));
            let line = line.unwrap_or_else(|| panic!("{name} is no dependency"));
            assert!(
                line.contains(&format!("\"{number}\"")),
                "{name} {number}: {line}"
            );
        }
    }
}
