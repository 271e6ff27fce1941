//! `lockgate speed`: flags to trials to results, once and tiny.

use std::fs;

use crate::common::Desk;
use trial::{Run, SectionState};

const TINY: [&str; 10] = [
    "speed",
    "--algorithm",
    "sha256",
    "--size",
    "64,1024",
    "--mode",
    "sync,async",
    "--seconds",
    "0.02",
    "--no-peers",
];

fn tiny<'a>(more: &[&'a str]) -> Vec<&'a str> {
    TINY.into_iter().chain(more.iter().copied()).collect()
}

#[test]
fn a_tiny_measurement_is_stored_and_shown() {
    testing::timed(|| {
        let desk = Desk::new();
        let ended = desk.lockgate(&tiny(&["--pairs", "2", "--seed", "7"])).ok();
        assert!(ended.stdout.contains("report.html"), "{}", ended.stdout);
        let run =
            Run::read(&fs::read_to_string(desk.runs()[0].join("result.json")).unwrap()).unwrap();
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
            desk.lockgate(&tiny(&["--pairs", "2"])).ok();
        }
        let runs: Vec<_> = desk
            .runs()
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let arguments = ["compare", runs[0].as_str(), "latest"];
        assert!(!desk.lockgate(&arguments).ok().stdout.is_empty());
        let json = desk
            .lockgate(&[&arguments[..], &["--export", "json=-"]].concat())
            .ok()
            .stdout;
        assert!(serde_json::from_str::<serde_json::Value>(&json).unwrap()["rows"].is_array());
        desk.lockgate(&[&arguments[..], &["--export", "html=-"]].concat())
            .refused(&["json or md"]);
    });
}

#[test]
fn a_regression_exits_with_1() {
    testing::timed(|| {
        let desk = Desk::new();
        desk.lockgate(&tiny(&["--pairs", "6"])).ok();
        let text = fs::read_to_string(desk.runs()[0].join("result.json")).unwrap();
        let mut run = Run::read(&text).unwrap();
        for point in &mut run.sections[0].points {
            point.verdict = trial::Verdict::valid();
            for metric in &mut point.metrics {
                let steady = vec![1000.0; 9];
                (metric.value, metric.samples) = (1000.0, steady);
            }
        }
        desk.write("a.json", &serde_json::to_string(&run).unwrap());
        for metric in run.sections[0]
            .points
            .iter_mut()
            .flat_map(|point| &mut point.metrics)
        {
            let steady = vec![100.0; 9];
            (metric.value, metric.samples) = (100.0, steady);
        }
        desk.write("b.json", &serde_json::to_string(&run).unwrap());
        let ended = desk.lockgate(&["compare", "a.json", "b.json", "--fail-below", "0.95"]);
        assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
        desk.lockgate(&["compare", "a.json", "a.json", "--fail-below", "0.95"])
            .ok();
        desk.lockgate(&["compare", "a.json", "b.json"]).ok();
        desk.lockgate(&["compare", "a.json", "b.json", "--fail-below", "0"])
            .refused(&["'0'", "0.95"]);
    });
}

