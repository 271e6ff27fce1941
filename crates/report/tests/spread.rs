//! Runs differ by themselves: their repeats tell by how much, and what claims
//! no difference that is none.

use std::collections::BTreeMap;

use crate::common::sample_run;
use lockgate_report::compare::{self, CHANGE_ASSUMED, Options, RunComparison};
use lockgate_report::{Style, compare::is_repeat};
use trial::stats::Random;
use trial::{Dimension, Direction, Metric, Outcome, Point, Run, Verdict};

const OPTIONS: Options = Options {
    fail_below: None,
    seed: 7,
};

/// Points of a simulated run; a disturbance shifts all of them alike.
const POINTS: u64 = 4;

const TRIALS: u32 = 500;

/// Standard deviation within a run, small beside any between runs.
const WITHIN: f64 = 0.005;

/// A number of the standard normal distribution (Box and Muller, 1958).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

/// A run of `program` whose true rate is `rate`, shifted as a whole by a
/// factor of standard deviation `between`.
fn simulated(program: &str, rate: f64, between: f64, random: &mut Random) -> Run {
    let mut run = sample_run();
    program.clone_into(&mut run.build.git_revision);
    run.seed = random.next_u64();
    run.sections.truncate(1);
    let shift = rate * (between * normal(random)).exp();
    let mut sample = || 1000.0 * shift * (WITHIN * normal(random)).exp();
    let point = |place: u64| {
        let samples: Vec<f64> = (0..5).map(|_| sample()).collect();
        Point {
            dimensions: BTreeMap::from([("tasks".to_owned(), Dimension::from(place))]),
            metrics: vec![Metric {
                name: "requests_per_s".into(),
                unit: "requests/s".into(),
                direction: Direction::Higher,
                value: trial::stats::median(&samples).expect("five values"),
                samples,
            }],
            verdict: Verdict::valid(),
            command: String::new(),
            histogram: String::new(),
        }
    };
    run.sections[0].points = (0..POINTS).map(point).collect();
    run
}

/// `a` against `b`, with this many runs of each side.
fn simulation(ratio: f64, runs: usize, between: f64, random: &mut Random) -> RunComparison {
    let side = |program, rate, random: &mut Random| -> Vec<Run> {
        let run = |_| simulated(program, rate, between, random);
        (0..runs).map(run).collect()
    };
    let (a, b) = (side("aaaa", 1.0, random), side("bbbb", ratio, random));
    let found = [&a[1..], &b[1..]].concat();
    let it = compare::compare(&a[0], &b[0], &found, OPTIONS).expect("no threshold");
    assert_eq!(it.rows.len() as u64, POINTS);
    assert!(
        it.rows
            .iter()
            .all(|row| (row.runs_a, row.runs_b) == (runs, runs))
    );
    it
}

/// The share of figures said to differ where nothing does.
fn false_claims(trials: u32, runs: usize, between: f64) -> f64 {
    let mut random = Random::new(20_261_124);
    let claims = (0..trials).map(|_| {
        let it = simulation(1.0, runs, between, &mut random);
        let claimed = it
            .rows
            .iter()
            .filter(|row| row.outcome != Outcome::NoEvidence);
        claimed.count() as f64 / POINTS as f64
    });
    claims.sum::<f64>() / f64::from(trials)
}

/// 5%, and three standard errors of this many trials, of which the points of one
/// tell the same.
fn allowed(trials: u32) -> f64 {
    0.05 + 3.0 * (0.05 * 0.95 / f64::from(trials)).sqrt()
}

#[test]
fn runs_of_one_program_seldom_differ_with_three_a_side() {
    let share = false_claims(TRIALS, 3, 0.04);
    assert!(share <= allowed(TRIALS), "{share}");
    assert!(share > 0.01, "{share}: wider than need be");
}

