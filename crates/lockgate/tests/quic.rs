//! `lockgate quic decrypt` on captures of aioquic: what it says, writes and refuses.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assert_cmd::Command;

use crate::common::{Desk, Ended, PATIENCE};

fn desk() -> Desk {
    let desk = Desk::new();
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../quic/tests/captures");
    for name in ["retry.pcap", "retry.keys", "retry.json"] {
        fs::copy(captures.join(name), desk.path().join(name)).unwrap();
    }
    let whole = fs::read(captures.join("retry.pcap")).unwrap();
    fs::write(desk.path().join("cut.pcap"), &whole[..whole.len() / 2]).unwrap();
    desk
}

/// No secret is shown, whatever is printed.
fn shows_no_secret(ended: &Ended, desk: &Desk) {
    let keys = fs::read_to_string(desk.path().join("retry.keys")).unwrap();
    let secrets = keys.lines().filter_map(|line| line.split(' ').nth(2));
    for secret in secrets {
        assert!(!ended.stdout.contains(secret) && !ended.stderr.contains(secret));
    }
}

#[test]
fn a_capture_is_opened_and_told_on_a_page() {
    let desk = desk();
    let ended = desk.line("quic decrypt --pcap retry.pcap --keylog retry.keys");
    shows_no_secret(&ended, &desk);
    let ended = ended.ok();
    ended.shows(&["0 not opened", "retry", "aes-128-gcm", "Streams"]);
    let truth: serde_json::Value =
        serde_json::from_slice(&fs::read(desk.path().join("retry.json")).unwrap()).unwrap();
    for row in truth.as_array().unwrap() {
        ended.shows(&[row["sha256"].as_str().unwrap()]);
    }
}

#[test]
fn what_does_not_open_is_told_with_its_reason_and_the_code() {
    let desk = desk();
    let ended = desk.line("quic decrypt --pcap retry.pcap");
    assert_eq!(ended.code, Some(1));
    ended.shows(&["Not opened", "the key log has no secret"]);
    // What is before the cut is told, too.
    let ended = desk.line("quic decrypt --pcap cut.pcap --keylog retry.keys");
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    ended.shows(&["0 not opened"]);
    ended.says(&["was not read to its end", "cut.pcap"]);
}

#[test]
fn json_and_pcapng_are_exported_and_the_copy_opens_by_itself() {
    let desk = desk();
    let line = "quic decrypt --pcap retry.pcap --keylog retry.keys";
    let ended = desk.line(&format!(
        "{line} --export json=- --export pcapng=copy.pcapng"
    ));
    let first: serde_json::Value = serde_json::from_str(&ended.ok().stdout).unwrap();
    assert_eq!(first["schema"], 1);
    assert_eq!(first["packets"].as_u64(), Some(28));
    let unprotected = first["unprotected"].as_u64().unwrap();
    assert_eq!(first["opened"].as_u64(), Some(28 - unprotected));
    let copy = desk.path().join("copy.pcapng");
    assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let again = desk.line("quic decrypt --pcap copy.pcapng --export json=again.json");
    again.ok().shows(&["0 not opened"]);
    let again = fs::read(desk.path().join("again.json")).unwrap();
    let again: serde_json::Value = serde_json::from_slice(&again).unwrap();
    assert_eq!(first["connections"], again["connections"]);
    // A capture may come through a pipe.
    let mut command = Command::from_std(desk.command());
    let command = command.args(["quic", "decrypt", "--pcap", "-"]);
    let command = command
        .write_stdin(fs::read(&copy).unwrap())
        .timeout(PATIENCE);
    Ended::from(command.output().unwrap()).ok();
}

#[test]
fn what_is_no_capture_or_key_log_is_refused_by_name() {
    let rows = "
        quic                                                    => decrypt
        quic decrypt                                            => --pcap
        quic decrypt --pcap none.pcap                           => none.pcap | No such file
        quic decrypt --pcap retry.keys                          => retry.keys | editcap
        quic decrypt --pcap retry.pcap --keylog none            => key log 'none'
        quic decrypt --pcap retry.pcap --keylog retry.json      => retry.json | line 1 | SSLKEYLOGFILE
        quic decrypt --pcap retry.pcap --export pdf=x           => 'pdf' | json, pcapng
        quic decrypt --pcap retry.pcap --export json            => json=PATH
        quic decrypt --pcap retry.pcap --export json=no/such/f  => no/such/f | --export
        quic decrypt --pcap retry.pcap --export json=a --export json=b => one format twice
        quic decrypt --pcap retry.pcap --export json=- --export pcapng=- => two exports to stdout
    ";
    desk().refuses(rows, &[]);
}
