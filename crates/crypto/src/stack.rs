//! What calls leave behind on the stack: registers that did not fit, with
//! text and round keys in them, which no code of ours can name.

#![allow(unsafe_code, reason = "writes an array piece by piece")]

use std::mem::MaybeUninit;

/// Bytes zeroed at a time. For twice as many the C library uses an instruction whose
/// start alone takes longer.
const STEP_BYTES: usize = 1024;

/// Zeroes `STEPS` KiB of the stack below the caller's frame, which the functions that
/// it called before have used.
#[inline(never)]
pub(crate) fn wipe_below<const STEPS: usize>() {
    let mut below = MaybeUninit::<[[u8; STEP_BYTES]; STEPS]>::uninit();
    let first = below.as_mut_ptr().cast::<MaybeUninit<[u8; STEP_BYTES]>>();
    for index in 0..STEPS {
        // SAFETY: one of the array's steps, which need no value yet.
        let step = unsafe { &mut *first.add(index) };
        step.write([0; STEP_BYTES]);
        zeroize::optimization_barrier(step);
    }
}
