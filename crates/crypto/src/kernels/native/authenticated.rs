//! The ways into GCM and packets: by the set of instructions, and then the stack is wiped.

use std::arch::x86_64::__m128i;

use super::ghash::{self, Powers};
use super::round_keys::RoundKeys;
use super::{
    Block, GcmMessage, GcmRun, GcmUnit, NativeKeys, PacketScratch, PacketUnit, aes_ni, avx, avx512,
    blocks, vaes,
};
use crate::stack::wipe_below;
use crate::{Instructions, Segment};

/// What [`gcm`](fn@gcm) uses of it.
pub(in crate::kernels) const GCM_STACK_KIB: usize = if cfg!(debug_assertions) { 8 } else { 4 };

/// What [`gcm_alone`] uses of it.
pub(in crate::kernels) const GCM_ALONE_STACK_KIB: usize =
    if cfg!(debug_assertions) { 6 } else { 3 };

/// What [`packets`](fn@packets) uses of it.
const PACKETS_STACK_KIB: usize = if cfg!(debug_assertions) { 8 } else { 4 };

/// Seals or opens messages in GCM.
///
/// # Safety
/// As for [`xts`](fn@super::xts); the additional data is readable, and the keys were made for GCM.
pub(in crate::kernels) unsafe fn gcm(
    set: Instructions,
    seal: bool,
    rounds: usize,
    units: &mut [GcmUnit],
) {
    // SAFETY: forwarded from the caller.
    unsafe {
        match set {
            Instructions::Avx512 => avx512::gcm(seal, rounds, units),
            Instructions::Vaes => vaes::gcm(seal, rounds, units),
            Instructions::Avx | Instructions::Avx2 => avx::gcm(seal, rounds, units),
            Instructions::AesNi | Instructions::Baseline => aes_ni::gcm(seal, rounds, units),
        }
    }
    wipe_below::<GCM_STACK_KIB>();
}

/// Seals or opens one message in GCM: it uses less of the stack.
///
/// # Safety
/// As for [`gcm`](fn@gcm).
pub(in crate::kernels) unsafe fn gcm_alone(
    set: Instructions,
    seal: bool,
    rounds: usize,
    unit: &mut GcmUnit,
) {
    // SAFETY: forwarded from the caller.
    unsafe {
        match set {
            Instructions::Avx512 => avx512::gcm_alone(seal, rounds, unit),
            Instructions::Vaes => vaes::gcm_alone(seal, rounds, unit),
            Instructions::Avx | Instructions::Avx2 => avx::gcm_alone(seal, rounds, unit),
            Instructions::AesNi | Instructions::Baseline => {
                aes_ni::gcm_alone(seal, rounds, unit);
            }
        }
    }
    wipe_below::<GCM_ALONE_STACK_KIB>();
}

/// Seals or opens packets, of keys of so many rounds.
///
/// # Safety
/// As for [`gcm`](fn@gcm); keys were made for packets.
pub(in crate::kernels) unsafe fn packets(
    set: Instructions,
    seal: bool,
    rounds: usize,
    units: &mut [PacketUnit],
    scratch: &mut PacketScratch,
) {
    // SAFETY: forwarded from the caller.
    unsafe {
        match set {
            Instructions::Avx512 => avx512::packets(seal, rounds, units, scratch),
            Instructions::Vaes => vaes::packets(seal, rounds, units, scratch),
            Instructions::Avx | Instructions::Avx2 => avx::packets(seal, rounds, units, scratch),
            Instructions::AesNi | Instructions::Baseline => {
                aes_ni::packets(seal, rounds, units, scratch)
            }
        }
    }
    wipe_below::<PACKETS_STACK_KIB>();
}

/// Goes on with a message that comes in pieces: its additional data, or whole blocks, but
/// the last may end with a part of one.
///
/// # Safety
/// As for [`gcm`](fn@gcm), for the piece.
pub(in crate::kernels) unsafe fn gcm_piece(
    set: Instructions,
    seal: bool,
    keys: &NativeKeys,
    message: &mut GcmMessage,
    aad: Segment,
    run: GcmRun,
) {
    // SAFETY: forwarded from the caller.
    unsafe {
        match set {
            Instructions::Avx512 => avx512::gcm_piece(seal, keys, message, aad, run),
            Instructions::Vaes => vaes::gcm_piece(seal, keys, message, aad, run),
            Instructions::Avx | Instructions::Avx2 => {
                avx::gcm_piece(seal, keys, message, aad, run);
            }
            Instructions::AesNi | Instructions::Baseline => {
                aes_ni::gcm_piece(seal, keys, message, aad, run);
            }
        }
    }
    wipe_below::<GCM_STACK_KIB>();
}

/// # Safety
/// As for [`gcm`](fn@gcm); nothing of the message is left.
#[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
pub(in crate::kernels) unsafe fn gcm_tag(
    keys: &NativeKeys,
    iv: &Block,
    message: &GcmMessage,
) -> Block {
    // SAFETY: forwarded from the caller.
    unsafe { super::gcm::tag_of(keys, iv, message) }
}

/// Fills in what hashing needs.
///
/// # Safety
/// The CPU has AES-NI, and PCLMULQDQ with it.
#[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
pub(in crate::kernels) unsafe fn make_powers(keys: &mut NativeKeys) {
    let powers = keys.powers.insert(Box::new(Powers::BLANK));
    // SAFETY: forwarded from the caller.
    unsafe {
        begin_powers(powers, &keys.data);
        powers.extend::<__m128i>(ghash::POWERS);
    }
}

/// # Safety
/// As for [`make_powers`].
#[inline(always)]
unsafe fn begin_powers(powers: &mut Powers, data: &RoundKeys) {
    let mut key = blocks::Blocks::<1>::new();
    key.push(blocks::schedule::<true>(data), [0; 16]);
    // SAFETY: forwarded from the caller; a schedule has one key more than rounds.
    unsafe { powers.begin(&key.encrypted::<__m128i>(data.rounds)[0]) };
}

/// Expands the keys of packets into `header` and `payload`, as many places as rounds and
/// one, and the first four powers of the hash key.
///
/// # Safety
/// As for [`make_powers`].
#[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
pub(in crate::kernels) unsafe fn expand_packets(
    [header_key, payload_key]: [&[u8]; 2],
    [header, payload]: [&mut [Block]; 2],
    first: &mut [Block; 4],
) {
    let mut data = Box::new(RoundKeys::BLANK);
    let mut powers = Box::new(Powers::BLANK);
    // SAFETY: forwarded from the caller.
    unsafe {
        data.expand(header_key);
        header.copy_from_slice(&data.encrypting[..header.len()]);
        data.expand(payload_key);
        payload.copy_from_slice(&data.encrypting[..payload.len()]);
        begin_powers(&mut powers, &data);
    }
    *first = *powers.first();
}
