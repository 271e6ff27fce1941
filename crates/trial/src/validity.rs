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
        let found: Vec<Verdict> = [
            self.too_few_samples(),
            self.generator_bound(),
            self.crowded(),
            self.stolen(),
            self.loaded(),
            self.paused(),
            self.drifted(),
            self.working_set(),
        ]
        .into_iter()
        .flatten()
        .collect();
        let Some(gravest) = found.first() else {
            return Verdict::valid();
        };
        let join = |part: fn(&Verdict) -> &str| {
            let mut parts: Vec<_> = Vec::new();
            for one in found.iter().map(part) {
                // Two reasons may have one remedy.
                if !parts.contains(&one) {
                    parts.push(one);
                }
            }
            parts.join("; ")
        };
        Verdict::new(gravest.validity, join(|v| &v.reason), join(|v| &v.remedy))
    }

    fn too_few_samples(&self) -> Option<Verdict> {
        (self.samples < SAMPLES_MIN).then(|| {
            Verdict::new(
                Validity::TooFewSamples,
                format!(
                    "{} requests completed, a rate needs {SAMPLES_MIN}",
                    self.samples
                ),
                "measure longer (--seconds)",
            )
        })
    }

    /// Not a number counts as a failure: an unknown rate was not held.
    fn generator_bound(&self) -> Option<Verdict> {
        let share = self.achieved_per_s / self.offered_per_s;
        let held = self.offered_per_s == 0.0 || share >= GENERATOR_RATIO_MIN;
        (!held).then(|| {
            Verdict::new(
                Validity::GeneratorBound,
                format!(
                    "the generator sent {:.0} of {:.0} requests/s ({:.1}%), it must hold {:.0}%",
                    self.achieved_per_s,
                    self.offered_per_s,
                    share * 100.0,
                    GENERATOR_RATIO_MIN * 100.0
                ),
                "offer less, or give the generator a CPU of its own",
            )
        })
    }

    fn crowded(&self) -> Option<Verdict> {
        let crowded = !self.shared && self.cpus > 0 && self.busy_threads > self.cpus;
        crowded.then(|| {
            Verdict::new(
                Validity::Noisy,
                format!(
                    "{} busy threads shared {} CPUs",
                    self.busy_threads, self.cpus
                ),
                "use fewer workers, allow more CPUs, or declare the placement `shared`",
            )
        })
    }

    fn stolen(&self) -> Option<Verdict> {
        exceeds(self.steal_ratio, STEAL_RATIO_MAX).then(|| {
            Verdict::new(
                Validity::Noisy,
                format!(
                    "the hypervisor took {:.1}% of the CPU time, more than {:.0}%",
                    self.steal_ratio * 100.0,
                    STEAL_RATIO_MAX * 100.0
                ),
                "measure when the host is quiet, or on dedicated cores",
            )
        })
    }

    fn loaded(&self) -> Option<Verdict> {
        let spare = self.cpus.saturating_sub(self.busy_threads);
        exceeds(self.load_elsewhere, spare as f64 + LOAD_ELSEWHERE_MAX).then(|| {
            Verdict::new(
                Validity::Noisy,
                format!(
                    "other processes kept {:.2} CPUs busy, the trial left {spare} spare (allowed beyond that: {LOAD_ELSEWHERE_MAX})",
                    self.load_elsewhere
                ),
                "stop other programs, or give the trial CPUs of its own",
            )
        })
    }

    fn paused(&self) -> Option<Verdict> {
        (self.gap_ns_max > GAP_NS_MAX).then(|| {
            Verdict::new(
                Validity::Noisy,
                format!(
                    "a thread did not run for {:.1} ms, more than {:.0} ms",
                    self.gap_ns_max as f64 / 1e6,
                    GAP_NS_MAX as f64 / 1e6
                ),
                "stop other programs, or give the trial CPUs of its own",
            )
        })
    }

    fn drifted(&self) -> Option<Verdict> {
        exceeds(self.frequency_drift.abs(), FREQUENCY_DRIFT_MAX).then(|| {
            Verdict::new(
                Validity::Noisy,
                format!(
                    "clock drift: the core's speed was {:+.1}% off the run's usual, more than {:.0}%",
                    self.frequency_drift * 100.0,
                    FREQUENCY_DRIFT_MAX * 100.0
                ),
                "set the `performance` governor, or let the host warm up first",
            )
        })
    }

    /// Beyond L2 the cache's miss cost is measured too. Targets on ratios keep
    /// to half of it, so that code and rings have room beside the buffers.
    fn working_set(&self) -> Option<Verdict> {
        let exceeded = self.l2_bytes > 0 && self.in_flight_bytes > self.l2_bytes;
        exceeded.then(|| {
            Verdict::new(
                Validity::WorkingSet,
                format!(
                    "{} KiB in flight exceed the {} KiB of L2",
                    self.in_flight_bytes.div_ceil(1024),
                    self.l2_bytes / 1024
                ),
                "lower the depth or the block size",
            )
        })
    }
}

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

    #[test]
    fn a_quiet_trial_is_valid() {
        assert!(quiet().verdict().is_valid(), "{:?}", quiet().verdict());
    }

    #[test]
    fn each_disturbance_is_named_with_its_value() {
        let cases = [
            (
                Observed {
                    samples: 99,
                    ..quiet()
                },
                Validity::TooFewSamples,
                "99",
            ),
            (
                Observed {
                    steal_ratio: 0.042,
                    ..quiet()
                },
                Validity::Noisy,
                "4.2%",
            ),
            (
                Observed {
                    steal_ratio: f64::NAN,
                    ..quiet()
                },
                Validity::Noisy,
                "NaN",
            ),
            (
                Observed {
                    load_elsewhere: 0.5,
                    ..quiet()
                },
                Validity::Noisy,
                "0.50",
            ),
            (
                Observed {
                    gap_ns_max: 25_000_000,
                    ..quiet()
                },
                Validity::Noisy,
                "25.0 ms",
            ),
            (
                Observed {
                    frequency_drift: -0.2,
                    ..quiet()
                },
                Validity::Noisy,
                "-20.0%",
            ),
            (
                Observed {
                    achieved_per_s: 900.0,
                    ..quiet()
                },
                Validity::GeneratorBound,
                "900 of 1000",
            ),
            (
                Observed {
                    achieved_per_s: f64::NAN,
                    ..quiet()
                },
                Validity::GeneratorBound,
                "NaN",
            ),
            (
                Observed {
                    in_flight_bytes: (1 << 20) + 1,
                    ..quiet()
                },
                Validity::WorkingSet,
                "1025 KiB",
            ),
            (
                Observed {
                    busy_threads: 3,
                    ..quiet()
                },
                Validity::Noisy,
                "3 busy threads",
            ),
        ];
        for (observed, validity, value) in cases {
            let verdict = observed.verdict();
            assert_eq!(verdict.validity, validity, "{observed:?}");
            assert!(verdict.reason.contains(value), "{}", verdict.reason);
            assert!(!verdict.remedy.is_empty());
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
    fn threads_may_outnumber_the_cpus_they_are_meant_to_share() {
        let shared = Observed {
            busy_threads: 3,
            cpus: 1,
            shared: true,
            ..quiet()
        };
        assert!(shared.verdict().is_valid(), "{:?}", shared.verdict());
    }

    #[test]
    fn load_on_spare_cpus_does_no_harm() {
        let spare = Observed {
            load_elsewhere: 3.0,
            cpus: 8,
            ..quiet()
        };
        assert!(spare.verdict().is_valid(), "{:?}", spare.verdict());
    }

    #[test]
    fn what_was_not_observed_is_not_judged() {
        let closed = Observed {
            offered_per_s: 0.0,
            achieved_per_s: 0.0,
            l2_bytes: 0,
            cpus: 0,
            ..quiet()
        };
        let closed = Observed {
            busy_threads: 0,
            ..closed
        };
        assert!(closed.verdict().is_valid(), "{:?}", closed.verdict());
    }

    #[test]
    fn the_gravest_kind_wins_and_every_reason_stays() {
        let all = Observed {
            samples: 1,
            steal_ratio: 0.5,
            in_flight_bytes: 8 << 20,
            ..quiet()
        };
        let verdict = all.verdict();
        assert_eq!(verdict.validity, Validity::TooFewSamples);
        for part in ["1 requests", "50.0%", "8192 KiB"] {
            assert!(verdict.reason.contains(part), "{}", verdict.reason);
        }
    }
}
