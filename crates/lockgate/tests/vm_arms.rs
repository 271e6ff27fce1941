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
    ended.says(&["algif_skcipher", "lockgate vm run"]);
}

#[test]
fn wrong_values_are_named_with_their_limits() {
    let cbc = "--driver=cbc(aes-generic) --algorithm=aes-128-cbc";
    let long = "x".repeat(64);
    let rows = format!(
        "
        af-alg {cbc} --ms=0                           => ms 0 | 600000
        af-alg {cbc} --size=17                        => 17 | multiples of 16
        af-alg --driver={long} --algorithm=aes-128-cbc => 63
        user-space --algorithm=aes-128-cbc --size=17  => 17 | 16
        user-space --algorithm=aes-128-cbc --depth=0  => depth 0
        user-space --algorithm=des                    => 'des' | aes-128-cbc
        "
    );
    Desk::new().refuses(&rows, &[]);
}
