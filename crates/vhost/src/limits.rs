//! What a tenant can make grow, and how far: for each function, and for all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use policy::Quota;

/// The limits of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Mapped memory of the guest.
    pub memory_bytes_max: u64,
    /// Pages that nobody had written before a request named them: the kernel makes them for
    /// this process, and charges it.
    pub made_bytes_max: u64,
    pub connections_per_s: u64,
    pub messages_per_s: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes_max: 1 << 40,
            made_bytes_max: 64 << 20,
            connections_per_s: 20,
            messages_per_s: 2000,
        }
    }
}

/// The limits of all devices of a supervisor together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostLimits {
    pub memory_bytes_max: u64,
    pub made_bytes_max: u64,
}

impl Default for HostLimits {
    /// Half of a process's addresses on x86-64, and 1 GiB.
    fn default() -> Self {
        Self {
            memory_bytes_max: 1 << 46,
            made_bytes_max: 1 << 30,
        }
    }
}

/// So many a second, and as many at once.
pub(crate) fn per_second(count: u64) -> Quota {
    let often = Quota::UNLIMITED.and_requests(count.max(1));
    let at_once = often.and_then(|often| often.with_burst(policy::BURST_NS_MAX));
    at_once.unwrap_or(Quota::UNLIMITED)
}

/// Bytes that are shared by several who hold some of them.
#[derive(Debug)]
pub(crate) struct Pool {
    limit: u64,
    used: AtomicU64,
}

/// More was asked for than there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted {
    pub(crate) limit: u64,
}

impl Pool {
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        let used = AtomicU64::new(0);
        Arc::new(Self { limit, used })
    }

    fn take(&self, bytes: u64) -> Result<(), Exhausted> {
        let more = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.limit);
        let order = Ordering::Relaxed;
        let taken = self.used.fetch_update(order, order, more);
        taken
            .map(|_| ())
            .map_err(|_| Exhausted { limit: self.limit })
    }

    fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

/// What one device holds of its own limit and of all devices'; given back on drop.
#[derive(Debug)]
pub(crate) struct Held {
    own: Arc<Pool>,
    all: Arc<Pool>,
    bytes: u64,
}

impl Held {
    pub(crate) fn new(own: Arc<Pool>, all: Arc<Pool>) -> Self {
        Self { own, all, bytes: 0 }
    }

    /// Holds so many in the place of what it held.
    pub(crate) fn set(&mut self, bytes: u64) -> Result<(), Exhausted> {
        let more = bytes.saturating_sub(self.bytes);
        self.own.take(more)?;
        if let Err(exhausted) = self.all.take(more) {
            self.own.give_back(more);
            return Err(exhausted);
        }
        let less = self.bytes.saturating_sub(bytes);
        self.own.give_back(less);
        self.all.give_back(less);
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.own.give_back(self.bytes);
        self.all.give_back(self.bytes);
    }
}

/// Pages that the kernel makes on a device's behalf.
///
/// To ask for each page whether it is there takes a system call. So that is asked only
/// while the device's worker was seen to fault, and from then on of a device that had
/// pages made; and once for each page, until the worker is seen to fault again.
#[derive(Debug)]
pub(crate) struct Made {
    is_counting: AtomicBool,
    there: PagesThere,
    bytes: AtomicU64,
    limit: u64,
    all: Arc<Pool>,
    /// When some of it was last forgotten.
    forgot_ns: AtomicU64,
}

/// How long it takes to forget as much as the limit, ns, while no front-end is connected.
/// The pages may still be there: whoever shares the file keeps it, and may come again.
const FORGOTTEN_NS: u64 = 600_000_000_000;

/// A device that had less made while it was counted need not be counted on.
const LITTLE_BYTES: u64 = 64 << 10;

impl Made {
    pub(crate) fn new(limit: u64, all: Arc<Pool>) -> Self {
        Self {
            is_counting: AtomicBool::new(false),
            there: PagesThere::default(),
            bytes: AtomicU64::new(0),
            limit,
            all,
            forgot_ns: AtomicU64::new(0),
        }
    }

    #[inline]
    pub(crate) fn is_counting(&self) -> bool {
        self.is_counting.load(Ordering::Relaxed)
    }

    /// The worker faults: perhaps for this device.
    pub(crate) fn begin(&self) {
        self.there.forget();
        self.is_counting.store(true, Ordering::Relaxed);
    }

    /// Pages of this process that were there, or have been counted.
    pub(crate) fn there(&self) -> &PagesThere {
        &self.there
    }

