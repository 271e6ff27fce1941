//! Memory shared between threads (later: processes and guests), reached only
//! by copying: no reference is ever made to bytes that another party writes.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, SealFlags};

/// Mapped memory, page-aligned, unmapped on drop: this process's own, or shared with
/// others.
#[derive(Debug)]
pub struct Mapping {
    address: NonNull<u8>,
    len: usize,
    is_shared: bool,
}

/// Memory to share, as [`Mapping::shared`] takes it: `len` zeroed bytes that cannot
/// be shortened.
///
/// # Errors
/// From `memfd_create(2)` and what makes it so.
pub fn sealed(len: usize) -> io::Result<OwnedFd> {
    memory(len, SealFlags::SHRINK)
}

fn memory(len: usize, seals: SealFlags) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = rustix::fs::memfd_create(c"lockgate", flags)?;
    rustix::fs::ftruncate(&memory, len as u64)?;
    rustix::fs::fcntl_add_seals(&memory, seals)?;
    Ok(memory)
}

#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    #[error(
        "the memory's owner can shorten it: make it with `memfd_create` and seal it with `F_SEAL_SHRINK` (QEMU: `memory-backend-memfd,seal=on`)"
    )]
    Unsealed,
    #[error("the memory has {file_bytes} bytes, which is less than the {len} to be mapped")]
    TooShort { len: usize, file_bytes: u64 },
    #[error("the memory cannot be mapped")]
    Io(#[from] io::Error),
}

