//! A bounded ring with one producer and one consumer.
//!
//! The producer stages any number of items and publishes them with one
//! store; the consumer drains any number and releases their slots with one
//! store. Each side caches the other's index, so that in steady state a side
//! reads the other's cache line once a lap, not once an item. Nothing
//! allocates, locks or waits after [`ring`].

use std::mem::MaybeUninit;

use crate::prefetch::{prefetch, prefetch_to_write};
use crate::sync::{Arc, AtomicU32, Ordering, Padded, UnsafeCell};

/// Largest capacity: indices are 32 bits and must tell full from empty.
pub const CAPACITY_MAX: usize = 1 << 16;

/// Items prefetched: about as many lines as a core can wait for.
const PREFETCH_MAX: usize = 16;

/// How many cache lines ahead a slot is prefetched for writing: measured on near and
/// distant cores; more takes lines away that the consumer still reads.
const LINES_AHEAD: usize = 4;

#[derive(Debug)]
struct Shared<T> {
    tail: Padded<AtomicU32>,
    head: Padded<AtomicU32>,
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

// SAFETY: a slot is touched by the producer only while its index lies in
// [tail, head + capacity) and by the consumer only while it lies in
// [head, tail); the release stores and acquire loads of both indices order
// the hand-over. `T: Copy` has no drop to run twice.
unsafe impl<T: Copy + Send> Sync for Shared<T> {}
// SAFETY: owning the slots moves `T`s between threads, which `T: Send` allows.
unsafe impl<T: Copy + Send> Send for Shared<T> {}

impl<T> Shared<T> {
    fn slot(&self, index: u32) -> &UnsafeCell<MaybeUninit<T>> {
        &self.slots[index as usize & (self.slots.len() - 1)]
    }
}

#[derive(Debug)]
pub struct Producer<T> {
    shared: Arc<Shared<T>>,
    staged: u32,
    published: u32,
    head_seen: u32,
}

#[derive(Debug)]
pub struct Consumer<T> {
    shared: Arc<Shared<T>>,
    taken: u32,
    tail_seen: u32,
}

/// The ring has no free slot; contains the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full<T>(pub T);

/// Makes a ring of `capacity` items.
///
/// # Panics
/// When `capacity` is not a power of two between 1 and [`CAPACITY_MAX`]:
/// callers validate what users give.
pub fn ring<T: Copy + Send>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    assert!(
        capacity.is_power_of_two() && capacity <= CAPACITY_MAX,
        "ring capacity {capacity} must be a power of two up to {CAPACITY_MAX}"
    );
    let slots = (0..capacity)
        .map(|_| UnsafeCell::new(MaybeUninit::uninit()))
        .collect();
    let shared = Arc::new(Shared {
        tail: Padded(AtomicU32::new(0)),
        head: Padded(AtomicU32::new(0)),
        slots,
    });
    let producer = Producer {
        shared: Arc::clone(&shared),
        staged: 0,
        published: 0,
        head_seen: 0,
    };
    (
        producer,
        Consumer {
            shared,
            taken: 0,
            tail_seen: 0,
        },
    )
}

impl<T: Copy + Send> Producer<T> {
    /// Puts an item into the next slot without showing it to the consumer.
    ///
    /// # Errors
    /// [`Full`] gives the item back.
    // Inlined, so that an item is built where it will lie: copying one that
    // was just written field by field waits for each of these stores.
    #[inline(always)]
    pub fn stage(&mut self, item: T) -> Result<(), Full<T>> {
        if self.is_full() {
            return Err(Full(item));
        }
        self.shared.slot(self.staged).with_mut(|slot| {
            // SAFETY: not full, so the consumer has released this slot (seen
            // by the acquire load in `is_full`) and only we may touch it.
            unsafe { (*slot).write(item) };
        });
        self.staged = self.staged.wrapping_add(1);
        self.anticipate();
        Ok(())
    }

    /// Prefetches the slot of an item to come, if the consumer is known to have
    /// released it. Its line lies in the consumer's cache, and a store that must wait
    /// for it delays those behind it.
    fn anticipate(&self) {
        let items = LINES_AHEAD * (64 / size_of::<T>().max(1)).max(1);
        let to_come = self.staged.wrapping_add(items as u32);
        if to_come.wrapping_sub(self.head_seen) < self.shared.slots.len() as u32 {
            prefetch_to_write(self.shared.slot(to_come));
        }
    }

