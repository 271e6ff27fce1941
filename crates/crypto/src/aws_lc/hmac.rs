//! HMAC with SHA-256 (RFC 2104, FIPS 198-1).
//!
//! The states after the inner and the outer key block are computed once for a
//! key: a request begins with a copy of them, and saves two blocks of four.

use std::mem::MaybeUninit;

use aws_lc_sys as lc;
use zeroize::Zeroizing;

use super::hash;
use crate::scatter::Cursor;
use crate::work::Work;
use crate::{Between, Status};

/// Bytes of a block of SHA-256.
const KEY_BLOCK_BYTES: usize = 64;
const DIGEST_BYTES: usize = 32;
/// RFC 2104 §2.
const INNER_PAD: u8 = 0x36;
const OUTER_PAD: u8 = 0x5c;

type State = MaybeUninit<lc::SHA256_CTX>;

/// Both states, filled where they stay and wiped on drop.
pub(super) struct HmacKey(Box<States>);

struct States {
    inner: State,
    outer: State,
}

impl HmacKey {
    /// `key` has any number of bytes; one longer than a block is hashed first.
    pub(super) fn new(key: &[u8]) -> Option<Self> {
        let mut block = Zeroizing::new([0; KEY_BLOCK_BYTES]);
        if key.len() > KEY_BLOCK_BYTES {
            // SAFETY: reads the key and writes 32 bytes, of which there are 64.
            unsafe { lc::SHA256(key.as_ptr(), key.len(), block.as_mut_ptr()) };
        } else {
            block[..key.len()].copy_from_slice(key);
        }
        let (inner, outer) = (State::zeroed(), State::zeroed());
        let mut own = Self(Box::new(States { inner, outer }));
        let states = &mut *own.0;
        let good = begin(&mut states.inner, &block, INNER_PAD)
            && begin(&mut states.outer, &block, OUTER_PAD);
        good.then_some(own)
    }
}

/// Leaves `state` after the key block, each byte of it xored with `pad`.
fn begin(state: &mut State, block: &[u8; KEY_BLOCK_BYTES], pad: u8) -> bool {
    let padded = Zeroizing::new(block.map(|byte| byte ^ pad));
    let state = state.as_mut_ptr();
    // SAFETY: the state is ours and initialised first.
    unsafe {
        lc::SHA256_Init(state) == 1
            && lc::SHA256_Update(state, padded.as_ptr().cast(), KEY_BLOCK_BYTES) == 1
    }
}

impl Drop for HmacKey {
    fn drop(&mut self) {
        let states: *mut States = &raw mut *self.0;
        // SAFETY: ours, and any bytes are valid in it.
        unsafe { lc::OPENSSL_cleanse(states.cast(), size_of::<States>()) };
    }
}

/// Writes the code of the source into the destination.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn run(key: &HmacKey, work: &Work<'_>) -> Status {
    let mut scratch = key.0.inner;
    let state = scratch.as_mut_ptr();
    // SAFETY: the state of the key is initialised, and a copy of it is ours; segments
    // are valid by the caller's word.
    unsafe {
        let absorbed = hash::absorb(&hash::SHA256, state, work.source);
        let status = finish(key, state, absorbed, work);
        lc::OPENSSL_cleanse(state.cast(), size_of::<State>());
        status
    }
}

/// Absorbs a piece of a message; with the last, writes its code into the destination.
///
/// # Safety
/// As for [`super::run`]; `between` is of this message.
pub(super) unsafe fn piece(
    key: &HmacKey,
    work: &Work<'_>,
    between: &mut Between,
    is_last: bool,
) -> Status {
    let (state, is_first) = between.state::<lc::SHA256_CTX>();
    // SAFETY: as in `run`; the state stays begun between the pieces.
    unsafe {
        if is_first {
            state.copy_from_nonoverlapping(key.0.inner.as_ptr(), 1);
        }
        let absorbed = hash::absorb(&hash::SHA256, state, work.source);
        match (absorbed, is_last) {
            (true, false) => Status::Ok,
            _ => finish(key, state, absorbed, work),
        }
    }
}

/// The outer hash: turns `state`, which has absorbed all, into the code.
///
/// # Safety
/// `state` is ours and initialised; the destination is writable for 32 bytes.
unsafe fn finish(
    key: &HmacKey,
    state: *mut lc::SHA256_CTX,
    absorbed: bool,
    work: &Work<'_>,
) -> Status {
    let mut digest = [0; DIGEST_BYTES];
    // SAFETY: both states of the key are initialised; the rest is the caller's word.
    let good = unsafe {
        let inner = absorbed && lc::SHA256_Final(digest.as_mut_ptr(), state) == 1;
        state.copy_from_nonoverlapping(key.0.outer.as_ptr(), 1);
        inner
            && lc::SHA256_Update(state, digest.as_ptr().cast(), DIGEST_BYTES) == 1
            && lc::SHA256_Final(digest.as_mut_ptr(), state) == 1
    };
    if !good {
        return Status::BackendFailed;
    }
    // SAFETY: the checks gave the destination 32 bytes.
    unsafe { Cursor::new(work.destination).scatter(digest.as_ptr(), DIGEST_BYTES) };
    Status::Ok
}
