//! What became of packets, counted.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$note:meta])* $name:ident,)*) => {
        /// Counts since an [`Offload`](crate::Offload) was made, of all its endpoints.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$note])* pub $name: u64,)*
        }

        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub $name: Counter,)*
        }

        impl Counters {
            pub(crate) fn counts(&self) -> Counts {
                Counts { $($name: self.$name.0.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters! {
    /// 1-RTT packets that were sealed with others.
    sealed_together,
    /// 1-RTT packets that were sealed as quinn built them, where they might have waited.
    sealed_alone,
    /// 1-RTT packets that were opened with others, before quinn saw them.
    opened_together,
    /// 1-RTT packets that quinn's keys opened.
    opened_alone,
    /// Packets that came with the mark of opened ones: forged, and spoilt.
    spoilt,
    /// 1-RTT packets that a back-end did not seal with others: none of their datagrams was
    /// sent.
    not_sealed,
    /// Datagrams that were not what their keys had left to be sealed: none was sent.
    unmatched,
    /// Datagrams that were handed to the kernel.
    datagrams,
    /// Messages that they were handed over in.
    messages,
    /// Messages that the kernel refused.
    failed_messages,
}

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }
}
