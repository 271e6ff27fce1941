//! A ring that the kernel and a socket share: descriptors between two indices,
//! each written by one side only.
//!
//! The memory order is that of `net/xdp/xsk_queue.h`: the producer writes
//! descriptors, then stores its index with release; the consumer loads that
//! index with acquire, reads, then stores its own index with release. The fill
//! and the transmit ring are produced here and consumed by the kernel, the
//! receive and the completion ring the other way round. [`on_heap`] gives both
//! ends, so that a test or a loom model can play the kernel.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use sys::sync::{AtomicU32, Ordering, UnsafeCell, fence};

/// The kernel's request to be called, in a ring's flags (`XDP_RING_NEED_WAKEUP`).
pub const NEED_WAKEUP: u32 = 1;

/// The parts of a ring, and what keeps them in memory.
#[derive(Debug)]
pub(super) struct Shared<T> {
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    slots: NonNull<UnsafeCell<T>>,
    entries: u32,
    _memory: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the pointers lead to memory that `_memory` keeps for any thread; all
// indices are atomic, and slots are touched by the end that owns them (below).
unsafe impl<T: Copy + Send> Send for Shared<T> {}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self {
            producer: self.producer,
            consumer: self.consumer,
            flags: self.flags,
            slots: self.slots,
            entries: self.entries,
            _memory: Arc::clone(&self._memory),
        }
    }
}

impl<T: Copy> Shared<T> {
    /// # Safety
    /// The pointers are valid, aligned and stay so as long as `memory` lives;
    /// `slots` is the first of `entries` (a power of two) initialised slots; and
    /// only one [`Producer`] and one [`Consumer`], in this process or in
    /// the kernel, writes to them.
    pub(super) unsafe fn new(
        [producer, consumer, flags]: [NonNull<AtomicU32>; 3],
        slots: NonNull<UnsafeCell<T>>,
        entries: u32,
        memory: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        assert!(
            entries.is_power_of_two(),
            "a ring of {entries} entries is not a power of two"
        );
        Self {
            producer,
            consumer,
            flags,
            slots,
            entries,
            _memory: memory,
        }
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: valid as long as `_memory`, by the contract of `new`.
        unsafe { self.producer.as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.consumer.as_ref() }
    }

    fn flags(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.flags.as_ref() }
    }

    fn slot(&self, index: u32) -> &UnsafeCell<T> {
        let offset = (index & (self.entries - 1)) as usize;
        // SAFETY: masked, so one of the `entries` slots of `new`'s contract.
        unsafe { self.slots.add(offset).as_ref() }
    }
}

#[derive(Debug)]
pub struct Producer<T> {
    shared: Shared<T>,
    staged: u32,
    published: u32,
    consumer_seen: u32,
}

#[derive(Debug)]
pub struct Consumer<T> {
    shared: Shared<T>,
    taken: u32,
    producer_seen: u32,
}

impl<T: Copy> Producer<T> {
    /// Continues where the memory says that the ring stands.
    pub(super) fn new(shared: Shared<T>) -> Self {
        let published = shared.producer().load(Ordering::Relaxed);
        let consumer_seen = shared.consumer().load(Ordering::Acquire);
        Self {
            shared,
            staged: published,
            published,
            consumer_seen,
        }
    }

    /// Free slots, as far as known; looks at the consumer's index only when
    /// fewer than `wanted` are.
    pub fn free(&mut self, wanted: u32) -> u32 {
        let known = self.room();
        if known >= wanted {
            return known;
        }
        self.consumer_seen = self.shared.consumer().load(Ordering::Acquire);
        self.room()
    }

    /// Never more than there are entries, and zero if the other side broke the
    /// protocol.
    fn room(&self) -> u32 {
        let used = self.staged.wrapping_sub(self.consumer_seen);
        self.shared.entries.saturating_sub(used)
    }

    /// Writes a descriptor into the next slot without showing it.
    ///
    /// # Errors
    /// The descriptor, where the ring is full.
    pub fn stage(&mut self, descriptor: T) -> Result<(), T> {
        if self.free(1) == 0 {
            return Err(descriptor);
        }
        self.shared.slot(self.staged).with_mut(|slot| {
            // SAFETY: there is room, so the consumer has left this slot (seen by
            // the acquire load in `free`), and only we may write it until
            // `publish`.
            unsafe { slot.write(descriptor) };
        });
        self.staged = self.staged.wrapping_add(1);
        Ok(())
    }

