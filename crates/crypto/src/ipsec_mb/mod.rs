//! Intel's multi-buffer library, opened at run time.
//!
//! | algorithm | calls | why these |
//! | --- | --- | --- |
//! | CBC, CTR | `submit_cipher_burst_nocheck` | jobs are ours and stay filled in: six stores for a request; 16 messages at once in CBC |
//! | ECB | `submit_burst_nocheck`, `flush_burst`; from 2.0 as CBC | the cipher burst of 1.x takes none |
//! | GCM | `gcmN_enc`, `gcmN_dec`, or init, update, finalize | no job at all; the tables of the key are computed once |
//! | SHA | `submit_burst_nocheck`, `flush_burst` | the hash burst of 1.x processes none |
//! | HMAC-SHA-256 | `submit_hash_burst_nocheck` | as CBC |
//! | ChaCha20-Poly1305 | `submit_burst_nocheck` | half the time of the calls without a job at 64 bytes |
//!
//! What the library does wrong, or not at all, is kept from it: messages
//! longer than its counters are cut, counters that wrap too; empty messages
//! and lists of segments (but for GCM's) go to AWS-LC, with a key that each
//! of ours has inside. Each operation must give AWS-LC's results when the
//! library is opened, or it is not offered.
//!
//! A thread has a manager of its own from its first call on. All jobs of a
//! call are done when it returns. Only addresses reach the library; no Rust
//! reference is made over a segment.

#![allow(unsafe_code, reason = "calls a library in C")]

mod calls;
mod chacha20_poly1305;
mod cipher;
mod gcm;
mod hash;
mod key;
mod lane;
mod layout;
mod library;
mod manager;
mod memory;
mod self_test;
mod tag;
mod unavailable;

#[cfg(test)]
mod tests;

use std::any::TypeId;
use std::sync::{Arc, OnceLock};

use calls::Calls;
use key::IpsecKey;
use lane::Lane;
use library::Library;
use manager::Chosen;
pub use self_test::Refused;
pub use unavailable::Unavailable;

use crate::aws_lc::AwsLc;
use crate::packets::composed;
use crate::work::{self, Work};
use crate::{
    Algorithm, Backend, Between, Job, Key, KeyError, KeyMaterial, Kind, Operation, Status,
};

pub(crate) const NAME: &str = "ipsec-mb";

pub(crate) struct IpsecMb {
    opened: Library,
    calls: Calls,
    chosen: Chosen,
    supported: Vec<Kind>,
    refused: Vec<Refused>,
}

static OPENED: OnceLock<Result<Arc<IpsecMb>, Unavailable>> = OnceLock::new();

fn opened() -> Result<Arc<IpsecMb>, Unavailable> {
    OPENED.get_or_init(|| IpsecMb::open().map(Arc::new)).clone()
}

/// The back-end `ipsec-mb`: opened and tested in the first call.
///
/// # Errors
/// [`Unavailable`], with a remedy; the same in every call.
pub fn ipsec_mb() -> Result<Arc<dyn Backend>, Unavailable> {
    Ok(opened()?)
}

/// The operations of `ipsec-mb` that failed their self-test and are not
/// offered. None when all is well.
///
/// # Errors
/// [`Unavailable`], as for [`ipsec_mb`].
pub fn ipsec_mb_refused() -> Result<Vec<Refused>, Unavailable> {
    Ok(opened()?.refused.clone())
}

impl IpsecMb {
    fn open() -> Result<Self, Unavailable> {
        let library = Library::open()?;
        let lane = Lane::new(&library)?;
        let mut backend = Self {
            opened: library,
            calls: lane.manager.calls,
            chosen: lane.manager.chosen(),
            supported: Vec::new(),
            refused: Vec::new(),
        };
        (backend.supported, backend.refused) = self_test::run(&backend);
        match backend.refused.first() {
            Some(first) if backend.supported.is_empty() => Err(Unavailable::SelfTest {
                file: backend.opened.file,
                first: first.to_string(),
            }),
            _ => Ok(backend),
        }
    }

    fn untested_key(
        &self,
        algorithm: Algorithm,
        material: &KeyMaterial,
    ) -> Result<IpsecKey, KeyError> {
        IpsecKey::new(&self.calls, algorithm, material, u8::MAX)
    }

