//! Memory for what the library keeps: on cache lines, wiped before it goes.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use zeroize::Zeroize;

/// Zeroed bytes on a cache line of their own.
pub(super) struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: plain bytes with one owner.
unsafe impl Send for Memory {}

impl Memory {
    /// `None` for no bytes, too many, or no memory.
    pub(super) fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes, 64).ok()?;
        if bytes == 0 {
            return None;
        }
        // SAFETY: the layout has bytes.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self { start, layout })
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: ours alone, allocated with this layout; any bytes will do
        // for bytes.
        unsafe {
            std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()).zeroize();
            dealloc(self.start.as_ptr(), self.layout);
        }
    }
}