    pub fn publish(&mut self) {
        if self.staged != self.published {
            self.published = self.staged;
            self.shared.producer().store(self.staged, Ordering::Release);
        }
    }

    /// Descriptors that the consumer has not taken yet.
    pub fn pending(&self) -> u32 {
        let consumer = self.shared.consumer().load(Ordering::Acquire);
        self.published.wrapping_sub(consumer)
    }

    /// Whether the consumer asks to be called. Ask after [`publish`](Self::publish):
    /// the fence between the two makes sure that a consumer which asks and then
    /// looks at the ring once more either sees what was published or is seen
    /// asking.
    pub fn needs_wakeup(&self) -> bool {
        fence(Ordering::SeqCst);
        self.shared.flags().load(Ordering::Relaxed) & NEED_WAKEUP != 0
    }
}

struct Taking<'r, T: Copy>(&'r mut Consumer<T>);

impl<T: Copy> Drop for Taking<'_, T> {
    fn drop(&mut self) {
        let taken = self.0.taken;
        self.0.shared.consumer().store(taken, Ordering::Release);
    }
}

impl<T: Copy> Consumer<T> {
    /// Continues where the memory says that the ring stands.
    pub(super) fn new(shared: Shared<T>) -> Self {
        let taken = shared.consumer().load(Ordering::Relaxed);
        Self {
            shared,
            taken,
            producer_seen: taken,
        }
    }

    /// Descriptors there to take, `max` at most; looks at the producer's index
    /// only when fewer than `max` are known.
    pub fn available(&mut self, max: u32) -> u32 {
        if self.known() < max {
            self.producer_seen = self.shared.producer().load(Ordering::Acquire);
        }
        self.known().min(max)
    }

    /// Never more than there are entries, whatever the other side wrote.
    fn known(&self) -> u32 {
        self.producer_seen
            .wrapping_sub(self.taken)
            .min(self.shared.entries)
    }

    /// Takes up to `max` descriptors in order, gives their slots back with one
    /// store, and says how many they were.
    pub fn drain(&mut self, max: u32, mut take: impl FnMut(T)) -> u32 {
        let count = self.available(max);
        if count == 0 {
            return 0;
        }
        let taking = Taking(self);
        for _ in 0..count {
            let index = taking.0.taken;
            // Before `take`, which may panic: the descriptor is gone then, too.
            taking.0.taken = index.wrapping_add(1);
            let descriptor = taking.0.shared.slot(index).with(|slot| {
                // SAFETY: below the producer's index that we acquired, so it was
                // written, and stays until we release it when `taking` drops.
                unsafe { slot.read() }
            });
            take(descriptor);
        }
        count
    }

    pub fn take(&mut self) -> Option<T> {
        let mut taken = None;
        self.drain(1, |descriptor| taken = Some(descriptor));
        taken
    }

