//! Memory for keys: locked, so that it is never swapped; in no core dump; wiped when freed.
//!
//! Keys are made by several libraries, each with types of its own. So it is not types that
//! say what is secret, but where it is made: what is allocated within [`within`] lies in one
//! arena, if the program has reserved it and uses [`Allocator`]. One arena takes a few
//! mlock(2) calls, and pages of 64 small keys, where one lock a key would take a page each.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Addresses, not memory: pages come with the keys.
const ARENA_BYTES: usize = 256 << 20;
/// So much is locked at a time.
const STEP_BYTES: usize = 64 << 10;
const BLOCK_BYTES_MIN: usize = 64;
/// Blocks of 64 bytes to 64 KiB, by powers of two; what is larger is no key.
const CLASSES: usize = 11;

static BASE: AtomicUsize = AtomicUsize::new(0);
static LOCKED: AtomicU64 = AtomicU64::new(0);
static UNLOCKED: AtomicU64 = AtomicU64::new(0);
static ELSEWHERE: AtomicU64 = AtomicU64::new(0);
static ARENA: Mutex<Arena> = Mutex::new(Arena {
    free: [0; CLASSES],
    used: 0,
    prepared: 0,
});

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The state of the memory for keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    pub locked_bytes: u64,
    /// The limit of locked memory did not reach for these (`RLIMIT_MEMLOCK`).
    pub unlocked_bytes: u64,
    /// Allocations that found no room in the arena.
    pub elsewhere: u64,
}

