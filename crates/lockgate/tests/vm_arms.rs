//! The hidden commands that measure one arm: a line of JSON or a reason.

use crate::common::Desk;
use sections::kspeed::trial_line::TrialLine;

const CBC: [&str; 7] = [
    "af-alg",
    "--type=skcipher",
    "--driver=cbc(aes)",
    "--key=16",
    "--size=64",
    "--ms=20",
    "--warm-up-ms=1",
];

#[test]
fn user_space_is_measured_as_one_line() {
    testing::timed(|| {
        let line = user_space();
        testing::certainly!(line.completed > 0 || line.requests_per_s() == 0.0);
        testing::certainly!((line.depth, line.size_bytes) == (4, 512));
        assert!(line.completed > 0, "{line:?}");
    });
}

fn user_space() -> TrialLine {
    let arguments = [
        "user-space",
        "--algorithm=aes-128-cbc",
        "--mode=async",
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
        assert_eq!(line.verified_by, "known-answer");
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
    let refused = |more: &[&str], parts: &[&str]| {
        desk.lockgate(&[&CBC[..5], more].concat()).refused(parts);
    };
    refused(&["--depth=0"], &["depth 0", "1 to 256"]);
    refused(&["--ms=0"], &["ms 0", "600000"]);
    let of_type = |kind| ["af-alg", kind, "--driver=x"];
    desk.lockgate(&of_type("--type=rng"))
        .refused(&["'rng'", "skcipher, aead, hash"]);
    let aead = [&of_type("--type=aead")[..], &["--tag=3"]].concat();
    desk.lockgate(&aead).refused(&["tag 3", "4 to 64"]);
    let user = |more: &str| desk.lockgate(&["user-space", "--algorithm=aes-128-cbc", more]);
    user("--size=17").refused(&["17", "16"]);
    user("--depth=0").refused(&["depth 0"]);
    user("--backend=qat").refused(&["'qat'", "aws-lc"]);
    user("--op=sign").refused(&["aes-128-cbc"]);
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
