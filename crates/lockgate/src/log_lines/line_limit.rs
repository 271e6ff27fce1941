//! How many lines of a kind are written.

use std::collections::HashMap;

/// Lines of a kind that may come at once.
pub const BURST: u64 = 10;
/// After that, one more in each such time.
pub const REFILL_NS: u64 = 1_000_000_000;
/// Kinds that are told apart; all others are one.
const KINDS_MAX: usize = 1024;

/// Who has something to say, and what it is about.
type Kind = (String, &'static str);

/// A token bucket for each kind of line; the time is an argument.
#[derive(Default)]
pub struct LineLimit(HashMap<Kind, Bucket>);

struct Bucket {
    lines: u64,
    since_ns: u64,
    left_out: u64,
}

impl LineLimit {
    /// Whether a line may be written now; if so, how many of its kind were left out before
    /// it.
    pub fn pass(&mut self, source: &str, about: &'static str, now_ns: u64) -> Option<u64> {
        let mut kind = (source.to_owned(), about);
        if self.0.len() >= KINDS_MAX && !self.0.contains_key(&kind) {
            kind = Kind::default();
        }
        let bucket = self.0.entry(kind).or_insert(Bucket {
            lines: BURST,
            since_ns: now_ns,
            left_out: 0,
        });
        let refilled = now_ns.saturating_sub(bucket.since_ns) / REFILL_NS;
        bucket.since_ns += refilled * REFILL_NS;
        bucket.lines = bucket.lines.saturating_add(refilled);
        if bucket.lines >= BURST {
            (bucket.lines, bucket.since_ns) = (BURST, now_ns);
        }
        match bucket.lines {
            0 => {
                bucket.left_out += 1;
                None
            }
            _ => {
                bucket.lines -= 1;
                Some(std::mem::take(&mut bucket.left_out))
            }
        }
    }

    /// How many were left out that no line has told of: told now.
    pub fn take_left_out(&mut self) -> u64 {
        let all = self.0.values_mut();
        all.map(|bucket| std::mem::take(&mut bucket.left_out)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_burst_and_a_line_a_second() {
        let mut limit = LineLimit::default();
        let (mut written, mut told) = (0, 0);
        // 100,000 lines in 3 s.
        for line in 0..100_000 {
            if let Some(left_out) = limit.pass("vm1", "connected", line * 30_000) {
                (written, told) = (written + 1, told + left_out);
            }
        }
        assert_eq!(written, BURST + 2);
        assert_eq!(written + told + limit.take_left_out(), 100_000);
        assert_eq!(limit.take_left_out(), 0);
    }

    #[test]
    fn kinds_do_not_share_and_rest_fills_no_more_than_a_burst() {
        let mut limit = LineLimit::default();
        let mut burst = |source, about, now_ns| {
            let passed = (0..2 * BURST).filter(|_| limit.pass(source, about, now_ns).is_some());
            passed.count() as u64
        };
        assert_eq!(burst("vm1", "connected", 0), BURST);
        assert_eq!(burst("vm1", "disconnected", 0), BURST);
        assert_eq!(burst("vm2", "connected", 0), BURST);
        assert_eq!(burst("vm1", "connected", 3 * REFILL_NS / 2), 1);
        assert_eq!(burst("vm1", "connected", 2 * REFILL_NS), 1);
        assert_eq!(burst("vm1", "connected", 1000 * REFILL_NS), BURST);
        assert_eq!(burst("vm1", "connected", 1000 * REFILL_NS), 0);
        // A clock that goes back is no credit and no panic.
        assert_eq!(burst("vm1", "connected", 0), 0);
    }

    #[test]
    fn kinds_without_end_take_no_memory_without_end() {
        let mut limit = LineLimit::default();
        let passed = (0..100_000).filter(|kind| limit.pass(&kind.to_string(), "x", 0).is_some());
        assert_eq!(passed.count() as u64, KINDS_MAX as u64 + BURST);
        assert!(limit.0.len() <= KINDS_MAX + 1);
    }
}
