//! The diagnosis of simulated devices: right where the evidence allows it, and
//! never wrong with confidence.

use crate::device::{Device, Lab, host, plant};
use lockgate_model as model;
use model::cause::{
    Case, Cause, Confidence, Diagnosis, Effect, Experiments, Point, Source, Speaks, Test, diagnose,
};
use proptest::prelude::{ProptestConfig, any, prop, prop_assert, proptest};
use trial::stats::{Interval, Random};

/// Devices a cause: 300, or 5,000 with `LOCKGATE_THOROUGH=1`.
fn devices() -> usize {
    testing::cases(300, 5_000) as usize
}

/// Devices that `causes` slow down at large sizes, and the sizes.
fn slowed(causes: &[Cause], count: usize, seed: u64) -> Vec<(Device, f64, f64)> {
    const FALL: f64 = 0.93;
    let mut random = Random::new(seed);
    let mut found = Vec::new();
    while found.len() < count {
        let mut device = host(&mut random);
        for cause in causes {
            plant(&mut device, *cause, &mut random);
        }
        if let Some((peak, fallen)) = device.fall() {
            let speed = |block| device.run(&device.load(block)).bytes_per_s;
            if speed(fallen) < FALL * speed(peak) {
                found.push((device, peak, fallen));
            }
        }
    }
    found
}

const SEED: u64 = 20_261_122;

fn lab(sigma: f64, seed: u64) -> Lab {
    Lab {
        sigma,
        random: Random::new(seed),
    }
}

fn diagnosed(case: &Case) -> Diagnosis {
    diagnose(case).expect("a simulated case can be")
}

/// All, but for one in hundreds where one experiment hides its own effect;
/// even those are never called another.
#[test]
fn each_planted_cause_is_named() {
    for cause in Cause::ALL {
        let mut named = 0;
        for (device, peak, fallen) in slowed(&[cause], devices(), SEED) {
            let case = lab(0.0, 1).case(&device, peak, fallen);
            let found = diagnosed(&case);
            assert!(
                [cause, Cause::Unknown].contains(&found.cause),
                "{cause}: {device:#?}\n{case:#?}\n{found:#?}"
            );
            named += usize::from(found.cause == cause);
        }
        assert!(
            named * 200 >= devices() * 199,
            "{cause}: only {named} named"
        );
    }
}

/// Leaves each experiment, and each look at the peak, out of every other case.
fn thinned(full: &Experiments, random: &mut Random) -> Experiments {
    let mut keep = || random.below(2) == 0;
    let mut effect = |effect: Option<Effect>| {
        effect.filter(|_| keep()).map(|effect| Effect {
            at_peak: effect.at_peak.filter(|_| keep()),
            ..effect
        })
    };
    let (polled, other_placement, generator_only) = (
        effect(full.polled),
        effect(full.other_placement),
        effect(full.generator_only),
    );
    Experiments {
        polled,
        other_placement,
        generator_only,
        small_footprint: full.small_footprint.filter(|_| keep()),
        deeper: full.deeper.filter(|_| keep()),
        split: full.split.filter(|_| keep()),
    }
}

#[test]
fn missing_experiments_never_make_it_name_another() {
    let mut random = Random::new(99);
    for cause in Cause::ALL {
        let mut named = 0;
        for (device, peak, fallen) in slowed(&[cause], devices(), SEED + 8) {
            let full = lab(0.0, 1).case(&device, peak, fallen);
            let case = Case {
                experiments: thinned(&full.experiments, &mut random),
                ..full
            };
            let found = diagnosed(&case);
            let is_open = found.cause == Cause::Unknown && !found.next.is_empty();
            assert!(
                found.cause == cause || is_open,
                "{cause}: {device:#?}\n{case:#?}\n{found:#?}"
            );
            named += usize::from(found.cause == cause);
        }
        assert!(named > devices() / 12, "{cause}: only {named} named");
    }
}

/// Under noise a cause may stay unknown, and rarely does where pairs scatter
/// by a few per cent; another one is never named.
#[test]
fn noise_never_makes_it_name_another() {
    for (sigma, least_named) in [(0.01, 0.99), (0.03, 0.9), (0.1, 0.5)] {
        for cause in Cause::ALL {
            let mut lab = lab(sigma, 17);
            let mut named = 0;
            for (device, peak, fallen) in slowed(&[cause], devices(), SEED + 9) {
                let case = lab.case(&device, peak, fallen);
                let found = diagnosed(&case);
                assert!(
                    [cause, Cause::Unknown, Cause::None].contains(&found.cause),
                    "{cause}: {device:#?}\n{case:#?}\n{found:#?}"
                );
                named += usize::from(found.cause == cause);
            }
            let share = named as f64 / devices() as f64;
            assert!(share >= least_named, "{cause}: {share} named at {sigma}");
        }
    }
}

