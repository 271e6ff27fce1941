//! Sealing and opening in GCM.

use std::ptr;

use zeroize::Zeroize;

use super::key::KernelKey;
use super::native::{self, Block, GcmMessage, GcmRun, GcmUnit, NativeKeys};
use super::soft;
use crate::scatter::wipe;
use crate::work::{self, Work};
use crate::{Algorithm, Between, Instructions, Job, Kind, Operation, Segment, Status};

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
        unsafe {
            match units {
                [unit] => native::gcm_alone(set, seal, rounds, unit),
                units => native::gcm(set, seal, rounds, units),
            }
        }
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

/// A piece of a message that is sealed; the last writes its tag.
///
/// # Safety
/// As for [`crate::Backend::process_piece`]; the work is checked, and `between` of its
/// message.
pub(super) unsafe fn piece(
    set: Instructions,
    key: &KernelKey,
    work: &Work<'_>,
    between: &mut Between,
    is_last: bool,
) -> Status {
    let keys = key.native();
    let (message, is_first) = between.state::<GcmMessage>();
    // SAFETY: the caller's; the state is our own, written here first.
    unsafe {
        if is_first {
            message.write(GcmMessage::begin(work.iv));
        }
        let message = &mut *message;
        let aad = if is_first { work.aad } else { Segment::EMPTY };
        go_on(set, true, keys, message, aad, work);
        if is_last {
            let tag = native::gcm_tag(keys, work.iv, message);
            work.tag.address.cast::<Block>().write_unaligned(tag);
        }
    }
    Status::Ok
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
        go_on(set, seal, keys, &mut message, work.aad, work);
        let tag = native::gcm_tag(keys, work.iv, &message);
        message.zeroize();
        match given {
            None => tag_at.write_unaligned(tag),
            Some(given) if soft::is_equal(&tag, &given) => {}
            Some(_) => {
                wipe(work.destination);
                return Status::AuthenticationFailed;
            }
        }
    }
    Status::Ok
}

/// Goes on with additional data and a text, which is whole blocks unless it is the last.
///
/// # Safety
/// As for [`process`]; the work is checked.
unsafe fn go_on(
    set: Instructions,
    seal: bool,
    keys: &NativeKeys,
    message: &mut GcmMessage,
    aad: Segment,
    work: &Work<'_>,
) {
    let mut go_on = |aad, from, to, bytes| {
        let run = GcmRun { from, to, bytes };
        // SAFETY: the caller's; chunks are our own memory.
        unsafe { native::gcm_piece(set, seal, keys, message, aad, run) };
    };
    if let Some((source, destination)) = work.contiguous() {
        return go_on(aad, source.address, destination.address, source.len);
    }
    go_on(aad, ptr::null(), ptr::null_mut(), 0);
    let by_chunk = |chunk: &mut [u8]| {
        let at = chunk.as_mut_ptr();
        go_on(Segment::EMPTY, at, at, chunk.len());
    };
    // SAFETY: forwarded from the caller.
    unsafe { soft::by_chunks(work, by_chunk) };
}
