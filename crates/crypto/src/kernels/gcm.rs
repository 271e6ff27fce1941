//! Sealing and opening in GCM.

use zeroize::Zeroize;

use super::key::KernelKey;
use super::native::{self, Block, GcmMessage, GcmRun, GcmUnit};
use super::soft;
use crate::scatter::wipe;
use crate::work::{self, Work};
use crate::{Algorithm, Instructions, Job, Kind, Operation, Segment, Status};

/// # Safety
/// As for [`crate::Backend::process`]; the CPU has `set`, which has AES-NI.
pub(super) unsafe fn process(
    set: Instructions,
    kind: Kind,
    jobs: &[Job<'_>],
    statuses: &mut [Status],
) {
    let seal = kind.operation == Operation::Encrypt;
    let rounds = match kind.algorithm {
        Algorithm::Aes128Gcm => 10,
        Algorithm::Aes192Gcm => 12,
        _ => 14,
    };
    let together = |units: &mut [GcmUnit]| {
        // SAFETY: forwarded from the caller; the units are checked.
        unsafe { native::gcm(set, seal, rounds, units) };
    };
    let alone = |key: &KernelKey, work: &Work<'_>| {
        // SAFETY: as above.
        unsafe { scattered(set, seal, key, work) }
    };
    // SAFETY: forwarded from the caller.
    unsafe { work::batches(kind, jobs, statuses, unit, together, alone) };
}

#[inline(always)]
fn unit(key: &KernelKey, work: &Work<'_>, status: &mut Status) -> GcmUnit {
    GcmUnit {
        keys: key.native().gcm(),
        iv: work.iv,
        mask: [0; 16],
        aad: work.aad,
        source: work.source[0].address,
        destination: work.destination[0].address,
        bytes: work.source_bytes,
        tag: work.tag.address.cast(),
        status,
    }
}

/// # Safety
/// As for [`process`]; the work is checked.
unsafe fn scattered(set: Instructions, seal: bool, key: &KernelKey, work: &Work<'_>) -> Status {
    let keys = key.native();
    let tag_at = work.tag.address.cast::<Block>();
    // SAFETY: the caller's; chunks are our own memory; a given tag is read before the text.
    unsafe {
        let given = (!seal).then(|| tag_at.read_unaligned());
        let mut message = GcmMessage::begin(work.iv);
        let mut go_on = |aad, run| {
            native::gcm_piece(set, seal, keys, &mut message, aad, run);
        };
        go_on(work.aad, GcmRun::NONE);
        soft::by_chunks(work, |chunk| {
            let (at, bytes) = (chunk.as_mut_ptr(), chunk.len());
            let run = GcmRun {
                from: at,
                to: at,
                bytes,
            };
            go_on(Segment::EMPTY, run);
        });
        let tag = native::gcm_tag(keys, work.iv, &message);
        message.zeroize();
        match given {
            None => tag_at.write_unaligned(tag),
            Some(given) if native::is_equal(&tag, &given) => {}
            Some(_) => {
                wipe(work.destination);
                return Status::AuthenticationFailed;
            }
        }
    }
    Status::Ok
}
