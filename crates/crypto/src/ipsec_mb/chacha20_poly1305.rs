//! ChaCha20-Poly1305 (RFC 8439), one message after the other: a job is twice
//! as fast at 64 bytes as the library's calls without one.

use super::key::IpsecKey;
use super::lane::Lane;
use super::layout::{self, ImbJob, direction, order};
use super::tag;
use crate::scatter::wipe;
use crate::work::Work;
use crate::{Operation, Segment, Status};

const KEY_BYTES: u64 = 32;
const NONCE_BYTES: u64 = 12;
const TAG_BYTES: u64 = 16;
/// Longest message of a job: as far as it was tested.
const BYTES_MAX: usize = 1 << 24;

/// Seals or opens one message; gives AWS-LC what the library does not take.
///
/// # Safety
/// The segments of `work`, which has passed the checks for this algorithm,
/// are readable, those that the operation writes writable; `lane` has begun
/// this kind.
#[inline]
pub(super) unsafe fn run(
    lane: &mut Lane,
    key: &IpsecKey,
    operation: Operation,
    work: &Work<'_>,
) -> Status {
    let seals = operation == Operation::Encrypt;
    // SAFETY: forwarded from the caller; the tag of a message to be opened is
    // ours, and computed before it is compared.
    unsafe {
        match work.contiguous() {
            Some((source, destination)) if (1..=BYTES_MAX).contains(&source.len) => {
                if seals {
                    job(
                        lane,
                        key,
                        seals,
                        work,
                        [source, destination],
                        work.tag.address,
                    )
                } else {
                    open(lane, key, work, [source, destination])
                }
            }
            _ => key.spare(operation, work),
        }
    }
}

/// # Safety
/// As for [`run`].
#[inline]
unsafe fn open(lane: &mut Lane, key: &IpsecKey, work: &Work<'_>, text: [Segment; 2]) -> Status {
    let mut computed = [0; TAG_BYTES as usize];
    // SAFETY: forwarded from the caller; the computed tag is ours.
    unsafe {
        let expected = tag::read(work.tag.address);
        let ran = job(lane, key, false, work, text, computed.as_mut_ptr());
        if ran == Status::Ok && tag::equal(&computed, &expected) {
            return Status::Ok;
        }
        wipe(work.destination);
        match ran {
            Status::Ok => Status::AuthenticationFailed,
            failed => failed,
        }
    }
}

/// # Safety
/// As for [`run`]; `tag` is writable for 16 bytes.
#[inline]
unsafe fn job(
    lane: &mut Lane,
    key: &IpsecKey,
    seals: bool,
    work: &Work<'_>,
    [source, destination]: [Segment; 2],
    tag: *mut u8,
) -> Status {
    let job = lane.job(0, &template(seals));
    job.enc_keys = key.encrypting().cast();
    job.dec_keys = key.encrypting().cast();
    job.source = source.address;
    job.destination = destination.address;
    job.cipher_bytes = source.len as u64;
    job.hash_bytes = source.len as u64;
    job.iv = work.iv.as_ptr();
    job.tag = tag;
    job.extra[0] = work.aad.address.cast_const().cast();
    job.extra[1] = std::ptr::without_provenance(work.aad.len);
    // SAFETY: complete; what it points at is valid, says the caller.
    unsafe { lane.ring_burst(1) };
    if lane.broken {
        Status::BackendFailed
    } else {
        Status::Ok
    }
}

fn template(seals: bool) -> ImbJob {
    let (direction, order) = if seals {
        (direction::ENCRYPT, order::CIPHER_HASH)
    } else {
        (direction::DECRYPT, order::HASH_CIPHER)
    };
    ImbJob {
        key_bytes: KEY_BYTES,
        iv_bytes: NONCE_BYTES,
        tag_bytes: TAG_BYTES,
        cipher: layout::cipher::CHACHA20_POLY1305,
        hash: layout::hash::CHACHA20_POLY1305,
        direction,
        order,
        ..ImbJob::EMPTY
    }
}
