//! SHA and HMAC-SHA-256, several messages at once.

use super::key::IpsecKey;
use super::lane::Lane;
use super::layout::{self, BURST, ImbJob, direction, order};
use crate::{Algorithm, Kind, Segment};

/// Longest message of a job where lanes count in 16 bits (`MB_MAX_LEN16`):
/// HMAC, SHA-384 and SHA-512 give wrong digests at 65,536 bytes.
const SHORT_BYTES_MAX: usize = (1 << 16) - 2;
/// Longest message of SHA-1 and SHA-256, whose lanes count in 64 bits: as far
/// as it was tested.
const LONG_BYTES_MAX: usize = 1 << 24;

pub(super) struct Batch<'l> {
    lane: &'l mut Lane,
    template: ImbJob,
    count: usize,
}

impl<'l> Batch<'l> {
    /// `None` when `kind` is not one of these.
    #[inline]
    pub(super) fn new(lane: &'l mut Lane, kind: Kind) -> Option<Self> {
        let hash = match kind.algorithm {
            Algorithm::Sha1 => layout::hash::SHA1,
            Algorithm::Sha256 => layout::hash::SHA256,
            Algorithm::Sha384 => layout::hash::SHA384,
            Algorithm::Sha512 => layout::hash::SHA512,
            Algorithm::HmacSha256 => layout::hash::HMAC_SHA256,
            _ => return None,
        };
        lane.begin(kind);
        Some(Self {
            lane,
            template: ImbJob {
                cipher: layout::cipher::NULL,
                direction: direction::ENCRYPT,
                order: order::HASH_CIPHER,
                hash,
                tag_bytes: kind.algorithm.digest_bytes() as u64,
                ..ImbJob::EMPTY
            },
            count: 0,
        })
    }

    fn is_hmac(&self) -> bool {
        self.template.hash == layout::hash::HMAC_SHA256
    }

    /// Whether the library takes a message that long. None of none, which
    /// some of its lanes never finish.
    #[inline]
    pub(super) fn takes(&self, bytes: usize) -> bool {
        let most = match self.template.hash {
            layout::hash::SHA1 | layout::hash::SHA256 => LONG_BYTES_MAX,
            _ => SHORT_BYTES_MAX,
        };
        bytes > 0 && bytes <= most
    }

    /// Takes a message in; a full burst runs at once.
    ///
    /// # Safety
    /// Key and segments stay valid until [`Self::run`] returned; the
    /// destination is as long as the digest.
    #[inline]
    pub(super) unsafe fn push(&mut self, key: &IpsecKey, source: Segment, destination: Segment) {
        let is_hmac = self.is_hmac();
        let job = self.lane.job(self.count, &self.template);
        job.source = source.address;
        job.hash_bytes = source.len as u64;
        job.tag = destination.address;
        if is_hmac {
            let [inner, outer] = key.hmac();
            job.extra[..2].copy_from_slice(&[inner.cast(), outer.cast()]);
        }
        self.count += 1;
        if self.count == BURST {
            // SAFETY: everything pushed is still valid, says the caller.
            unsafe { self.run() };
        }
    }

    /// Runs what was pushed.
    ///
    /// # Safety
    /// What [`Self::push`] asked for still holds.
    #[inline]
    pub(super) unsafe fn run(&mut self) {
        let count = std::mem::take(&mut self.count);
        if count == 0 {
            return;
        }
        // SAFETY: every job was filled in by `push`.
        unsafe {
            if self.is_hmac() {
                self.lane.hash_burst(count, &self.template);
            } else {
                // Before 2.0 the hash burst takes HMAC only.
                self.lane.ring_burst(count);
            }
        }
    }
}