    /// The worker faults no more.
    pub(crate) fn end(&self) {
        if self.bytes() < LITTLE_BYTES {
            self.is_counting.store(false, Ordering::Relaxed);
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// So many bytes are about to be made; whether that is allowed.
    pub(crate) fn admit(&self, bytes: u64) -> bool {
        // One thread a queue: two may go beyond it by what one request names.
        if self.bytes().saturating_add(bytes) > self.limit || self.all.take(bytes).is_err() {
            return false;
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        true
    }

    /// No front-end is connected at `now_ns`: a little is forgotten. One thread calls it,
    /// and often.
    pub(crate) fn forget(&self, now_ns: u64) {
        let since_ns = now_ns.saturating_sub(self.forgot_ns.swap(now_ns, Ordering::Relaxed));
        // After a connection the time begins anew.
        let since_ns = since_ns.min(FORGOTTEN_NS / 600);
        let share = u128::from(self.limit) * u128::from(since_ns) / u128::from(FORGOTTEN_NS);
        let bytes = self.bytes().min(share as u64);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.all.give_back(bytes);
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        self.all.give_back(self.bytes());
    }
}

/// Pages that were seen to be there. It forgets some by itself: a place for each remainder
/// of their numbers.
#[derive(Debug)]
pub(crate) struct PagesThere {
    /// A page's number, and of which turn that is.
    places: Box<[AtomicU64]>,
    turn: AtomicU64,
}

/// 32 MiB of pages: more than a guest's requests in flight lie in.
const PLACES: usize = 8192;

/// Numbers of pages are shorter.
const TURN_SHIFT: u32 = 48;

impl Default for PagesThere {
    fn default() -> Self {
        Self {
            places: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
            turn: AtomicU64::new(1),
        }
    }
}

impl PagesThere {
    fn entry(&self, page: u64) -> (&AtomicU64, u64) {
        let turn = self.turn.load(Ordering::Relaxed);
        let place = &self.places[(page % PLACES as u64) as usize];
        (place, page | turn << TURN_SHIFT)
    }

    pub(crate) fn has(&self, page: u64) -> bool {
        let (place, entry) = self.entry(page);
        place.load(Ordering::Relaxed) == entry
    }

    pub(crate) fn add(&self, page: u64) {
        let (place, entry) = self.entry(page);
        place.store(entry, Ordering::Relaxed);
    }

    pub(crate) fn forget(&self) {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        // Turns begin anew: nothing of so long ago may be left.
        if turn.trailing_zeros() >= u64::BITS - TURN_SHIFT {
            for place in &self.places {
                place.store(0, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Beside a plain sum: never beyond a limit, and all is given back.
        #[test]
        fn nobody_holds_more_than_there_is(
            asks in prop::collection::vec((0_usize..3, 0_u64..60), 1..50),
        ) {
            let all = Pool::new(100);
            let pools = [(); 3].map(|()| Pool::new(50));
            let mut held = pools.each_ref().map(|own| Held::new(Arc::clone(own), Arc::clone(&all)));
            let mut model = [0; 3];
            for (who, bytes) in asks {
                let others: u64 = model.iter().sum::<u64>() - model[who];
                let fits = bytes <= 50 && others + bytes <= 100 || bytes <= model[who];
                prop_assert_eq!(held[who].set(bytes).is_ok(), fits);
                if fits {
                    model[who] = bytes;
                }
                prop_assert_eq!(all.used(), model.iter().sum::<u64>());
            }
            drop(held);
            prop_assert!(all.used() == 0 && pools.iter().all(|own| own.used() == 0));
        }
    }

    #[test]
    fn pages_are_there_until_they_are_forgotten() {
        let there = PagesThere::default();
        let pages = [0, 5, 1 << 35, PLACES as u64 - 1];
        for turn in 0..70_000_u64 {
            if turn % 9973 == 0 {
                assert!(!pages.iter().any(|page| there.has(*page)), "{turn}");
                for page in pages {
                    there.add(page + turn % 2 * PLACES as u64);
                    assert!(!there.has(page + 2 * PLACES as u64));
                    there.add(page);
                    assert!(there.has(page));
                }
            }
            there.forget();
        }
    }

    #[test]
    fn pages_are_counted_up_to_a_limit_and_given_back() {
        let all = Pool::new(1 << 20);
        let made = Made::new(1 << 19, Arc::clone(&all));
        assert!(made.admit(1 << 19) && !made.admit(1));
        let other = Made::new(1 << 20, Arc::clone(&all));
        assert!(other.admit(1 << 18) && !other.admit(1 << 19));
        made.begin();
        made.end();
        // It had much made.
        assert!(made.is_counting());
        // Whoever comes again at once has as little left as before.
        made.forget(1_000_000_000);
        assert!(!made.admit(1 << 12));
        for second in 2..=601 {
            made.forget(second * 1_000_000_000);
        }
        made.end();
        assert!(!made.is_counting() && other.admit(1 << 19));
        drop((made, other));
        assert_eq!(all.used(), 0);
    }
}
