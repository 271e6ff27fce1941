//! A device's socket and log: open before the rest, by whoever has the rights.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use engine::{CryptoFunction, PIECE_BYTES_MIN};
use rustix::fs::{Gid, Mode, Uid};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::{Device, DeviceConfig, DeviceError, Notices};
use crate::backend::QUEUES_MAX;
use crate::log::Logs;
use crate::supervisor::Supervisor;

#[derive(Clone, Debug)]
pub struct SocketConfig {
    pub path: PathBuf,
    pub mode: u32,
    pub owner: Option<u32>,
    pub group: Option<u32>,
}

/// A device's files, before it has a function: what a program opens with rights that it
/// gives up then. Front-ends that connect wait.
#[derive(Debug)]
pub struct Bound {
    pub(super) config: DeviceConfig,
    pub(super) listener: UnixListener,
    pub(super) logs: Logs,
    pub(super) files: Files,
}

/// A socket and the log beside it, removed on drop.
#[derive(Debug)]
pub(super) struct Files(PathBuf);

impl Drop for Files {
    fn drop(&mut self) {
        for path in [&self.0, &log_path(&self.0)] {
            // One that somebody else removed is gone.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Bound {
    /// # Errors
    /// [`DeviceError`].
    pub fn new(config: DeviceConfig) -> Result<Self, DeviceError> {
        let queues = config.queues;
        if !(1..=QUEUES_MAX).contains(&queues) {
            return Err(DeviceError::Queues { queues });
        }
        if config.workers.is_empty() {
            return Err(DeviceError::Workers);
        }
        if let Some(bytes) = config.piece_bytes
            && (bytes == 0 || !bytes.is_multiple_of(PIECE_BYTES_MIN))
        {
            return Err(DeviceError::Piece { bytes });
        }
        let listener = listen(&config.socket)?;
        let files = Files(config.socket.path.clone());
        let logs = log_path(&config.socket.path);
        let logs = Logs::open(&logs, queues).map_err(|source| DeviceError::Log {
            path: logs.clone(),
            source,
        })?;
        Ok(Self {
            config,
            listener,
            logs,
            files,
        })
    }

    /// Serves front-ends, one at a time.
    ///
    /// # Errors
    /// [`DeviceError::Thread`].
    pub fn start(
        self,
        function: CryptoFunction,
        notices: Notices,
        supervisor: &Supervisor,
    ) -> Result<Device, DeviceError> {
        Device::serve(function, self, notices, supervisor)
    }
}

/// The file that says how far entries were begun, for the device that comes after.
#[must_use]
pub fn log_path(socket: &Path) -> PathBuf {
    let mut path = socket.as_os_str().to_owned();
    path.push(".log");
    path.into()
}

/// A socket that only its owner can reach, from its first moment on.
fn listen(config: &SocketConfig) -> Result<UnixListener, DeviceError> {
    let path = &config.path;
    clear(path)?;
    let bound = || -> io::Result<UnixListener> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (unix, stream) = (AddressFamily::UNIX, SocketType::STREAM);
        let socket = rustix::net::socket_with(unix, stream, flags, None)?;
        // Before it has a name, so that it never has another mode.
        rustix::fs::fchmod(&socket, Mode::from_raw_mode(config.mode))?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        let (owner, group) = (
            config.owner.map(Uid::from_raw),
            config.group.map(Gid::from_raw),
        );
        if owner.is_some() || group.is_some() {
            rustix::fs::chown(path, owner, group)?;
        }
        // Of what the process masks, the owner asked for.
        rustix::fs::chmod(path, Mode::from_raw_mode(config.mode))?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(UnixListener::from(socket))
    };
    bound().map_err(|source| DeviceError::Socket {
        path: path.clone(),
        source,
    })
}

/// Front-ends that wait for one before them to leave.
const BACKLOG: i32 = 16;

/// Removes what a device that is gone has left.
fn clear(path: &Path) -> Result<(), DeviceError> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(status) = path.symlink_metadata() else {
        return Ok(());
    };
    if !status.file_type().is_socket() {
        return Err(DeviceError::NoSocket(path.to_owned()));
    }
    if UnixStream::connect(path).is_ok() {
        return Err(DeviceError::InUse(path.to_owned()));
    }
    std::fs::remove_file(path).map_err(|source| DeviceError::Socket {
        path: path.to_owned(),
        source,
    })
}
