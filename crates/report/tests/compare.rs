//! Two runs compared with each other.

use crate::common::sample_run;
use lockgate_report::Style;
use lockgate_report::compare::{self, CompareError, Options, Row, RunComparison, Side};
use trial::{Direction, Fact, Metric, Outcome, Run, SectionState, State, Validity, Verdict};

const OPTIONS: Options = Options {
    fail_below: None,
    seed: 7,
};

fn compared(a: &Run, b: &Run) -> RunComparison {
    compare::compare(a, b, &[], OPTIONS).expect("no threshold was given")
}

fn with_threshold(a: &Run, b: &Run, fail_below: f64) -> RunComparison {
    let options = Options {
        fail_below: Some(fail_below),
        ..OPTIONS
    };
    compare::compare(a, b, &[], options).expect("it is a ratio")
}

fn scaled(factor: f64) -> Run {
    let mut run = sample_run();
    run.started_utc = "2026-03-15T09:26:53Z".into();
    let points = run.sections[0].points.iter_mut();
    points
        .flat_map(|point| &mut point.metrics)
        .for_each(|it| scale(it, factor));
    run
}

fn scale(metric: &mut Metric, factor: f64) {
    metric.value *= factor;
    metric
        .samples
        .iter_mut()
        .for_each(|sample| *sample *= factor);
}

/// Another host and build; faster at 4 KiB, slower at 16 KiB, and with points
/// gone, new, doubtful, and in another unit.
fn other_run() -> Run {
    let mut run = sample_run();
    run.host = "canal-8".into();
    run.started_utc = "2026-03-15T09:26:53Z".into();
    run.build.version = "0.2.0".into();
    run.build.libraries.insert("AWS-LC".into(), "1.66.0".into());
    run.build.libraries.remove("OpenSSL");
    run.probe.groups[0].facts[0].text = "EPYC 9B14".into();
    run.probe.groups[1].facts[0].text = "6.19.0".into();
    let points = &mut run.sections[0].points;
    for point in points.iter_mut() {
        let factor = match point.dimensions["block_bytes"].to_string().as_str() {
            "4096" => 1.5,
            "16384" => 0.8,
            _ => 1.0,
        };
        for metric in &mut point.metrics {
            let is_lower = metric.direction == Direction::Lower;
            scale(metric, if is_lower { 1.0 / factor } else { factor });
        }
    }
    points[4].metrics.remove(2);
    points[7].metrics[1].unit = "MiB/s".into();
    points[13].verdict = Verdict::new(Validity::Noisy, "steal of 9.0% exceeds 2%", "wait");
    points[2].dimensions.insert("depth".into(), 2_u64.into());
    run.sections.truncate(1);
    run
}

#[test]
fn each_form_is_as_it_was_reviewed() {
    let mut it = with_threshold(&sample_run(), &other_run(), 0.9);
    let (width, color) = (110, false);
    let text = compare::text(&it, Style { width, color });
    insta::assert_snapshot!("comparison_as_text", text);
    insta::assert_snapshot!("comparison_as_markdown", compare::markdown(&it));
    it.rows.truncate(2);
    it.ignored.truncate(1);
    insta::assert_snapshot!("comparison_as_json", it.json());
}

#[test]
fn comparison_of_nothing() {
    let empty = Run {
        sections: vec![],
        ..sample_run()
    };
    let it = with_threshold(&empty, &empty, 0.9);
    assert!(
        it.has_failed(),
        "a gate that compared nothing is not passed"
    );
    insta::assert_snapshot!(compare::text(&it, Style::default()));
}

#[test]
fn a_run_against_itself_shows_nothing() {
    let it = compared(&sample_run(), &sample_run());
    let is_same = |row: &Row| row.ratio == 1.0 && row.outcome == Outcome::NoEvidence;
    assert!(it.rows.iter().all(is_same));
    assert!(it.missing.is_empty());
    assert!(it.warnings.contains(&"A and B are the same run".to_owned()));
    assert!(!with_threshold(&sample_run(), &sample_run(), 0.95).has_failed());
}

#[test]
fn direction_decides_what_is_better() {
    let it = compared(&sample_run(), &scaled(1.5));
    for row in &it.rows {
        let expected = if row.metric == "latency_p50_us" {
            Outcome::Slower
        } else {
            Outcome::Faster
        };
        assert_eq!(row.outcome, expected, "{row:?}");
        assert!((row.ratio - 1.5).abs() < 1e-9 && row.low < 1.5 && row.high > 1.5);
        assert_ne!(row.direction, Direction::Neutral);
    }
    // Nine valid points of three metrics that have a better side.
    assert_eq!(it.rows.len(), 27);
}

#[test]
fn effects_are_sorted_and_evidence_comes_first() {
    let it = compared(&sample_run(), &other_run());
    let rank = |outcome| outcome == Outcome::NoEvidence;
    for pair in it.rows.windows(2) {
        let [one, other] = pair else {
            unreachable!("windows of two")
        };
        let (doubtful, next) = (rank(one.outcome), rank(other.outcome));
        assert!(!doubtful || next, "{pair:?}");
        let effect = |ratio: f64| ratio.ln().abs();
        assert!(
            doubtful != next || effect(one.ratio) >= effect(other.ratio),
            "{pair:?}"
        );
    }
}