#[test]
fn runs_of_one_program_seldom_differ_where_the_assumption_holds() {
    // The difference of two runs has √2 times the deviation of one.
    let between = (1.0 + CHANGE_ASSUMED).ln() / (1.96 * 2_f64.sqrt());
    let share = false_claims(TRIALS, 1, between);
    assert!(share <= allowed(TRIALS), "{share}");
    assert!(share > 0.01, "{share}: wider than need be");
}

#[test]
fn a_true_effect_is_found_with_repeats_and_without() {
    let mut random = Random::new(3);
    for runs in [1, 3] {
        let it = simulation(1.5, runs, 0.04, &mut random);
        assert!(it.rows.iter().all(|row| row.outcome == Outcome::Faster));
    }
}

#[test]
fn nothing_within_the_assumption_is_judged() {
    let mut random = Random::new(4);
    for ratio in [0.91, 0.95, 1.05, 1.09] {
        let it = simulation(ratio, 1, 0.0, &mut random);
        let judged = it.rows.iter().any(|row| row.outcome != Outcome::NoEvidence);
        assert!(!judged, "{ratio}");
    }
}

#[test]
fn repeats_narrow_what_is_assumed_and_never_below_what_varies_within() {
    let mut random = Random::new(5);
    let width = |it: &RunComparison| (it.rows[0].high / it.rows[0].low).ln();
    let alone = simulation(1.05, 1, 0.0, &mut random);
    let repeated = simulation(1.05, 3, 0.0, &mut random);
    assert!(width(&repeated) < width(&alone));
    // Two medians of five values each.
    assert!(width(&repeated) > 2.0 * WITHIN, "{}", width(&repeated));
    assert!(
        repeated
            .rows
            .iter()
            .all(|row| row.outcome == Outcome::Faster)
    );
}

#[test]
fn degrees_of_freedom_count_runs_and_not_points() {
    let it = simulation(1.0, 3, 0.04, &mut Random::new(6));
    let [spread] = it.spreads.as_slice() else {
        panic!("one metric: {:?}", it.spreads)
    };
    assert_eq!((spread.runs_a, spread.runs_b), (3, 3));
    assert_eq!(spread.degrees_of_freedom, 4);
    let deviation = spread.deviation.expect("three runs a side tell it");
    assert!((0.01..0.1).contains(&deviation), "{deviation}");
}

#[test]
fn only_the_same_host_program_and_settings_repeat_a_run() {
    let changed = |change: fn(&mut Run)| {
        let mut run = sample_run();
        run.started_utc = "2026-03-15T09:26:53Z".into();
        change(&mut run);
        run
    };
    let repeats = |change| is_repeat(&changed(change), &sample_run());
    assert!(repeats(|_| {}));
    assert!(repeats(|run| {
        run.scenario["sections"]["crypto-speed"]["seed"] = 8.into();
        run.scenario["sections"]["crossings"] = serde_json::json!({});
    }));
    // As `run` stores several scenarios in one run.
    assert!(repeats(|run| {
        run.scenario = serde_json::json!({ "scenarios": [run.scenario] });
    }));
    assert!(!repeats(|run| run.host = "canal-8".into()));
    assert!(!repeats(|run| run.build.git_revision = "0123456".into()));
    assert!(!repeats(
        |run| run.probe.groups[1].facts[0].text = "6.19.0".into()
    ));
    assert!(!repeats(|run| {
        run.scenario["sections"]["crypto-speed"]["algorithms"] = "all".into();
    }));
    assert!(!repeats(|run| run.scenario = serde_json::json!({})));
    assert!(!is_repeat(&sample_run(), &sample_run()), "a copy");
}

#[test]
fn what_repeats_neither_side_or_is_a_copy_changes_nothing() {
    let mut random = Random::new(8);
    let mut run = |program: &str| simulated(program, 1.0, 0.04, &mut random);
    let (a, b, other) = (run("aaaa"), run("bbbb"), run("cccc"));
    let mut elsewhere = run("aaaa");
    elsewhere.host = "canal-8".into();
    let mut otherwise = run("aaaa");
    otherwise.scenario["sections"]["crypto-speed"]["depth"] = 3.into();
    let found = [a.clone(), b.clone(), other, elsewhere, otherwise];
    let with = |found| compare::compare(&a, &b, found, OPTIONS).expect("no threshold");
    assert_eq!(with(&found), with(&[]));
    let repeat = run("aaaa");
    assert_eq!(with(&[repeat.clone(), repeat.clone()]), with(&[repeat]));
}

