//! How many keys a virtual function has, and how many it may have.

use std::sync::{Arc, Mutex, PoisonError};

use crypto::KeyError;

use crate::function::KeyLimit;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(
        "the virtual function has {limit} sessions, which is the most it was made for; detach and drop some"
    )]
    Sessions { limit: usize },
    #[error(
        "with this key the virtual function would have {bytes} bytes of keys, more than the {limit} it was made for; detach and drop sessions, or take a shorter key"
    )]
    KeyBytes { bytes: usize, limit: usize },
}

/// What a function holds of its limit. A lock, but only when keys come and go.
#[derive(Debug)]
pub(super) struct Vault {
    limit: KeyLimit,
    used: Mutex<KeyLimit>,
}

impl Vault {
    pub(super) fn new(limit: KeyLimit) -> Arc<Self> {
        let (sessions, bytes) = (0, 0);
        let used = Mutex::new(KeyLimit { sessions, bytes });
        Arc::new(Self { limit, used })
    }

    pub(super) fn hold(self: &Arc<Self>, key_bytes: usize) -> Result<Held, SessionError> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.sessions >= self.limit.sessions {
            let limit = self.limit.sessions;
            return Err(SessionError::Sessions { limit });
        }
        let (bytes, limit) = (used.bytes.saturating_add(key_bytes), self.limit.bytes);
        if bytes > limit {
            return Err(SessionError::KeyBytes { bytes, limit });
        }
        used.sessions += 1;
        used.bytes = bytes;
        Ok(Held {
            vault: Arc::clone(self),
            key_bytes,
        })
    }
}

#[derive(Debug)]
pub(super) struct Held {
    vault: Arc<Vault>,
    key_bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut used = self
            .vault
            .used
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        used.sessions -= 1;
        used.bytes -= self.key_bytes;
    }
}
