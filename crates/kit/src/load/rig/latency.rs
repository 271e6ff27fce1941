//! Latencies that one thread counts while another reads.

use std::sync::atomic::{AtomicU64, Ordering};

use trial::Histogram;

/// Each doubling is divided into this many steps: quantiles are right to 3%.
const STEPS: u64 = 32;
/// Longest told apart: 2^37 ns are 137 s.
const OCTAVES: usize = 37;
const BUCKETS: usize = (OCTAVES - STEPS.ilog2() as usize + 1) * STEPS as usize;

/// Counts of latencies with one writer and any number of readers.
#[derive(Debug)]
pub struct Latencies(Box<[AtomicU64]>);

impl Latencies {
    pub fn new() -> Self {
        Self((0..BUCKETS).map(|_| AtomicU64::new(0)).collect())
    }

    /// Counts one; the writer's.
    pub fn record(&self, latency_ns: u64) {
        let count = &self.0[bucket(latency_ns)];
        // One writer, so load and store need not be one step.
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// All so far.
    pub fn counts(&self) -> LatencyCounts {
        LatencyCounts(
            self.0
                .iter()
                .map(|count| count.load(Ordering::Relaxed))
                .collect(),
        )
    }
}

fn bucket(latency_ns: u64) -> usize {
    if latency_ns < STEPS {
        return latency_ns as usize;
    }
    let shift = latency_ns.ilog2() - STEPS.ilog2();
    // The leading step of each doubling is STEPS itself.
    let index = u64::from(shift) * STEPS + (latency_ns >> shift);
    (index as usize).min(BUCKETS - 1)
}

/// The middle of what a bucket holds, ns.
fn middle_ns(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * STEPS {
        return bucket;
    }
    let shift = bucket / STEPS - 1;
    ((bucket % STEPS + STEPS) << shift) + (1 << shift) / 2
}

/// Latencies, submission to reaping, counted to 3%.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyCounts(Vec<u64>);

impl From<&Histogram> for LatencyCounts {
    fn from(histogram: &Histogram) -> Self {
        Self::of(histogram.recorded())
    }
}

impl LatencyCounts {
    /// Of latencies, ns, with how often each was seen.
    pub fn of(seen: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut counts = vec![0; BUCKETS];
        for (latency_ns, count) in seen {
            counts[bucket(latency_ns)] += count;
        }
        Self(counts)
    }

    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        let before = earlier.0.iter().copied().chain(std::iter::repeat(0));
        Self(
            self.0
                .iter()
                .zip(before)
                .map(|(now, before)| now.wrapping_sub(before))
                .collect(),
        )
    }

    /// Adds those of `other`.
    pub fn add(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0
            .iter_mut()
            .zip(&other.0)
            .for_each(|(own, more)| *own += more);
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many.
    pub fn len(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The latency, ns, that a share `q` (0 to 1) does not exceed; none
    /// without latencies.
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let rank = ((self.len() as f64 * q).ceil() as u64).clamp(1, self.len().max(1));
        let mut seen = 0;
        let reaches = |count: &u64| {
            seen += count;
            seen >= rank
        };
        self.0.iter().position(reaches).map(middle_ns)
    }

    /// As a histogram of results.
    pub fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::new();
        let seen = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        seen.for_each(|(bucket, &count)| histogram.record_many(middle_ns(bucket), count));
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_holds_its_own_middle() {
        for index in 0..BUCKETS {
            assert_eq!(bucket(middle_ns(index)), index);
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_right_to_three_percent() {
        let latencies = Latencies::new();
        (1..=10_000).for_each(|value| latencies.record(value * 17));
        let counts = latencies.counts();
        assert_eq!(counts.len(), 10_000);
        for q in [0.01, 0.5, 0.9, 0.99, 1.0] {
            let exact = q * 170_000.0;
            let found = counts.quantile_ns(q).unwrap() as f64;
            assert!((found / exact - 1.0).abs() < 0.033, "{q}: {found} {exact}");
        }
        assert_eq!(LatencyCounts::default().quantile_ns(0.5), None);
    }

    #[test]
    fn differences_and_sums_undo_each_other() {
        let latencies = Latencies::new();
        latencies.record(100);
        let before = latencies.counts();
        latencies.record(5_000);
        latencies.record(5_000);
        let mut since = latencies.counts().since(&before);
        assert_eq!(since.len(), 2);
        since.add(&before);
        assert_eq!(since, latencies.counts());
        assert_eq!(since.histogram().len(), 3);
    }
}
