//! The hidden commands that measure one arm: a line of JSON or a reason.

use crate::common::Desk;
use sections::kspeed::program::TrialLine;

const CBC: [&str; 5] = [
    "af-alg",
    "--driver=cbc(aes-generic)",
    "--algorithm=aes-128-cbc",
    "--size=64",
    "--ms=20",
];

#[test]
fn user_space_is_measured_as_one_line() {
    testing::timed(|| {
        let line = user_space();
        testing::certainly!(line.completed > 0 || line.requests_per_s() == 0.0);
        testing::certainly!((line.algorithm.as_str(), line.size_bytes) == ("aes-128-cbc", 512));
        assert!(line.completed > 0, "{line:?}");
    });
}

fn user_space() -> TrialLine {
    let arguments = [
        "user-space",
        "--algorithm=aes-128-cbc",
        "--depth=4",
        "--ms=50",
    ];
    let ended = Desk::new().lockgate(&arguments).ok();
    assert_eq!(ended.stdout.lines().count(), 1, "{}", ended.stdout);
    serde_json::from_str(&ended.stdout).expect("a line of JSON")
}

#[test]
fn a_host_without_af_alg_is_told_what_it_lacks() {
    let ended = Desk::new().lockgate(&CBC);
    if ended.code == Some(0) {
        let line: TrialLine = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(line.driver, "cbc(aes-generic)");
        return;
    }
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(4), ""));
    for part in ["algif_skcipher", "lockgate vm run"] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
}

#[test]
fn wrong_values_are_named_with_their_limits() {
    let desk = Desk::new();
    let kernel = |more: &str| desk.lockgate(&[&CBC[..3], &[more]].concat());
    kernel("--ms=0").refused(&["ms 0", "600000"]);
    kernel("--size=17").refused(&["17", "multiples of 16"]);
    let name = format!("--driver={}", "x".repeat(64));
    desk.lockgate(&["af-alg", &name, CBC[2]]).refused(&["63"]);
    let user = |more: &str| desk.lockgate(&["user-space", CBC[2], more]);
    user("--size=17").refused(&["17", "16"]);
    user("--depth=0").refused(&["depth 0"]);
    desk.lockgate(&["user-space", "--algorithm=des"])
        .refused(&["'des'", "aes-128-cbc"]);
}

#[test]
fn arms_are_not_offered_to_people() {
    let help = Desk::new().lockgate(&["--help"]).ok().stdout;
    for hidden in ["af-alg", "user-space"] {
        assert!(!help.contains(hidden), "{hidden}");
    }
}
