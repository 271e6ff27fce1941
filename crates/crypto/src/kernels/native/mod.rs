//! The same few functions for each width of registers, compiled for each set
//! of instructions.

mod authenticated;
mod blocks;
pub(super) mod cbc;
mod ceiling;
mod gcm;
mod ghash;
mod lanes;
mod lrw;
mod packets;
mod parallel;
mod pcbc;
mod round_keys;
mod x128;
mod x256;
mod x512;
mod xts;

use std::arch::x86_64::{__m128i, __m256i, __m512i};

pub(super) use authenticated::{
    expand_packets, gcm, gcm_alone, gcm_piece, gcm_tag, make_powers, packets,
};
pub(super) use gcm::{Message as GcmMessage, Run as GcmRun, Unit as GcmUnit};
use ghash::Powers;
pub(crate) use lanes::Block;
pub(super) use packets::{PacketSchedules, PacketUnit, Scratch as PacketScratch, TOGETHER};
pub(super) use round_keys::RoundKeys;

use super::Mode;
use super::key::KernelKey;
use super::multiples::Multiples;
use crate::stack::wipe_below;
use crate::work::Unit;
use crate::{Instructions, Segment};

/// What [`xts`](fn@xts) and its like use of the stack, at most: more where the
/// compiler optimises less.
pub(super) const XTS_STACK_KIB: usize = if cfg!(debug_assertions) { 8 } else { 2 };

/// What [`pcbc`](fn@pcbc) uses of it: what it chains tells the text, unlike that of CBC.
const PCBC_STACK_KIB: usize = if cfg!(debug_assertions) { 32 } else { 20 };

/// What [`parallel`](fn@parallel) uses of it. CBC encryption clears its own.
const PARALLEL_STACK_KIB: usize = if cfg!(debug_assertions) { 2 } else { 1 };

pub(super) struct NativeKeys {
    pub(super) data: RoundKeys,
    /// XTS only.
    pub(super) tweak: RoundKeys,
    /// GCM only; it is then complete.
    powers: Option<Box<Powers>>,
}

impl NativeKeys {
    /// Expands a key of the right length.
    ///
    /// # Safety
    /// The CPU has AES-NI.
    pub(super) unsafe fn new(is_xts: bool, key: &[u8]) -> Box<Self> {
        let mut own = Box::new(Self {
            data: RoundKeys::BLANK,
            tweak: RoundKeys::BLANK,
            powers: None,
        });
        let (data, tweak) = key.split_at(if is_xts { key.len() / 2 } else { key.len() });
        // SAFETY: forwarded from the caller.
        unsafe {
            own.data.expand(data);
            if is_xts {
                own.tweak.expand(tweak);
            }
        }
        own
    }
}

impl NativeKeys {
    /// # Panics
    /// When the key was not made for GCM.
    #[inline(always)]
    pub(super) fn gcm(&self) -> gcm::Keys {
        let powers = self.powers.as_ref().expect("a key for GCM");
        gcm::Keys::new(blocks::schedule::<true>(&self.data), powers)
    }
}

