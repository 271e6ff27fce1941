//! Asking for cache lines before they are needed: what another core has just
//! written takes a trip between the cores to read.

/// Asks for every line of an item.
#[cfg(all(target_arch = "x86_64", not(loom)))]
pub(crate) fn prefetch<T>(item: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    let begin = std::ptr::from_ref(item).cast::<i8>();
    for line in (0..size_of::<T>()).step_by(64) {
        // SAFETY: a hint without effect on memory; any address is allowed.
        unsafe { _mm_prefetch(begin.wrapping_add(line), _MM_HINT_T0) };
    }
}

/// No hint elsewhere: the loads themselves are correct without it.
#[cfg(not(all(target_arch = "x86_64", not(loom))))]
pub(crate) fn prefetch<T>(_item: &T) {}