/// The experiments of `full` that `tests` ask for, added to those of `case`.
fn followed(case: &Case, full: &Case, tests: &[Test]) -> Case {
    let mut case = *case;
    let (tried, all) = (&mut case.experiments, &full.experiments);
    let ratio_of = |effect: Option<Effect>| effect.map(|effect| Effect::of(effect.ratio));
    for test in tests {
        match test {
            Test::Polled => tried.polled = ratio_of(all.polled),
            Test::PolledAtPeak => tried.polled = all.polled,
            Test::SmallFootprint => tried.small_footprint = all.small_footprint,
            Test::Deeper => tried.deeper = all.deeper,
            Test::Split => tried.split = all.split,
            Test::GeneratorOnly => tried.generator_only = ratio_of(all.generator_only),
            Test::GeneratorOnlyAtPeak => tried.generator_only = all.generator_only,
            Test::Again => {}
        }
    }
    case
}

#[test]
fn following_its_advice_leads_to_the_cause() {
    const ROUNDS: usize = 4;
    for cause in Cause::ALL {
        for (device, peak, fallen) in slowed(&[cause], devices(), SEED + 10) {
            let mut full = lab(0.0, 1).case(&device, peak, fallen);
            full.experiments.other_placement = None;
            let mut case = Case {
                experiments: Experiments::default(),
                ..full
            };
            let mut found = diagnosed(&case);
            for _ in 0..ROUNDS {
                case = followed(&case, &full, &found.next);
                found = diagnosed(&case);
            }
            assert_eq!(
                found.cause,
                diagnosed(&full).cause,
                "{cause}: {device:#?}\n{case:#?}\n{found:#?}"
            );
            let is_done = found.next.is_empty() || found.next == [Test::Again];
            assert!(is_done, "still wants {:?}", found.next);
        }
    }
}

/// Two causes at once: what is named is the larger by what taking either away
/// gains, but for a few where cores overlap; those are never called strong.
#[test]
fn of_two_causes_the_larger_is_named() {
    const NEARLY: f64 = 0.6;
    let (mut named, mut smaller, mut mentioned) = (0, 0, 0);
    for (first, second) in pairs_of_causes() {
        for (device, peak, fallen) in slowed(&[first, second], devices(), SEED + 11) {
            let case = lab(0.0, 1).case(&device, peak, fallen);
            let found = diagnosed(&case);
            if found.cause == Cause::Unknown {
                continue;
            }
            named += 1;
            mentioned += usize::from(!found.others.is_empty());
            let worth = |cause| device.worth(peak, fallen, cause);
            let largest = Cause::ALL.map(worth).into_iter().fold(0.0, f64::max);
            if worth(found.cause) < NEARLY * largest {
                smaller += 1;
                assert!(
                    found.confidence < Confidence::Strong,
                    "{:?} {device:#?}\n{case:#?}\n{found:#?}",
                    Cause::ALL.map(worth)
                );
            }
        }
    }
    assert!(
        smaller * 200 <= named,
        "{smaller} smaller ones of {named} named"
    );
    assert!(named >= 7 * devices(), "only {named} named");
    assert!(mentioned >= 3 * devices(), "only {mentioned} with others");
}

fn pairs_of_causes() -> Vec<(Cause, Cause)> {
    let mut pairs = Vec::new();
    for (place, first) in Cause::ALL.into_iter().enumerate() {
        for second in Cause::ALL.into_iter().skip(place + 1) {
            pairs.push((first, second));
        }
    }
    pairs
}

/// What was found on a real host once: 64 KiB at depth 64 on two cores, slower
/// than 16 KiB, polled as well, and not at depth 16.
fn cache_cliff() -> Case {
    let about = |estimate: f64| Interval {
        estimate,
        low: estimate * 0.98,
        high: estimate * 1.02,
        confidence: 0.95,
    };
    let peak = Point {
        block_bytes: 16_384.0,
        speed_mb_per_s: about(10_500.0),
        depth: 64.0,
        in_flight: 60.0,
        worker_share: 0.99,
        client_share: 0.5,
        notifications_per_s: 60_000.0,
    };
    let fallen = Point {
        block_bytes: 65_536.0,
        speed_mb_per_s: about(8400.0),
        notifications_per_s: 12_000.0,
        client_share: 0.2,
        ..peak
    };
    let experiments = Experiments {
        polled: Some(Effect::of(about(1.02)).with_peak(about(1.01))),
        small_footprint: Some(about(1.27)),
        deeper: Some(about(0.95)),
        split: Some(about(1.0)),
        ..Experiments::default()
    };
    Case {
        experiments,
        ..Case::new(peak, fallen, false)
    }
}

