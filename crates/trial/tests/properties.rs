//! Properties of the statistics and the histogram over made-up data.

use lockgate_trial as trial;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, proptest,
};
use trial::stats::{self, Arms, Random};
use trial::{Direction, Histogram, Outcome, Run};

/// Cases a property: 64, or 2,000 with `LOCKGATE_THOROUGH=1`.
fn cases() -> ProptestConfig {
    ProptestConfig {
        cases: testing::cases(64, 2_000),
        ..ProptestConfig::default()
    }
}

fn compare(pairs: Vec<(f64, f64)>) -> Result<trial::Comparison, stats::PairsError> {
    compare_at(pairs, stats::ERROR)
}

pub fn compare_at(
    pairs: Vec<(f64, f64)>,
    error: f64,
) -> Result<trial::Comparison, stats::PairsError> {
    stats::compare_at(Arms::default(), Direction::Higher, pairs, error)
}

/// A log-normal factor around 1: what disturbs a speed is multiplicative and
/// skewed. (Sum of twelve uniforms, less six, is close enough to normal.)
fn noise(random: &mut Random, sigma: f64) -> f64 {
    (sigma * normal(random)).exp()
}

pub fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
}

#[test]
fn the_interval_of_two_separate_arms_holds_the_true_ratio_too() {
    const TRUTH: f64 = 0.93;
    let mut random = Random::new(20_260_314);
    for count in [5, 9] {
        let mut covered = 0;
        for experiment in 0..200 {
            let mut arm = |scale: f64| -> Vec<f64> {
                (0..count)
                    .map(|_| scale * noise(&mut random, 0.05))
                    .collect()
            };
            let (above, below) = (arm(TRUTH), arm(1.0));
            let found = stats::ratio_of_medians(&above, &below, experiment).expect("positive");
            covered += u32::from(found.low <= TRUTH && TRUTH <= found.high);
        }
        assert!(
            (184..=200).contains(&covered),
            "{count} values: {covered} of 200"
        );
    }
}

fn pairs() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((0.5_f64..2.0, 0.5_f64..2.0), 1..20)
        .prop_flat_map(|pairs| (Just(pairs), 1e-3_f64..1e9))
        .prop_map(|(pairs, scale)| {
            pairs
                .into_iter()
                .map(|(a, r)| (a * scale, r * scale))
                .collect()
        })
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn swapping_the_arms_inverts_the_ratio(pairs in pairs(), seed: u64) {
        let forward = compare(pairs.clone()).expect("all are positive");
        let swapped = pairs.iter().map(|&(arm, reference)| (reference, arm)).collect();
        let backward = compare(swapped).expect("all are positive");
        if pairs.len() % 2 == 1 {
            // An odd list's median is one of its values, and so inverts exactly;
            // an even one's is a mean, which does not.
            prop_assert!((forward.ratio * backward.ratio - 1.0).abs() < 1e-9);
        }
        let mirrored = match forward.outcome {
            Outcome::Faster => [Outcome::Slower, Outcome::NoEvidence],
            Outcome::Slower => [Outcome::Faster, Outcome::NoEvidence],
            Outcome::NoEvidence => [Outcome::NoEvidence; 2],
        };
        if pairs.len() % 2 == 1 {
            prop_assert!(mirrored.contains(&backward.outcome));
        } else {
            prop_assert!(forward.outcome != backward.outcome || forward.outcome == Outcome::NoEvidence);
        }
    }

    #[test]
    fn the_interval_holds_the_estimate_and_stays_within_the_data(pairs in pairs(), seed: u64) {
        let found = compare(pairs.clone()).expect("all are positive");
        let ratios = pairs.iter().map(|(arm, reference)| arm / reference);
        let (least, most) = ratios.fold((f64::MAX, f64::MIN), |(a, b), r| (a.min(r), b.max(r)));
        prop_assert!(least <= found.low && found.low <= found.ratio);
        prop_assert!(found.ratio <= found.high && found.high <= most);
    }

    #[test]
    fn no_pairs_make_it_panic(pairs in prop::collection::vec((prop::num::f64::ANY, prop::num::f64::ANY), 0..12), seed: u64) {
        if let Ok(found) = compare(pairs) {
            prop_assert!(found.low.is_finite() && found.high.is_finite() && found.low > 0.0);
        }
    }

    #[test]
    fn no_values_make_it_panic(
        values in prop::collection::vec(prop::num::f64::ANY, 0..12),
        others in prop::collection::vec(prop::num::f64::ANY, 0..12),
        q in prop::num::f64::ANY,
        seed: u64,
    ) {
        let _ = (stats::median(&values), stats::quantile(&values, q));
        let _ = (stats::median_interval(&values), stats::ratio_of_medians(&values, &others, seed));
    }

    #[test]
    fn quantiles_agree_with_the_sorted_values(
        values in prop::collection::vec((0_u32..37, any::<u64>()), 1..2_000),
        q in 0.0_f64..=1.0,
    ) {
        // Spread over every magnitude up to 2^36 ns (69 s).
        let mut values: Vec<u64> =
            values.into_iter().map(|(bits, value)| (value & ((1 << bits) - 1)).max(1)).collect();
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        values.sort_unstable();
        let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
        for (found, exact) in [
            (histogram.quantile_ns(q), values[rank - 1]),
            (histogram.max_ns(), values[values.len() - 1]),
        ] {
            let found = found.expect("it is not empty") as f64;
            prop_assert!((found / exact as f64 - 1.0).abs() <= 1e-3, "{found} {exact}");
        }
        prop_assert_eq!(histogram.len(), values.len() as u64);
        prop_assert_eq!(&Histogram::decode(&histogram.encode()).expect("round trip"), &histogram);
    }

    #[test]
    fn no_latency_makes_it_panic(values in prop::collection::vec(any::<u64>(), 0..200), q in prop::num::f64::ANY) {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        prop_assert_eq!(twice.len(), 2 * values.len() as u64);
        let _ = (twice.metrics(), twice.quantile_ns(q));
    }

    #[test]
    fn no_text_makes_a_reader_panic(text: String, bytes in prop::collection::vec(any::<u8>(), 0..200), at: usize) {
        let _ = (Run::read(&text), Histogram::decode(&text));
        let mut stored = Histogram::new();
        bytes.iter().for_each(|byte| stored.record(u64::from(*byte) << 20));
        let mut damaged = stored.encode().into_bytes();
        let place = at % damaged.len();
        damaged[place] = bytes.first().copied().unwrap_or(b'A');
        let _ = Histogram::decode(&String::from_utf8_lossy(&damaged));
    }
}
