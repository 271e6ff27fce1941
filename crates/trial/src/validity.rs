//! Judges a trial from what was observed around it.
//!
//! Each threshold is where the disturbance would reach the size of what a
//! comparison here can show: about one percent for what adds time, more for
//! what interleaving cancels.

use crate::stats::values_outside;
use crate::{Validity, Verdict};

/// Minimum number of completions for a rate: chance alone moves the count of 100 by a
/// tenth.
pub const SAMPLES_MIN: u64 = 100;

/// Share of the trial's CPU time that the hypervisor may give to others. Above
/// 2% the arm that happened to run then looks slower than it is.
pub const STEAL_RATIO_MAX: f64 = 0.02;

/// Cores that other processes may keep busy beyond those the trial leaves
/// spare. A tenth of a core in a trial of two threads is 5% of its time.
pub const LOAD_ELSEWHERE_MAX: f64 = 0.1;

/// Longest pause of a busy thread. 10 ms is 1% of a one-second trial, and
/// several times the slice that two threads on one shared core take in turns.
pub const GAP_NS_MAX: u64 = 10_000_000;

/// Change of the core's speed against the run's usual, as a share. Interleaved
/// pairs cancel slow drift, but a point's own figure does not, and boost and
/// throttling move in steps of more than that.
pub const FREQUENCY_DRIFT_MAX: f64 = 0.05;

/// Share of the intended rate that the generator must really have sent.
pub const GENERATOR_RATIO_MIN: f64 = 0.99;

/// Observations while a trial ran. Fields that were not observed stay at their
/// default and are not judged, except `samples`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    pub samples: u64,
    /// Share (0 to 1) of the CPU time of the trial's CPUs that was stolen.
    pub steal_ratio: f64,
    /// Cores that other processes kept busy, on average, on the trial's CPUs.
    pub load_elsewhere: f64,
    /// Longest time in which a thread that should have run did not, ns.
    pub gap_ns_max: u64,
    /// Change of the core's speed against the run's usual, as a share; either
    /// sign, above zero is faster.
    pub frequency_drift: f64,
    /// Rate the generator was told to send, requests/s; 0 in a closed loop.
    pub offered_per_s: f64,
    /// Rate the generator did send, requests/s, including refused submissions: a full
    /// ring is caused by the tested system, not by the generator.
    pub achieved_per_s: f64,
    /// Bytes of all buffers in flight at once, sources and destinations.
    pub in_flight_bytes: u64,
    /// L2 cache of the core that works on them, bytes; 0 when unknown.
    pub l2_bytes: u64,
    /// Threads of the trial that never sleep or are meant to be always busy.
    pub busy_threads: usize,
    pub cpus: usize,
    /// Whether the placement is declared `shared`: threads meant to take turns
    /// on a core, so that more threads than CPUs is what is measured.
    pub shared: bool,
}

impl Observed {
    /// The verdict. Where several things disturbed the trial, the kind is the
    /// gravest (too few samples, then generator, noise, working set) and the
    /// reason names them all.
    pub fn verdict(&self) -> Verdict {
        let found: Vec<_> = self.doubts().filter(|(is_so, ..)| *is_so).collect();
        let Some((_, gravest, ..)) = found.first() else {
            return Verdict::valid();
        };
        let reasons: Vec<_> = found
            .iter()
            .map(|(.., reason, _)| reason.as_str())
            .collect();
        let mut remedies: Vec<_> = found.iter().map(|(.., remedy)| *remedy).collect();
        // Only neighbours have the same remedy.
        remedies.dedup();
        Verdict::new(*gravest, reasons.join("; "), remedies.join("; "))
    }

