//! What a device counts of its guest's requests beside the engine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::queue::Broken;

/// Why a guest's request was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Its descriptors make no sense, or lie outside the memory.
    Chain,
    /// There is no byte for its status.
    NoStatus,
    /// It has fewer bytes than its header says.
    Short,
    /// Its header asks for what is not offered.
    Header,
    /// It names a session that is not there, or not any more.
    Session,
    /// It asks of its session what that is not for.
    Operation,
    /// Its lengths do not go together.
    Lengths,
    /// It is longer, or in more pieces, than its device takes.
    TooLong,
    /// It names memory that nobody has written, beyond what its device may have made.
    Unwritten,
    /// A device that is gone may have done a part of it, over its own source.
    Doubtful,
    /// The engine refused it.
    Engine,
}

impl Refusal {
    pub const ALL: [Self; 11] = [
        Self::Chain,
        Self::NoStatus,
        Self::Short,
        Self::Header,
        Self::Session,
        Self::Operation,
        Self::Lengths,
        Self::TooLong,
        Self::Unwritten,
        Self::Doubtful,
        Self::Engine,
    ];

    /// In words that follow "refused: ".
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Chain => "broken descriptors",
            Self::NoStatus => "no byte for the status",
            Self::Short => "fewer bytes than stated",
            Self::Header => "not offered",
            Self::Session => "no such session",
            Self::Operation => "not what the session is for",
            Self::Lengths => "lengths that do not match",
            Self::TooLong => "too long or in too many pieces",
            Self::Unwritten => "in memory never written, beyond the limit",
            Self::Doubtful => "begun by a device that is gone",
            Self::Engine => "refused by the engine",
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    refused: [AtomicU64; Refusal::ALL.len()],
    broken: Mutex<Option<Broken>>,
    broken_queues: AtomicU64,
    repeated_calls: AtomicU64,
}

impl Counters {
    pub(crate) fn refused(&self, why: Refusal) {
        self.refused[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note_broken(&self, broken: Broken) {
        *self.broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(broken);
        self.broken_queues.fetch_add(1, Ordering::Relaxed);
    }

    /// A notification that the kernel did not take was repeated.
    pub(crate) fn note_repeated_call(&self) {
        self.repeated_calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn repeated_calls(&self) -> u64 {
        self.repeated_calls.load(Ordering::Relaxed)
    }

    pub(crate) fn broken_queues(&self) -> u64 {
        self.broken_queues.load(Ordering::Relaxed)
    }

    pub(crate) fn snapshot(&self) -> Vec<(Refusal, u64)> {
        let of = |why| (why, self.refused[why as usize].load(Ordering::Relaxed));
        Refusal::ALL
            .map(of)
            .into_iter()
            .filter(|one| one.1 > 0)
            .collect()
    }

    pub(crate) fn broken(&self) -> Option<Broken> {
        *self.broken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