#[test]
fn a_cache_cliff_reads_as_one() {
    let found = diagnosed(&cache_cliff());
    assert_eq!(found.cause, Cause::WorkingSet);
    assert_eq!(found.confidence, Confidence::Strong);
    assert!(
        found.others.is_empty() && found.next.is_empty(),
        "{found:?}"
    );
    assert_eq!(
        found.summary(),
        "the bytes in flight exceed a cache: 100% of the fall (98% to 100%)"
    );
    let first = &found.evidence[0];
    assert_eq!(
        (first.source, first.speaks),
        (Source::SmallFootprint, Speaks::For(Cause::WorkingSet))
    );
    assert_eq!(
        first.text,
        "with as many bytes in flight as at the peak, the same load runs at 1.27 (1.24 to 1.30) \
         of its speed, which restores 100% of the fall (98% to 100%): \
         the bytes in flight exceed a cache"
    );
    let says = |source, speaks| {
        let mut evidence = found.evidence.iter();
        evidence.any(|seen| seen.source == source && seen.speaks == speaks)
    };
    assert!(says(Source::Deeper, Speaks::For(Cause::WorkingSet)));
    assert!(says(Source::Polled, Speaks::Against(Cause::Notifications)));
    assert!(says(Source::Split, Speaks::Against(Cause::Fragmentation)));
    assert!(says(Source::Points, Speaks::Against(Cause::Generator)));
}

#[test]
fn without_experiments_it_says_what_to_run() {
    let mut case = cache_cliff();
    case.experiments = Experiments::default();
    let found = diagnosed(&case);
    assert_eq!(
        (found.cause, found.confidence),
        (Cause::Unknown, Confidence::Open)
    );
    assert_eq!(
        found.next,
        [Test::Polled, Test::SmallFootprint, Test::Split]
    );
    assert!(
        found.share.is_none() && found.others.len() == 3,
        "{found:?}"
    );
}

#[test]
fn no_fall_has_no_cause() {
    let fall = |low: f64, high: f64| {
        let mut case = cache_cliff();
        case.fall = Some(Interval {
            estimate: low / 2.0 + high / 2.0,
            low,
            high,
            confidence: 0.95,
        });
        let found = diagnosed(&case);
        (found.cause, found.next)
    };
    assert_eq!(fall(0.98, 1.04), (Cause::None, vec![]));
    assert_eq!(fall(0.9, 0.98), (Cause::Unknown, vec![Test::Again]));
    assert_eq!(fall(0.75, 0.85).0, Cause::WorkingSet);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if devices() > 300 { 20_000 } else { 512 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever the readings and ratios: no panic, and what is named has a
    /// share that allows it.
    #[test]
    fn absurd_cases_are_diagnosed_or_refused(
        ratios in prop::collection::vec(prop::option::of((0.01..50.0_f64, 1.0..3.0_f64)), 10),
        shares in prop::collection::vec(0.0..1.5_f64, 4),
        depths in (1.0..512.0_f64, 1.0..512.0_f64, 0.0..600.0_f64),
        rates in (0.0..1e6_f64, 0.0..1e6_f64),
        is_shared in any::<bool>(),
    ) {
        let ratio = |place: usize| ratios[place].map(|(estimate, spread)| Interval {
            estimate,
            low: estimate / spread,
            high: estimate * spread,
            confidence: 0.95,
        });
        let effect = |place: usize| ratio(place).map(|measured| Effect {
            ratio: measured,
            at_peak: ratio(place + 1),
        });
        let base = cache_cliff();
        let case = Case {
            peak: Point {
                depth: depths.0,
                worker_share: shares[0],
                client_share: shares[1],
                notifications_per_s: rates.0,
                ..base.peak
            },
            fallen: Point {
                depth: depths.1,
                in_flight: depths.2,
                worker_share: shares[2],
                client_share: shares[3],
                notifications_per_s: rates.1,
                ..base.fallen
            },
            fall: ratio(0),
            is_shared,
            experiments: Experiments {
                polled: effect(1),
                other_placement: effect(3),
                generator_only: effect(5),
                small_footprint: ratio(7),
                deeper: ratio(8),
                split: ratio(9),
            },
        };
        let found = diagnosed(&case);
        prop_assert!(found.evidence.iter().all(|seen| !seen.text.contains("NaN")));
        match found.share {
            Some(share) => prop_assert!(share.low >= 0.3 && share.estimate <= 1.0, "{share:?}"),
            None => prop_assert!(matches!(found.cause, Cause::None | Cause::Unknown)),
        }
    }
}
