//! A namespace's own view of `/sys/class/net`: the usual one shows the links of
//! the process that mounted it.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use sys::failure::Failure;

use crate::journal::{JournalError, Loans};
use crate::namespace::Namespace;

#[derive(Debug, thiserror::Error)]
pub enum SysfsError {
    #[error(
        "cannot mount a sysfs for {namespace}; it takes root (CAP_SYS_ADMIN) and a kernel since 5.2"
    )]
    Mount {
        namespace: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot mount a sysfs for a namespace")]
    Namespace(#[source] Failure),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(
        "cannot {what} /sys/class/net/{path}; check that the link is there and the kernel has this file"
    )]
    File {
        what: String,
        path: String,
        #[source]
        source: io::Error,
    },
}

impl SysfsError {
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// A mount of sysfs without a path, gone when this is dropped.
#[derive(Debug)]
pub struct Sysfs {
    root: OwnedFd,
    loans: Loans,
}

impl Sysfs {
    /// For the links of this namespace.
    ///
    /// # Errors
    /// [`SysfsError::Mount`], [`SysfsError::Namespace`].
    pub fn of(namespace: &Namespace) -> Result<Self, SysfsError> {
        let mounted = namespace.run(mount).map_err(SysfsError::Namespace)?;
        let root = mounted.map_err(|source| SysfsError::Mount {
            namespace: namespace.name().to_owned(),
            source,
        })?;
        let loans = namespace.loans();
        Ok(Self { root, loans })
    }

    /// Writes a file below `class/net`, e.g. `lg0/threaded`; for a lent device it is
    /// journalled first.
    ///
    /// # Errors
    /// [`SysfsError::File`].
    pub fn write(&self, path: &str, value: &str) -> Result<(), SysfsError> {
        if let Some((link, setting)) = path.split_once('/') {
            self.loans.note(link, setting, value)?;
        }
        let open = self.open(path, OFlags::WRONLY);
        let written = open.and_then(|mut file| file.write_all(value.as_bytes()));
        written.map_err(|source| SysfsError::File {
            what: format!("write '{value}' to"),
            path: path.to_owned(),
            source,
        })
    }

    /// Reads a file below `class/net`, without white space at its end.
    ///
    /// # Errors
    /// [`SysfsError::File`].
    pub fn read(&self, path: &str) -> Result<String, SysfsError> {
        let mut text = String::new();
        let open = self.open(path, OFlags::RDONLY);
        let read = open.and_then(|mut file| file.read_to_string(&mut text));
        read.map_err(|source| SysfsError::File {
            what: "read".to_owned(),
            path: path.to_owned(),
            source,
        })?;
        text.truncate(text.trim_end().len());
        Ok(text)
    }

    fn open(&self, path: &str, flags: OFlags) -> io::Result<std::fs::File> {
        let is_plain = Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !is_plain {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let path = Path::new("class/net").join(path);
        let file = rustix::fs::openat(&self.root, path, flags | OFlags::CLOEXEC, Mode::empty())?;
        Ok(file.into())
    }
}

fn mount() -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&context)?;
    let flags = FsMountFlags::FSMOUNT_CLOEXEC;
    Ok(rustix::mount::fsmount(
        &context,
        flags,
        MountAttrFlags::empty(),
    )?)
}
