//! Output that is closed, full or unread: it costs lines, and nothing else.

use std::fs::OpenOptions;
use std::io::{Read, Write, pipe};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::common::{Desk, PATIENCE};

fn full_device() -> Stdio {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    full.into()
}

/// A pipe that nobody reads any more.
fn closed() -> Stdio {
    let (from, to) = pipe().unwrap();
    drop(from);
    to.into()
}

/// A pipe that takes nothing more, and the end that nobody reads.
fn full() -> (std::io::PipeReader, Stdio) {
    let (from, mut to) = pipe().unwrap();
    let flags = fcntl_getfl(&to).unwrap();
    fcntl_setfl(&to, flags | OFlags::NONBLOCK).unwrap();
    while to.write(&[b'.'; 4096]).is_ok() {}
    while to.write(b".").is_ok() {}
    fcntl_setfl(&to, flags).unwrap();
    (from, to.into())
}

fn ended(child: &mut Child) -> Option<i32> {
    let end = testing::until(
        || child.try_wait().unwrap(),
        |ended: &Option<std::process::ExitStatus>| ended.is_some(),
    );
    end.unwrap().code()
}

/// How `lockgate sections` ends with that stdout, and what it says on stderr.
fn sections_into(stdout: impl Into<Stdio>) -> (Option<i32>, String) {
    let desk = Desk::new();
    let mut child = desk
        .command()
        .args(["sections"])
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let code = ended(&mut child);
    let mut said = String::new();
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    (code, said)
}

#[test]
fn a_reader_that_went_away_ends_it_quietly() {
    assert_eq!(sections_into(closed()), (Some(0), String::new()));
}

#[test]
fn results_that_no_file_takes_are_an_error_and_no_panic() {
    let (code, said) = sections_into(full_device());
    assert_eq!(code, Some(3));
    assert!(
        said.contains("cannot write the results to stdout"),
        "{said}"
    );
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn an_error_that_nobody_hears_is_the_same_error() {
    let desk = Desk::new();
    let (_unread, full) = full();
    for stderr in [closed(), full_device(), full] {
        let mut command = desk.command();
        command.args(["run", "no/such.toml"]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .unwrap();
        assert_eq!(ended(&mut child), Some(2));
    }
}

/// Ends it also where a test fails.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks the device for its features, as a front-end does first (vhost-user,
/// `VHOST_USER_GET_FEATURES`): whether it answers.
fn is_served(socket: &Path) -> bool {
    let ask = || -> std::io::Result<u32> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE / 4))?;
        let numbers = [1_u32, 1, 0];
        stream.write_all(&numbers.map(u32::to_ne_bytes).concat())?;
        let mut reply = [0; 20];
        stream.read_exact(&mut reply)?;
        Ok(u32::from_ne_bytes(reply[8..12].try_into().unwrap()))
    };
    ask().is_ok_and(|bytes| bytes == 8)
}

/// Front-ends come and go, and each has something said of it.
#[test]
fn guests_are_served_whatever_becomes_of_the_log() {
    let (_unread, full_pipe) = full();
    let (_results, full_results) = full();
    let outputs = [
        (Stdio::null(), closed()),
        (full_device(), full_device()),
        (full_results, full_pipe),
    ];
    for (number, (stdout, stderr)) in outputs.into_iter().enumerate() {
        let desk = Desk::new();
        let socket = desk.path().join("vf.sock");
        let file = format!("[[vf]]\nname = \"vm1\"\nsocket = {socket:?}\npiece = \"16384\"\n");
        let file = desk.write("vf.toml", &file);
        let child = desk
            .command()
            .args([Path::new("serve"), Path::new("--no-lines"), &file])
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .unwrap();
        let mut served = Served(child);
        testing::until(|| is_served(&socket), |is_there| *is_there);
        let signal = |name: &str| {
            let line = format!("kill -{name} {}", served.0.id());
            let sent = Command::new("sh").args(["-c", &line]).status().unwrap();
            assert!(sent.success());
        };
        for round in 0..60 {
            assert!(is_served(&socket), "log {number}, front-end {round}");
            if round % 20 == 10 {
                // The counters have nowhere to go, either.
                signal("USR1");
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        signal("TERM");
        assert_eq!(ended(&mut served.0), Some(0), "log {number}");
    }
}
