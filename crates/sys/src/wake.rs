//! The wake index: how a sleeper says from which item on it wants to be
//! woken, and how the other side learns that it must wake it.
//!
//! The idea is virtio's event index (virtio 1.2 §2.7.10), with the fences
//! where they must be. The *sleeper* arms an index, fences, looks at the ring
//! once more, and only then sleeps. The *waker* publishes, fences, and looks
//! at the armed index. With both fences sequentially consistent one of the
//! two sees the other, so no wake-up is lost; and the waker that claims the
//! index is alone in doing so, so none is sent twice.
//!
//! loom models plain SeqCst accesses as acquire/release and would report a
//! lost wake-up; with explicit fences the model passes, and the code says
//! what it relies on.

use crate::prefetch::prefetch;
use crate::sync::{AtomicU64, Ordering, Padded, fence};

const AWAKE: u64 = u64::MAX;

/// With an index: the sleeper polls for it, and must not be woken.
const LOOKS: u64 = 1 << 32;

#[derive(Debug)]
pub struct WakeIndex(Padded<AtomicU64>);

impl Default for WakeIndex {
    fn default() -> Self {
        Self(Padded(AtomicU64::new(AWAKE)))
    }
}

impl WakeIndex {
    /// Sleeper: asks to be woken once the item before `index` is published
    /// (`index` counts items, wrapping at 32 bits). The caller must look at
    /// the ring after this call and before it sleeps.
    pub fn arm(&self, index: u32) {
        self.0.0.store(u64::from(index), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Poller: states the item for which it polls, so that the waker need not show
    /// the ones before. A hint: nothing is fenced, and no wake-up follows.
    pub fn look_for(&self, index: u32) {
        self.0.0.store(LOOKS | u64::from(index), Ordering::Relaxed);
    }

    /// Waker: whether items up to `staged` (exclusive) are wanted: no poller stated
    /// an item, or the stated one is among them.
    pub fn is_wanted(&self, staged: u32) -> bool {
        let word = self.0.0.load(Ordering::Relaxed);
        word == AWAKE || reaches(staged, word as u32)
    }

    /// Waker: prefetches the index ahead of the next look at it.
    pub fn anticipate(&self) {
        prefetch(&self.0.0);
    }

    /// Sleeper: takes the wish for a wake-up back. Returns whether a wake-up was
    /// already claimed, and so is or will be on its way.
    pub fn disarm(&self) -> bool {
        self.0.0.swap(AWAKE, Ordering::Relaxed) == AWAKE
    }

    /// Orders what the waker published before its looks at the index: call
    /// once after publishing, before [`claim`](Self::claim).
    pub fn fence_after_publish() {
        fence(Ordering::SeqCst);
    }

    /// Waker: whether the sleeper must be woken now that items up to
    /// `published` (exclusive) are visible. `force` claims any sleeper, also
    /// one that wants more items than there are.
    pub fn claim(&self, published: u32, force: bool) -> bool {
        let armed = self.0.0.load(Ordering::Relaxed);
        let Ok(wanted) = u32::try_from(armed) else {
            return false;
        };
        (reaches(published, wanted) || force)
            && self
                .0
                .0
                .compare_exchange(armed, AWAKE, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Whether a sleeper is armed, at a glance and without ordering.
    pub fn is_armed(&self) -> bool {
        u32::try_from(self.0.0.load(Ordering::Relaxed)).is_ok()
    }
}

/// Whether `count` items include the one before `index`; both wrap.
fn reaches(count: u32, index: u32) -> bool {
    count.wrapping_sub(index) as i32 >= 0
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn wakes_at_the_index_and_once() {
        let wake = WakeIndex::default();
        assert!(!wake.claim(10, true), "no one sleeps");
        wake.arm(5);
        assert!(!wake.claim(4, false));
        assert!(wake.claim(5, false));
        assert!(!wake.claim(6, true), "claimed already");
    }

    #[test]
    fn what_nobody_looks_for_yet_need_not_be_shown() {
        let wake = WakeIndex::default();
        assert!(wake.is_wanted(1), "not asked for");
        wake.look_for(5);
        assert!(!wake.is_wanted(4));
        assert!(wake.is_wanted(5));
        assert!(!wake.is_armed() && !wake.claim(5, true), "no one sleeps");
        wake.disarm();
        assert!(wake.is_wanted(1));
    }

    #[test]
    fn indices_wrap() {
        let wake = WakeIndex::default();
        wake.arm(2);
        assert!(!wake.claim(u32::MAX, false));
        assert!(wake.claim(2, false));
    }

    #[test]
    fn disarm_tells_whether_a_wake_up_is_under_way() {
        let wake = WakeIndex::default();
        wake.arm(1);
        assert!(!wake.disarm());
        wake.arm(1);
        assert!(wake.claim(0, true));
        assert!(wake.disarm());
    }
}
