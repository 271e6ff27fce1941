//! Latencies as the sink counts them: logarithmic buckets with linear steps.

/// Linear steps to each power of two, as a power of two. `BUCKET_SHIFT` in
/// `bpf/sink.bpf.c`.
const SHIFT: u32 = 7;
const BUCKETS: usize = 32 << SHIFT;
pub(super) const BYTES: usize = BUCKETS * 8;

/// How many frames took how long, in steps of less than 0.8%; from 275 s on in one
/// bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    frames: Vec<u64>,
}

impl Latency {
    pub(super) fn from_value(value: &[u8]) -> Self {
        let frames = (0..BUCKETS).map(|index| crate::object::number(value, index));
        Self {
            frames: frames.collect(),
        }
    }

    /// Latency in ns, never below the true one and less than 0.8% above, and
    /// how many frames had it: by rising latency, without empty steps.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.frames
            .iter()
            .enumerate()
            .filter(|(_, frames)| **frames > 0)
            .map(|(index, frames)| (longest_ns(index), *frames))
    }

    pub fn frames(&self) -> u64 {
        self.frames.iter().sum()
    }
}

/// The longest latency of a bucket, ns.
fn longest_ns(index: usize) -> u64 {
    let steps = 1 << SHIFT;
    let index = index as u64;
    if index < 2 * steps {
        return index;
    }
    let power = index / steps - 1;
    ((steps + index % steps + 1) << power) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `bucket_of` of the program.
    fn bucket(ns: u64) -> usize {
        let rest = ns >> SHIFT;
        let bucket = match rest.checked_ilog2() {
            None => ns,
            Some(power) => (u64::from(power + 1) << SHIFT) + ((ns >> power) & 127),
        };
        usize::try_from(bucket).unwrap().min(BUCKETS - 1)
    }

    #[test]
    fn a_bucket_says_no_less_than_the_truth_and_little_more() {
        let mut ns = 0_u64;
        while ns < 1 << 37 {
            let said = longest_ns(bucket(ns));
            assert!(said >= ns && said - ns <= ns / 128, "{ns}: {said}");
            ns += 1 + ns / 997;
        }
        for index in 0..BUCKETS {
            assert_eq!(bucket(longest_ns(index)), index);
        }
    }
}
