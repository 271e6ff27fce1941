//! The kernel's rings in our memory.

use std::any::Any;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::net::xdp::XdpRingOffset;

use super::ring::Shared;
use sys::sync::{AtomicU32, UnsafeCell};

/// What lies in a receive or transmit ring (`struct xdp_desc`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub(super) address: u64,
    pub(super) len: u32,
    pub(super) options: u32,
}

/// A mapped ring; unmapped when both the ring's end and the socket are gone.
#[derive(Debug)]
struct RingMemory {
    start: NonNull<u8>,
    len: usize,
    _socket: Arc<OwnedFd>,
}

// SAFETY: only an address; what lies there is reached as `Shared` describes.
unsafe impl Send for RingMemory {}
// SAFETY: as above.
unsafe impl Sync for RingMemory {}

impl Drop for RingMemory {
    fn drop(&mut self) {
        // SAFETY: exactly what `map` mapped; the pointers into it are kept
        // together with an `Arc` of this.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Maps one ring of a socket whose slots hold `T`.
pub(super) fn map<T: Copy>(
    socket: &Arc<OwnedFd>,
    ring: &XdpRingOffset,
    page_offset: u64,
    entries: u32,
) -> io::Result<Shared<T>> {
    let flags = ring.flags.ok_or(io::ErrorKind::Unsupported)?;
    let slots = usize::try_from(ring.desc).map_err(|_| io::ErrorKind::InvalidData)?;
    let len = slots + entries as usize * size_of::<T>();
    let memory = RingMemory {
        start: map_bytes(socket, len, page_offset)?,
        len,
        _socket: Arc::clone(socket),
    };
    let at = |offset: u64, bytes: usize| {
        let offset = usize::try_from(offset).ok()?;
        let is_inside = offset % bytes == 0 && offset.checked_add(bytes)? <= len;
        // SAFETY: inside the mapping, just checked.
        is_inside.then(|| unsafe { memory.start.add(offset) })
    };
    let index = |offset| at(offset, 4).ok_or(io::ErrorKind::InvalidData);
    let indices = [
        index(ring.producer)?.cast::<AtomicU32>(),
        index(ring.consumer)?.cast::<AtomicU32>(),
        index(flags)?.cast::<AtomicU32>(),
    ];
    let first = at(ring.desc, 8).ok_or(io::ErrorKind::InvalidData)?;
    let slots = first.cast::<UnsafeCell<T>>();
    let memory: Arc<dyn Any + Send + Sync> = Arc::new(memory);
    // SAFETY: all lies inside the mapping, aligned, which `memory` keeps; the
    // kernel gave `entries` slots (integers, so any bytes are a value); the
    // caller makes one end of it, and the kernel is the other.
    Ok(unsafe { Shared::new(indices, slots, entries, memory) })
}

fn map_bytes(socket: &OwnedFd, len: usize, page_offset: u64) -> io::Result<NonNull<u8>> {
    let page_offset = libc::off_t::try_from(page_offset).map_err(io::Error::other)?;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_POPULATE,
            socket.as_raw_fd(),
            page_offset,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(NonNull::new(start.cast()).expect("mmap never maps page 0 unasked"))
}
