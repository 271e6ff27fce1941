//! What one arm measured in user space says: one line of JSON, in the shape
//! of the kernel module's `result`.

use serde::{Deserialize, Serialize};

/// The shape's version.
pub const TRIAL_LINE_SCHEMA: u32 = 1;

/// Steps of the histogram to a doubling: a bucket is 12% wide.
const STEPS: u32 = 8;

/// One arm, measured once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialLine {
    /// [`TRIAL_LINE_SCHEMA`].
    pub schema: u32,
    /// Always true: a failure has an exit code and no line.
    pub ok: bool,
    /// What asked: `af-alg` or `user-space`.
    pub source: String,
    /// `skcipher`, `aead`, `ahash` or `akcipher`.
    pub r#type: String,
    /// The algorithm, in the words of whoever computes: `cbc(aes)` of the
    /// kernel, `aes-128-cbc` of user space.
    pub algorithm: String,
    /// Who computes: a driver of the kernel, a back-end of ours.
    pub driver: String,
    /// Whether the kernel says that the driver is asynchronous.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub is_async: Option<bool>,
    /// How requests were kept in flight.
    pub mode: String,
    /// `encrypt`, `decrypt`, `digest`, …
    pub op: String,
    /// Input bytes of a request, without associated data and tag.
    pub size_bytes: u64,
    /// Bytes of the key; 0 without one.
    pub key_bytes: u64,
    /// Requests in flight, at most.
    pub depth: u32,
    /// Threads that asked.
    pub thread_count: u32,
    /// Length of the measured part.
    pub elapsed_ns: u64,
    /// Requests completed in it.
    pub completed: u64,
    /// Their input bytes.
    pub bytes: u64,
    /// Requests that failed; a failure ends the trial, so 0.
    pub errors: u64,
    /// Always true: a wrong result has an exit code and no line.
    pub verified: bool,
    /// What the output was compared with: `known-answer` (another
    /// implementation's output), `round-trip` (decrypts to the input) or
    /// `repeated` (always the same).
    pub verified_by: String,
    /// From before submission to after completion.
    pub latency_ns: Latency,
    /// Each thread's counts.
    pub threads: Vec<ThreadCount>,
}

impl TrialLine {
    /// Requests a second.
    #[must_use]
    pub fn requests_per_s(&self) -> f64 {
        self.completed as f64 / (self.elapsed_ns.max(1) as f64 / 1e9)
    }

    /// Input bytes a second, in 10^6.
    #[must_use]
    pub fn mb_per_s(&self) -> f64 {
        self.bytes as f64 / (self.elapsed_ns.max(1) as f64 / 1e3)
    }
}

/// One thread of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadCount {
    /// The CPU it ended on.
    pub cpu: u32,
    /// Requests completed.
    pub completed: u64,
    /// Requests failed.
    pub errors: u64,
    /// Requests that a full queue put off; user space is not told: 0.
    pub backlogged: u64,
    /// Requests that were done when submission returned.
    pub completed_inline: u64,
    /// Most requests in flight at once.
    pub in_flight_max: u32,
}

/// Latencies in buckets: `[upper bound in ns, requests]`, empty ones left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// How many were timed.
    pub count: u64,
    /// Their sum, ns.
    pub sum: u64,
    /// The shortest, ns.
    pub min: u64,
    /// The longest, ns.
    pub max: u64,
    /// Half of them took no longer than this, ns; to 12%.
    #[serde(default)]
    pub p50: u64,
    /// 99 of 100 took no longer than this, ns; to 12%.
    #[serde(default)]
    pub p99: u64,
    /// The histogram, by rising bound.
    pub buckets: Vec<[u64; 2]>,
}

/// Counts latencies in constant time and bounded memory.
#[derive(Clone, Debug)]
pub struct LatencyRecorder {
    counts: Vec<u64>,
    sum: u64,
    min: u64,
    max: u64,
}

impl Default for LatencyRecorder {
    fn default() -> Self {
        Self {
            counts: vec![0; bucket(u64::MAX) + 1],
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }
}

impl LatencyRecorder {
    /// Counts one request.
    pub fn record(&mut self, ns: u64) {
        self.record_many(ns, 1);
    }

