//! AWS-LC through its C interface, one job after the other.
//!
//! | algorithm | calls | why these |
//! | --- | --- | --- |
//! | ECB | `aes_hw_ecb_encrypt`, else `AES_encrypt`, `AES_decrypt` | the interface has one block at a time only: see [`ecb`] |
//! | CBC, CTR | `AES_cbc_encrypt`, `AES_ctr128_encrypt` | no context to reset: half the time of `EVP_Cipher` at 64 bytes |
//! | GCM | `EVP_CipherInit_ex` (IV only), `EVP_Cipher` | `EVP_AEAD_CTX_seal_scatter` copies the hash table of the key for each call; and this one takes text in pieces |
//! | XTS, 256 bits | `EVP_CipherInit_ex` (tweak only), `EVP_Cipher` | the only one there is; AES-128-XTS it has not |
//! | ChaCha20-Poly1305 | `EVP_AEAD_CTX_seal_scatter`, `_open_gather`; long text in pieces as GCM | one pass in assembly, where the other takes two |
//! | SHA-1, SHA-2 | `SHA256_Init`, `_Update`, `_Final` and their like | as fast as the one-shot, and takes pieces |
//! | HMAC-SHA-256 | the same, from states computed with the key | saves two blocks of four, and `HMAC_Init_ex` copies more |
//! | RSA PKCS#1 v1.5 | `RSA_sign`, `RSA_verify`, `RSA_encrypt`; `RSA_decrypt` without padding | the shortest way; the padding is read in constant time here, by the library not quite, which has no implicit rejection either: that takes `HMAC` |
//! | RSA OAEP | `EVP_PKEY_encrypt`, `EVP_PKEY_decrypt` | the only ones that decrypt with SHA-256 |
//! | RSA PSS | `RSA_sign_pss_mgf1`, `RSA_verify_pss_mgf1` | no context |
//! | ECDSA | `ECDSA_do_sign`, `ECDSA_do_verify` | give and take r and s without DER |
//! | X25519 | `X25519` | the only one below `EVP_PKEY` |
//! | FFDH | `BN_mod_exp_mont_consttime` | `DH_compute_key` locks, and makes two contexts for each secret |
//!
//! Nothing is allocated or locked for a request, with one exception that the
//! library leaves no choice in: the big numbers of RSA, ECDSA and FFDH live on
//! the heap, RSA's blinding factors behind a lock, and new ones, like nonces
//! and padding, draw random bytes, which can be a system call.
//! X25519 needs none of that. And a thread whose first ChaCha20-Poly1305 tag is
//! wrong gets the library's error queue, once: the one-pass call reports there.
//!
//! Only addresses reach the library; no Rust reference is made over a segment.

#![allow(unsafe_code, reason = "calls AWS-LC")]

mod aead;
mod aes_key;
mod block_cipher;
mod blocks;
mod cbc;
mod chacha20;
mod chosen;
mod cipher;
mod ctr;
mod ecb;
mod ecdsa;
mod ffdh;
mod gcm;
mod hash;
mod header_mask;
mod hmac;
mod key;
mod key_pair;
mod number;
mod random;
mod rsa;
mod x25519;
mod xts;

pub use block_cipher::BlockCipher;
pub use chosen::{aws_lc_chose, aws_lc_sees};
pub(crate) use ecb::EcbKey;
pub use header_mask::HeaderMask;
pub(crate) use key_pair::generate_pkcs8;
pub(crate) use random::fill as random;

use key::{AwsKey, Context};

use crate::check;
use crate::packets::composed;
use crate::work::{self, Work};
use crate::{
    Algorithm, Backend, Between, Chaining, Job, Key, KeyError, KeyMaterial, Kind, Operation, Status,
};

