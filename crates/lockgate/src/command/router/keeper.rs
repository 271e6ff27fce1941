//! The program that keeps routers: what an XDP program forwards by is told by it.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use confine::{Calls, Capabilities, Confinement};
use forward::plane::{Holder, Plan, Plane, PlaneError};
use sys::failure::with_causes;

use super::desk::{Answer, Desk, LINE_BYTES_MAX, Request};
use crate::confinement;
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::interrupt;
use crate::measure;

/// What it says when they are up.
pub const UP: &str = "up";

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// A sweep of what a killed program left takes seconds, with a container in it.
const ENDING: Duration = Duration::from_secs(20);
/// Who asks is a program: it writes at once.
const ASK_WAIT: Duration = Duration::from_secs(2);

/// One path for a program of a shell's, of systemd's and of `up`: what a killed one left
/// is swept, the file's folder is reserved, and then all is made. However it ends, all of
/// it goes.
pub fn keep(desk: &Desk, plan: &Plan, to_log: bool, console: &Console) -> Result<Exit, Failure> {
    let stop = interrupt::flag().or_failed()?;
    confinement::enter(&rights(), console)?;
    let mut plane = reserve(desk, &stop, console)?;
    plane.become_(plan).map_err(failure)?;
    if stop.load(Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    let socket = desk.socket();
    let listener = UnixListener::bind(&socket)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .with_context(|| format!("cannot listen at {}", socket.display()))
        .or_failed()?;
    desk.sign()
        .with_context(|| format!("cannot make a link beside {}", socket.display()))
        .or_failed()?;
    if to_log {
        say_to(&desk.log())
            .with_context(|| format!("cannot write {}", desk.log().display()))
            .or_failed()?;
    }
    console.print(&format!("{UP}\n"))?;
    serve(desk, &mut plane, &listener, &stop);
    Ok(Exit::Ok)
}

/// Sweeps, and waits for a killed one that is not gone yet.
fn reserve(desk: &Desk, stop: &AtomicBool, console: &Console) -> Result<Plane, Failure> {
    let deadline = Instant::now() + ENDING;
    loop {
        measure::sweep(console);
        match Plane::owning(&desk.folder()) {
            Err(PlaneError::Held {
                by: Holder::Ending, ..
            }) if Instant::now() < deadline && !stop.load(Ordering::Relaxed) => {
                std::thread::sleep(LOOK);
            }
            Err(PlaneError::Held { by, .. }) => {
                return Err(Failure::new(
                    Exit::Failed,
                    format!(
                        "the routers of {} are up, or are just coming or going: they are kept by {by}; `lockgate router reload` changes what differs, `down` takes them away",
                        desk.file().display()
                    ),
                ));
            }
            other => return other.map_err(failure),
        }
    }
}

/// Who started this listens until they are up, and then goes.
fn say_to(log: &Path) -> std::io::Result<()> {
    let log = std::fs::File::create(log)?;
    Ok(rustix::stdio::dup2_stderr(log)?)
}

/// What changes of its file take at any time. It stays root, since it mounts namespaces
/// and starts routing daemons, which become users of their own. For the same reason its
/// files are not restricted: the kernel lets nobody mount whose files are.
fn rights() -> Confinement {
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
        files: None,
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
