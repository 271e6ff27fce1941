//! Starts QEMU with everything it needs as inherited descriptors: no file, no
//! socket and no pipe of a guest has a name, so none can be left behind.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use command_fds::{CommandFdExt, FdMapping};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use super::arguments::{CONSOLE_FD, CONTROL_FD, IMAGE_FD, INCOMING_FD, KERNEL_FD, QMP_FD, Start};
use super::machine::Machine;
use super::process::Process;

#[derive(Debug)]
pub(super) struct Launched {
    pub(super) machine: Machine,
    pub(super) control: UnixStream,
    pub(super) qmp: UnixStream,
}

/// Bytes as a file without a name, which can no longer be changed.
pub(super) fn nameless(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create(name, flags)?);
    file.write_all(bytes)?;
    let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, all)?;
    Ok(file.into())
}

/// Starts `program`, with a stream that its guest comes from or without; it is killed at
/// `deadline`, and when this process ends.
pub(super) fn launch(
    program: &Path,
    start: &Start<'_>,
    (kernel, image): (OwnedFd, OwnedFd),
    incoming: Option<OwnedFd>,
    deadline: Instant,
) -> io::Result<Launched> {
    let (control, control_there) = UnixStream::pair()?;
    let (qmp, qmp_there) = UnixStream::pair()?;
    let (console, console_there) = UnixStream::pair()?;
    let (errors, errors_there) = io::pipe()?;
    let mut mappings = vec![
        given(kernel, KERNEL_FD),
        given(image, IMAGE_FD),
        given(control_there, CONTROL_FD),
        given(qmp_there, QMP_FD),
        given(console_there, CONSOLE_FD),
    ];
    mappings.extend(incoming.map(|stream| given(stream, INCOMING_FD)));
    let mut command = Command::new(program);
    // Before the mapping, whose closure comes later.
    sys::process::close_on_exec(&mut command);
    command
        .args(start.arguments())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors_there)
        .fd_mappings(mappings)
        .map_err(io::Error::other)?;
    let (process, watcher) = Process::start(command, deadline)?;
    let mut machine = Machine::new(process, watcher);
    machine.read(console, errors)?;
    Ok(Launched {
        machine,
        control,
        qmp,
    })
}

pub(super) fn given(fd: impl Into<OwnedFd>, number: i32) -> FdMapping {
    FdMapping {
        parent_fd: fd.into(),
        child_fd: number,
    }
}