pub(crate) const NAME: &str = "aws-lc";

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
        chosen::as_text()
    }

    fn supports(&self, kind: Kind) -> bool {
        check::exists(kind) && has(kind.algorithm)
    }

    fn key(&self, algorithm: Algorithm, material: &KeyMaterial) -> Result<Box<dyn Key>, KeyError> {
        if let Algorithm::Packets(packets) = algorithm {
            return composed::key(self, packets, material);
        }
        Ok(Box::new(AwsKey::new(algorithm, material)?))
    }

    unsafe fn process(&self, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
        // SAFETY: the caller vouches for every segment of every job, which is
        // what these ask for.
        unsafe {
            if matches!(kind.algorithm, Algorithm::Packets(_)) {
                return composed::process(self, kind, jobs, statuses);
            }
            work::each(kind, jobs, statuses, |key: &AwsKey, work| {
                run(key, kind.operation, work)
            });
        }
    }

    fn continues(&self, kind: Kind) -> bool {
        let is_kept = kind.chaining() == Some(Chaining::Kept);
        is_kept && !kind.algorithm.is_aead() && self.supports(kind)
    }

    unsafe fn process_piece(
        &self,
        kind: Kind,
        job: &Job<'_>,
        between: &mut Between,
        is_last: bool,
    ) -> Status {
        // SAFETY: as in `process`.
        unsafe {
            work::piece(
                kind,
                job,
                between,
                is_last,
                |key: &AwsKey, work, between| {
                    run_piece(key, kind.operation, work, between, is_last)
                },
            )
        }
    }
}

fn has(algorithm: Algorithm) -> bool {
    algorithm != Algorithm::Aes128Xts && !algorithm.is_sectors()
}

fn forget_errors() {
    // SAFETY: has no preconditions.
    unsafe { aws_lc_sys::ERR_clear_error() };
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
            (Context::Ecb(key), _) => ecb::run(key, encrypt, work),
            (Context::Cbc(key), _) => cbc::run(key, encrypt, work),
            (Context::Ctr(key), _) => ctr::run(key, work),
            (Context::Gcm(cipher), Operation::Encrypt) => aead::seal(cipher, work),
            (Context::Gcm(cipher), _) => aead::open(cipher, work),
            (Context::Xts(key), _) => xts::run(key, encrypt, work),
            (Context::ChaCha(key), Operation::Encrypt) => chacha20::seal(key, work),
            (Context::ChaCha(key), _) => chacha20::open(key, work),
            (Context::Sha1, _) => hash::run(&hash::SHA1, work),
            (Context::Sha256, _) => hash::run(&hash::SHA256, work),
            (Context::Sha384, _) => hash::run(&hash::SHA384, work),
            (Context::Sha512, _) => hash::run(&hash::SHA512, work),
            (Context::Hmac(key), _) => hmac::run(key, work),
            _ => run_public_key(key, operation, work),
        }
    }
}

/// Runs one piece of a message.
///
/// # Safety
/// As for [`run`]; `between` is of this message.
unsafe fn run_piece(
    key: &AwsKey,
    operation: Operation,
    work: &Work<'_>,
    between: &mut Between,
    is_last: bool,
) -> Status {
    let encrypt = operation == Operation::Encrypt;
    // SAFETY: as in `run`.
    unsafe {
        match &key.context {
            Context::Xts(key) => xts::piece(key, encrypt, work, between),
            Context::Sha1 => hash::piece(&hash::SHA1, work, between, is_last),
            Context::Sha256 => hash::piece(&hash::SHA256, work, between, is_last),
            Context::Sha384 => hash::piece(&hash::SHA384, work, between, is_last),
            Context::Sha512 => hash::piece(&hash::SHA512, work, between, is_last),
            Context::Hmac(key) => hmac::piece(key, work, between, is_last),
            _ => Status::Unsupported,
        }
    }
}

/// Runs one job of an algorithm with public keys.
///
/// # Safety
/// As for [`run`].
unsafe fn run_public_key(key: &AwsKey, operation: Operation, work: &Work<'_>) -> Status {
    // SAFETY: as in `run`.
    unsafe {
        match (&key.context, operation) {
            (Context::Rsa(key), Operation::Sign) => rsa::sign(key, work),
            (Context::Rsa(key), Operation::Verify) => rsa::verify(key, work),
            (Context::Rsa(key), Operation::Encrypt) => rsa::encrypt(key, work),
            (Context::Rsa(key), Operation::Decrypt) => rsa::decrypt(key, work),
            (Context::Ecdsa(key), Operation::Sign) => ecdsa::sign(key, work),
            (Context::Ecdsa(key), Operation::Verify) => ecdsa::verify(key, work),
            (Context::X25519(key), Operation::Derive) => x25519::derive(key, work),
            (Context::Ffdh(key), Operation::Derive) => ffdh::derive(key, work),
            _ => Status::Unsupported,
        }
    }
}
