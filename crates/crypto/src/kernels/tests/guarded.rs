//! Memory between two pages that cannot be touched.

use crate::Segment;

const PAGE_BYTES: usize = 4096;

/// Bytes that end where the page behind begins, or begin where the page
/// before ends.
pub(crate) struct Guarded {
    map: *mut u8,
    map_bytes: usize,
    segment: Segment,
}

impl Guarded {
    pub fn new(len: usize, at_the_end: bool) -> Self {
        let inner = len.next_multiple_of(PAGE_BYTES);
        let map_bytes = inner + 2 * PAGE_BYTES;
        // SAFETY: a new mapping of our own.
        let map = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                map_bytes,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(map, libc::MAP_FAILED, "no memory for a test");
        let map = map.cast::<u8>();
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: pages inside that mapping.
        let opened = unsafe { libc::mprotect(map.add(PAGE_BYTES).cast(), inner, writable) };
        assert_eq!(opened, 0);
        let start = if at_the_end { inner - len } else { 0 };
        let segment = Segment::new(map.wrapping_add(PAGE_BYTES + start), len);
        Self {
            map,
            map_bytes,
            segment,
        }
    }

    pub fn filled(self, with: &[u8]) -> Self {
        assert_eq!(with.len(), self.segment.len);
        // SAFETY: the segment is ours and has these bytes.
        unsafe {
            self.segment
                .address
                .copy_from_nonoverlapping(with.as_ptr(), with.len())
        };
        self
    }

    pub fn segment(&self) -> Segment {
        self.segment
    }

    pub fn bytes(&self) -> Vec<u8> {
        // SAFETY: the segment is ours, and zeros at first.
        unsafe { std::slice::from_raw_parts(self.segment.address, self.segment.len) }.to_vec()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`.
        unsafe { libc::munmap(self.map.cast(), self.map_bytes) };
    }
}
