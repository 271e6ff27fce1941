//! How often a running run is stored: often enough to lose nothing that
//! matters, seldom enough to disturb nothing that is measured.

use std::time::{Duration, Instant};

use sys::failure::Failure;
use trial::Run;

use crate::store::Store;

/// New results never wait longer than this for the next event.
const WAIT_MAX: Duration = Duration::from_secs(3);

/// Storing may take at most one part in this many of a run's time.
const TIME_PER_COST: u32 = 50;

/// Stores a run as it grows.
pub struct Saver {
    store: Store,
    saved: Instant,
    cost: Duration,
}

impl Saver {
    /// A saver into that folder.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self {
            store,
            saved: Instant::now(),
            cost: Duration::ZERO,
        }
    }

    /// Where it stores.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Stores `run` if it is time to. At a `milestone` it is, and the bytes
    /// are on the disk when this returns; between, they are safe from a crash
    /// of this process, but waiting for a disk would disturb what is measured.
    ///
    /// # Errors
    /// What was stored before stands, and the next call tries again.
    pub fn keep(&mut self, run: &Run, milestone: bool) -> Result<(), Failure> {
        if !milestone && !is_due(self.saved.elapsed(), self.cost) {
            return Ok(());
        }
        let begun = Instant::now();
        let kept = self.store.save_result(run, milestone);
        if !milestone {
            self.cost = begun.elapsed();
        }
        self.saved = Instant::now();
        kept
    }
}

fn is_due(waited: Duration, cost: Duration) -> bool {
    waited >= WAIT_MAX.min(cost * TIME_PER_COST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::load;
    use crate::testing::blank_run;

    #[test]
    fn storing_is_cheap_or_every_few_seconds() {
        let ms = Duration::from_millis;
        assert!(is_due(ms(100), ms(2)));
        assert!(!is_due(ms(99), ms(2)));
        assert!(is_due(ms(3000), ms(900)));
        assert!(!is_due(ms(2999), ms(900)));
    }

    #[test]
    fn a_milestone_is_kept_at_once() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::create(root.path(), "2026-11-21T21:00:00Z", "host").unwrap();
        let folder = store.folder().to_str().unwrap().to_owned();
        let mut saver = Saver {
            cost: Duration::from_secs(9),
            ..Saver::new(store)
        };
        let mut run = blank_run();
        run.seed = 5;
        saver.keep(&run, false).unwrap();
        assert!(load(&folder, root.path()).is_err(), "not due yet");
        saver.keep(&run, true).unwrap();
        assert_eq!(load(&folder, root.path()).unwrap(), run);
    }
}
