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
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn each_page_is_touched_once_and_none_beyond() {
        let (mapping, _file) = unsealed(8 * PAGE_BYTES);
        let there = || 8 * PAGE_BYTES - mapping.absent_bytes(0, 8 * PAGE_BYTES) as usize;
        for (offset, len, pages) in [
            (PAGE_BYTES, 0, 0),
            (PAGE_BYTES, 1, 1),
            (2 * PAGE_BYTES - 1, 1, 1),
            (2 * PAGE_BYTES - 1, 2, 2),
            (4 * PAGE_BYTES - 1, PAGE_BYTES + 2, 5),
        ] {
            mapping.touch(offset, len).unwrap();
            assert_eq!(there(), pages * PAGE_BYTES, "{offset} {len}");
            let begin = mapping.pages(0, 1).start + (offset / PAGE_BYTES) as u64;
            let end = begin + (offset % PAGE_BYTES + len).div_ceil(PAGE_BYTES) as u64;
            assert_eq!(mapping.pages(offset, len), begin..end);
        }
        assert!(mapping.touch(8 * PAGE_BYTES - 1, 2).is_err());
    }

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
    fn files_that_are_not_memory_and_short_ones_are_refused() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let refused = Mapping::shared(file.as_fd(), 4096);
        testing::assert_matches!(refused, Err(ShareError::NoMemory));
        for seals in [SealFlags::empty(), SealFlags::SHRINK] {
            let memory = memory(8192, seals).unwrap();
            let refused = Mapping::shared(memory.as_fd(), 8193);
            testing::assert_matches!(
                refused,
                Err(ShareError::TooShort {
                    file_bytes: 8192,
                    ..
                })
            );
            let (one, other) = [4096, 8192]
                .map(|len| Mapping::shared(memory.as_fd(), len))
                .into();
            let (one, other) = (one.unwrap(), other.unwrap());
            assert!(one.is_shared() && !Mapping::new(1).unwrap().is_shared());
            one.write(100, b"seen").unwrap();
            let mut seen = [0; 4];
            other.read(100, &mut seen).unwrap();
            assert_eq!(&seen, b"seen");
        }
    }

    /// Memory without one seal, and its file.
    fn unsealed(len: usize) -> (Mapping, OwnedFd) {
        let memory = super::unsealed(len).expect("a file in memory");
        let mapping = Mapping::shared(memory.as_fd(), len).expect("it is mapped");
        (mapping, memory)
    }

    #[test]
    fn memory_that_is_taken_away_is_lost_and_nothing_else_is() {
        let pages = 8;
        let (lost, file) = unsealed(pages * PAGE_BYTES);
        let (kept, _kept_file) = unsealed(pages * PAGE_BYTES);
        kept.write(0, b"kept").unwrap();
        lost.write(0, b"gone").unwrap();
        let told = crate::event::Event::new().unwrap();
        crate::fault::tell(Some(told.as_fd()));
        rustix::fs::ftruncate(&file, 0).unwrap();
        std::thread::scope(|scope| {
            for page in 0..pages {
                let lost = &lost;
                scope.spawn(move || {
                    let mut bytes = [1; 4];
                    lost.read(page * PAGE_BYTES + 8, &mut bytes).unwrap();
                    assert_eq!(bytes, [0; 4]);
                    lost.write(page * PAGE_BYTES, b"mine").unwrap();
                });
            }
        });
        assert!(told.clear());
        crate::fault::tell(None);
        let mut bytes = [0; 4];
        kept.read(0, &mut bytes).unwrap();
        assert_eq!(
            (&bytes, lost.is_lost(), kept.is_lost()),
            (b"kept", true, false)
        );
        // Its place in the list is another's now, which is whole.
        drop(lost);
        let (next, _next_file) = unsealed(PAGE_BYTES);
        next.write(0, b"next").unwrap();
        assert!(!next.is_lost());
    }

    #[test]
    fn more_mappings_than_a_block_of_the_list_are_each_guarded() {
        let mut all: Vec<_> = (0..200).map(|_| unsealed(PAGE_BYTES)).collect();
        // Every second place is given back and taken anew.
        all = all.into_iter().step_by(2).collect();
        all.extend((0..100).map(|_| unsealed(2 * PAGE_BYTES)));
        for (index, (mapping, file)) in all.iter().enumerate() {
            if index % 3 == 0 {
                rustix::fs::ftruncate(file, 0).unwrap();
            }
            mapping.read(0, &mut [0; 8]).unwrap();
        }
        let lost = all.iter().enumerate();
        assert!(
            lost.into_iter()
                .all(|(index, one)| one.0.is_lost() == (index % 3 == 0))
        );
    }

    #[test]
    fn huge_pages_that_are_not_there_are_lost() {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB;
        let huge = match rustix::fs::memfd_create(c"lockgate-huge", flags) {
            Ok(huge) => huge,
            Err(error) => return testing::skipped(format!("no huge pages: {error}")),
        };
        let bytes = 64 << 30;
        rustix::fs::ftruncate(&huge, bytes as u64).unwrap();
        // The end is not that of a huge page: the whole is given back all the same.
        let mapping = Mapping::shared(huge.as_fd(), bytes - 5).unwrap();
        let last = mapping.mapped_bytes - (2 << 20);
        assert_eq!(mapping.mapped_bytes, bytes);
        // Where the machine has some, the first may be there.
        for at in [0, last, last - 123] {
            mapping.write(at, &[1; 100]).unwrap();
        }
        let pool = std::fs::read_to_string("/proc/sys/vm/nr_hugepages").unwrap();
        assert!(mapping.is_lost() || pool.trim() != "0");
    }

    /// A mapping ends where it ends, also on a file system that likes huge pages.
    #[test]
    fn a_mapping_that_goes_takes_no_neighbour_with_it() {
        if !rustix::process::geteuid().is_root() {
            return testing::skipped("a mount needs root");
        }
        let own = std::thread::spawn(|| {
            let folder = tempfile::tempdir().unwrap();
            let Some(path) = mounted(folder.path(), c"size=8m,huge=always") else {
                return;
            };
            let file = std::fs::File::options()
                .read(true)
                .write(true)
                .create_new(true)
                .open(folder.path().join("memory"))
                .unwrap();
            let bytes = 3 * PAGE_BYTES;
            file.set_len(bytes as u64).unwrap();
            let mapping = Mapping::shared(file.as_fd(), bytes).unwrap();
            assert_eq!(mapping.mapped_bytes, bytes);
            let huge = rustix::fs::fstat(&file).unwrap().st_blksize;
            if huge <= PAGE_BYTES as i64 {
                testing::left_out("this kernel's tmpfs has no huge pages");
            }
            drop((mapping, file));
            // SAFETY: unmounted once its users are gone, as a path that ends.
            unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
        });
        own.join().unwrap();
    }

    /// A tmpfs of this thread alone, there; skips visibly where it cannot be.
    fn mounted(folder: &std::path::Path, options: &std::ffi::CStr) -> Option<std::ffi::CString> {
        let folder = folder.to_str().expect("a temporary folder's name is text");
        let path = std::ffi::CString::new(folder).expect("a path has no zero");
        let none = std::ptr::null();
        // SAFETY: strings that end; what is mounted goes with the thread's namespace.
        let is_mounted = unsafe {
            libc::unshare(libc::CLONE_NEWNS | libc::CLONE_FS) == 0
                && libc::mount(
                    none,
                    c"/".as_ptr(),
                    none,
                    libc::MS_REC | libc::MS_PRIVATE,
                    none.cast(),
                ) == 0
                && libc::mount(
                    c"none".as_ptr(),
                    path.as_ptr(),
                    c"tmpfs".as_ptr(),
                    0,
                    options.as_ptr().cast(),
                ) == 0
        };
        if !is_mounted {
            let error = io::Error::last_os_error();
            testing::skipped(format!("no mount here: {error}"));
        }
        is_mounted.then_some(path)
    }

    #[test]
    fn a_file_system_in_memory_that_is_full_and_a_poisoned_page_are_lost() {
        if !rustix::process::geteuid().is_root() {
            return testing::skipped("a mount and a poisoned page need root");
        }
        // Of this thread alone.
        let own = std::thread::spawn(|| {
            let folder = tempfile::tempdir().unwrap();
            let Some(path) = mounted(folder.path(), c"size=8k") else {
                return;
            };
            let file = std::fs::File::options()
                .read(true)
                .write(true)
                .create_new(true)
                .open(folder.path().join("memory"))
                .unwrap();
            file.set_len(1 << 20).unwrap();
            let mapping = Mapping::shared(file.as_fd(), 1 << 20).unwrap();
            for page in 0..2 {
                mapping.write(page * PAGE_BYTES, &[7]).unwrap();
            }
            assert!(!mapping.is_lost());
            mapping.read(2 * PAGE_BYTES, &mut [0]).unwrap();
            assert!(mapping.is_lost());
            // SAFETY: unmounted once its users are gone, as a path that ends.
            unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
        });
        own.join().unwrap();
        if std::env::var_os("LOCKGATE_THOROUGH").is_none() {
            return testing::left_out("a poisoned page, which this machine loses until it boots");
        }
        let (mapping, _file) = unsealed(PAGE_BYTES);
        mapping.write(0, b"poison").unwrap();
        let address = mapping.address.as_ptr().cast();
        // SAFETY: a page of this test's own.
        if unsafe { libc::madvise(address, PAGE_BYTES, libc::MADV_HWPOISON) } != 0 {
            let error = io::Error::last_os_error();
            return testing::left_out(format!("pages cannot be poisoned here: {error}"));
        }
        mapping.read(0, &mut [0; 8]).unwrap();
        assert!(mapping.is_lost());
    }

    #[test]
    fn a_fault_elsewhere_ends_the_process_as_ever() {
        const VARIABLE: &str = "LOCKGATE_SYS_FAULTS_ELSEWHERE";
        if std::env::var_os(VARIABLE).is_some() {
            let (guarded, _file) = unsealed(PAGE_BYTES);
            guarded.write(0, &[1]).unwrap();
            let file = memory(PAGE_BYTES, SealFlags::empty()).unwrap();
            let raw = (file.as_raw_fd(), 0);
            let unguarded = Mapping::map_at(PAGE_BYTES, libc::MAP_SHARED, raw).unwrap();
            rustix::fs::ftruncate(&file, 0).unwrap();
            unguarded.read(0, &mut [0; 8]).unwrap();
            unreachable!("the touch ended the process");
        }
        let name = "memory::tests::a_fault_elsewhere_ends_the_process_as_ever";
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact"])
            .env(VARIABLE, "1")
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!(signal, Some(libc::SIGBUS), "{status}");
    }

    #[test]
    fn pages_that_are_not_there_are_told_and_not_made() {
        let pages = 3000;
        let (mapping, _file) = unsealed(pages * PAGE_BYTES);
        let all = pages * PAGE_BYTES;
        assert_eq!(mapping.absent_bytes(0, all), all as u64);
        assert_eq!(mapping.absent_bytes(0, all), all as u64);
        mapping.write(5 * PAGE_BYTES, &[1]).unwrap();
        assert_eq!(mapping.absent_bytes(1, all - 1), (all - PAGE_BYTES) as u64);
        assert_eq!(mapping.absent_bytes(5 * PAGE_BYTES + 9, 4000), 0);
        assert_eq!(mapping.absent_bytes(5 * PAGE_BYTES - 1, 2), 4096);
        assert_eq!(mapping.absent_bytes(all, 0), 0);
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
