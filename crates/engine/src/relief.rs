//! Who takes over from a thread that is held up: the crew of a worker is one thread on
//! duty and some that stand by.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The member to relieve, and his visit: by then he may be back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) member: usize,
    pub(crate) visit: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Relief {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ask: Option<Ask>,
    is_over: bool,
}

impl Relief {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ask(&self, ask: Ask) {
        self.state().ask = Some(ask);
        self.changed.notify_one();
    }

    /// `None` when the worker has ended.
    pub(crate) fn wait(&self) -> Option<Ask> {
        let waits = |state: &mut State| state.ask.is_none() && !state.is_over;
        let state = self.changed.wait_while(self.state(), waits);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if state.is_over {
            return None;
        }
        state.ask.take()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state().is_over
    }

    pub(crate) fn end(&self) {
        self.state().is_over = true;
        self.changed.notify_all();
    }
}