// SAFETY: the mapping is only an address; its bytes are reached by copies
// through raw pointers, whose races are the callers' protocol.
unsafe impl Send for Mapping {}
// SAFETY: as above; no method hands out a reference to the bytes.
unsafe impl Sync for Mapping {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bytes {offset}..{offset}+{len} lie outside a region of {region_bytes} bytes")]
pub struct OutOfBounds {
    pub offset: usize,
    pub len: usize,
    pub region_bytes: usize,
}

impl Mapping {
    /// Zeroed memory of this process alone: `len` bytes. Touches every page, so that no fault disturbs a
    /// measurement later. Asks for huge pages where the kernel gives them.
    ///
    /// # Errors
    /// No memory, or `len` is 0.
    pub fn new(len: usize) -> io::Result<Self> {
        let mapping = Self::map(len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        let address = mapping.address.as_ptr();
        // SAFETY: the whole mapping is ours; advice cannot harm.
        unsafe { libc::madvise(address.cast(), len, libc::MADV_HUGEPAGE) };
        // SAFETY: the whole mapping is writable and not shared yet.
        unsafe { std::ptr::write_bytes(address, 0, len) };
        Ok(mapping)
    }

    /// Memory of this process alone: `len` zeroed bytes without pages, so that the
    /// first touch of each is a fault. Pages are never huge ones.
    ///
    /// # Errors
    /// No memory, or `len` is 0.
    pub fn untouched(len: usize) -> io::Result<Self> {
        let mapping = Self::map(len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        // SAFETY: the whole mapping is ours; advice cannot harm. A kernel without huge
        // pages refuses it, and needs none.
        unsafe { libc::madvise(mapping.address.as_ptr().cast(), len, libc::MADV_NOHUGEPAGE) };
        Ok(mapping)
    }

    /// Gives every page back to the kernel: the next touch of each is a fault again, and
    /// finds zeros. For memory of this process alone.
    ///
    /// # Errors
    /// From `madvise(2)`; `EINVAL` also for shared memory, whose bytes are others', too.
    pub fn give_pages_back(&self) -> io::Result<()> {
        if self.is_shared {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let address = self.address.as_ptr().cast();
        // SAFETY: the whole mapping is ours and stays mapped; there is no reference to
        // its bytes, and at their address are zeros then, which are bytes as well.
        match unsafe { libc::madvise(address, self.len, libc::MADV_DONTNEED) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Memory shared with other holders of that descriptor: its first `len` bytes. It
    /// must not be possible to shorten it: memory of `memfd_create` with the seal
    /// `F_SEAL_SHRINK` (memfd_create(2), fcntl(2)).
    pub fn shared(memory: BorrowedFd<'_>, len: usize) -> Result<Self, ShareError> {
        Self::shared_at(memory, 0, len)
    }

    /// The same, from byte `offset` on, which is a multiple of the page size.
    pub fn shared_at(memory: BorrowedFd<'_>, offset: u64, len: usize) -> Result<Self, ShareError> {
        // Fails for what cannot be sealed.
        let seals = rustix::fs::fcntl_get_seals(memory).unwrap_or(SealFlags::empty());
        if !seals.contains(SealFlags::SHRINK) {
            return Err(ShareError::Unsealed);
        }
        // After the seals, so that the size seen is the size that stays.
        let status = rustix::fs::fstat(memory).map_err(io::Error::from)?;
        let file_bytes = u64::try_from(status.st_size).unwrap_or(0);
        let end = offset.checked_add(len as u64);
        if end.is_none_or(|end| end > file_bytes) {
            let file_bytes = file_bytes.saturating_sub(offset);
            return Err(ShareError::TooShort { len, file_bytes });
        }
        let file = (memory.as_raw_fd(), offset);
        Ok(Self::map_at(len, libc::MAP_SHARED, file)?)
    }

    /// The first `len` bytes of a file of this program's own, shared with whoever opens
    /// it after this process. Who shortens it ends this process: only for files that
    /// nobody else may write.
    pub fn own_file(file: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        Self::map_at(len, libc::MAP_SHARED, (file.as_raw_fd(), 0))
    }

    fn map(len: usize, flags: i32, file: i32) -> io::Result<Self> {
        Self::map_at(len, flags, (file, 0))
    }

    fn map_at(len: usize, flags: i32, (file, offset): (i32, u64)) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let offset = libc::off_t::try_from(offset);
        let offset = offset.map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        let nowhere = std::ptr::null_mut();
        // SAFETY: a mapping at an address the kernel chooses.
        let address = unsafe { libc::mmap(nowhere, len, protection, flags, file, offset) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = NonNull::new(address.cast::<u8>()).expect("mmap never maps page 0 unasked");
        Ok(Self {
            address,
            len,
            is_shared: flags & libc::MAP_SHARED != 0,
        })
    }

    /// Whether other processes can read and write it.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Always `false`: a mapping has at least one byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of a range, for a caller that keeps the mapping alive meanwhile.
    pub fn address(&self, offset: usize, len: usize) -> Result<*mut u8, OutOfBounds> {
        let end = offset.checked_add(len);
        if end.is_none_or(|end| end > self.len) {
            return Err(OutOfBounds {
                offset,
                len,
                region_bytes: self.len,
            });
        }
        Ok(self.address.as_ptr().wrapping_add(offset))
    }

    /// Two bytes as one number that others may change; `offset` is even.
    ///
    /// # Errors
    /// [`OutOfBounds`], also for an odd address.
    pub fn number(&self, offset: usize) -> Result<&AtomicU16, OutOfBounds> {
        let address = self.address(offset, 2)?;
        if !address.addr().is_multiple_of(2) {
            return Err(OutOfBounds {
                offset,
                len: 2,
                region_bytes: self.len,
            });
        }
        // SAFETY: it lies in the mapping, which is borrowed; it is aligned; atomics
        // may be shared.
        Ok(unsafe { AtomicU16::from_ptr(address.cast()) })
    }

    /// Copies bytes out.
    ///
    /// # Errors
    /// [`OutOfBounds`]; nothing is copied.
    pub fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), OutOfBounds> {
        let from = self.address(offset, into.len())?;
        let (head, words) = split(from, into.len());
        for (index, byte) in into[..head].iter_mut().enumerate() {
            *byte = byte_at(from.wrapping_add(index)).load(Ordering::Relaxed);
        }
        let (middle, tail) = into[head..].split_at_mut(words * WORD);
        for (index, word) in middle.chunks_exact_mut(WORD).enumerate() {
            let value = word_at(from.wrapping_add(head + index * WORD)).load(Ordering::Relaxed);
            word.copy_from_slice(&value.to_ne_bytes());
        }
        for (index, byte) in tail.iter_mut().enumerate() {
            *byte = byte_at(from.wrapping_add(head + words * WORD + index)).load(Ordering::Relaxed);
        }
        Ok(())
    }

    /// Copies bytes in.
    ///
    /// # Errors
    /// [`OutOfBounds`]; nothing is copied.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), OutOfBounds> {
        let to = self.address(offset, bytes.len())?;
        let (head, words) = split(to, bytes.len());
        for (index, byte) in bytes[..head].iter().enumerate() {
            byte_at(to.wrapping_add(index)).store(*byte, Ordering::Relaxed);
        }
        let (middle, tail) = bytes[head..].split_at(words * WORD);
        for (index, word) in middle.chunks_exact(WORD).enumerate() {
            let value = u64::from_ne_bytes(word.try_into().expect("eight bytes"));
            word_at(to.wrapping_add(head + index * WORD)).store(value, Ordering::Relaxed);
        }
        for (index, byte) in tail.iter().enumerate() {
            byte_at(to.wrapping_add(head + words * WORD + index)).store(*byte, Ordering::Relaxed);
        }
        Ok(())
    }
}

const WORD: usize = 8;

/// Bytes before the first aligned word of a range, and whole words after it.
fn split(address: *mut u8, len: usize) -> (usize, usize) {
    let head = (address.addr().wrapping_neg() % WORD).min(len);
    (head, (len - head) / WORD)
}

/// A byte of a mapping, which other processes may write: copies are atomic byte by
/// byte or word by word, so that a race gives torn data and nothing worse.
fn byte_at<'m>(address: *mut u8) -> &'m AtomicU8 {
    // SAFETY: called only for bytes of ranges that `Mapping::address` checked,
    // while the mapping is borrowed; atomics may be shared.
    unsafe { AtomicU8::from_ptr(address) }
}

fn word_at<'m>(address: *mut u8) -> &'m AtomicU64 {
    // SAFETY: as above, and `split` aligned the address.
    unsafe { AtomicU64::from_ptr(address.cast()) }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` mapped; owners of raw addresses into it
        // hold the mapping alive (an `Arc`) while they use them.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.len) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn copies_every_alignment_and_length() {
        let mapping = Mapping::new(4096).unwrap();
        for offset in 0..17 {
            for len in 0..40 {
                let bytes: Vec<u8> = (0..len).map(|index| (index * 7 + offset) as u8).collect();
                mapping.write(offset, &[0xee; 64]).unwrap();
                mapping.write(offset, &bytes).unwrap();
                let mut got = vec![0; len + 1];
                mapping.read(offset, &mut got).unwrap();
                assert_eq!(
                    (&got[..len], got[len]),
                    (&bytes[..], 0xee),
                    "{len} at {offset}"
                );
            }
        }
    }

    #[test]
    fn memory_that_can_be_shortened_is_refused() {
        for seals in [SealFlags::empty(), SealFlags::GROW] {
            let refused = Mapping::shared(memory(8192, seals).unwrap().as_fd(), 4096);
            testing::assert_matches!(refused, Err(ShareError::Unsealed));
        }
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let refused = Mapping::shared(file.as_fd(), 4096);
        testing::assert_matches!(refused, Err(ShareError::Unsealed));
        let sealed = sealed(8192).unwrap();
        let refused = Mapping::shared(sealed.as_fd(), 8193);
        testing::assert_matches!(
            refused,
            Err(ShareError::TooShort {
                file_bytes: 8192,
                ..
            })
        );
        let (one, other) = [4096, 8192]
            .map(|len| Mapping::shared(sealed.as_fd(), len))
            .into();
        let (one, other) = (one.unwrap(), other.unwrap());
        assert!(one.is_shared() && !Mapping::new(1).unwrap().is_shared());
        one.write(100, b"seen").unwrap();
        let mut seen = [0; 4];
        other.read(100, &mut seen).unwrap();
        assert_eq!(&seen, b"seen");
    }

    #[test]
    fn pages_given_back_are_faults_and_zeros() {
        let pages = 16;
        let mapping = Mapping::untouched(pages * 4096).unwrap();
        for _ in 0..2 {
            let before = crate::usage::thread_usage().minor_faults;
            for page in 0..pages {
                let mut byte = [1];
                mapping.read(page * 4096, &mut byte).unwrap();
                assert_eq!(byte, [0]);
                mapping.write(page * 4096, &[7]).unwrap();
            }
            let faults = crate::usage::thread_usage().minor_faults - before;
            assert!(faults >= 16, "{faults}");
            mapping.give_pages_back().unwrap();
        }
        let shared = Mapping::shared(sealed(4096).unwrap().as_fd(), 4096).unwrap();
        assert!(shared.give_pages_back().is_err());
    }

    #[test]
    fn copies_within_bounds_only() {
        let mapping = Mapping::new(10_000).unwrap();
        mapping.write(9_990, &[7; 10]).unwrap();
        let mut bytes = [0; 10];
        mapping.read(9_990, &mut bytes).unwrap();
        assert_eq!(bytes, [7; 10]);
        for (offset, len) in [(9_991, 10), (10_001, 0), (usize::MAX, 2)] {
            assert!(mapping.address(offset, len).is_err());
        }
        assert!(Mapping::new(0).is_err());
    }
}
