//! In a process of its own: it has an allocator that counts.
//!
//! Recording a latency allocates nothing: it happens inside measured loops.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use lockgate_trial::Histogram;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator as it came; counting
// touches only a thread-local without a destructor, which itself allocates
// nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller upholds `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds `dealloc`'s contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

#[test]
fn recording_merging_and_asking_allocate_nothing() {
    let (mut histogram, mut all) = (Histogram::new(), Histogram::new());
    let counted = allocations(|| {
        for bits in 0..64 {
            histogram.record(u64::MAX >> bits);
        }
        all.merge(&histogram);
        all.merge(&histogram);
        std::hint::black_box((all.quantile_ns(0.99), all.max_ns()));
        histogram.clear();
    });
    assert_eq!(counted, 0);
    assert_eq!(all.len(), 128);
}