/// Reserves the arena, once, and raises the limit of locked memory as far as it may be.
///
/// # Errors
/// From `mmap(2)`.
pub fn reserve() -> io::Result<()> {
    let mut arena = arena();
    if BASE.load(Ordering::Relaxed) != 0 {
        return Ok(());
    }
    let Rlimit { maximum, .. } = getrlimit(Resource::Memlock);
    let current = maximum;
    // If it stays, what does not fit is counted.
    let _ = setrlimit(Resource::Memlock, Rlimit { current, maximum });
    let (prot, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
    );
    let null = std::ptr::null_mut();
    // SAFETY: a new mapping, at an address that nobody has.
    let base = unsafe { libc::mmap(null, ARENA_BYTES + STEP_BYTES, prot, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // Every block is aligned to its size.
    let base = (base as usize).next_multiple_of(STEP_BYTES);
    // SAFETY: the mapping is ours alone; the advice changes no byte.
    unsafe { libc::madvise(base as *mut _, ARENA_BYTES, libc::MADV_DONTDUMP) };
    BASE.store(base, Ordering::Release);
    arena.prepare(base, STEP_BYTES);
    Ok(())
}

#[must_use]
pub fn secrets() -> Secrets {
    Secrets {
        locked_bytes: LOCKED.load(Ordering::Relaxed),
        unlocked_bytes: UNLOCKED.load(Ordering::Relaxed),
        elsewhere: ELSEWHERE.load(Ordering::Relaxed),
    }
}

/// What `make` allocates on this thread is secret, for as long as it lives.
pub fn within<T>(make: impl FnOnce() -> T) -> T {
    struct Left;
    impl Drop for Left {
        fn drop(&mut self) {
            DEPTH.set(DEPTH.get() - 1);
        }
    }
    DEPTH.set(DEPTH.get() + 1);
    let _left = Left;
    make()
}

struct Arena {
    /// First free block of each class; its first word is the next one's address.
    free: [usize; CLASSES],
    used: usize,
    /// Bytes that were locked, or could not be.
    prepared: usize,
}

fn arena() -> MutexGuard<'static, Arena> {
    // Nothing in it panics.
    ARENA.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The class of a layout, and the bytes of its blocks.
fn class(layout: Layout) -> Option<(usize, usize)> {
    let bytes = layout.size().max(layout.align()).max(BLOCK_BYTES_MIN);
    let bytes = bytes.checked_next_power_of_two()?;
    let class = (bytes / BLOCK_BYTES_MIN).trailing_zeros() as usize;
    (class < CLASSES).then_some((class, bytes))
}

impl Arena {
    fn take(&mut self, base: usize, layout: Layout) -> Option<NonNull<u8>> {
        let (class, bytes) = class(layout)?;
        let first = self.free[class];
        if first != 0 {
            // SAFETY: a free block is ours alone, and its first word was written by `put`.
            unsafe {
                self.free[class] = (first as *const usize).read();
                (first as *mut usize).write(0);
            }
            return NonNull::new(first as *mut u8);
        }
        let at = self.used.next_multiple_of(bytes);
        let end = at.checked_add(bytes).filter(|end| *end <= ARENA_BYTES)?;
        self.used = end;
        self.prepare(base, end);
        NonNull::new((base + at) as *mut u8)
    }

    fn put(&mut self, address: *mut u8, layout: Layout) {
        let Some((class, bytes)) = class(layout) else {
            return;
        };
        wipe(address, bytes);
        // SAFETY: the block is free, aligned to 64 bytes, and ours alone.
        unsafe { address.cast::<usize>().write(self.free[class]) };
        self.free[class] = address as usize;
    }

    /// Locks the arena up to there.
    fn prepare(&mut self, base: usize, until: usize) {
        while self.prepared < until {
            let step = (base + self.prepared) as *const libc::c_void;
            // SAFETY: the step lies in the arena; to lock it changes no byte.
            let is_locked = unsafe { libc::mlock(step, STEP_BYTES) } == 0;
            let counter = if is_locked { &LOCKED } else { &UNLOCKED };
            counter.fetch_add(STEP_BYTES as u64, Ordering::Relaxed);
            self.prepared += STEP_BYTES;
        }
    }
}

/// So that the compiler does not leave it out.
fn wipe(address: *mut u8, bytes: usize) {
    // SAFETY: the block has so many bytes, and nobody else has it.
    unsafe { std::ptr::write_bytes(address, 0, bytes) };
    // SAFETY: it reads an address and writes nothing; the compiler cannot know that.
    unsafe { std::arch::asm!("/* {0} */", in(reg) address, options(nostack, preserves_flags)) };
}

/// The system's memory, and the arena's for what is secret.
#[derive(Debug, Default)]
pub struct Allocator;

fn is_of_the_arena(address: *mut u8) -> bool {
    let base = BASE.load(Ordering::Acquire);
    base != 0 && (address as usize).wrapping_sub(base) < ARENA_BYTES
}

fn secret(layout: Layout) -> Option<NonNull<u8>> {
    let base = BASE.load(Ordering::Acquire);
    if base == 0 {
        return None;
    }
    let taken = arena().take(base, layout);
    if taken.is_none() {
        ELSEWHERE.fetch_add(1, Ordering::Relaxed);
    }
    taken
}

// SAFETY: a block is the caller's from `take` to `put`, has at least the layout's bytes and
// is aligned to a power of two that is no less than its alignment; an address is given back
// to where it came from, which its range says. Nothing here allocates or unwinds.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if DEPTH.get() > 0
            && let Some(block) = secret(layout)
        {
            return block.as_ptr();
        }
        // SAFETY: forwarded from the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if DEPTH.get() > 0
            && let Some(block) = secret(layout)
        {
            // Free blocks are zeros.
            return block.as_ptr();
        }
        // SAFETY: forwarded from the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        if is_of_the_arena(address) {
            return arena().put(address, layout);
        }
        // SAFETY: forwarded from the caller; it is not of the arena.
        unsafe { System.dealloc(address, layout) }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let is_secret = is_of_the_arena(address);
        if !is_secret && DEPTH.get() == 0 {
            // SAFETY: forwarded from the caller; it is not of the arena.
            return unsafe { System.realloc(address, layout, bytes) };
        }
        // SAFETY: the caller gives a size that is valid with this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        // What is secret stays so, wherever it grows.
        let moved = within(|| {
            // SAFETY: the size is not zero, as the caller promises.
            unsafe { self.alloc(wanted) }
        });
        if !moved.is_null() {
            // SAFETY: both blocks have so many bytes and are different.
            unsafe {
                std::ptr::copy_nonoverlapping(address, moved, layout.size().min(bytes));
                self.dealloc(address, layout);
            }
        }
        moved
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[global_allocator]
    static MEMORY: Allocator = Allocator;

    fn flags_of(address: usize) -> String {
        let text = std::fs::read_to_string("/proc/self/smaps").expect("it is there");
        let mut is_it = false;
        for line in text.lines() {
            let range = line.split(' ').next().and_then(|word| word.split_once('-'));
            let number = |text| usize::from_str_radix(text, 16).ok();
            if let Some((Some(from), Some(to))) = range.map(|(a, b)| (number(a), number(b))) {
                is_it = (from..to).contains(&address);
            }
            if is_it && line.starts_with("VmFlags") {
                return line.to_owned();
            }
        }
        panic!("{address:x} is mapped nowhere");
    }

    #[test]
    fn what_is_secret_is_locked_apart_and_wiped() {
        reserve().unwrap();
        let plain = String::from("not secret");
        let mut key = within(|| vec![7_u8; 100]);
        assert!(!is_of_the_arena(plain.as_ptr().cast_mut()));
        assert!(is_of_the_arena(key.as_mut_ptr()));
        let flags = flags_of(key.as_ptr() as usize);
        assert!(flags.contains(" dd"), "{flags}");
        // Not so where the limit of locked memory is used up.
        if secrets().unlocked_bytes == 0 {
            assert!(flags.contains(" lo"), "{flags}");
        }
        // It grows outside of `within`, and stays what it is.
        key.extend_from_slice(&[8; 5000]);
        assert!(is_of_the_arena(key.as_mut_ptr()));
        assert_eq!((&key[..100], &key[100..]), (&[7; 100][..], &[8; 5000][..]));
        let address = key.as_ptr();
        drop(key);
        // SAFETY: the arena stays mapped; nobody but this test uses blocks of that size.
        let left = unsafe { std::slice::from_raw_parts(address.add(8), 5000) };
        assert!(left.iter().all(|byte| *byte == 0));
        // The same block again, with nothing in it.
        let again = within(|| vec![0_u8; 5100]);
        assert_eq!(again.as_ptr(), address);
        assert!(again.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn blocks_of_many_threads_never_overlap_and_larger_ones_are_the_systems() {
        reserve().unwrap();
        let thread = |seed: u8| {
            std::thread::spawn(move || {
                let mut held: Vec<Vec<u8>> = Vec::new();
                for turn in 0..1000_usize {
                    let bytes = 1 + (turn * 37 + usize::from(seed) * 11) % 4000;
                    let block = within(|| vec![seed; bytes]);
                    held.push(block);
                    if turn % 3 == 0 {
                        held.swap_remove(turn % held.len());
                    }
                    assert!(turn % 200 > 0 || held.iter().flatten().all(|byte| *byte == seed));
                }
                assert!(held.iter().flatten().all(|byte| *byte == seed));
            })
        };
        let threads: Vec<_> = (1..5).map(thread).collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let mut large = within(|| vec![1_u8; 1 << 20]);
        assert!(!is_of_the_arena(large.as_mut_ptr()));
        assert!(secrets().elsewhere > 0);
    }
}