    /// Each kind of disturbance, the gravest first.
    fn doubts(&self) -> impl Iterator<Item = Doubt> {
        let share = self.achieved_per_s / self.offered_per_s;
        // Not a number counts as a failure: an unknown rate was not held.
        let is_held = self.offered_per_s == 0.0 || share >= GENERATOR_RATIO_MIN;
        // Beyond L2 the cache's miss cost is measured too. Targets on ratios keep to
        // half of it, so that code and rings have room beside the buffers.
        let is_exceeded = self.l2_bytes > 0 && self.in_flight_bytes > self.l2_bytes;
        let too_few = (
            self.samples < SAMPLES_MIN,
            Validity::TooFewSamples,
            format!(
                "{} requests completed, a rate needs {SAMPLES_MIN}",
                self.samples
            ),
            "measure longer (--seconds)",
        );
        let generator_bound = (
            !is_held,
            Validity::GeneratorBound,
            format!(
                "the generator sent {:.0} of {:.0} requests/s ({:.1}%), it must hold {:.0}%",
                self.achieved_per_s,
                self.offered_per_s,
                share * 100.0,
                GENERATOR_RATIO_MIN * 100.0
            ),
            "offer less, or give the generator a CPU of its own",
        );
        let working_set = (
            is_exceeded,
            Validity::WorkingSet,
            format!(
                "{} KiB in flight exceed the {} KiB of L2",
                self.in_flight_bytes.div_ceil(1024),
                self.l2_bytes / 1024
            ),
            "lower the depth or the block size",
        );
        let noise = self.noise();
        let noise = noise.map(|(is_so, reason, remedy)| (is_so, Validity::Noisy, reason, remedy));
        let grave = [too_few, generator_bound];
        grave.into_iter().chain(noise).chain([working_set])
    }

