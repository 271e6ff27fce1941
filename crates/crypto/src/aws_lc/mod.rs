//! AWS-LC through its C interface, one job after the other.
//!
//! | algorithm | calls | why these |
//! | --- | --- | --- |
//! | CBC, CTR | `AES_cbc_encrypt`, `AES_ctr128_encrypt` | no context to reset: half the time of `EVP_Cipher` at 64 bytes |
//! | GCM | `EVP_CipherInit_ex` (IV only), `EVP_Cipher` | `EVP_AEAD_CTX_seal_scatter` copies the hash table of the key for each call; and this one takes text in pieces |
//! | XTS | `EVP_CipherInit_ex` (tweak only), `EVP_Cipher` | the only one there is |
//! | SHA-256 | `SHA256_Init`, `_Update`, `_Final` | as fast as the one-shot, and takes pieces |
//! | RSA | `RSA_sign`, `RSA_verify` | the shortest way to PKCS#1 v1.5 |
//!
//! Nothing is allocated or locked for a request, with one exception that the
//! library leaves no choice in: RSA's big numbers live on the heap, its
//! blinding factors behind a lock, and new ones draw random bytes, which can
//! be a system call.
//!
//! Only addresses reach the library; no Rust reference is made over a segment.

#![allow(unsafe_code, reason = "calls AWS-LC")]

mod aes_key;
mod cbc;
mod cipher;
mod ctr;
mod gcm;
mod key;
mod random;
mod rsa;
mod sha256;
mod xts;

pub(crate) use random::fill as random;
/// A private key as PKCS#8.
pub(crate) fn generate_pkcs8(_algorithm: Algorithm) -> Option<KeyMaterial> {
    rsa::generate()
}

use key::{AwsKey, Context};

use crate::check;
use crate::work::{self, Work};
use crate::{Algorithm, Backend, Job, Key, KeyError, KeyMaterial, Kind, Operation, Status};

/// The name in flags and reports.
pub(crate) const NAME: &str = "aws-lc";

/// The back-end; has no state of its own.
pub(crate) struct AwsLc;

impl Backend for AwsLc {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> String {
        let bytes = aws_lc_sys::AWSLC_VERSION_NUMBER_STRING;
        let text = std::ffi::CStr::from_bytes_until_nul(bytes).unwrap_or_default();
        format!("AWS-LC {}", text.to_string_lossy())
    }

    fn instructions(&self) -> String {
        String::new()
    }

    fn supports(&self, kind: Kind) -> bool {
        check::exists(kind)
    }

    fn width(&self, _kind: Kind) -> usize {
        1
    }

    fn key(&self, algorithm: Algorithm, material: &KeyMaterial) -> Result<Box<dyn Key>, KeyError> {
        Ok(Box::new(AwsKey::new(algorithm, material)?))
    }

    unsafe fn process(&self, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
        // SAFETY: the caller vouches for every segment of every job, which is
        // what `each` and `run` ask for.
        unsafe {
            work::each(kind, jobs, statuses, |key: &AwsKey, work| {
                run(key, kind.operation, work)
            });
        }
    }
}

/// Runs one job.
///
/// # Safety
/// The segments of `work` are readable, those that the operation writes
/// writable; `work` has passed the checks for the key's algorithm.
#[inline]
unsafe fn run(key: &AwsKey, operation: Operation, work: &Work<'_>) -> Status {
    let encrypt = operation == Operation::Encrypt;
    // SAFETY: each of them asks for no more than this function's contract.
    unsafe {
        match (&key.context, operation) {
            (Context::Cbc(key), _) => cbc::run(key, encrypt, work),
            (Context::Ctr(key), _) => ctr::run(key, work),
            (Context::Gcm(cipher), Operation::Encrypt) => gcm::seal(cipher, work),
            (Context::Gcm(cipher), _) => gcm::open(cipher, work),
            (Context::Xts(key), _) => xts::run(key, encrypt, work),
            (Context::Sha256, _) => sha256::run(work),
            (Context::Rsa(key), Operation::Sign) => rsa::sign(key, work),
            (Context::Rsa(key), _) => rsa::verify(key, work),
        }
    }
}
