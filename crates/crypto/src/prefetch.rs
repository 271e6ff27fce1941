//! Memory asked for before it is needed, so that the misses of a batch overlap.

#![allow(unsafe_code, reason = "an instruction that has no safe form")]

const LINE_BYTES: usize = 64;
/// Larger values are asked for up to here: a core has ten to sixteen misses at once.
const BYTES_MAX: usize = 1024;

/// Asks for the cache lines of a value; nothing else comes of it. Nothing at all on other
/// CPUs than x86-64.
#[inline]
pub fn prefetch<T: ?Sized>(value: &T) {
    let bytes = size_of_val(value).min(BYTES_MAX);
    let start = std::ptr::from_ref(value).cast::<u8>();
    let skew = start.addr() % LINE_BYTES;
    for line in 0..(skew + bytes).div_ceil(LINE_BYTES) {
        let at = start.wrapping_add((line * LINE_BYTES).saturating_sub(skew));
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 has the instruction, which reads nothing that a program
        // could see and never faults.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(at.cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_value_may_be_asked_for() {
        let bytes = [7_u8; 5000];
        for at in 0..130 {
            prefetch(&bytes[at..]);
            prefetch(&bytes[at..at]);
        }
        prefetch(&());
        prefetch::<dyn Fn() -> u8>(&|| bytes[0]);
        assert_eq!(bytes, [7; 5000]);
    }
}