#[test]
fn points_of_a_repeat_that_are_not_valid_do_not_count() {
    let mut random = Random::new(9);
    let mut run = |program: &str| simulated(program, 1.0, 0.04, &mut random);
    let (a, b, mut repeat) = (run("aaaa"), run("bbbb"), run("aaaa"));
    repeat.sections[0].points[1].verdict = Verdict::new(trial::Validity::Noisy, "steal", "");
    let it = compare::compare(&a, &b, &[repeat], OPTIONS).expect("no threshold");
    let runs = it.rows.iter().map(|row| (row.runs_a, row.runs_b));
    let alone = runs.filter(|runs| *runs == (1, 1));
    assert_eq!(alone.count(), 1);
    assert_eq!(it.spreads[0].degrees_of_freedom, 1);
}

#[test]
fn where_a_and_b_repeat_each_other_the_others_tell_the_spread_only() {
    let mut random = Random::new(10);
    let mut run = || simulated("aaaa", 1.0, 0.04, &mut random);
    let (a, b, others) = (run(), run(), [run(), run(), run()]);
    let it = compare::compare(&a, &b, &others, OPTIONS).expect("no threshold");
    assert!(it.rows.iter().all(|row| (row.runs_a, row.runs_b) == (1, 1)));
    let spread = &it.spreads[0];
    assert_eq!((spread.runs_of_both, spread.degrees_of_freedom), (3, 2));
    assert!(it.rows[0].low < 1.0 && it.rows[0].high > 1.0);
    let text = compare::text(&it, Style::default());
    assert!(
        text.contains("1 run of A, 1 of B, 3 more of both"),
        "{text}"
    );
}

#[test]
fn a_threshold_fails_beyond_the_spread_only() {
    let mut random = Random::new(11);
    let mut fails = |ratio, runs| {
        let options = Options {
            fail_below: Some(0.95),
            seed: 7,
        };
        let mut side = |program, rate| -> Vec<Run> {
            let run = |_| simulated(program, rate, 0.0, &mut random);
            (0..runs).map(run).collect()
        };
        let (a, b) = (side("aaaa", 1.0), side("bbbb", ratio));
        let found = [&a[1..], &b[1..]].concat();
        let it = compare::compare(&a[0], &b[0], &found, options).expect("it is a ratio");
        it.has_failed()
    };
    assert!(!fails(0.9, 1), "10% may be a run's own");
    assert!(fails(0.9, 3));
    assert!(fails(0.7, 1));
}

/// What each side rests on is said; in `crossing-cost` nothing tells it.
fn two_sections() -> RunComparison {
    let mut random = Random::new(12);
    let mut run = |program: &str, rate| {
        let mut run = simulated(program, rate, 0.04, &mut random);
        let mut second = run.sections[0].clone();
        second.name = "crossing-cost".into();
        second.points.truncate(1);
        run.sections.push(second);
        run
    };
    let (a, b) = (run("aaaa", 1.0), run("bbbb", 1.5));
    let found = [run("aaaa", 1.0), run("aaaa", 1.0), run("bbbb", 1.5)];
    compare::compare(&a, &b, &found, OPTIONS).expect("no threshold")
}

#[test]
fn repeats_in_each_form() {
    let mut it = two_sections();
    let text = compare::text(&it, Style::default());
    insta::assert_snapshot!("repeats_as_text", text);
    insta::assert_snapshot!("repeats_as_markdown", compare::markdown(&it));
    it.rows.truncate(1);
    insta::assert_snapshot!("repeats_as_json", it.json());
}
