//! A namespace's own view of `/sys/class/net`: the usual one shows the links of
//! whoever mounted it.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use crate::namespace::{Namespace, NamespaceError};

/// Why sysfs cannot be reached, read or written.
#[derive(Debug, thiserror::Error)]
pub enum SysfsError {
    /// It cannot be mounted for this namespace.
    #[error(
        "cannot mount a sysfs for {namespace}; it takes root (CAP_SYS_ADMIN) and a kernel since 5.2"
    )]
    Mount {
        /// Whose links it would show.
        namespace: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The namespace cannot be entered.
    #[error("cannot mount a sysfs for a namespace")]
    Namespace(#[source] NamespaceError),
    /// A file cannot be read or written.
    #[error(
        "cannot {what} /sys/class/net/{path}; check that the link is there and the kernel has this file"
    )]
    File {
        /// `read`, or `write` with the value.
        what: String,
        /// Below `/sys/class/net`.
        path: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// A mount of sysfs without a path, gone when this is dropped.
#[derive(Debug)]
pub struct Sysfs(OwnedFd);

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
        Ok(Self(root))
    }

    /// Writes a file below `class/net`, e.g. `lg0/threaded`.
    ///
    /// # Errors
    /// [`SysfsError::File`].
    pub fn write(&self, path: &str, value: &str) -> Result<(), SysfsError> {
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

    /// Lets only these CPUs send on one queue (XPS), of a link of several.
    ///
    /// # Errors
    /// [`SysfsError::File`].
    pub fn set_xps(&self, link: &str, queue: u32, cpus: &[usize]) -> Result<(), SysfsError> {
        self.write(
            &format!("{link}/queues/tx-{queue}/xps_cpus"),
            &cpu_mask(cpus),
        )
    }

    /// Hands what one queue receives to these CPUs (RPS); to none: it stays.
    ///
    /// # Errors
    /// [`SysfsError::File`].
    pub fn set_rps(&self, link: &str, queue: u32, cpus: &[usize]) -> Result<(), SysfsError> {
        self.write(
            &format!("{link}/queues/rx-{queue}/rps_cpus"),
            &cpu_mask(cpus),
        )
    }

    fn open(&self, path: &str, flags: OFlags) -> io::Result<std::fs::File> {
        let is_plain = Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !is_plain {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let path = Path::new("class/net").join(path);
        let file = rustix::fs::openat(&self.0, path, flags | OFlags::CLOEXEC, Mode::empty())?;
        Ok(file.into())
    }
}

/// sysfs shows the namespace of the thread that opens it.
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

/// Groups of eight hexadecimal digits, the highest first: as the kernel's
/// `bitmap_parse` takes them.
fn cpu_mask(cpus: &[usize]) -> String {
    let groups = cpus.iter().max().map_or(1, |highest| highest / 32 + 1);
    let mut mask = vec![0_u32; groups];
    for &cpu in cpus {
        mask[cpu / 32] |= 1 << (cpu % 32);
    }
    let text: Vec<_> = mask
        .iter()
        .rev()
        .map(|group| format!("{group:08x}"))
        .collect();
    text.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_in_groups_the_highest_first() {
        assert_eq!(cpu_mask(&[]), "00000000");
        assert_eq!(cpu_mask(&[0, 1]), "00000003");
        assert_eq!(cpu_mask(&[1, 32, 63]), "80000001,00000002");
    }
}
