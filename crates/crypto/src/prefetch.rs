//! Memory asked for before it is needed, so that the misses of a batch overlap; and in
//! pages that miss less.

#![allow(
    unsafe_code,
    reason = "an instruction and a call that have no safe form"
)]

use std::mem::MaybeUninit;

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

/// Asks the kernel for huge pages where such memory lies, before it is used: a table that
/// is read all over misses the translation of its addresses, too. Nothing comes of it where
/// the kernel has none.
pub fn prefer_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    const PAGE_BYTES: usize = 4096;
    let start = memory.as_mut_ptr().cast::<u8>();
    let skip = start.align_offset(PAGE_BYTES);
    let bytes = size_of_val(memory).saturating_sub(skip) / PAGE_BYTES * PAGE_BYTES;
    if bytes > 0 {
        // SAFETY: whole pages of memory that is ours; what they hold stays as it is.
        unsafe { libc::madvise(start.wrapping_add(skip).cast(), bytes, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_any_size_may_have_huge_pages() {
        for count in [0, 1, 500, 5000, 1 << 20] {
            let mut memory = Vec::<u64>::with_capacity(count);
            prefer_huge_pages(memory.spare_capacity_mut());
            memory.resize(count, 7);
            assert!(memory.iter().all(|one| *one == 7));
        }
    }

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
