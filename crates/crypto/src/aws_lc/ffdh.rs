//! Finite-field Diffie-Hellman in the groups of RFC 7919.
//!
//! By the library's modular exponentiation: its `DH_compute_key` would take a
//! lock and make two contexts for each secret.

use std::cmp::Ordering;
use std::ptr::NonNull;

use aws_lc_sys as lc;
use zeroize::Zeroize;

use super::number::Number;
use crate::scatter::Cursor;
use crate::work::Work;
use crate::{FfdhGroup, Status};

const MODULUS_BYTES_MAX: usize = 512;

pub(super) struct FfdhKey {
    modulus: Modulus,
    exponent: Number,
}

struct Modulus {
    p: Number,
    p_minus_1: Number,
    montgomery: NonNull<lc::BN_MONT_CTX>,
    scratch: NonNull<lc::BN_CTX>,
    bytes: usize,
}

// SAFETY: nothing in it belongs to a thread, and this value is the only owner.
unsafe impl Send for Modulus {}

impl Drop for Modulus {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again; blocks are wiped as they are freed.
        unsafe {
            lc::BN_MONT_CTX_free(self.montgomery.as_ptr());
            lc::BN_CTX_free(self.scratch.as_ptr());
        }
    }
}

impl Modulus {
    fn new(group: FfdhGroup) -> Option<Self> {
        let p = prime(group)?;
        // SAFETY: `p` is a number; a copy of it is ours.
        let p_minus_1 = unsafe { Number::own(lc::BN_dup(p.as_ptr())) }?;
        // SAFETY: `p` is odd; each result is checked before use, and freed
        // when the next fails.
        unsafe {
            if lc::BN_sub_word(p_minus_1.as_ptr(), 1) != 1 {
                return None;
            }
            let scratch = NonNull::new(lc::BN_CTX_new())?;
            let montgomery = lc::BN_MONT_CTX_new_for_modulus(p.as_ptr(), scratch.as_ptr());
            let Some(montgomery) = NonNull::new(montgomery) else {
                lc::BN_CTX_free(scratch.as_ptr());
                return None;
            };
            let bytes = lc::BN_num_bytes(p.as_ptr()) as usize;
            Some(Self {
                p,
                p_minus_1,
                montgomery,
                scratch,
                bytes,
            })
        }
    }

    /// Whether 2 ≤ `value` ≤ p − 2 (RFC 7919 §5.1, SP 800-56A §5.6.2.3.1).
    fn has(&self, value: &Number) -> bool {
        // SAFETY: both are numbers.
        unsafe {
            let above_1 = lc::BN_cmp_word(value.as_ptr(), 1) > 0;
            above_1 && lc::BN_cmp(value.as_ptr(), self.p_minus_1.as_ptr()).cmp(&0) == Ordering::Less
        }
    }
}

fn prime(group: FfdhGroup) -> Option<Number> {
    let nid = match group {
        FfdhGroup::Ffdhe2048 => lc::NID_ffdhe2048,
        FfdhGroup::Ffdhe3072 => lc::NID_ffdhe3072,
        FfdhGroup::Ffdhe4096 => lc::NID_ffdhe4096,
    };
    // SAFETY: the parameters are ours to free; the copy of their prime stays.
    unsafe {
        let parameters = NonNull::new(lc::DH_new_by_nid(nid))?;
        let p = lc::BN_dup(lc::DH_get0_p(parameters.as_ptr()));
        lc::DH_free(parameters.as_ptr());
        Number::own(p)
    }
}

impl FfdhKey {
    /// `key` is the exponent, big-endian.
    pub(super) fn new(group: FfdhGroup, key: &[u8]) -> Option<Self> {
        Some(Self {
            modulus: Modulus::new(group)?,
            exponent: Number::from_big_endian(key)?,
        })
    }

    /// The secret; `None` without memory. Constant-time in the exponent.
    fn power(&self, peer: &Number) -> Option<Number> {
        let secret = Number::zero()?;
        let Modulus {
            p,
            montgomery,
            scratch,
            ..
        } = &self.modulus;
        // SAFETY: numbers and contexts are ours, used by one thread at a time,
        // and the context is for this modulus; the peer's value is below it.
        let done = unsafe {
            lc::BN_mod_exp_mont_consttime(
                secret.as_ptr(),
                peer.as_ptr(),
                self.exponent.as_ptr(),
                p.as_ptr(),
                scratch.as_ptr(),
                montgomery.as_ptr(),
            )
        };
        (done == 1).then_some(secret)
    }
}

/// Agrees on a secret with the peer's public value. One outside the group is
/// refused, and so is a secret of 1 or p − 1 (SP 800-56A §5.7.1.1), which no
/// good key gives.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn derive(key: &FfdhKey, work: &Work<'_>) -> Status {
    let mut private = [0; MODULUS_BYTES_MAX];
    let value = &mut private[..key.modulus.bytes];
    // SAFETY: the checks gave the source a modulus' bytes.
    unsafe { Cursor::new(work.source).gather(value.as_mut_ptr(), value.len()) };
    let status = agree(key, value);
    if status != Status::Ok {
        value.zeroize();
        super::forget_errors();
    }
    // SAFETY: the checks gave the destination as many.
    unsafe { Cursor::new(work.destination).scatter(value.as_ptr(), value.len()) };
    value.zeroize();
    status
}

/// Puts the secret in the place of the peer's public value.
fn agree(key: &FfdhKey, value: &mut [u8]) -> Status {
    let Some(peer) = Number::from_big_endian(value) else {
        return Status::BackendFailed;
    };
    if !key.modulus.has(&peer) {
        return Status::InvalidInput;
    }
    match key.power(&peer) {
        Some(secret) if !key.modulus.has(&secret) => Status::InvalidInput,
        Some(secret) if secret.write_big_endian(value) => Status::Ok,
        _ => Status::BackendFailed,
    }
}
