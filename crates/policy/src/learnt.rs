//! A time that is learnt from samples.

/// A sample moves the value by at most this factor: one that a stopped thread made a
/// thousand times as long hardly counts.
const STEP_MAX: f64 = 2.0;

/// The first sample says more, if it is not absurd.
const FIRST_MAX: f64 = 8.0;

/// Samples until it changes slowly: each then counts for one in this many.
const KNOWN: u32 = 8;

/// The range of values, ns.
const RANGE_NS: std::ops::RangeInclusive<f64> = 1.0..=1e9;

/// Moves by a bounded factor towards each sample, so that it comes near the
/// median and not the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Learnt {
    ns: f64,
    samples: u32,
}

impl Learnt {
    pub(crate) const fn prior(ns: f64) -> Self {
        Self { ns, samples: 0 }
    }

    pub(crate) const fn ns(&self) -> f64 {
        self.ns
    }

    pub(crate) fn learn(&mut self, sample_ns: f64) {
        let sample_ns = sample_ns.clamp(*RANGE_NS.start(), *RANGE_NS.end());
        self.samples = (self.samples + 1).min(KNOWN);
        if self.ns == 0.0 {
            self.ns = sample_ns;
        }
        let most = if self.samples == 1 {
            FIRST_MAX
        } else {
            STEP_MAX
        };
        let step = (sample_ns / self.ns).clamp(1.0 / most, most);
        self.ns *= step.powf(1.0 / f64::from(self.samples));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_five_samples_may_be_absurd() {
        let mut time = Learnt::prior(5000.0);
        for round in 0..500 {
            time.learn(if round % 5 == 0 { 1e12 } else { 5000.0 });
        }
        assert!((4000.0..8000.0).contains(&time.ns()), "{time:?}");
    }

    #[test]
    fn another_time_is_learnt_within_a_few_dozen_samples() {
        let mut time = Learnt::prior(5000.0);
        for truth in [2400.0, 22_000.0, 2400.0] {
            (0..50).for_each(|_| time.learn(truth));
            assert!((time.ns() / truth - 1.0).abs() < 0.02, "{time:?} {truth}");
        }
    }
}
