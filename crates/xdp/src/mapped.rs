//! A program's global data in our memory.
#![allow(unsafe_code, reason = "maps memory, and names what lies there")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Memory that programs read and write as well: nothing but atomics.
#[derive(Debug)]
pub(crate) struct Mapped {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: an address, and what lies there is reached by atomics only.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    pub fn new(map: BorrowedFd<'_>, bytes: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address that the kernel chooses; it refuses more
        // than the map has.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                map.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).expect("mmap never maps page 0 unasked");
        Ok(Self { start, bytes })
    }

    /// The number at this byte.
    ///
    /// # Panics
    /// Beyond the end, and where it would lie across words.
    pub fn number(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at + 8 <= self.bytes, "{at}");
        // SAFETY: inside the mapping and aligned, just checked, as a mapping begins with
        // a page; any bytes are a number; it lives as long as `self`.
        unsafe { self.start.add(at).cast().as_ref() }
    }

    /// `count` numbers from this byte on.
    ///
    /// # Panics
    /// As [`number`](Self::number).
    pub fn words(&self, at: usize, count: usize) -> &[AtomicU32] {
        assert!(at.is_multiple_of(4) && at + 4 * count <= self.bytes, "{at}");
        // SAFETY: as in `number`.
        unsafe { NonNull::slice_from_raw_parts(self.start.add(at).cast(), count).as_ref() }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` mapped.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