/// The entries of one set of instructions: everything they call is inlined
/// into them, and so may use the instructions they enable.
macro_rules! entries {
    ($(#[$note:meta])* $set:ident, $vector:ty, $features:literal) => {
        $(#[$note])*
        mod $set {
            use super::*;

            /// # Safety
            /// As for [`super::xts`](fn@super::xts); the CPU has the set.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn xts(
                encrypt: bool,
                units: &[Unit<'_, KernelKey>],
                is_encrypted: bool,
            ) {
                // SAFETY: forwarded from the caller.
                unsafe {
                    let rounds = units.first().map_or(10, |unit| unit.key.native().data.rounds);
                    match (encrypt, rounds) {
                        (true, 10) => xts::units::<$vector, true, 10>(units, is_encrypted),
                        (false, 10) => xts::units::<$vector, false, 10>(units, is_encrypted),
                        (true, 12) => xts::units::<$vector, true, 12>(units, is_encrypted),
                        (false, 12) => xts::units::<$vector, false, 12>(units, is_encrypted),
                        (true, _) => xts::units::<$vector, true, 14>(units, is_encrypted),
                        (false, _) => xts::units::<$vector, false, 14>(units, is_encrypted),
                    }
                }
            }

            /// # Safety
            /// As for [`super::cbc_encrypt`]; the CPU has the set.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn cbc_encrypt(units: &mut [Unit<'_, KernelKey>]) {
                // SAFETY: forwarded from the caller.
                unsafe { cbc::encrypt::<$vector, false>(units) }
            }

            /// # Safety
            /// As for [`super::pcbc`](fn@super::pcbc); the CPU has the set.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn pcbc(encrypt: bool, units: &mut [Unit<'_, KernelKey>]) {
                // SAFETY: forwarded from the caller.
                unsafe {
                    if encrypt {
                        cbc::encrypt::<$vector, true>(units);
                    } else {
                        pcbc::decrypt::<$vector>(units);
                    }
                }
            }

            /// # Safety
            /// As for [`super::lrw`](fn@super::lrw); the CPU has the set.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn lrw(
                encrypt: bool,
                units: &[Unit<'_, KernelKey>],
                multiples: &Multiples,
            ) {
                // SAFETY: forwarded from the caller.
                unsafe {
                    let rounds = units.first().map_or(10, |unit| unit.key.native().data.rounds);
                    match (encrypt, rounds) {
                        (true, 10) => lrw::units::<$vector, true, 10>(units, multiples),
                        (false, 10) => lrw::units::<$vector, false, 10>(units, multiples),
                        (true, 12) => lrw::units::<$vector, true, 12>(units, multiples),
                        (false, 12) => lrw::units::<$vector, false, 12>(units, multiples),
                        (true, _) => lrw::units::<$vector, true, 14>(units, multiples),
                        (false, _) => lrw::units::<$vector, false, 14>(units, multiples),
                    }
                }
            }

            /// # Safety
            /// As for [`super::parallel`](fn@super::parallel); the CPU has the set.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn parallel(
                mode: Mode,
                encrypt: bool,
                units: &[Unit<'_, KernelKey>],
            ) {
                use parallel::{CBC, CTR, ECB, messages};
                // SAFETY: forwarded from the caller.
                unsafe {
                    match (mode, encrypt) {
                        (Mode::Ctr, _) => messages::<$vector, CTR, true>(units),
                        (Mode::Ecb, true) => messages::<$vector, ECB, true>(units),
                        (Mode::Ecb, false) => messages::<$vector, ECB, false>(units),
                        _ => messages::<$vector, CBC, false>(units),
                    }
                }
            }

            /// # Safety
            /// As for [`super::gcm`](fn@super::gcm); the CPU has the set.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn gcm(seal: bool, rounds: usize, units: &mut [GcmUnit]) {
                let mut masks = blocks::Blocks::new();
                for units in units.chunks_mut(gcm::TOGETHER) {
                    // SAFETY: forwarded from the caller.
                    unsafe {
                        gcm::masks::<$vector, { gcm::TOGETHER }>(rounds, units, &mut masks);
                        messages(seal, rounds, units);
                        gcm::forget_masks(units);
                    }
                }
            }

            /// # Safety
            /// As for [`super::gcm_alone`]; the CPU has the set.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn gcm_alone(seal: bool, rounds: usize, unit: &mut GcmUnit) {
                let units = std::slice::from_mut(unit);
                let mut mask = blocks::Blocks::<1>::new();
                // SAFETY: forwarded from the caller.
                unsafe {
                    gcm::masks::<__m128i, 1>(rounds, units, &mut mask);
                    messages(seal, rounds, units);
                    gcm::forget_masks(units);
                }
                mask.wipe(1);
            }

            /// # Safety
            /// As for [`super::gcm_piece`]; the CPU has the set.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn gcm_piece(
                seal: bool,
                keys: &NativeKeys,
                message: &mut GcmMessage,
                aad: Segment,
                run: GcmRun,
            ) {
                use gcm::piece;
                let (of, m) = (keys.gcm(), message);
                // SAFETY: forwarded from the caller.
                unsafe {
                    match (seal, keys.data.rounds) {
                        (true, 10) => piece::<$vector, true, 10>(of, m, aad, run),
                        (false, 10) => piece::<$vector, false, 10>(of, m, aad, run),
                        (true, 12) => piece::<$vector, true, 12>(of, m, aad, run),
                        (false, 12) => piece::<$vector, false, 12>(of, m, aad, run),
                        (true, _) => piece::<$vector, true, 14>(of, m, aad, run),
                        (false, _) => piece::<$vector, false, 14>(of, m, aad, run),
                    }
                }
            }

            /// # Safety
            /// As for [`super::packets`](fn@super::packets); the CPU has the set.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn packets(
                seal: bool,
                rounds: usize,
                units: &mut [PacketUnit],
                scratch: &mut PacketScratch,
            ) {
                // SAFETY: forwarded from the caller.
                unsafe {
                    if seal {
                        packets::run::<$vector, true>(rounds, units, scratch, messages);
                    } else {
                        packets::run::<$vector, false>(rounds, units, scratch, messages);
                    }
                }
            }

            /// # Safety
            /// As for [`super::gcm`](fn@super::gcm), and messages have their masks.
            #[target_feature(enable = $features)]
            unsafe fn messages(seal: bool, rounds: usize, units: &mut [GcmUnit]) {
                // SAFETY: forwarded from the caller.
                unsafe {
                    match (seal, rounds) {
                        (true, 10) => gcm::messages::<$vector, true, 10>(units),
                        (false, 10) => gcm::messages::<$vector, false, 10>(units),
                        (true, 12) => gcm::messages::<$vector, true, 12>(units),
                        (false, 12) => gcm::messages::<$vector, false, 12>(units),
                        (true, _) => gcm::messages::<$vector, true, 14>(units),
                        (false, _) => gcm::messages::<$vector, false, 14>(units),
                    }
                }
            }

            /// # Safety
            /// The CPU has the set.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn ceiling(width: usize, rounds: usize, laps: u64) -> u64 {
                // SAFETY: forwarded from the caller.
                unsafe {
                    match (width, rounds) {
                        (8, 10) => ceiling::run::<$vector, 8, 10>(laps),
                        (8, 12) => ceiling::run::<$vector, 8, 12>(laps),
                        (8, _) => ceiling::run::<$vector, 8, 14>(laps),
                        (12, 10) => ceiling::run::<$vector, 12, 10>(laps),
                        (12, 12) => ceiling::run::<$vector, 12, 12>(laps),
                        (12, _) => ceiling::run::<$vector, 12, 14>(laps),
                        (_, 10) => ceiling::run::<$vector, 14, 10>(laps),
                        (_, 12) => ceiling::run::<$vector, 14, 12>(laps),
                        (_, _) => ceiling::run::<$vector, 14, 14>(laps),
                    }
                }
            }
        }
    };
}

