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

/// A server that ends with the test.
struct Server(std::process::Child);

impl Server {
    /// Starts one, and says where it listens.
    fn start(desk: &Desk, protection: &str) -> (Self, String) {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_lockgate"))
            .args(["quic", "perf", "server", "--listen", "127.0.0.1:0"])
            .args(["--protection", protection])
            .current_dir(desk.path())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap();
        (Self(child), address.to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn every_protection_transfers_with_a_stock_end() {
    let desk = Desk::new();
    for (server, client) in [
        ("stock", "offloaded"),
        ("offloaded", "stock"),
        ("worker", "inline"),
        ("coalesced", "worker"),
    ] {
        let (_server, address) = Server::start(&desk, server);
        let ended = desk.line(&format!(
            "quic perf client {address} --insecure --download 3M --upload 500k --transfers 2 \
             --update-keys --move --protection {client}"
        ));
        let ended = ended.ok();
        ended.shows(&["transfer 1, cold: 0.004 GB", "transfer 2, 0-RTT", "Gbit/s"]);
    }
}

#[test]
fn a_transfer_that_cannot_be_says_why() {
    let desk = Desk::new();
    let (_server, address) = Server::start(&desk, "offloaded");
    for (line, code, says) in [
        (
            "quic perf client ADDRESS".to_owned(),
            2,
            &["--trust", "--insecure"][..],
        ),
        (
            "quic perf client ADDRESS --insecure --download 5X".to_owned(),
            2,
            &["5X", "500k, 10M, 1G"],
        ),
        (
            "quic perf client ADDRESS --insecure --payload-bytes 100".to_owned(),
            2,
            &["100", "1200"],
        ),
        (
            "quic perf client ADDRESS --trust nothing.pem".to_owned(),
            2,
            &["nothing.pem"],
        ),
        (
            "quic perf server --listen 127.0.0.1:0 --key x.pem".to_owned(),
            2,
            &["--certificate"],
        ),
    ] {
        let ended = desk.line(&line.replace("ADDRESS", &address));
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        ended.says(says);
    }
    // A certificate of somebody else.
    let other = desk.write("other.pem", OTHER);
    let ended = desk.line(&format!(
        "quic perf client {address} --trust {}",
        other.display()
    ));
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    ended.says(&["no connection to", "certificate"]);
}

/// Of nobody: made once, its key thrown away.
const OTHER: &str = include_str!("other.pem");
