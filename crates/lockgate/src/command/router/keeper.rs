//! The program that keeps routers: what an XDP program forwards by is told by it.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use confine::{Calls, Capabilities, Confinement};
use forward::plane::{Plan, Plane, PlaneError};
use sys::failure::with_causes;

use super::desk::{Answer, Desk, LINE_BYTES_MAX, Request};
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::interrupt;

/// What it says when they are up.
pub const UP: &str = "up";

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// Who asks is a program: it writes at once.
const ASK_WAIT: Duration = Duration::from_secs(2);

pub fn keep(desk: &Desk, plan: &Plan, console: &Console) -> Result<Exit, Failure> {
    let stop = interrupt::flag().or_failed()?;
    let folder = desk.folder();
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))
        .or_failed()?;
    // Before it starts a thread or a program: these inherit it.
    let confined = confinement().enter_process();
    let confined = confined.context("cannot confine itself").or_failed()?;
    console.notice(&format!("confined: {}", confined.in_words()));
    confined.lacks.iter().for_each(|lack| console.warning(lack));
    let mut plane = Plane::new(&folder).map_err(failure)?;
    plane.become_(plan).map_err(failure)?;
    let socket = desk.socket();
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .with_context(|| format!("cannot listen at {}", socket.display()))
        .or_failed()?;
    desk.sign()
        .with_context(|| format!("cannot make a link beside {}", socket.display()))
        .or_failed()?;
    console.print(format!("{UP}\n").as_bytes())?;
    serve(desk, &mut plane, &listener, &stop);
    drop(plane);
    desk.tidy();
    Ok(Exit::Ok)
}

/// What changes of its file take at any time. It stays root, since it mounts namespaces
/// and starts routing daemons, which become users of their own. For the same reason its
/// files are not restricted: the kernel lets nobody mount whose files are.
fn confinement() -> Confinement {
    type C = Capabilities;
    // Ports, routes, sockets of frames; XDP programs, and the memory of their maps.
    let network = C::NET_ADMIN | C::NET_RAW | C::NET_BIND_SERVICE | C::NET_BROADCAST;
    let programs = C::BPF | C::PERFMON | C::SYS_RESOURCE | C::IPC_LOCK | C::SYS_NICE;
    // Namespaces by name: they are entered, and mounted.
    let namespaces = C::SYS_ADMIN | C::SYS_CHROOT;
    // Daemons of other users: made, given their folders, looked at and ended.
    let users = C::SETUID | C::SETGID | C::SETPCAP | C::KILL | C::SYS_PTRACE;
    let files = C::CHOWN | C::FOWNER | C::FSETID | C::DAC_OVERRIDE | C::DAC_READ_SEARCH;
    Confinement {
        user: None,
        keep: network | programs | namespaces | users | files,
        folders: None,
        has_network: true,
        files_max: None,
        calls: Calls::Programs,
    }
}

fn serve(desk: &Desk, plane: &mut Plane, listener: &UnixListener, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => {
                if answer(desk, plane, &stream) == Some(Request::Down) {
                    return;
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(LOOK),
            // The next one may be better.
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}

/// What was asked for, if something was.
fn answer(desk: &Desk, plane: &mut Plane, stream: &UnixStream) -> Option<Request> {
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(ASK_WAIT)).ok()?;
    let mut text = String::new();
    BufReader::new(stream.take(LINE_BYTES_MAX))
        .read_line(&mut text)
        .ok()?;
    let request: Request = serde_json::from_str(&text).ok()?;
    let answer = match request {
        Request::Show => plane.show().map(Answer::Shown),
        Request::Reload => reload(desk, plane).map(Answer::Changed),
        Request::Down => {
            let names = plane.plan().routers.keys();
            Ok(Answer::Changed(
                names.map(|name| format!("{name}: gone")).collect(),
            ))
        }
    };
    let answer = answer.unwrap_or_else(|error| Answer::Failed {
        exit: exit(&error) as u8,
        reason: with_causes(&error),
    });
    let line = serde_json::to_string(&answer).ok()?;
    // Who asked may have gone.
    let mut stream = stream;
    let _ = writeln!(stream, "{line}");
    Some(request)
}

fn reload(desk: &Desk, plane: &mut Plane) -> Result<Vec<String>, PlaneError> {
    let text = std::fs::read_to_string(desk.file()).map_err(|error| {
        PlaneError::Plan(format!("cannot read {}: {error}", desk.file().display()))
    })?;
    let folder = desk.file().parent().unwrap_or(Path::new("/"));
    let plan = Plan::read(&text, folder).map_err(PlaneError::Plan)?;
    plane.become_(&plan)
}

fn exit(error: &PlaneError) -> Exit {
    match error {
        PlaneError::Plan(_) => Exit::Usage,
        PlaneError::NotSupported { .. } => Exit::Missing,
        _ => Exit::Failed,
    }
}

fn failure(error: PlaneError) -> Failure {
    Failure {
        exit: exit(&error),
        error: error.into(),
    }
}
