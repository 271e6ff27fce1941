//! Sealing and opening in GCM.

use super::key::KernelKey;
use super::native::{self, Block, GCM_STACK_KIB, Text};
use super::soft;
use crate::scatter::wipe;
use crate::stack::wipe_below;
use crate::work::{self, Work};
use crate::{Instructions, Job, Kind, Operation, Status};

/// # Safety
/// As for [`crate::Backend::process`]; the CPU has `set`, which has AES-NI.
pub(super) unsafe fn process(
    set: Instructions,
    kind: Kind,
    jobs: &[Job<'_>],
    statuses: &mut [Status],
) {
    let seal = kind.operation == Operation::Encrypt;
    let whole = |key: &KernelKey, work: &Work<'_>| {
        // SAFETY: forwarded from the caller; the work is checked.
        unsafe {
            let given = (!seal).then(|| given_tag(work));
            let (source, destination) = work.contiguous().expect("one segment on each side");
            let text = Text {
                iv: iv(work),
                aad: work.aad.address,
                aad_bytes: work.aad.len,
                source: source.address,
                destination: destination.address,
                bytes: source.len,
            };
            end(work, native::gcm(set, seal, key.native(), &text), given)
        }
    };
    let scattered = |key: &KernelKey, work: &Work<'_>| {
        let keys = key.native();
        // SAFETY: as above; chunks are our own memory.
        unsafe {
            let given = (!seal).then(|| given_tag(work));
            let aad = work.aad;
            let mut message = native::gcm_begin(keys, &iv(work), aad.address, aad.len);
            soft::by_chunks(work, |chunk| {
                native::gcm_chunk(keys, seal, &mut message, chunk.as_mut_ptr(), chunk.len());
            });
            let tag = native::gcm_tag(keys, &message);
            wipe_below::<GCM_STACK_KIB>();
            end(work, tag, given)
        }
    };
    // SAFETY: forwarded from the caller.
    unsafe { work::each_apart(kind, jobs, statuses, whole, scattered) };
}

fn iv(work: &Work<'_>) -> [u8; 12] {
    *work.iv.first_chunk().expect("sixteen bytes")
}

/// The tag of the job, read once, and before the text is: who changes it later changes
/// nothing.
///
/// # Safety
/// The work is checked and its segments are readable.
unsafe fn given_tag(work: &Work<'_>) -> Block {
    // SAFETY: the checks gave the tag sixteen bytes.
    unsafe { work.tag.address.cast::<Block>().read_unaligned() }
}

/// Writes a sealed message's tag; wipes what was opened if its tag is not the one that was
/// given. All of it is compared, whatever differs first.
///
/// # Safety
/// The work is checked, and destination and tag are writable.
unsafe fn end(work: &Work<'_>, tag: Block, given: Option<Block>) -> Status {
    // SAFETY: the caller's.
    unsafe {
        let Some(given) = given else {
            work.tag.address.cast::<Block>().write_unaligned(tag);
            return Status::Ok;
        };
        let differing = u128::from_ne_bytes(tag) ^ u128::from_ne_bytes(given);
        if std::hint::black_box(differing) == 0 {
            return Status::Ok;
        }
        wipe(work.destination);
        Status::AuthenticationFailed
    }
}