    /// Bit n: operation n of `algorithm` is supported.
    fn operations(&self, algorithm: Algorithm) -> u8 {
        let own = self
            .supported
            .iter()
            .filter(|kind| kind.algorithm == algorithm);
        own.fold(0, |bits, kind| bits | 1 << kind.operation as u8)
    }

    /// GCM: each job runs where it stands.
    ///
    /// # Safety
    /// As for [`Backend::process`].
    unsafe fn gcm(&self, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
        // SAFETY: the caller vouches for every segment of every job.
        let whole = |key: &IpsecKey, work: &Work<'_>| unsafe { self.gcm_job(kind, key, work) };
        // SAFETY: as above.
        let scattered = |key: &IpsecKey, work: &Work<'_>| unsafe { self.gcm_job(kind, key, work) };
        // SAFETY: forwarded from the caller.
        unsafe { work::each_apart(kind, jobs, statuses, whole, scattered) };
    }

    /// One job. Inlined twice, into what knows how many segments there are.
    ///
    /// # Safety
    /// As for [`gcm::seal`] and [`gcm::open`].
    #[inline(always)]
    unsafe fn gcm_job(&self, kind: Kind, key: &IpsecKey, work: &Work<'_>) -> Status {
        if !key.allows(kind.operation) {
            return Status::Unsupported;
        }
        let calls = &self.calls.gcm[key.size];
        // SAFETY: forwarded from the caller.
        unsafe {
            match kind.operation {
                Operation::Encrypt => gcm::seal(calls, key, work),
                _ => gcm::open(calls, key, work),
            }
        }
    }

    /// ECB, CBC, CTR: jobs gather in bursts.
    ///
    /// # Safety
    /// As for [`Backend::process`].
    unsafe fn cipher(
        &self,
        lane: &mut Lane,
        kind: Kind,
        jobs: &[Job<'_>],
        statuses: &mut [Status],
    ) {
        let Some(mut batch) = cipher::Batch::new(lane, self.opened.version, kind) else {
            return statuses.fill(Status::Unsupported);
        };
        let push = |key: &IpsecKey, work: &Work<'_>| {
            if !key.allows(kind.operation) {
                return Status::Unsupported;
            }
            if work.source_bytes > 0 {
                // SAFETY: the caller vouches for every segment; keys and IVs
                // belong to the jobs, which outlive the batch.
                unsafe { batch.push(key, work.source[0], work.destination[0], work.iv) };
            }
            Status::Ok
        };
        // SAFETY: forwarded from the caller.
        unsafe {
            work::each_apart(kind, jobs, statuses, push, spare(kind));
            batch.run();
        }
    }

    /// ChaCha20-Poly1305: each job runs where it stands.
    ///
    /// # Safety
    /// As for [`Backend::process`].
    unsafe fn chacha(
        &self,
        lane: &mut Lane,
        kind: Kind,
        jobs: &[Job<'_>],
        statuses: &mut [Status],
    ) {
        lane.begin(kind);
        let run = |key: &IpsecKey, work: &Work<'_>| {
            if !key.allows(kind.operation) {
                return Status::Unsupported;
            }
            // SAFETY: the caller vouches for every segment of every job.
            unsafe { chacha20_poly1305::run(lane, key, kind.operation, work) }
        };
        // SAFETY: forwarded from the caller.
        unsafe { work::each_apart(kind, jobs, statuses, run, spare(kind)) };
    }

    /// SHA, HMAC: jobs gather in bursts.
    ///
    /// # Safety
    /// As for [`Backend::process`].
    unsafe fn hash(&self, lane: &mut Lane, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
        let Some(mut batch) = hash::Batch::new(lane, kind) else {
            return statuses.fill(Status::Unsupported);
        };
        let push = |key: &IpsecKey, work: &Work<'_>| {
            if !batch.takes(work.source_bytes) {
                return spare(kind)(key, work);
            }
            if !key.allows(kind.operation) {
                return Status::Unsupported;
            }
            // SAFETY: as in `cipher`.
            unsafe { batch.push(key, work.source[0], work.destination[0]) };
            Status::Ok
        };
        // SAFETY: forwarded from the caller.
        unsafe {
            work::each_apart(kind, jobs, statuses, push, spare(kind));
            batch.run();
        }
    }
}