#[test]
fn points_that_are_not_valid_are_listed_and_left_out() {
    let it = compared(&sample_run(), &other_run());
    for part in ["noisy in B: steal of 9.0%", "MiB/s"] {
        assert!(
            it.ignored
                .iter()
                .any(|ignored| ignored.reason.contains(part)),
            "{part}"
        );
    }
    for row in &it.rows {
        let left_out =
            |metric: &Option<String>| metric.as_ref().is_none_or(|metric| *metric == row.metric);
        assert!(
            !it.ignored
                .iter()
                .any(|ignored| ignored.place == row.place && left_out(&ignored.metric))
        );
    }
}

#[test]
fn what_one_side_lacks_is_listed() {
    let it = compared(&sample_run(), &other_run());
    let listed = |side, metric: Option<&str>| {
        it.missing
            .iter()
            .filter(|it| it.only_in == side && it.metric.as_deref() == metric)
            .count()
    };
    assert_eq!(
        listed(Side::A, None),
        2,
        "a point with another depth, and the second section's"
    );
    assert_eq!(listed(Side::B, None), 1);
    assert_eq!(listed(Side::A, Some("latency_p50_us")), 1);
}

#[test]
fn thresholds_fail_on_evidence_only() {
    let a = sample_run();
    assert!(with_threshold(&a, &scaled(0.8), 0.95).has_failed());
    // Latency is the one that loses here.
    assert!(with_threshold(&a, &scaled(1.2), 0.95).has_failed());
    assert!(!with_threshold(&a, &scaled(0.97), 0.95).has_failed());
    // A gain that is demanded and does not come fails too.
    assert!(with_threshold(&a, &scaled(1.0), 1.2).has_failed());
    let mut single = scaled(0.5);
    let points = single.sections[0].points.iter_mut();
    let metrics = points.flat_map(|point| &mut point.metrics);
    metrics.for_each(|metric| metric.samples.clear());
    let it = with_threshold(&a, &single, 0.95);
    let threshold = it.threshold.expect("it was given");
    assert!(threshold.passed && threshold.unproven > 0, "{threshold:?}");
}

#[test]
fn thresholds_that_are_no_ratio_are_refused() {
    for limit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let options = Options {
            fail_below: Some(limit),
            ..OPTIONS
        };
        let refused = compare::compare(&sample_run(), &sample_run(), &[], options);
        let CompareError::FailBelow(named) = refused.expect_err("it is not a ratio");
        assert_eq!(named.to_bits(), limit.to_bits());
    }
}

#[test]
fn zero_and_not_a_number_are_left_out_with_their_value() {
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut b = sample_run();
        let metric = &mut b.sections[0].points[3].metrics[0];
        (metric.value, metric.samples) = (value, vec![]);
        let it = compared(&sample_run(), &b);
        let reason = &it.ignored.last().expect("one was left out").reason;
        assert!(
            it.ignored.iter().any(|ignored| ignored.metric.is_some()),
            "{reason}"
        );
    }
}

#[test]
fn differences_of_the_environment_are_warned_of() {
    let mut b = other_run();
    b.interrupted = true;
    b.sections[0].state = SectionState::Partial {
        reason: "out of budget".into(),
    };
    let warnings = compared(&sample_run(), &b).warnings.join("\n");
    for part in [
        "host differs: `canal-7` in A, `canal-8` in B",
        "CPU model differs",
        "kernel differs",
        "version of AWS-LC differs: `1.65.0` in A, `1.66.0` in B",
        "version of OpenSSL differs: `3.0.17` in A, unknown in B",
        "version of Lockgate differs",
        "B was interrupted",
        "in B (partial): out of budget",
    ] {
        assert!(warnings.contains(part), "{part} in {warnings}");
    }
}

#[test]
fn another_tier_is_a_difference_of_the_environment() {
    let mut b = sample_run();
    b.probe.groups[0].facts.push(Fact {
        key: "tier".into(),
        label: "Measured as tier".into(),
        state: State::Ok,
        value: "avx2".into(),
        text: "avx2 (OPENSSL_ia32cap=…)".into(),
        remedy: String::new(),
    });
    let warnings = compared(&sample_run(), &b).warnings.join("\n");
    let expected = "tier measured differs: `the host's own` in A, `avx2` in B";
    assert!(warnings.contains(expected), "{warnings}");
    let alike = compared(&b, &b.clone()).warnings.join("\n");
    assert!(!alike.contains("tier measured"), "{alike}");
}

#[test]
fn several_points_at_one_place_match_in_order() {
    let mut a = sample_run();
    let twin = a.sections[0].points[3].clone();
    a.sections[0].points.push(twin);
    let it = compared(&a, &a.clone());
    assert!(it.missing.is_empty());
    assert_eq!(it.rows.len(), 27 + 3);
    assert_eq!(compared(&a, &sample_run()).missing.len(), 1);
}
