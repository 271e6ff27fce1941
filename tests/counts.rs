//! `scripts/count-tests.awk` counts each test once and tells what was not done.

use std::fs;
use std::process::Command;

use lockgate_tests::root;

/// What a stage's tests noted, and what the stage printed.
type Stage<'t> = (&'t str, &'t str, &'t str);

fn counted(stages: &[Stage], settings: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut awk = Command::new("awk");
    for setting in settings {
        awk.args(["-v", setting]);
    }
    awk.arg("-f").arg(root().join("scripts/count-tests.awk"));
    for (name, notes, log) in stages {
        for (ending, text) in [("notes", notes), ("log", log)] {
            let path = folder.path().join(format!("{name}.{ending}"));
            fs::write(&path, text).expect("it is written");
            awk.arg(path);
        }
    }
    let output = awk.output().expect("awk is what scripts use");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
}

const LOG: &str = "     Running unittests src/lib.rs (target/debug/deps/one-0123456789abcdef)\n\
    test a::b ... ok\ntest c - should panic ... ok\ntest d ... ignored, for a reason\n\
    test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured\n\
    \x20    Running tests/main.rs (/x/two_tests-0123456789abcdef)\ntest a::b ... ok\n\
    \x20  Doc-tests one\ntest src/lib.rs - f (line 3) ... ok\n";

#[test]
fn each_test_is_counted_once() {
    assert_eq!(
        counted(&[("tests", "", LOG), ("bare", "", LOG)], &[]),
        ["4 passed, 0 failed, 1 skipped"]
    );
}

#[test]
fn what_is_nowhere_done_is_listed_with_its_reason() {
    let noted = "inconclusive\ttwo_tests\ta::b\t63% stolen\nskipped\tone\ta::b\tno root\n\
        skipped\tone\ta::b\tno driver either\n\
        left out\tone\tc\tno lxc\nleft out\tone\tc\tno runc\n";
    let told = [
        "inconclusive, since the host was busy:",
        "  two_tests a::b: 63% stolen",
        "skipped:",
        "  one a::b: no root",
        "parts left out:",
        "  one c: no lxc",
        "  one c: no runc",
        "2 passed, 0 failed, 3 skipped",
    ];
    assert_eq!(counted(&[("tests", noted, LOG)], &[]), told);
    let elsewhere = counted(&[("tests", noted, LOG), ("bare", "", LOG)], &[]);
    assert_eq!(elsewhere[0], "parts left out:");
    assert_eq!(elsewhere[3..], ["4 passed, 0 failed, 1 skipped"]);
}

#[test]
fn what_failed_anywhere_has_failed() {
    let failed = LOG.replace("test c - should panic ... ok", "test c ... FAILED");
    let told = ["failed:", "  one c", "3 passed, 1 failed, 1 skipped"];
    assert_eq!(
        counted(&[("tests", "", &failed), ("bare", "", LOG)], &[]),
        told
    );
    // A command that ended badly without a failed test did not even compile.
    let compiled = counted(&[("tests", "", "error: no\n")], &["ended=101"]);
    assert_eq!(compiled, ["0 passed, 1 failed, 0 skipped"]);
    let stages = counted(&[("tests", "", LOG)], &["failed=1", "skipped=2"]);
    assert_eq!(stages, ["4 passed, 1 failed, 3 skipped"]);
}