    /// What took time from the trial's threads.
    fn noise(&self) -> [(bool, String, &'static str); 5] {
        let Self {
            cpus, busy_threads, ..
        } = *self;
        let spare = cpus.saturating_sub(busy_threads);
        let [gap_ms, gap_ms_max] = [self.gap_ns_max, GAP_NS_MAX].map(|ns| ns as f64 / 1e6);
        [
            (
                !self.shared && cpus > 0 && busy_threads > cpus,
                format!("{busy_threads} busy threads shared {cpus} CPUs"),
                "use fewer workers, allow more CPUs, or declare the placement `shared`",
            ),
            (
                exceeds(self.steal_ratio, STEAL_RATIO_MAX),
                format!(
                    "the hypervisor took {:.1}% of the CPU time, more than {:.0}%",
                    self.steal_ratio * 100.0,
                    STEAL_RATIO_MAX * 100.0
                ),
                "measure when the host is quiet, or on dedicated cores",
            ),
            (
                exceeds(self.load_elsewhere, spare as f64 + LOAD_ELSEWHERE_MAX),
                format!(
                    "other processes kept {:.2} CPUs busy, the trial left {spare} spare (allowed beyond that: {LOAD_ELSEWHERE_MAX})",
                    self.load_elsewhere
                ),
                "stop other programs, or give the trial CPUs of its own",
            ),
            (
                self.gap_ns_max > GAP_NS_MAX,
                format!("a thread did not run for {gap_ms:.1} ms, more than {gap_ms_max:.0} ms"),
                "stop other programs, or give the trial CPUs of its own",
            ),
            (
                exceeds(self.frequency_drift.abs(), FREQUENCY_DRIFT_MAX),
                format!(
                    "clock drift: the core's speed was {:+.1}% off the run's usual, more than {:.0}%",
                    self.frequency_drift * 100.0,
                    FREQUENCY_DRIFT_MAX * 100.0
                ),
                "set the `performance` governor, or let the host warm up first",
            ),
        ]
    }
}

/// Whether it is so, and then what it makes of the trial, the reason, the remedy.
type Doubt = (bool, Validity, String, &'static str);

/// The value for all rounds of a point in [`Observed`], where each round had its own
/// disturbance: the worst by size. It leaves out as many rounds as the interval of a
/// median leaves out anyway (one of nine, none of fewer), since those cannot move it.
/// `None` without rounds.
pub fn over_rounds(rounds: &[f64]) -> Option<f64> {
    let mut by_size = rounds.to_vec();
    by_size.sort_unstable_by(|a, b| b.abs().total_cmp(&a.abs()));
    by_size.get(values_outside(rounds.len())).copied()
}

/// Whether a share is above its limit; true for what is not a number.
fn exceeds(value: f64, limit: f64) -> bool {
    value.is_nan() || value > limit
}

#[cfg(test)]
mod tests {
    use super::{Observed, over_rounds};
    use crate::Validity;

    fn quiet() -> Observed {
        Observed {
            samples: 1_000_000,
            steal_ratio: 0.001,
            load_elsewhere: 0.05,
            gap_ns_max: 400_000,
            frequency_drift: -0.01,
            offered_per_s: 1000.0,
            achieved_per_s: 999.0,
            in_flight_bytes: 512 << 10,
            l2_bytes: 1 << 20,
            busy_threads: 2,
            cpus: 2,
            shared: false,
        }
    }

    type Change = fn(&mut Observed);

    fn changed(change: Change) -> Observed {
        let mut observed = quiet();
        change(&mut observed);
        observed
    }

    #[test]
    fn each_disturbance_is_named_with_its_value() {
        use Validity::{GeneratorBound, Noisy, TooFewSamples, WorkingSet};
        let cases: [(Change, Validity, &str); 10] = [
            (|it| it.samples = 99, TooFewSamples, "99"),
            (|it| it.steal_ratio = 0.042, Noisy, "4.2%"),
            (|it| it.steal_ratio = f64::NAN, Noisy, "NaN"),
            (|it| it.load_elsewhere = 0.5, Noisy, "0.50"),
            (|it| it.gap_ns_max = 25_000_000, Noisy, "25.0 ms"),
            (|it| it.frequency_drift = -0.2, Noisy, "-20.0%"),
            (
                |it| it.achieved_per_s = 900.0,
                GeneratorBound,
                "900 of 1000",
            ),
            (|it| it.achieved_per_s = f64::NAN, GeneratorBound, "NaN"),
            (
                |it| it.in_flight_bytes = (1 << 20) + 1,
                WorkingSet,
                "1025 KiB",
            ),
            (|it| it.busy_threads = 3, Noisy, "3 busy threads"),
        ];
        for (change, validity, value) in cases {
            let verdict = changed(change).verdict();
            assert_eq!(verdict.validity, validity, "{value}");
            assert!(verdict.reason.contains(value), "{}", verdict.reason);
            assert!(!verdict.remedy.is_empty(), "{value}");
        }
    }

    #[test]
    fn what_does_no_harm_or_was_not_observed_is_valid() {
        let cases: [(&str, Change); 4] = [
            ("a quiet trial", |_| {}),
            ("threads that are meant to share a CPU", |it| {
                (it.busy_threads, it.cpus, it.shared) = (3, 1, true);
            }),
            ("load on spare CPUs", |it| {
                (it.load_elsewhere, it.cpus) = (3.0, 8);
            }),
            ("a closed loop on an unknown host", |it| {
                (it.offered_per_s, it.achieved_per_s) = (0.0, 0.0);
                (it.l2_bytes, it.cpus, it.busy_threads) = (0, 0, 0);
            }),
        ];
        for (what, change) in cases {
            let verdict = changed(change).verdict();
            assert!(verdict.is_valid(), "{what}: {verdict:?}");
        }
    }

    #[test]
    fn one_round_of_nine_may_be_disturbed_and_no_more() {
        assert_eq!(over_rounds(&[]), None);
        assert_eq!(over_rounds(&[0.01, -0.2]), Some(-0.2));
        let mut rounds = [0.01; 9];
        rounds[3] = 0.3;
        assert_eq!(over_rounds(&rounds), Some(0.01));
        rounds[7] = -0.25;
        assert_eq!(over_rounds(&rounds), Some(-0.25));
        assert!(over_rounds(&[f64::NAN, 0.1]).is_some_and(f64::is_nan));
    }

    #[test]
    fn the_gravest_kind_wins_and_every_reason_stays() {
        let all =
            changed(|it| (it.samples, it.steal_ratio, it.in_flight_bytes) = (1, 0.5, 8 << 20));
        let verdict = all.verdict();
        assert_eq!(verdict.validity, Validity::TooFewSamples);
        for part in ["1 requests", "50.0%", "8192 KiB"] {
            assert!(verdict.reason.contains(part), "{}", verdict.reason);
        }
    }
}
