//! Memory shared between threads (later: processes and guests), reached only
//! by copying: no reference is ever made to bytes that another party writes.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, SealFlags};

use crate::fault::Guard;

/// Mapped memory, page-aligned, unmapped on drop: this process's own, or shared with
/// others.
#[derive(Debug)]
pub struct Mapping {
    address: NonNull<u8>,
    len: usize,
    /// As mapped: whole pages, which may be huge ones.
    mapped_bytes: usize,
    /// Memory that others can take away has one.
    guard: Option<Guard>,
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

/// The same, which whoever holds it can shorten.
///
/// # Errors
/// From `memfd_create(2)`.
pub fn unsealed(len: usize) -> io::Result<OwnedFd> {
    memory(len, SealFlags::empty())
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
        "the file is neither in memory nor on hugetlbfs, so that a touch could wait for its file system: take `memory-backend-memfd`, or a file in /dev/shm or on hugetlbfs"
    )]
    NoMemory,
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

    /// Memory shared with other holders of that descriptor: its first `len` bytes, which
    /// are in memory (`memfd_create`, a file on tmpfs or hugetlbfs): a touch waits for no
    /// other file system.
    ///
    /// Whoever holds it can shorten it, or punch holes that cannot be filled again. Then
    /// this mapping [is lost](Self::is_lost), and nothing else happens.
    ///
    /// # Errors
    /// [`ShareError`].
    pub fn shared(memory: BorrowedFd<'_>, len: usize) -> Result<Self, ShareError> {
        Self::shared_at(memory, 0, len)
    }

    /// The same, from byte `offset` on, which is a multiple of the page size.
    ///
    /// # Errors
    /// [`ShareError`].
    pub fn shared_at(memory: BorrowedFd<'_>, offset: u64, len: usize) -> Result<Self, ShareError> {
        // Linux knows seals of these files only. It does not ask a file system for them,
        // which fstat(2) would, and one in user space need not answer.
        if rustix::fs::fcntl_get_seals(memory).is_err() {
            return Err(ShareError::NoMemory);
        }
        let status = rustix::fs::fstat(memory).map_err(io::Error::from)?;
        let file_bytes = u64::try_from(status.st_size).unwrap_or(0);
        let end = offset.checked_add(len as u64);
        if end.is_none_or(|end| end > file_bytes) {
            let file_bytes = file_bytes.saturating_sub(offset);
            return Err(ShareError::TooShort { len, file_bytes });
        }
        let page_bytes = page_bytes(memory)?;
        let file = (memory.as_raw_fd(), offset);
        // Huge pages that are not there when they are touched are such a loss, too.
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        let mut mapping = Self::map_at(len, flags, file)?;
        mapping.keep(page_bytes);
        Ok(mapping)
    }

    /// The first `len` bytes of a file of this program's own, shared with whoever opens
    /// it after this process. A disk without room for them, and who shortens the file,
    /// makes it [lost](Self::is_lost).
    ///
    /// # Errors
    /// From `mmap(2)`.
    pub fn own_file(file: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        let mut mapping = Self::map_at(len, libc::MAP_SHARED, (file.as_raw_fd(), 0))?;
        mapping.keep(PAGE_BYTES);
        Ok(mapping)
    }

    /// Survives faults from now on.
    fn keep(&mut self, page_bytes: usize) {
        self.mapped_bytes = self.len.next_multiple_of(page_bytes);
        let begin = self.address.as_ptr().addr();
        self.guard = Some(Guard::new(begin, self.mapped_bytes, page_bytes));
    }

    /// Whether another party took memory away that was touched: what lies there now are
    /// bytes of this process's own, zero at first, which nobody else sees.
    #[inline]
    pub fn is_lost(&self) -> bool {
        self.guard.as_ref().is_some_and(Guard::is_lost)
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
            mapped_bytes: len,
            guard: None,
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

    /// How many bytes of the pages that these bytes lie in are not in memory: a touch would
    /// have the kernel make or fetch them. It is 0 where that cannot be told.
    ///
    /// # Panics
    /// When the bytes lie outside the mapping.
    pub fn absent_bytes(&self, offset: usize, len: usize) -> u64 {
        const AT_ONCE: usize = 1024;
        let begin = offset / PAGE_BYTES * PAGE_BYTES;
        let address = self.address(offset, len).expect("within the mapping");
        let mut at = address.wrapping_sub(offset - begin);
        let mut left = (offset - begin + len).div_ceil(PAGE_BYTES);
        let (mut there, mut absent) = ([0_u8; AT_ONCE], 0);
        while left > 0 {
            let pages = left.min(AT_ONCE);
            // SAFETY: whole pages of the mapping, which is as long in pages; one byte
            // for each of them.
            let told = unsafe { libc::mincore(at.cast(), pages * PAGE_BYTES, there.as_mut_ptr()) };
            if told != 0 {
                return 0;
            }
            absent += there[..pages].iter().filter(|one| **one & 1 == 0).count();
            at = at.wrapping_add(pages * PAGE_BYTES);
            left -= pages;
        }
        (absent * PAGE_BYTES) as u64
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

    /// The numbers, within this process, of the pages that these bytes lie in.
    ///
    /// # Panics
    /// When they do not lie in the mapping.
    pub fn pages(&self, offset: usize, len: usize) -> std::ops::Range<u64> {
        let address = self.address(offset, len).expect("within the mapping");
        let begin = address.addr();
        let end = (begin + len).div_ceil(PAGE_BYTES);
        (begin / PAGE_BYTES) as u64..end as u64
    }

    /// Reads a byte of each page, so that pages which are on their way are waited for here.
    ///
    /// # Errors
    /// [`OutOfBounds`]; nothing is read.
    pub fn touch(&self, offset: usize, len: usize) -> Result<(), OutOfBounds> {
        let from = self.address(offset, len)?;
        let (mut at, mut read) = (0, 0);
        while at < len {
            read |= byte_at(from.wrapping_add(at)).load(Ordering::Relaxed);
            at = (offset + at + 1).next_multiple_of(PAGE_BYTES) - offset;
        }
        std::hint::black_box(read);
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

/// The size of the pages that a file in memory is mapped by. It is hugetlbfs's alone that
/// matters: tmpfs says 2 MiB of its blocks where it likes huge pages, and maps any page.
fn page_bytes(memory: BorrowedFd<'_>) -> io::Result<usize> {
    let system = rustix::fs::fstatfs(memory)?;
    let is_huge = system.f_type == HUGETLBFS;
    let huge_bytes = usize::try_from(system.f_bsize).ok().filter(|_| is_huge);
    Ok(huge_bytes.unwrap_or(PAGE_BYTES))
}

/// `HUGETLBFS_MAGIC`, statfs(2).
const HUGETLBFS: i64 = 0x958458f6;

const WORD: usize = 8;

/// The size of a page that is not a huge one.
const PAGE_BYTES: usize = 4096;

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
        // Before its addresses can be somebody else's.
        self.guard = None;
        // SAFETY: exactly what `new` mapped; owners of raw addresses into it
        // hold the mapping alive (an `Arc`) while they use them.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.mapped_bytes) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
