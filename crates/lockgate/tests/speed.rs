//! `lockgate speed`: flags to trials to results, once and tiny.

use std::fs;

use crate::common::{Desk, Ended};
use trial::SectionState;

const TINY: &str =
    "speed --algorithm sha256 --size 64,1024 --mode sync,async --seconds 0.02 --no-peers";

/// Measures with these arguments, too.
fn measure(desk: &Desk, more: &str) -> Ended {
    desk.line(&format!("{TINY} {more}")).ok()
}

#[test]
fn a_tiny_measurement_is_stored_and_shown() {
    testing::timed(|| {
        let desk = Desk::new();
        let ended = measure(&desk, "--pairs 2 --seed 7");
        ended.shows(&["report.html"]);
        let run = desk.stored();
        let [section] = &run.sections[..] else {
            panic!("one section")
        };
        assert_eq!(
            (section.name.as_str(), &section.state),
            ("crypto-speed", &SectionState::Complete)
        );
        let modes: Vec<_> = section
            .points
            .iter()
            .filter_map(|point| point.dimensions.get("mode"))
            .collect();
        assert!(
            modes.contains(&&"sync".into()) && modes.contains(&&"async".into()),
            "{modes:?}"
        );
        assert!(!section.findings.is_empty() && !section.charts.is_empty());
        let resolved = &run.scenario["sections"]["crypto-speed"];
        assert_eq!(
            (&resolved["algorithms"][0], &resolved["seed"]),
            (&"sha256".into(), &7.into())
        );
    });
}

#[test]
fn two_stored_runs_are_compared() {
    testing::timed(|| {
        let desk = Desk::new();
        for _ in 0..2 {
            measure(&desk, "--pairs 2");
        }
        let compare = format!("compare {} latest", desk.runs()[0].display());
        assert!(!desk.line(&compare).ok().stdout.is_empty());
        let json = desk.line(&format!("{compare} --export json=-")).ok().stdout;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert!(json["rows"].is_array());
        desk.line(&format!("{compare} --export html=-"))
            .refused(&["json or md"]);
    });
}

#[test]
fn a_regression_exits_with_1() {
    testing::timed(|| {
        let desk = Desk::new();
        measure(&desk, "--pairs 6");
        let mut run = desk.stored();
        for point in &mut run.sections[0].points {
            point.verdict = trial::Verdict::valid();
            for metric in &mut point.metrics {
                (metric.value, metric.samples) = (1000.0, vec![1000.0; 9]);
            }
        }
        desk.write("a.json", &serde_json::to_string(&run).unwrap());
        let points = run.sections[0].points.iter_mut();
        for metric in points.flat_map(|point| &mut point.metrics) {
            (metric.value, metric.samples) = (100.0, vec![100.0; 9]);
        }
        desk.write("b.json", &serde_json::to_string(&run).unwrap());
        let ended = desk.line("compare a.json b.json --fail-below 0.95");
        assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
        desk.line("compare a.json a.json --fail-below 0.95").ok();
        desk.line("compare a.json b.json").ok();
        desk.line("compare a.json b.json --fail-below 0")
            .refused(&["'0'", "0.95"]);
    });
}

/// B is twice as fast as A; each has two repeats, and other runs lie beside.
#[test]
fn repeats_beside_two_runs_are_found() {
    let desk = Desk::new();
    measure(&desk, "--pairs 2");
    let measured = desk.stored();
    let stored = |folder: &str, program: &str, seed: u64, rate: f64| {
        let mut run = measured.clone();
        (run.build.git_revision, run.seed) = (program.to_owned(), seed);
        run.scenario["sections"]["crypto-speed"]["seed"] = seed.into();
        for point in &mut run.sections[0].points {
            point.verdict = trial::Verdict::valid();
            for metric in &mut point.metrics {
                (metric.value, metric.samples) = (rate, vec![rate; 9]);
            }
        }
        run.host = if seed == 99 { "elsewhere" } else { "here" }.to_owned();
        fs::create_dir_all(desk.path().join(folder)).unwrap();
        let file = format!("{folder}/result.json");
        desk.write(&file, &serde_json::to_string(&run).unwrap());
    };
    for (seed, rate) in [(1, 1000.0), (2, 1020.0), (3, 980.0)] {
        stored(&format!("kept/a{seed}"), "aaaa", seed, rate);
        stored(&format!("kept/b{seed}"), "bbbb", seed, 2.0 * rate);
    }
    stored("kept/b9", "bbbb", 99, 1.0);
    stored("kept/c1", "cccc", 4, 1.0);
    stored("apart/a4", "aaaa", 5, 1010.0);
    fs::create_dir(desk.path().join("kept/a0")).unwrap();
    desk.write("kept/a0/result.json", "{\"schema\": 1, \"buil");
    let compare = |more| desk.line(&format!("compare kept/a1 kept/b1/result.json {more}"));
    let ended = compare("").ok();
    ended.shows(&["3 runs of A, 3 of B", "kept/a0/result.json", "left out"]);
    let json = compare("--repeat apart/a4 --repeat kept/c1 --export json=-");
    let json = json.ok().stdout;
    let it: serde_json::Value = serde_json::from_str(&json).unwrap();
    let spread = &it["spreads"][0];
    assert_eq!([&spread["runs_a"], &spread["runs_b"]], [4, 3]);
    assert_eq!(spread["degrees_of_freedom"], 5);
    let warnings = it["warnings"].to_string();
    assert!(
        warnings.contains("'kept/c1' repeats neither A nor B"),
        "{warnings}"
    );
    compare("--repeat no-such-run").refused(&["'no-such-run'"]);
    // Of many, the nearest are read.
    for place in 10..30 {
        stored(&format!("kept/z{place}"), "cccc", place, 1.0);
    }
    compare("")
        .ok()
        .shows(&["3 runs of A, 3 of B", "28 runs lie beside A", "20 nearest"]);
    // Without repeats, 10% is assumed, and that is said first.
    fs::create_dir(desk.path().join("alone")).unwrap();
    fs::rename(desk.path().join("kept/b1"), desk.path().join("alone/b1")).unwrap();
    let ended = desk.line("compare apart/a4 alone/b1").ok();
    ended.shows(&["10% is assumed"]);
}

#[test]
fn the_plan_of_the_default_scenario_keeps_within_its_budget() {
    let desk = Desk::new();
    let ended = desk.lockgate(&["run", "--check", "--budget", "60"]).ok();
    ended.shows(&["budget 60 s", "crypto-speed:"]);
    let plan = ended.stdout;
    let seconds: f64 = plan.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(seconds > 1.0 && seconds <= 60.0, "{plan}");
    assert!(desk.runs().is_empty());
}
