//! QEMU's version, from what `--version` prints.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A QEMU answers within 0.1 s; a file system that hangs must not block us.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);

const ANSWER_BYTES_MAX: u64 = 4096;

/// What `program --version` prints, at most [`ANSWER_BYTES_MAX`] of it.
pub(super) fn ask(program: &Path) -> io::Result<String> {
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = sys::process::spawn_dying_with_us(command)?;
    let ended = wait_bounded(&mut child);
    if ended.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    ended?;
    let mut answer = Vec::new();
    if let Some(output) = child.stdout.take() {
        // What it said is in the pipe; a child of its own may hold that open.
        rustix::io::ioctl_fionbio(&output, true)?;
        let read = output.take(ANSWER_BYTES_MAX).read_to_end(&mut answer);
        read.or_else(|error| match error.kind() {
            io::ErrorKind::WouldBlock => Ok(0),
            _ => Err(error),
        })?;
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn wait_bounded(child: &mut Child) -> io::Result<()> {
    let started = Instant::now();
    while child.try_wait()?.is_none() {
        if started.elapsed() > ANSWER_LIMIT {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("it did not end within {} s", ANSWER_LIMIT.as_secs()),
            ));
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// The three numbers of "QEMU emulator version 7.2.22 (Debian 1:7.2+…)".
pub(super) fn parse(answer: &str) -> Option<(u32, u32, u32)> {
    let (_, rest) = answer.split_once("QEMU emulator version ")?;
    let numbers = rest
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .next()?;
    let mut parts = numbers.split('.').map(str::parse);
    let mut next = || parts.next()?.ok();
    Some((next()?, next()?, next().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_and_plain_versions_are_read() {
        let debian =
            "QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1~bpo12+1)\nCopyright";
        assert_eq!(parse(debian), Some((10, 0, 2)));
        assert_eq!(parse("QEMU emulator version 7.2.22"), Some((7, 2, 22)));
        assert_eq!(parse("QEMU emulator version 9.2rc1"), Some((9, 2, 0)));
    }

    #[test]
    fn anything_else_has_no_version() {
        for other in [
            "",
            "qemu-img version 7.2.22",
            "QEMU emulator version ",
            "QEMU emulator version 7",
            "QEMU emulator version x.y.z",
        ] {
            assert_eq!(parse(other), None, "{other:?}");
        }
        assert_eq!(parse("QEMU emulator version 99999999999.1.1"), None);
    }
}
