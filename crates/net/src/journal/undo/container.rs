//! Containers.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::super::entry::{Runtime, UndoError};
use super::{LOOK_EVERY, UNDO_WAIT};

pub fn remove(runtime: Runtime, name: &str, folder: &Path) -> Result<(), UndoError> {
    if !folder.join(name).exists() {
        return Ok(());
    }
    let folder = folder.display().to_string();
    let commands: &[&[&str]] = match runtime {
        Runtime::Runc => &[&["runc", "--root", &folder, "delete", "--force", name]],
        Runtime::Lxc => &[
            &["lxc-stop", "-P", &folder, "-n", name, "-k"],
            &["lxc-destroy", "-P", &folder, "-n", name, "-f"],
        ],
    };
    let mut ended = Ok(());
    for words in commands {
        // Only the last decides: a stopped container cannot be stopped again.
        ended = run_bounded(words);
    }
    ended.map_err(|reason| UndoError::Program {
        program: commands
            .last()
            .map(|words| words.join(" "))
            .unwrap_or_default(),
        what: name.to_owned(),
        reason,
    })
}

fn run_bounded(words: &[&str]) -> Result<(), String> {
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child =
        sys::process::spawn_dying_with_us(command).map_err(|error| error.to_string())?;
    let deadline = Instant::now() + UNDO_WAIT;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(status.to_string()),
            Ok(None) if Instant::now() < deadline => {
                std::thread::sleep(LOOK_EVERY);
            }
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it took more than {} s", UNDO_WAIT.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}