    pub fn publish(&mut self) {
        self.published = self.staged;
        self.shared.tail.0.store(self.staged, Ordering::Release);
    }

    /// Stages and publishes one item.
    ///
    /// # Errors
    /// [`Full`] gives the item back.
    pub fn push(&mut self, item: T) -> Result<(), Full<T>> {
        self.stage(item)?;
        self.publish();
        Ok(())
    }

    /// Items staged so far, wrapping: the index of the next one.
    pub fn index(&self) -> u32 {
        self.staged
    }

    /// Whether there are staged items the consumer cannot see yet.
    pub fn has_unpublished(&self) -> bool {
        self.staged != self.published
    }

    pub fn is_drained(&self) -> bool {
        self.unreaped() == 0
    }

    /// How many published items the consumer has not taken.
    pub fn unreaped(&self) -> u32 {
        let head = self.shared.head.0.load(Ordering::Acquire);
        self.published.wrapping_sub(head)
    }

    /// Whether the consumer has taken all items before `index`, wrapping.
    pub fn is_taken(&self, index: u32) -> bool {
        let head = self.shared.head.0.load(Ordering::Acquire);
        head.wrapping_sub(index) as i32 >= 0
    }

    fn is_full(&mut self) -> bool {
        let capacity = self.shared.slots.len() as u32;
        if self.staged.wrapping_sub(self.head_seen) < capacity {
            return false;
        }
        self.head_seen = self.shared.head.0.load(Ordering::Acquire);
        self.staged.wrapping_sub(self.head_seen) >= capacity
    }
}

struct Taking<'ring, T>(&'ring mut Consumer<T>);

impl<T> Drop for Taking<'_, T> {
    fn drop(&mut self) {
        self.0.shared.head.0.store(self.0.taken, Ordering::Release);
    }
}

impl<T: Copy + Send> Consumer<T> {
    pub fn pop(&mut self) -> Option<T> {
        let mut item = None;
        self.drain(1, |taken| item = Some(*taken));
        item
    }

    /// Takes up to `max` items in order and returns how many. Looks at the
    /// producer's index only when the cached one promises less than `max`.
    #[inline(always)]
    pub fn drain(&mut self, max: usize, mut take: impl FnMut(&T)) -> usize {
        self.drain_while(max, |item| {
            take(item);
            true
        })
    }

    /// [`drain`](Self::drain) that ends after the item for which `take` says
    /// `false`.
    // Inlined, and `take` sees the slot itself, so that an item is copied
    // once and whole: the parts of one that was copied in other parts cannot
    // be read before all of them have left the store buffer.
    #[inline(always)]
    pub fn drain_while(&mut self, max: usize, mut take: impl FnMut(&T) -> bool) -> usize {
        let count = self.up_to(max);
        self.prefetch(0, PREFETCH_MAX);
        // Released also when `take` panics: the items it had are gone.
        if count == 0 {
            return 0;
        }
        let taking = Taking(self);
        for taken in 1..=count {
            taking.0.prefetch(PREFETCH_MAX, 1);
            let index = taking.0.taken;
            // Before `take`, which may panic: the item is gone then, too.
            taking.0.taken = index.wrapping_add(1);
            let goes_on = taking.0.shared.slot(index).with(|slot| {
                // SAFETY: the index lies below the tail we acquired, so the
                // producer has written the slot and will not touch it before
                // we release it, which is when `taking` is dropped.
                take(unsafe { (*slot).assume_init_ref() })
            });
            if !goes_on {
                return taken;
            }
        }
        count
    }

    /// Items there to take now. Looks at the producer's index only when the
    /// cached one says that nothing is left.
    pub fn len(&mut self) -> usize {
        if self.tail_seen == self.taken {
            self.refresh();
        }
        self.tail_seen.wrapping_sub(self.taken) as usize
    }

    /// Prefetches the producer's index ahead of the next look at it.
    pub fn anticipate(&self) {
        prefetch(&self.shared.tail);
    }

    /// Prefetches the next item, if it is known to be there.
    pub fn anticipate_next(&self) {
        self.prefetch(0, 1);
    }