/// For what the library does not take: AWS-LC, at once.
fn spare(kind: Kind) -> impl Fn(&IpsecKey, &Work<'_>) -> Status {
    move |key, work| {
        if !key.allows(kind.operation) {
            return Status::Unsupported;
        }
        // SAFETY: only `process` makes work, whose caller vouches for every
        // segment.
        unsafe { key.spare(kind.operation, work) }
    }
}

impl Backend for IpsecMb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> String {
        format!("Intel IPSec-MB {}", self.opened.version_text())
    }

    fn instructions(&self) -> String {
        self.chosen.described()
    }

    fn supports(&self, kind: Kind) -> bool {
        let algorithm = match kind.algorithm {
            Algorithm::Packets(packets) => packets.aead(),
            other => other,
        };
        let tested = Kind::new(algorithm, kind.operation);
        self.supported.contains(&tested)
    }

    fn width(&self, kind: Kind) -> usize {
        use Algorithm as A;
        let lanes = self.chosen.lanes();
        match (kind.algorithm, kind.operation) {
            (A::Aes128Cbc | A::Aes192Cbc | A::Aes256Cbc, Operation::Encrypt) => lanes.cbc,
            (A::Sha1 | A::Sha256 | A::HmacSha256, _) => lanes.sha256,
            (A::Sha384 | A::Sha512, _) => lanes.sha512,
            _ => 1,
        }
    }

    fn key(&self, algorithm: Algorithm, material: &KeyMaterial) -> Result<Box<dyn Key>, KeyError> {
        if let Algorithm::Packets(packets) = algorithm {
            return composed::key(self, packets, material);
        }
        let operations = self.operations(algorithm);
        if operations == 0 {
            return Err(KeyError::Unsupported {
                backend: NAME,
                algorithm,
            });
        }
        let key = IpsecKey::new(&self.calls, algorithm, material, operations)?;
        Ok(Box::new(key))
    }

    unsafe fn process(&self, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
        use Algorithm as A;
        assert_eq!(jobs.len(), statuses.len(), "one status for each job");
        if matches!(kind.algorithm, A::Packets(_)) {
            // SAFETY: forwarded from the caller.
            return unsafe { composed::process(self, kind, jobs, statuses) };
        }
        if matches!(kind.algorithm, A::Aes128Gcm | A::Aes192Gcm | A::Aes256Gcm) {
            // SAFETY: forwarded from the caller.
            return unsafe { self.gcm(kind, jobs, statuses) };
        }
        let is_whole = Lane::with(&self.opened, |lane| {
            // SAFETY: forwarded from the caller.
            unsafe {
                match kind.algorithm {
                    A::Sha1 | A::Sha256 | A::Sha384 | A::Sha512 | A::HmacSha256 => {
                        self.hash(lane, kind, jobs, statuses);
                    }
                    A::ChaCha20Poly1305 => self.chacha(lane, kind, jobs, statuses),
                    _ => self.cipher(lane, kind, jobs, statuses),
                }
            }
            !lane.broken
        });
        match is_whole {
            Some(true) => {}
            Some(false) => statuses
                .iter_mut()
                .filter(|status| **status == Status::Ok)
                .for_each(|status| *status = Status::BackendFailed),
            None => statuses.fill(Status::BackendFailed),
        }
    }

    fn continues(&self, kind: Kind) -> bool {
        self.supports(kind) && AwsLc.continues(kind)
    }

    unsafe fn process_piece(
        &self,
        kind: Kind,
        job: &Job<'_>,
        between: &mut Between,
        is_last: bool,
    ) -> Status {
        let key = job.key.part(TypeId::of::<IpsecKey>());
        let own = key.and_then(|key| key.downcast_ref::<IpsecKey>());
        match own.filter(|own| own.allows(kind.operation)) {
            // SAFETY: forwarded from the caller.
            Some(own) => unsafe {
                let job = Job {
                    key: own.spare_key(),
                    ..*job
                };
                AwsLc.process_piece(kind, &job, between, is_last)
            },
            None => Status::Unsupported,
        }
    }
}