/// B is twice as fast as A; each has two repeats, and other runs lie beside.
#[test]
fn repeats_beside_two_runs_are_found() {
    let desk = Desk::new();
    desk.lockgate(&tiny(&["--pairs", "2"])).ok();
    let text = fs::read_to_string(desk.runs()[0].join("result.json")).unwrap();
    let stored = |folder: &str, program: &str, seed: u64, rate: f64| {
        let mut run = Run::read(&text).unwrap();
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
    let compare = |more: &[&str]| {
        let given = ["compare", "kept/a1", "kept/b1/result.json"];
        desk.lockgate(&[&given[..], more].concat())
    };
    let ended = compare(&[]).ok();
    let [text, notes] = [&ended.stdout, &ended.stderr];
    for part in ["3 runs of A, 3 of B", "kept/a0/result.json", "left out"] {
        assert!(text.contains(part), "'{part}' is not in: {text}{notes}");
    }
    let more = ["--repeat", "apart/a4", "--repeat", "kept/c1"];
    let json = compare(&[&more[..], &["--export", "json=-"]].concat())
        .ok()
        .stdout;
    let it: serde_json::Value = serde_json::from_str(&json).unwrap();
    let spread = &it["spreads"][0];
    assert_eq!(
        (&spread["runs_a"], &spread["runs_b"]),
        (&4.into(), &3.into())
    );
    assert_eq!(spread["degrees_of_freedom"], 5);
    let warnings = it["warnings"].to_string();
    assert!(
        warnings.contains("'kept/c1' repeats neither A nor B"),
        "{warnings}"
    );
    compare(&["--repeat", "no-such-run"]).refused(&["'no-such-run'"]);
    // Of many, the nearest are read.
    for place in 10..30 {
        stored(&format!("kept/z{place}"), "cccc", place, 1.0);
    }
    let text = compare(&[]).ok().stdout;
    for part in ["3 runs of A, 3 of B", "28 runs lie beside A", "20 nearest"] {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
    // Without repeats, 10% is assumed, and that is said first.
    fs::create_dir(desk.path().join("alone")).unwrap();
    fs::rename(desk.path().join("kept/b1"), desk.path().join("alone/b1")).unwrap();
    let text = desk
        .lockgate(&["compare", "apart/a4", "alone/b1"])
        .ok()
        .stdout;
    assert!(text.contains("10% is assumed"), "{text}");
}

#[test]
fn wrong_flags_name_the_flag_the_value_and_what_is_allowed() {
    let desk = Desk::new();
    for (flag, value, parts) in [
        (
            "--algorithm",
            "aes-512-gcm",
            ["'aes-512-gcm'", "aes-256-gcm"],
        ),
        ("--mode", "burst", ["burst", "sync, batch, async"]),
        ("--backend", "qat", ["'qat'", "aws-lc"]),
        ("--depth", "0", ["0", "1 to 4096"]),
        ("--depth", "1048576", ["1048576", "1 to 4096"]),
        ("--policy", "lazy", ["lazy", "armed"]),
        ("--placement", "near", ["near", "split"]),
        ("--lanes", "0", ["0", "1 to"]),
    ] {
        desk.lockgate(&["speed", flag, value])
            .refused(&parts)
            .names(flag);
    }
    desk.lockgate(&["speed", "--algorithm", "aes-128-cbc", "--size", "17"])
        .refused(&["--size", "17"]);
    desk.lockgate(&["speed", "--seconds", "-1"])
        .refused(&["-1"]);
    assert!(desk.runs().is_empty());
}

#[test]
fn a_budget_too_small_is_refused_before_measuring() {
    let desk = Desk::new();
    desk.lockgate(&["speed", "--budget", "0.001"])
        .refused(&["crypto-speed", "--budget"]);
    desk.lockgate(&["run", "--budget", "0.001"])
        .refused(&["crossings", "--budget"]);
    desk.lockgate(&["speed", "--algorithm", "all", "--budget", "0.001"])
        .refused(&["crypto-peers", "--budget"]);
    desk.lockgate(&["speed", "--algorithm", "all", "--mode", "sync"])
        .refused(&["--mode", "--algorithm all"]);
    assert!(desk.runs().is_empty());
}

#[test]
fn the_plan_of_the_default_scenario_keeps_within_its_budget() {
    let desk = Desk::new();
    let plan = desk
        .lockgate(&["run", "--check", "--budget", "60"])
        .ok()
        .stdout;
    assert!(
        plan.contains("budget 60 s") && plan.contains("crypto-speed:"),
        "{plan}"
    );
    let seconds: f64 = plan.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(seconds > 1.0 && seconds <= 60.0, "{plan}");
    assert!(desk.runs().is_empty());
}
