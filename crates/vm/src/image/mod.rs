//! A guest's first and only root: an archive with busybox, kernel modules,
//! the agent, and whatever else is wanted.

mod file;
mod initramfs;
mod modules;
mod program;

use std::path::{Path, PathBuf};

pub use file::GuestFile;
use initramfs::Archive;
pub use initramfs::{ArchiveError, IMAGE_BYTES_MAX};
pub use modules::{ModuleFileError, ModuleTreeError, ModulesError};
use modules::{Modules, Wanted};
pub use program::{HostProgram, ProgramError};

use crate::protocol::AGENT;
use crate::{Cache, Kernel};

const INIT: &str = include_str!("init.sh");

const CHANNEL_MODULES: [&str; 3] = ["virtio", "virtio_pci", "virtio_console"];

#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error(transparent)]
    Modules(#[from] ModulesError),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// The parts of an image; [`Image::build`] makes it.
///
/// In the guest, `/init` mounts `/proc`, `/sys`, `/dev`, `/sys/kernel/debug` and
/// `/tmp`, loads the modules in the order given here, each behind what it depends on,
/// and starts the agent. A module that refuses to load is named on the console and in
/// the agent's hello; the guest continues without it. Note that busybox's shell
/// prefers its own commands: call others of the same name by their path.
#[derive(Clone, Debug)]
pub struct Image {
    busybox: PathBuf,
    modules_folder: PathBuf,
    release: String,
    at_boot: Vec<Wanted>,
    on_demand: Vec<Wanted>,
    files: Vec<GuestFile>,
}

impl Image {
    pub fn new(cache: &Cache, kernel: &Kernel) -> Self {
        Self::of_parts(cache.busybox(), &kernel.modules, &kernel.release)
    }

    /// An image from these parts: a static busybox, the folder that is
    /// `/lib/modules/RELEASE`, and the kernel's release.
    pub fn of_parts(busybox: &Path, modules: &Path, release: &str) -> Self {
        Self {
            busybox: busybox.to_owned(),
            modules_folder: modules.to_owned(),
            release: release.to_owned(),
            at_boot: CHANNEL_MODULES
                .map(|name| Wanted::Named(name.to_owned()))
                .into(),
            on_demand: Vec::new(),
            files: Vec::new(),
        }
    }

    /// A module that is loaded at boot. `-` and `_` are the same.
    #[must_use]
    pub fn module(mut self, name: &str) -> Self {
        self.at_boot.push(Wanted::Named(name.to_owned()));
        self
    }

    /// A module that is there for `modprobe`.
    #[must_use]
    pub fn on_demand(mut self, name: &str) -> Self {
        self.on_demand.push(Wanted::Named(name.to_owned()));
        self
    }

    /// A module built outside the kernel, loaded at boot; its file is
    /// `/lib/modules/RELEASE/updates/NAME.ko`.
    #[must_use]
    pub fn module_file(mut self, path: &Path) -> Self {
        self.at_boot.push(Wanted::File(path.to_owned()));
        self
    }

    #[must_use]
    pub fn file(mut self, file: GuestFile) -> Self {
        self.files.push(file);
        self
    }

    /// More files, e.g. those of a [`HostProgram`].
    #[must_use]
    pub fn files(mut self, files: impl IntoIterator<Item = GuestFile>) -> Self {
        self.files.extend(files);
        self
    }

    /// The archive, at most [`IMAGE_BYTES_MAX`] bytes; the same bytes for the
    /// same parts.
    ///
    /// # Errors
    ///
    /// [`ImageError`] for a module that this kernel does not have, a file
    /// that cannot be read or has no proper path, two files of one path, or
    /// too many bytes.
    pub fn build(self) -> Result<Vec<u8>, ImageError> {
        let mut modules = Modules::new(&self.modules_folder, &self.release)?;
        for wanted in &self.at_boot {
            modules.add(wanted, true)?;
        }
        for wanted in &self.on_demand {
            modules.add(wanted, false)?;
        }
        let mut archive = Archive::default();
        let own = skeleton(&self.busybox).into_iter();
        for file in own.chain(modules.into_files()).chain(self.files) {
            archive.add(file)?;
        }
        Ok(archive.write()?)
    }
}

fn skeleton(busybox: &Path) -> Vec<GuestFile> {
    let mut files: Vec<GuestFile> = [
        "/proc",
        "/sys",
        "/run",
        "/sbin",
        "/usr/bin",
        "/usr/sbin",
        "/root",
    ]
    .into_iter()
    .map(|path| GuestFile::folder(path, 0o755))
    .collect();
    files.extend([
        GuestFile::folder("/tmp", 0o1777),
        // Before devtmpfs is mounted the first process has no other console.
        GuestFile::device("/dev/console", 0o600, 5, 1),
        GuestFile::device("/dev/null", 0o666, 1, 3),
        GuestFile::host("/bin/busybox", 0o755, busybox),
        GuestFile::symlink("/bin/sh", "busybox"),
        // What the kernel starts when it lacks a module.
        GuestFile::symlink("/sbin/modprobe", "/bin/busybox"),
        GuestFile::bytes("/init", 0o755, INIT),
        GuestFile::bytes("/etc/lockgate/agent.sh", 0o755, AGENT),
        GuestFile::bytes("/etc/passwd", 0o644, "root:x:0:0:root:/root:/bin/sh\n"),
        GuestFile::bytes("/etc/group", 0o644, "root:x:0:\n"),
    ]);
    files
}
