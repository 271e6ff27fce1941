//! What a controller sees of a lane, and what it may change, from any thread.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use policy::{Counters, Settings};

use crate::lane::Shared;
use crate::pool::Control;

/// A lane, or a virtual function, as a controller sees it. Outlives the lane:
/// the counters stay.
#[derive(Clone)]
pub struct Watch(Arc<dyn Observed>);

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Watch({:?}, {:?})", self.settings(), self.counters())
    }
}

pub(crate) trait Observed: Send + Sync {
    fn settings(&self) -> Settings;
    fn set(&self, settings: Settings);
    fn counters(&self) -> Counters;
    fn held_alone(&self) -> u64;
}

struct OneLane<R> {
    shared: Arc<Shared<R>>,
    control: Arc<Control<R>>,
}

impl<R: Copy + Send> Observed for OneLane<R> {
    fn settings(&self) -> Settings {
        Settings::unpack(self.shared.settings.load(Ordering::Relaxed))
    }

    fn set(&self, settings: Settings) {
        // What is held back under the old ones is to be decided again.
        if self.shared.set_settings(settings) {
            self.control.call_for(self.shared.slot);
        }
    }

    fn counters(&self) -> Counters {
        Counters {
            busy_ns: self.control.busy_ns(),
            ..self.shared.counters()
        }
    }

    fn held_alone(&self) -> u64 {
        self.shared.tally.held_alone.value()
    }
}

impl Watch {
    pub(crate) fn new<R: Copy + Send + 'static>(
        shared: Arc<Shared<R>>,
        control: Arc<Control<R>>,
    ) -> Self {
        Self::of(OneLane { shared, control })
    }

    pub(crate) fn of(observed: impl Observed + 'static) -> Self {
        Self(Arc::new(observed))
    }

    pub fn settings(&self) -> Settings {
        self.0.settings()
    }

    pub fn set(&self, settings: Settings) {
        self.0.set(settings);
    }

    pub fn counters(&self) -> Counters {
        self.0.counters()
    }

    /// Notifications that were held back although only one request was in
    /// flight: none, by every policy.
    pub fn held_alone(&self) -> u64 {
        self.0.held_alone()
    }
}
