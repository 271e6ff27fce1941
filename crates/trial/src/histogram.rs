//! Latencies of many requests in bounded memory.

mod stored;

use std::fmt;

use crate::{Direction, Metric};

pub use stored::HistogramError;

/// Longest latency that is distinguished, ns: 100 s. Longer ones count as this.
pub const LATENCY_NS_MAX: u64 = 100_000_000_000;

/// Significant decimal digits kept: quantiles are right to 0.1%.
const DIGITS: u8 = 3;

/// The stated quantiles, and how a metric's name says each.
const QUANTILES: [(f64, &str); 4] = [
    (0.5, "latency_p50_us"),
    (0.9, "latency_p90_us"),
    (0.99, "latency_p99_us"),
    (0.999, "latency_p99_9_us"),
];

/// Values that must lie beyond a quantile before it is stated.
const BEYOND_MIN: f64 = 10.0;

/// Latencies from 1 ns to 100 s with three significant digits, in about
/// 230 KB whatever their number (`HdrHistogram`).
#[derive(Clone, PartialEq)]
pub struct Histogram {
    counts: hdrhistogram::Histogram<u64>,
}

/// In short: there are thousands of counts.
impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (self.counts.min(), self.counts.max());
        write!(f, "Histogram({} of {least} to {most} ns)", self.len())
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    pub fn new() -> Self {
        let counts = hdrhistogram::Histogram::new_with_bounds(1, LATENCY_NS_MAX, DIGITS)
            .expect("1 ns to 100 s with three digits is a range the library takes");
        Self { counts }
    }

    /// Counts one latency, ns. Never allocates, never panics: what is longer
    /// than [`LATENCY_NS_MAX`] counts as that, 0 as 1 ns.
    pub fn record(&mut self, latency_ns: u64) {
        self.record_many(latency_ns, 1);
    }

    /// Counts a latency, ns, this many times, as [`Self::record`] does.
    pub fn record_many(&mut self, latency_ns: u64, count: u64) {
        self.counts
            .saturating_record_n(latency_ns.clamp(1, LATENCY_NS_MAX), count);
    }

    pub fn merge(&mut self, other: &Self) {
        self.counts
            .add(&other.counts)
            .expect("both have the same range");
    }

    pub fn clear(&mut self) {
        self.counts.reset();
    }

    pub fn len(&self) -> u64 {
        self.counts.len()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// What was counted: (latency in ns to 0.1%, how many), by rising latency.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts
            .iter_recorded()
            .map(|value| (value.value_iterated_to(), value.count_at_value()))
    }

    /// The latency, ns, that a share `q` (0 to 1) of all do not exceed, to
    /// 0.1% and never below the true one; `None` when empty or `q` is not a number.
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let usable = !self.is_empty() && !q.is_nan();
        usable.then(|| {
            self.counts
                .value_at_quantile(q.clamp(0.0, 1.0))
                .min(LATENCY_NS_MAX)
        })
    }

    /// The longest latency, ns, to 0.1%; `None` when empty.
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.counts.max().min(LATENCY_NS_MAX))
    }

    /// `latency_p50_us`, `latency_p90_us`, `latency_p99_us`,
    /// `latency_p99_9_us` and `latency_max_us`, in µs, less is better.
    ///
    /// A quantile is left out while fewer than ten values lie beyond it (p50
    /// needs 20, p99.9 needs 10,000): such a figure would be the chance of a
    /// few requests. An empty histogram gives nothing.
    pub fn metrics(&self) -> Vec<Metric> {
        let stated = QUANTILES
            .iter()
            .filter(|(q, _)| self.len() as f64 * (1.0 - q) >= BEYOND_MIN - 1e-6);
        let quantiles = stated.filter_map(|(q, name)| Some((*name, self.quantile_ns(*q)?)));
        let longest = self.max_ns().map(|ns| ("latency_max_us", ns));
        let metric =
            |(name, ns): (&str, u64)| Metric::new(name, "µs", Direction::Lower, ns as f64 / 1e3);
        quantiles.chain(longest).map(metric).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Histogram, LATENCY_NS_MAX};

    pub(super) fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn what_is_out_of_range_is_counted_at_the_limit() {
        let histogram = of([0, 1, LATENCY_NS_MAX, LATENCY_NS_MAX + 1, u64::MAX]);
        assert_eq!(histogram.len(), 5);
        assert_eq!(histogram.recorded().last().map(|(_, count)| count), Some(3));
        assert_eq!(histogram.max_ns(), Some(LATENCY_NS_MAX));
        assert_eq!(histogram.quantile_ns(0.0), Some(1));
    }

    #[test]
    fn memory_is_bounded_as_documented() {
        assert_eq!(Histogram::new().counts.distinct_values(), 28_672);
    }

    #[test]
    fn an_empty_histogram_says_nothing() {
        let empty = Histogram::new();
        assert!(empty.is_empty() && empty.metrics().is_empty());
        assert_eq!((empty.quantile_ns(0.5), empty.max_ns()), (None, None));
        assert_eq!(
            Histogram::decode(&empty.encode()).expect("round trip"),
            empty
        );
    }

    #[test]
    fn quantiles_are_stated_only_where_values_lie_beyond() {
        for (count, names) in [
            (19, "max"),
            (20, "p50 max"),
            (999, "p50 p90 max"),
            (1000, "p50 p90 p99 max"),
            (9_999, "p50 p90 p99 max"),
            (10_000, "p50 p90 p99 p99_9 max"),
        ] {
            let expected = names.split(' ').map(|name| format!("latency_{name}_us"));
            let stated = of(1..=count)
                .metrics()
                .into_iter()
                .map(|metric| metric.name);
            assert!(stated.eq(expected), "{count}");
        }
    }

    #[test]
    fn metrics_are_in_microseconds() {
        let metrics = of((1..=10_000).map(|index| index * 1000)).metrics();
        for (metric, expected) in metrics
            .iter()
            .zip([5000.0, 9000.0, 9900.0, 9990.0, 10_000.0])
        {
            assert!((metric.value / expected - 1.0).abs() < 1e-3, "{metric:?}");
        }
    }

    #[test]
    fn merging_counts_all() {
        let mut merged = of([1, 2, 3]);
        merged.merge(&of([4, 5]));
        assert_eq!(merged, of([1, 2, 3, 4, 5]));
        merged.clear();
        assert!(merged.is_empty());
    }
}
