//! Asking for cache lines before they are needed: what another core has just
//! written takes a trip between the cores to read.

#[cfg(all(target_arch = "x86_64", not(loom)))]
pub(crate) fn prefetch<T>(item: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    let begin = std::ptr::from_ref(item).cast::<i8>();
    for line in (0..size_of::<T>()).step_by(64) {
        // SAFETY: a hint without effect on memory; any address is allowed.
        unsafe { _mm_prefetch(begin.wrapping_add(line), _MM_HINT_T0) };
    }
}

/// Asks for every line of an item, to be written: the core that holds it must
/// give it up.
#[cfg(all(target_arch = "x86_64", not(loom)))]
pub(crate) fn prefetch_to_write<T>(item: &T) {
    let begin = std::ptr::from_ref(item).cast::<i8>();
    for line in (0..size_of::<T>()).step_by(64) {
        // The intrinsic means `prefetcht0` unless the whole program is built
        // for newer processors; every 64-bit one takes this instruction.
        // SAFETY: a hint without effect on memory; any address is allowed.
        unsafe {
            std::arch::asm!(
                "prefetchw byte ptr [{}]",
                in(reg) begin.wrapping_add(line),
                options(nostack, preserves_flags)
            );
        }
    }
}

/// No hint elsewhere: the stores themselves are correct without it.
#[cfg(not(all(target_arch = "x86_64", not(loom))))]
pub(crate) fn prefetch_to_write<T>(_item: &T) {}

/// No hint elsewhere: the loads themselves are correct without it.
#[cfg(not(all(target_arch = "x86_64", not(loom))))]
pub(crate) fn prefetch<T>(_item: &T) {}
