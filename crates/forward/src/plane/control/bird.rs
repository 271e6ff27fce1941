//! BIRD 2: one program.

use std::path::Path;
use std::process::Command;

use net::{Journal, Namespace};

use super::{Program, Running, accepts, program, read};
use crate::plane::PlaneError;
use crate::plane::plan::Control;

/// A server, which users' paths often leave out.
const FOLDERS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

fn command() -> Result<Command, PlaneError> {
    program("bird", &FOLDERS, "bird2")
}

pub(super) fn check(file: &Path) -> Result<(), PlaneError> {
    let mut command = command()?;
    command.arg("-p").arg("-c").arg(file);
    accepts(command, "bird")
}

pub(super) fn start(
    journal: &Journal,
    namespace: &Namespace,
    file: &Path,
    folder: &Path,
) -> Result<Running, PlaneError> {
    let socket = folder.join(format!("{}.ctl", namespace.name()));
    let said = socket.with_extension("log");
    let _ = std::fs::remove_file(&socket);
    let text = read(file)?;
    let mut command = command()?;
    // In the foreground.
    command.arg("-f").arg("-c").arg(file).arg("-s").arg(&socket);
    let mut bird = Program::start(journal, namespace, "bird", command, &said)?;
    bird.wait(&socket, &said)?;
    Ok(Running {
        control: Control::Bird(file.to_owned()),
        text,
        programs: vec![bird],
        asked_by: format!("birdc -s {}", socket.display()),
        files: vec![socket, said],
        _folder: None,
    })
}
