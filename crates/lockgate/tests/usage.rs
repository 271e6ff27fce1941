//! Wrong input: each error names the value, what is allowed and the remedy,
//! ends with 2, and leaves nothing behind.

use crate::common::Desk;

#[test]
fn an_unknown_scenario_lists_the_known_ones() {
    let desk = Desk::new();
    desk.lockgate(&["run", "crypto-sped"]).refused(&[
        "'crypto-sped'",
        "default, crossings, crypto-peers",
        ".toml",
    ]);
    assert!(desk.runs().is_empty());
}

#[test]
fn a_scenario_file_that_is_not_there_is_named() {
    Desk::new()
        .lockgate(&["run", "no/such.toml"])
        .refused(&["no/such.toml", "No such file"]);
}

#[test]
fn an_unknown_key_names_file_line_and_the_allowed_ones() {
    let desk = Desk::new();
    desk.write("mine.toml", "schema = 1\n[common]\nbugdet_s = 3\n[probe]\n");
    desk.lockgate(&["run", "mine.toml"])
        .refused(&["mine.toml:3", "'bugdet_s'", "budget_s"]);
    desk.write("mine.toml", "schema = 1\n[probe]\ncolour = 3\n");
    desk.lockgate(&["run", "mine.toml"])
        .refused(&["mine.toml:3", "[probe]", "'colour'"]);
    desk.write("mine.toml", "schema = 9\n[probe]\n");
    desk.lockgate(&["run", "mine.toml"])
        .refused(&["mine.toml:1", "schema is 9"]);
    desk.write("mine.toml", "schema = 1\n[probe\n");
    desk.lockgate(&["run", "mine.toml"])
        .refused(&["mine.toml", "line 2"]);
    assert!(desk.runs().is_empty());
}

#[test]
fn a_wrong_budget_says_how_to_write_one() {
    let desk = Desk::new();
    desk.lockgate(&["run", "--budget", "ten"])
        .refused(&["'ten'", "90s"]);
    desk.lockgate(&["run", "--budget", "0"])
        .refused(&["'0'", "more than 0"]);
    desk.lockgate(&["run", "--budget=-5"])
        .refused(&["'-5'", "more than 0"]);
}

#[test]
fn a_wrong_size_says_how_to_write_one() {
    let desk = Desk::new();
    desk.lockgate(&["speed", "--size", "64,16kB"])
        .refused(&["'16kB'", "16KiB"]);
    desk.lockgate(&["speed", "--size", "0"])
        .refused(&["'0'", "1 to"]);
}

#[test]
fn a_wrong_export_is_refused_before_measuring() {
    let desk = Desk::new();
    let run = |export: &str| desk.lockgate(&["run", "probe.toml", "--export", export]);
    run("pdf=x").refused(&["'pdf'", "json, csv, md, html"]);
    run("json").refused(&["FORMAT=PATH"]);
    run("json=").refused(&["json=-"]);
    run("json=no/such/folder.json").refused(&["no/such/folder.json", "--export"]);
    run("json=/dev/null/x").refused(&["/dev/null/x"]);
    run("html=.").refused(&["'.'"]);
    desk.lockgate(&[
        "run",
        "probe.toml",
        "--export",
        "json=-",
        "--export",
        "csv=-",
    ])
    .refused(&["two exports to stdout"]);
    assert!(desk.runs().is_empty());
}

#[test]
fn an_unwritable_place_for_runs_is_named_with_the_remedy() {
    let desk = Desk::new();
    desk.lockgate(&["run", "probe.toml", "--out", "/dev/null/runs"])
        .refused(&["/dev/null/runs", "--out"]);
    desk.lockgate_with(
        &["run", "probe.toml"],
        &[("LOCKGATE_RUNS", "/dev/null/runs")],
    )
    .refused(&["LOCKGATE_RUNS"]);
}

#[test]
fn a_run_that_is_none_is_refused_with_its_reason() {
    let desk = Desk::new();
    desk.lockgate(&["report", "latest"])
        .refused(&["'latest'", "result.json"]);
    desk.lockgate(&["report", "no-such-run"])
        .refused(&["'no-such-run'"]);
    desk.lockgate(&["report", "probe.toml"])
        .refused(&["probe.toml", "not JSON"]);
    desk.write("new.json", "{\"schema\": 99}");
    desk.lockgate(&["report", "new.json"])
        .refused(&["new.json", "99", "newer"]);
    desk.lockgate(&["compare", "new.json", "new.json"])
        .refused(&["new.json"]);
}

#[test]
fn a_wrong_log_filter_is_named() {
    let desk = Desk::new();
    desk.lockgate_with(&["run", "probe.toml"], &[("LOCKGATE_LOG", "a=b=c")])
        .refused(&["LOCKGATE_LOG", "a=b=c"]);
}

#[test]
fn what_does_not_exist_yet_is_not_offered() {
    let desk = Desk::new();
    let help = desk.lockgate(&["--help"]).ok().stdout;
    for absent in ["serve", "tune", "router", "quic", "model"] {
        desk.lockgate(&[absent]).refused(&[absent]);
        assert!(!help.contains(absent), "{absent}");
    }
    assert_eq!(
        help.lines()
            .filter(|line| line.starts_with("  lockgate "))
            .count(),
        4,
        "four examples"
    );
}

#[test]
fn help_names_every_built_in_scenario() {
    let help = Desk::new().lockgate(&["run", "--help"]).ok().stdout;
    for builtin in lab::scenario::builtin() {
        assert!(help.contains(builtin.name), "{}", builtin.name);
    }
}

#[test]
fn options_of_a_section_are_flags_of_run() {
    let desk = Desk::new();
    let listed = desk.lockgate(&["sections"]).ok().stdout;
    assert!(listed.lines().any(|line| line.starts_with("crossings ")));
    let own = desk.lockgate(&["sections", "vcm-tasks"]).ok().stdout;
    for part in [
        "--tasks",
        "1 to 128; several by commas",
        "[vcm-tasks] depth = 16",
    ] {
        assert!(own.contains(part), "{own}");
    }
    let plan = [
        "run",
        "vcm-tasks",
        "--tasks",
        "1,8",
        "--depth",
        "32",
        "--check",
    ];
    let plan = desk.lockgate(&plan).ok().stdout;
    assert!(
        plan.contains("lockgate run vcm-tasks --depth 32 --tasks 1,8"),
        "{plan}"
    );
    desk.lockgate(&["run", "vcm-tasks", "--tasks", "0,8"])
        .refused(&["--tasks", "0 is outside 1 to 128"]);
    desk.lockgate(&["run", "vcm-tasks", "--algorithm", "aes-128-gmc"])
        .refused(&["--algorithm", "did you mean 'aes-128-gcm'?"]);
    desk.lockgate(&["run", "crossings", "--tasks", "1"])
        .refused(&["--tasks", "no section of this run", "vcm-tasks"]);
    desk.lockgate(&["sections", "crosings"])
        .refused(&["'crosings'", "did you mean 'crossings'?"]);
    assert!(desk.runs().is_empty());
}
