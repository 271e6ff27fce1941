//! What a receiver makes of each frame: received, duplicate, reordered, late
//! or foreign. `bpf/sink.bpf.c` has the same rules, and a test drives both with
//! the same frames.
//!
//! In this order:
//! 1. no stamp: foreign;
//! 2. another trial's: late, whatever its stream;
//! 3. another stream's: foreign;
//! 4. known to have come before: a duplicate. What is [`WINDOW_FRAMES`] behind
//!    is not known;
//! 5. else received, and reordered too if a higher sequence came before
//!    (RFC 4737, section 3.3).

mod window;

pub use window::{Arrival, WINDOW_FRAMES, Window};

use wire::{STAMP_BYTES, Stamp};

use super::port::Received;
use super::stream::FCS_BYTES;

/// Counts the frames of one stream in one trial.
#[derive(Debug)]
pub struct Account {
    trial: u8,
    stream: u8,
    window: Window,
    first_ns: u64,
    last_ns: u64,
    counts: Received,
}

impl Account {
    pub fn new(trial: u8, stream: u8) -> Self {
        Self {
            trial,
            stream,
            window: Window::new(),
            first_ns: 0,
            last_ns: 0,
            counts: Received::default(),
        }
    }

    /// Counts one frame, as it lay in memory (without frame check sequence), that
    /// came at `now_ns` of `CLOCK_MONOTONIC`. Any bytes are accepted.
    pub fn record(&mut self, frame: &[u8], now_ns: u64) {
        let stamp = frame
            .last_chunk::<STAMP_BYTES>()
            .and_then(Stamp::from_bytes);
        self.record_stamp(stamp, frame.len() as u64, now_ns);
    }

    /// Counts one frame of `frame_bytes` in memory, of which the stamp was read
    /// already.
    pub fn record_stamp(&mut self, stamp: Option<Stamp>, frame_bytes: u64, now_ns: u64) {
        match stamp {
            None => self.counts.foreign += 1,
            Some(stamp) if stamp.trial != self.trial => self.counts.late += 1,
            Some(stamp) if stamp.stream != self.stream => self.counts.foreign += 1,
            Some(stamp) => match self.window.arrive(stamp.sequence) {
                Arrival::Again => self.counts.duplicates += 1,
                Arrival::InOrder => self.receive(stamp, frame_bytes, now_ns),
                Arrival::Reordered => {
                    self.counts.reordered += 1;
                    self.receive(stamp, frame_bytes, now_ns);
                }
            },
        }
    }

    fn receive(&mut self, stamp: Stamp, frame_bytes: u64, now_ns: u64) {
        if self.counts.received == 0 {
            self.first_ns = now_ns;
        }
        self.last_ns = self.last_ns.max(now_ns);
        self.counts.received += 1;
        self.counts.bytes += frame_bytes + u64::from(FCS_BYTES);
        self.counts.elapsed_ns = self.last_ns - self.first_ns;
        self.counts
            .latency
            .record(now_ns.saturating_sub(stamp.due_ns));
    }

    pub fn counts(&self) -> &Received {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::Account;
    use proptest::prelude::*;
    use wire::Stamp;

    fn frame(trial: u8, stream: u8, sequence: u64) -> Vec<u8> {
        let stamp = Stamp {
            trial,
            stream,
            sequence,
            due_ns: 1_000,
        };
        [vec![0; 42], stamp.to_bytes().to_vec()].concat()
    }

    fn after(sequences: &[u64]) -> super::Received {
        let mut account = Account::new(3, 1);
        for (index, sequence) in sequences.iter().enumerate() {
            account.record(&frame(3, 1, *sequence), 2_000 + index as u64);
        }
        account.counts().clone()
    }

    #[test]
    fn each_frame_counts_once() {
        let mut account = Account::new(3, 1);
        account.record(&frame(3, 1, 0), 1_500);
        account.record(&frame(2, 1, 0), 1_500);
        account.record(&frame(2, 2, 0), 1_500);
        account.record(&frame(3, 2, 0), 1_500);
        account.record(b"", 1_500);
        account.record(&[0; 60], 1_500);
        let counts = account.counts();
        assert_eq!((counts.received, counts.late, counts.foreign), (1, 2, 3));
        assert_eq!((counts.bytes, counts.latency.len()), (64, 1));
        assert_eq!(counts.latency.max_ns(), Some(500));
    }

    #[test]
    fn order_and_copies_are_told_apart() {
        let counts = after(&[0, 1, 4, 2, 2, 3, 4, 5]);
        assert_eq!(counts.received, 6);
        assert_eq!(counts.reordered, 2);
        assert_eq!(counts.duplicates, 2);
        assert_eq!(counts.elapsed_ns, 7);
    }

    #[test]
    fn a_frame_before_its_due_time_has_the_shortest_latency() {
        let mut account = Account::new(3, 1);
        account.record(&frame(3, 1, 0), 10);
        assert_eq!(account.counts().latency.max_ns(), Some(1));
    }

    proptest! {
        #![proptest_config(crate::testing::cases())]

        #[test]
        fn any_bytes_count_once(
            frames in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(any::<u8>(), 0..100),
                    (0u8..3, 0u8..3, 0u64..50).prop_map(|(trial, stream, sequence)| {
                        frame(trial, stream, sequence)
                    }),
                ],
                0..100,
            ),
            now_ns: u64,
        ) {
            let mut account = Account::new(1, 1);
            for bytes in &frames {
                account.record(bytes, now_ns);
            }
            let counts = account.counts();
            let all = counts.received + counts.duplicates + counts.late + counts.foreign;
            prop_assert_eq!(all, frames.len() as u64);
            prop_assert!(counts.reordered <= counts.received);
            prop_assert_eq!(counts.latency.len(), counts.received);
        }
    }
}