entries!(aes_ni, __m128i, "aes,pclmulqdq,ssse3,sse4.1");
entries!(
    /// The same as AES-NI, but for instructions that leave their operands.
    avx, __m128i, "aes,pclmulqdq,avx"
);
entries!(vaes, __m256i, "aes,pclmulqdq,avx2,bmi2,vaes,vpclmulqdq");
entries!(
    avx512,
    __m512i,
    "aes,pclmulqdq,avx2,bmi2,vaes,vpclmulqdq,avx512f,avx512bw,avx512dq,avx512vl"
);

/// Encrypts or decrypts XTS data units, or pieces of some, whose IVs are then tweaks that
/// are encrypted.
///
/// # Safety
/// The CPU has the instructions of `set`, which has AES-NI; sources are
/// readable and destinations writable, the same bytes or apart, of lengths
/// that the checks passed; keys are native.
pub(super) unsafe fn xts(
    set: Instructions,
    encrypt: bool,
    units: &[Unit<'_, KernelKey>],
    is_encrypted: bool,
) {
    // SAFETY: forwarded from the caller.
    unsafe {
        match set {
            Instructions::Avx512 => avx512::xts(encrypt, units, is_encrypted),
            Instructions::Vaes => vaes::xts(encrypt, units, is_encrypted),
            Instructions::Avx | Instructions::Avx2 => avx::xts(encrypt, units, is_encrypted),
            Instructions::AesNi | Instructions::Baseline => {
                aes_ni::xts(encrypt, units, is_encrypted)
            }
        }
    }
    wipe_below::<XTS_STACK_KIB>();
}

/// Encrypts CBC messages; sorts them.
///
/// # Safety
/// As for [`xts`](fn@xts).
pub(super) unsafe fn cbc_encrypt(set: Instructions, units: &mut [Unit<'_, KernelKey>]) {
    // SAFETY: forwarded from the caller.
    unsafe {
        match set {
            Instructions::Avx512 => avx512::cbc_encrypt(units),
            Instructions::Vaes => vaes::cbc_encrypt(units),
            Instructions::Avx | Instructions::Avx2 => avx::cbc_encrypt(units),
            Instructions::AesNi | Instructions::Baseline => aes_ni::cbc_encrypt(units),
        }
    }
}

/// Encrypts or decrypts sectors in PCBC, of one key; may sort them.
///
/// # Safety
/// As for [`xts`](fn@xts); sectors have 512 bytes or a multiple of that.
pub(super) unsafe fn pcbc(set: Instructions, encrypt: bool, units: &mut [Unit<'_, KernelKey>]) {
    // SAFETY: forwarded from the caller.
    unsafe {
        match set {
            Instructions::Avx512 => avx512::pcbc(encrypt, units),
            Instructions::Vaes => vaes::pcbc(encrypt, units),
            Instructions::Avx | Instructions::Avx2 => avx::pcbc(encrypt, units),
            Instructions::AesNi | Instructions::Baseline => aes_ni::pcbc(encrypt, units),
        }
    }
    wipe_below::<PCBC_STACK_KIB>();
}

/// Encrypts or decrypts sectors in LRW, of one key.
///
/// # Safety
/// As for [`pcbc`](fn@pcbc).
pub(super) unsafe fn lrw(
    set: Instructions,
    encrypt: bool,
    units: &[Unit<'_, KernelKey>],
    multiples: &Multiples,
) {
    // SAFETY: forwarded from the caller.
    unsafe {
        match set {
            Instructions::Avx512 => avx512::lrw(encrypt, units, multiples),
            Instructions::Vaes => vaes::lrw(encrypt, units, multiples),
            Instructions::Avx | Instructions::Avx2 => avx::lrw(encrypt, units, multiples),
            Instructions::AesNi | Instructions::Baseline => aes_ni::lrw(encrypt, units, multiples),
        }
    }
    wipe_below::<XTS_STACK_KIB>();
}

/// Encrypts or decrypts messages in ECB or CTR, or decrypts them in CBC.
///
/// # Safety
/// As for [`xts`](fn@xts).
pub(super) unsafe fn parallel(
    set: Instructions,
    mode: Mode,
    encrypt: bool,
    units: &[Unit<'_, KernelKey>],
) {
    // SAFETY: forwarded from the caller.
    unsafe {
        match set {
            Instructions::Avx512 => avx512::parallel(mode, encrypt, units),
            Instructions::Vaes => vaes::parallel(mode, encrypt, units),
            Instructions::Avx | Instructions::Avx2 => avx::parallel(mode, encrypt, units),
            Instructions::AesNi | Instructions::Baseline => aes_ni::parallel(mode, encrypt, units),
        }
    }
    wipe_below::<PARALLEL_STACK_KIB>();
}

/// Rounds on `width` registers (8, 12 or 14) for keys of `rounds` (10, 12 or
/// 14); how many bytes they would have encrypted.
///
/// # Safety
/// The CPU has the instructions of `set`, which has AES-NI.
pub(super) unsafe fn ceiling(set: Instructions, width: usize, rounds: usize, laps: u64) -> u64 {
    // SAFETY: forwarded from the caller.
    unsafe {
        match set {
            Instructions::Avx512 => avx512::ceiling(width, rounds, laps),
            Instructions::Vaes => vaes::ceiling(width, rounds, laps),
            Instructions::Avx | Instructions::Avx2 => avx::ceiling(width, rounds, laps),
            Instructions::AesNi | Instructions::Baseline => aes_ni::ceiling(width, rounds, laps),
        }
    }
}

/// The encrypted tweak of a data unit.
///
/// # Safety
/// The CPU has AES-NI.
#[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
pub(super) unsafe fn xts_tweak(keys: &NativeKeys, iv: &Block) -> Block {
    let mut tweak = *iv;
    // SAFETY: forwarded from the caller.
    unsafe {
        if keys.tweak.rounds == 10 {
            xts::encrypt_tweak::<10>(&keys.tweak, &mut tweak);
        } else if keys.tweak.rounds == 12 {
            xts::encrypt_tweak::<12>(&keys.tweak, &mut tweak);
        } else {
            xts::encrypt_tweak::<14>(&keys.tweak, &mut tweak);
        }
    }
    tweak
}

/// A chunk of a scattered data unit, whose encrypted tweak is `tweak`, in place.
///
/// # Safety
/// The CPU has AES-NI; `chunk` is ours for `bytes`, 16 at least.
#[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
pub(super) unsafe fn xts_chunk(
    keys: &NativeKeys,
    encrypt: bool,
    tweak: &Block,
    chunk: *mut u8,
    bytes: usize,
) {
    let keys = &keys.data;
    // SAFETY: forwarded from the caller.
    unsafe {
        match (encrypt, keys.rounds) {
            (true, 10) => xts::chunk::<__m128i, true, 10>(keys, tweak, chunk, bytes),
            (false, 10) => xts::chunk::<__m128i, false, 10>(keys, tweak, chunk, bytes),
            (true, _) => xts::chunk::<__m128i, true, 14>(keys, tweak, chunk, bytes),
            (false, _) => xts::chunk::<__m128i, false, 14>(keys, tweak, chunk, bytes),
        }
    }
}
