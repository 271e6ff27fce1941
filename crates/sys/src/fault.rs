//! Faults in memory that another party can take away.
//!
//! A page of a shared mapping may be gone when it is touched: its owner shortened the
//! file, punched a hole and left no memory to fill it again (tmpfs or a control group at
//! its limit, an empty pool of huge pages), or the hardware lost it. The kernel then
//! sends SIGBUS, whose default ends the process. A guard makes that the end of one
//! mapping: the handler puts zeros of this process's own in its place, marks it as lost,
//! and the access goes on.
//!
//! The handler calls what may be called in one: mmap(2), write(2) and atomics. Signals
//! of other addresses go on to whoever handled them before, which is the default or the
//! one that Rust's runtime has for its stacks.
#![allow(unsafe_code, reason = "a signal handler: see each SAFETY comment")]

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

/// Ranges that a block of the list holds.
const BLOCK_SLOTS: usize = 64;

/// A guarded range; free where `begin` is 0.
#[derive(Debug, Default)]
struct Slot {
    begin: AtomicUsize,
    end: AtomicUsize,
    /// What a part that is replaced must be a multiple of: the size of its pages.
    page_bytes: AtomicUsize,
    is_lost: AtomicBool,
}

/// The list only grows, so that the handler may walk it at any time.
struct Block {
    slots: [Slot; BLOCK_SLOTS],
    next: AtomicPtr<Block>,
}

impl Block {
    const fn new() -> Self {
        Self {
            slots: [const {
                Slot {
                    begin: AtomicUsize::new(0),
                    end: AtomicUsize::new(0),
                    page_bytes: AtomicUsize::new(0),
                    is_lost: AtomicBool::new(false),
                }
            }; BLOCK_SLOTS],
            next: AtomicPtr::new(null_mut()),
        }
    }
}

static FIRST: Block = Block::new();

/// Blocks in the order of the list.
fn blocks() -> impl Iterator<Item = &'static Block> {
    std::iter::successors(Some(&FIRST), |block| {
        let next = block.next.load(Ordering::Acquire);
        // SAFETY: null, or a block that was leaked before it was linked.
        unsafe { next.as_ref() }
    })
}

/// Slots that no range has. A lock, used only when memory is mapped and unmapped.
static FREE: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());

fn take_slot() -> &'static Slot {
    static FIRST_SLOTS: Once = Once::new();
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    FIRST_SLOTS.call_once(|| free.extend(&FIRST.slots));
    if free.is_empty() {
        let block: &'static Block = Box::leak(Box::new(Block::new()));
        let last = blocks().last().expect("the first is always there");
        last.next
            .store(std::ptr::from_ref(block).cast_mut(), Ordering::Release);
        free.extend(&block.slots);
    }
    free.pop().expect("a block has slots")
}

/// A range of addresses of which every fault is survived, until it is dropped.
#[derive(Debug)]
pub(crate) struct Guard(&'static Slot);

impl Guard {
    /// Guards mapped memory. Parts that are replaced are multiples of `page_bytes`.
    pub(crate) fn new(begin: usize, bytes: usize, page_bytes: usize) -> Self {
        install();
        let slot = take_slot();
        slot.is_lost.store(false, Ordering::Relaxed);
        slot.page_bytes.store(page_bytes, Ordering::Relaxed);
        slot.end.store(begin + bytes, Ordering::Release);
        slot.begin.store(begin, Ordering::Release);
        Self(slot)
    }

    /// Whether there was a fault: what lies there now are bytes of this process's own.
    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        self.0.is_lost.load(Ordering::Relaxed)
    }
}

impl Drop for Guard {
    /// Before the memory is unmapped, so that its addresses are nobody else's yet.
    fn drop(&mut self) {
        self.0.begin.store(0, Ordering::Release);
        FREE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(self.0);
    }
}

/// The descriptor that is signalled when memory is lost; none below 0.
static TOLD: AtomicI32 = AtomicI32::new(-1);

/// From now on the loss of guarded memory signals `event`, an eventfd that is not
/// closed before another is set: for whoever cuts off the party that took it away.
pub fn tell(event: Option<BorrowedFd<'_>>) {
    let number = event.map_or(-1, |event| event.as_raw_fd());
    TOLD.store(number, Ordering::Release);
}

/// What handled SIGBUS before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: for a sigaction zeros are a value; the handler has the signature that
        // SA_SIGINFO asks for, and does only what a handler may do. What was there before
        // is stored before the new one can run: nothing is guarded yet.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before);
            BEFORE.get_or_init(|| before);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &raw const action, null_mut());
        }
    });
}

/// The range that an address lies in.
fn find(address: usize) -> Option<&'static Slot> {
    let mut slots = blocks().flat_map(|block| &block.slots);
    slots.find(|slot| {
        let begin = slot.begin.load(Ordering::Acquire);
        let end = slot.end.load(Ordering::Acquire);
        // One that is taken meanwhile by another range has another begin.
        begin != 0 && (begin..end).contains(&address) && slot.begin.load(Ordering::Acquire) == begin
    })
}

extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: errno is this thread's own, and put back for whoever was interrupted.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel gives a valid siginfo_t, and SIGBUS has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    let is_replaced = find(address).is_some_and(|slot| replace(slot, address));
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    if !is_replaced {
        pass_on(signal, info, context);
    }
}

/// Puts zeros in the place of the whole range, so that it faults once only; or, where so
/// much may not be promised (`vm.overcommit_memory` 2), of the page.
fn replace(slot: &Slot, address: usize) -> bool {
    let begin = slot.begin.load(Ordering::Relaxed);
    let bytes = slot.end.load(Ordering::Relaxed).wrapping_sub(begin);
    let page_bytes = slot.page_bytes.load(Ordering::Relaxed).max(1);
    slot.is_lost.store(true, Ordering::Release);
    let page = address - address % page_bytes;
    let is_replaced = put_zeros(begin, bytes) || put_zeros(page, page_bytes);
    let told = TOLD.load(Ordering::Acquire);
    if told >= 0 {
        let one = 1_u64;
        // SAFETY: eight readable bytes; an eventfd of our own that does not block.
        unsafe { libc::write(told, (&raw const one).cast(), 8) };
    }
    is_replaced
}

fn put_zeros(begin: usize, bytes: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the range is a guarded mapping, whose owner unmaps it only after it has
    // taken the guard away, and to which nobody has references.
    let mapped = unsafe { libc::mmap(begin as *mut _, bytes, protection, flags, -1, 0) };
    mapped != libc::MAP_FAILED
}

fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = BEFORE.get();
    let handler = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
    let flags = before.map_or(0, |before| before.sa_flags);
    match handler {
        // A fault cannot be ignored: the kernel would end the process.
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: back to the default; the access is repeated and ends the process.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        // SAFETY: it was installed with that signature.
        handler if flags & libc::SA_SIGINFO != 0 => unsafe {
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                std::mem::transmute(handler);
            handler(signal, info, context);
        },
        // SAFETY: as above.
        handler => unsafe {
            let handler: extern "C" fn(i32) = std::mem::transmute(handler);
            handler(signal);
        },
    }
}