    /// Items there to take now, by a fresh look at the producer's index.
    pub fn len_now(&mut self) -> usize {
        self.refresh();
        self.tail_seen.wrapping_sub(self.taken) as usize
    }

    /// Items there to take now, `enough` at most. Looks at the producer's index
    /// only when fewer than that are known.
    pub fn up_to(&mut self, enough: usize) -> usize {
        if (self.tail_seen.wrapping_sub(self.taken) as usize) < enough {
            self.refresh();
        }
        (self.tail_seen.wrapping_sub(self.taken) as usize).min(enough)
    }

    pub fn is_empty(&mut self) -> bool {
        self.len() == 0
    }

    /// Items taken so far, wrapping: the index of the next one.
    pub fn index(&self) -> u32 {
        self.taken
    }

    /// Prefetches the lines of `count` items from `ahead` on: they lie in the
    /// producer's cache, and fetched one after the other each would cost a trip
    /// between the cores. So those that follow a drain are on their way while its
    /// items are worked on.
    fn prefetch(&self, ahead: usize, count: usize) {
        let visible = self.tail_seen.wrapping_sub(self.taken) as usize;
        for item in ahead..visible.min(ahead + count) {
            prefetch(self.shared.slot(self.taken.wrapping_add(item as u32)));
        }
    }

    fn refresh(&mut self) {
        self.tail_seen = self.shared.tail.0.load(Ordering::Acquire);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_gives_the_item_back() {
        let (mut producer, mut consumer) = ring(2);
        producer.push(1).unwrap();
        producer.push(2).unwrap();
        assert_eq!(producer.push(3), Err(Full(3)));
        assert_eq!(consumer.pop(), Some(1));
        producer.push(3).unwrap();
        assert_eq!(
            (consumer.pop(), consumer.pop(), consumer.pop()),
            (Some(2), Some(3), None)
        );
    }

    #[test]
    fn staged_items_are_invisible_until_published() {
        let (mut producer, mut consumer) = ring(4);
        producer.stage('a').unwrap();
        producer.stage('b').unwrap();
        assert!(consumer.is_empty() && producer.has_unpublished());
        producer.publish();
        assert_eq!(consumer.len(), 2);
        assert!(!producer.is_drained());
        let mut seen = String::new();
        assert_eq!(consumer.drain(8, |c| seen.push(*c)), 2);
        assert_eq!(seen, "ab");
        assert!(producer.is_drained());
    }

    #[test]
    fn a_panic_while_taking_frees_the_slots_taken() {
        let (mut producer, mut consumer) = ring(2);
        producer.push(1).unwrap();
        producer.push(2).unwrap();
        let panics = std::panic::AssertUnwindSafe(|| consumer.drain(2, |_| panic!("told to")));
        assert!(std::panic::catch_unwind(panics).is_err());
        producer.push(3).unwrap();
        assert_eq!((consumer.pop(), consumer.pop()), (Some(2), Some(3)));
    }

    #[test]
    #[should_panic(expected = "power of two")]
    fn odd_capacities_are_refused() {
        let _ = ring::<u8>(3);
    }

    proptest::proptest! {
        #[test]
        fn behaves_like_a_bounded_queue(log_capacity in 0u32..6, steps in proptest::collection::vec((0u8..4, 0usize..9), 0..200)) {
            let capacity = 1usize << log_capacity;
            let (mut producer, mut consumer) = ring::<u64>(capacity);
            let (mut staged, mut visible) = (Vec::new(), std::collections::VecDeque::new());
            let mut next = 0u64;
            for (action, amount) in steps {
                match action {
                    0 => {
                        let fits = visible.len() + staged.len() < capacity;
                        proptest::prop_assert_eq!(producer.stage(next).is_ok(), fits);
                        if fits { staged.push(next); }
                        next += 1;
                    }
                    1 => { producer.publish(); visible.extend(staged.drain(..)); }
                    _ => {
                        let mut got = Vec::new();
                        consumer.len_now();
                        consumer.drain(amount, |item| got.push(*item));
                        let expected: Vec<_> = visible.drain(..amount.min(visible.len())).collect();
                        proptest::prop_assert_eq!(got, expected);
                    }
                }
            }
        }
    }
}