    /// Counts so many requests that took as long.
    pub fn record_many(&mut self, ns: u64, count: u64) {
        self.counts[bucket(ns)] += count;
        self.sum = self.sum.saturating_add(ns.saturating_mul(count));
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// Adds what another counted.
    pub fn merge(&mut self, other: &Self) {
        for (own, others) in self.counts.iter_mut().zip(&other.counts) {
            *own += others;
        }
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// What was counted.
    #[must_use]
    pub fn latency(&self) -> Latency {
        let count = self.counts.iter().sum();
        if count == 0 {
            return Latency::default();
        }
        let filled = self.counts.iter().enumerate().filter(|(_, n)| **n > 0);
        Latency {
            count,
            sum: self.sum,
            min: self.min,
            max: self.max,
            p50: self.quantile_ns(count.div_ceil(2)),
            p99: self.quantile_ns((count * 99).div_ceil(100)),
            buckets: filled.map(|(index, n)| [upper_ns(index), *n]).collect(),
        }
    }

    /// The bound that so many did not exceed.
    fn quantile_ns(&self, rank: u64) -> u64 {
        let mut seen = 0;
        let reached = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        reached.map_or(self.max, |index| upper_ns(index).min(self.max))
    }
}

/// The bucket of a latency: linear below [`STEPS`], then so many a doubling.
fn bucket(ns: u64) -> usize {
    let Some(octave) = ns.checked_ilog2().filter(|log| *log >= STEPS.ilog2()) else {
        return ns as usize;
    };
    let shift = octave - STEPS.ilog2();
    let step = (ns >> shift) - u64::from(STEPS);
    ((shift + 1) * STEPS) as usize + step as usize
}

/// The longest latency of a bucket.
fn upper_ns(index: usize) -> u64 {
    let (octave, step) = (index as u32 / STEPS, index as u64 % u64::from(STEPS));
    if octave == 0 {
        return step;
    }
    let next = (u128::from(STEPS) + u128::from(step) + 1) << (octave - 1);
    u64::try_from(next - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_bucket_holds_what_it_says(ns: u64) {
            let index = bucket(ns);
            prop_assert!(ns <= upper_ns(index));
            prop_assert!(index == 0 || ns > upper_ns(index - 1));
        }
    }

    #[test]
    fn buckets_are_an_eighth_wide() {
        for ns in [100, 54_321, 1 << 40] {
            let wide = upper_ns(bucket(ns)) as f64 / ns as f64;
            assert!((1.0..=1.125).contains(&wide), "{ns}: {wide}");
        }
        assert_eq!(upper_ns(bucket(u64::MAX)), u64::MAX);
    }

    #[test]
    fn quantiles_come_from_the_buckets() {
        let mut recorder = LatencyRecorder::default();
        assert_eq!(recorder.latency(), Latency::default());
        (1..=100).for_each(|us| recorder.record(us * 1000));
        let mut other = LatencyRecorder::default();
        other.record(9);
        recorder.merge(&other);
        let latency = recorder.latency();
        assert_eq!((latency.count, latency.min, latency.max), (101, 9, 100_000));
        assert_eq!(latency.sum, 5_050_009);
        assert!((50_000..=57_000).contains(&latency.p50), "{latency:?}");
        assert!((98_000..=100_000).contains(&latency.p99), "{latency:?}");
        assert_eq!(latency.buckets.iter().map(|b| b[1]).sum::<u64>(), 101);
    }

    #[test]
    fn rates_are_per_second_and_lines_read_back() {
        let line = TrialLine {
            schema: TRIAL_LINE_SCHEMA,
            ok: true,
            source: "af-alg".to_owned(),
            r#type: "skcipher".to_owned(),
            algorithm: "cbc(aes)".to_owned(),
            driver: "cbc-aes-aesni".to_owned(),
            is_async: Some(false),
            mode: "sync".to_owned(),
            op: "encrypt".to_owned(),
            size_bytes: 512,
            key_bytes: 16,
            depth: 1,
            thread_count: 1,
            elapsed_ns: 500_000_000,
            completed: 1000,
            bytes: 512_000,
            errors: 0,
            verified: true,
            verified_by: "known-answer".to_owned(),
            latency_ns: Latency::default(),
            threads: vec![ThreadCount::default()],
        };
        assert_eq!(line.requests_per_s(), 2000.0);
        assert_eq!(line.mb_per_s(), 1.024);
        let text = serde_json::to_string(&line).unwrap();
        assert!(text.starts_with(r#"{"schema":1,"ok":true,"#), "{text}");
        assert_eq!(serde_json::from_str::<TrialLine>(&text).unwrap(), line);
    }
}