    /// Asks the producer to call after it has published; then look at the ring once
    /// more. The kernel does this on the fill and the transmit ring.
    pub fn ask_for_wakeup(&self, asks: bool) {
        let flags = if asks { NEED_WAKEUP } else { 0 };
        self.shared.flags().store(flags, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }
}

#[derive(Debug)]
struct Heap<T> {
    indices: [AtomicU32; 3],
    slots: Box<[UnsafeCell<T>]>,
}

// SAFETY: slots are touched through a `Producer` and a `Consumer` only, whose
// indices hand each slot from one to the other.
unsafe impl<T: Copy + Send> Sync for Heap<T> {}

/// Makes a ring of `entries`, a power of two, that no kernel knows: both ends
/// for tests and models.
///
/// # Panics
/// When `entries` is no power of two.
pub fn on_heap<T: Copy + Default + Send + 'static>(entries: u32) -> (Producer<T>, Consumer<T>) {
    let heap = Arc::new(Heap {
        indices: [AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0)],
        slots: (0..entries)
            .map(|_| UnsafeCell::new(T::default()))
            .collect(),
    });
    let indices = [0, 1, 2].map(|index| NonNull::from(&heap.indices[index]));
    let slots = NonNull::from(&*heap.slots).cast::<UnsafeCell<T>>();
    let memory: Arc<dyn Any + Send + Sync> = heap;
    // SAFETY: the heap block lives as long as `memory`, has `entries` slots, and
    // is known to the two ends made here only.
    let shared = unsafe { Shared::new(indices, slots, entries, memory) };
    (Producer::new(shared.clone()), Consumer::new(shared))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn staged_is_invisible_until_published() {
        let (mut producer, mut consumer) = on_heap::<u64>(4);
        producer.stage(7).unwrap();
        assert_eq!(consumer.take(), None);
        producer.publish();
        assert_eq!(producer.pending(), 1);
        assert_eq!(consumer.take(), Some(7));
        assert_eq!(producer.pending(), 0);
    }

    #[test]
    fn a_full_ring_gives_the_descriptor_back() {
        let (mut producer, mut consumer) = on_heap::<u64>(2);
        producer.stage(1).unwrap();
        producer.stage(2).unwrap();
        assert_eq!(producer.stage(3), Err(3));
        producer.publish();
        assert_eq!(consumer.take(), Some(1));
        assert_eq!(producer.free(1), 1);
        producer.stage(3).unwrap();
    }

    #[test]
    fn a_panic_while_taking_frees_the_slots_taken() {
        let (mut producer, mut consumer) = on_heap::<u64>(2);
        producer.stage(1).unwrap();
        producer.stage(2).unwrap();
        producer.publish();
        let panics = std::panic::AssertUnwindSafe(|| consumer.drain(2, |_| panic!("told to")));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!(producer.pending(), 1);
        assert_eq!(consumer.take(), Some(2));
    }

    #[test]
    fn an_index_out_of_bounds_is_no_more_than_a_ring() {
        let (producer, mut consumer) = on_heap::<u64>(4);
        producer
            .shared
            .producer()
            .store(u32::MAX, Ordering::Release);
        assert_eq!(consumer.available(u32::MAX), 4);
        let (mut producer, consumer) = on_heap::<u64>(4);
        consumer.shared.consumer().store(17, Ordering::Release);
        assert_eq!(producer.free(5), 0);
    }

    #[test]
    fn the_wish_to_be_called_is_seen() {
        let (producer, consumer) = on_heap::<u64>(4);
        assert!(!producer.needs_wakeup());
        consumer.ask_for_wakeup(true);
        assert!(producer.needs_wakeup());
        consumer.ask_for_wakeup(false);
        assert!(!producer.needs_wakeup());
    }

    proptest::proptest! {
        #[test]
        fn behaves_like_a_bounded_queue(
            log_entries in 0u32..6,
            start: u32,
            steps in proptest::collection::vec((0u8..4, 0u32..9), 0..200),
        ) {
            let entries = 1u32 << log_entries;
            let (mut producer, mut consumer) = on_heap::<u64>(entries);
            // Anywhere on the circle of indices, also shortly before it closes.
            producer.shared.producer().store(start, Ordering::Relaxed);
            producer.shared.consumer().store(start, Ordering::Relaxed);
            producer = Producer::new(producer.shared.clone());
            consumer = Consumer::new(consumer.shared.clone());
            let (mut staged, mut visible, mut next) = (Vec::new(), VecDeque::new(), 0u64);
            for (action, amount) in steps {
                match action {
                    0 | 1 => {
                        let fits = visible.len() + staged.len() < entries as usize;
                        proptest::prop_assert_eq!(producer.stage(next).is_ok(), fits);
                        if fits { staged.push(next); }
                        next += 1;
                    }
                    2 => { producer.publish(); visible.extend(staged.drain(..)); }
                    _ => {
                        let mut got = Vec::new();
                        consumer.drain(amount, |item| got.push(item));
                        let expected: Vec<_> =
                            visible.drain(..(amount as usize).min(visible.len())).collect();
                        proptest::prop_assert_eq!(got, expected);
                    }
                }
                proptest::prop_assert_eq!(producer.pending() as usize, visible.len());
            }
        }
    }
}
