//! What a journal can hold, and how each is undone. Undoing what is not there
//! succeeds, so that it may be tried again.

use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use sys::failure::Failure;
use sys::plain::is_shown;

use super::undo::{cgroup, container, device, folder, process};
use crate::cgroup::controllers;
use crate::device::Settings;
use crate::namespace;
use crate::netlink::{Netlink, NetlinkError};
use crate::setting::{Changes, Kept};
use crate::tag::is_of_a_name;

/// Maximum number of bytes of a text about settings that were kept.
const SAID_BYTES_MAX: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Entry {
    /// A network namespace in `/run/netns`, and with it every link inside.
    Namespace {
        /// `lockgate-…`.
        name: String,
    },
    Link {
        /// `lg…`.
        name: String,
    },
    /// A control group: a folder of a cgroup file system. Processes still inside are
    /// killed; the kernel's threads, and the sweeping process, are moved out.
    Cgroup {
        /// Below `/sys/fs/cgroup`; its name begins with `lockgate-`.
        path: PathBuf,
    },
    /// A folder with everything in it. Mounts inside are unmounted, and their
    /// contents left alone.
    Folder {
        /// Absolute; its name begins with `lockgate-`.
        path: PathBuf,
    },
    Mount {
        /// Where; a part of the path begins with `lockgate-`.
        path: PathBuf,
    },
    Device {
        name: String,
        /// `lockgate-…`: where it was moved to.
        namespace: String,
        home: u64,
        settings: Settings,
    },
    Controllers {
        /// Its `cgroup.subtree_control`, below `/sys/fs/cgroup`.
        path: PathBuf,
        /// Those, each with `on`.
        changes: Changes,
    },
    /// Nothing to undo: settings that could not be restored, to be reported.
    Kept { said: String },
    Process {
        pid: i32,
        /// When it started, in clock ticks since boot (field 22 of `/proc/PID/stat`),
        /// so that the number cannot mean another process.
        started: u64,
    },
    Container {
        runtime: Runtime,
        /// `lockgate-…`.
        name: String,
        /// The runtime's folder of states (`runc --root`, `lxc-… -P`).
        folder: PathBuf,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Runtime {
    Runc,
    Lxc,
}

#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error(
        "{entry:?} was not made by Lockgate; a journal that names it is damaged: look at it, and remove it"
    )]
    NotOurs { entry: Box<Entry> },
    #[error("cannot remove {what}; remove it by hand")]
    System {
        what: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot remove the link {name}; try 'ip link delete {name}'")]
    Link {
        name: String,
        #[source]
        source: Box<NetlinkError>,
    },
    #[error(
        "cannot bring back the device {name} from {namespace}; try 'ip -n {namespace} link set {name} netns 1'"
    )]
    Device {
        name: String,
        namespace: String,
        #[source]
        source: Box<Failure>,
    },
    #[error(
        "the namespace {namespace} stays: the device {device} was lent to it and did not come back; bring that back first, 'ip netns delete {namespace}' would destroy it"
    )]
    Holds { namespace: String, device: String },
    #[error(
        "the controllers in {} stay on: the control group {} has them; remove that first", path.display(), group.display()
    )]
    Used { path: PathBuf, group: PathBuf },
    #[error("{said}")]
    Kept { said: String },
    #[error("'{program}' could not remove {what}: {reason}; remove it by hand")]
    Program {
        program: String,
        what: String,
        reason: String,
    },
}

impl Entry {
    /// A process that runs now, by its number.
    ///
    /// # Errors
    /// When there is none, or `/proc` is not mounted.
    pub fn process(pid: i32) -> io::Result<Self> {
        let started = process::started_at(pid)?;
        Ok(Self::Process { pid, started })
    }

    /// Whether nothing that is `left` in its journal needs it: a virtual device does
    /// not outlive its namespace, nor a limit its controller.
    ///
    /// # Errors
    /// [`UndoError::Holds`], [`UndoError::Used`].
    pub(super) fn may_go<'a>(
        &self,
        left: impl IntoIterator<Item = &'a Self>,
    ) -> Result<(), UndoError> {
        left.into_iter().try_for_each(|other| match (self, other) {
            (
                Self::Namespace { name },
                Self::Device {
                    name: device,
                    namespace,
                    ..
                },
            ) if namespace == name => Err(UndoError::Holds {
                namespace: name.clone(),
                device: device.clone(),
            }),
            (Self::Controllers { path, .. }, Self::Cgroup { path: group })
                if group.parent() == path.parent() =>
            {
                Err(UndoError::Used {
                    path: path.clone(),
                    group: group.clone(),
                })
            }
            _ => Ok(()),
        })
    }

    pub fn undo(&self) -> Result<(), UndoError> {
        if !self.is_ours() {
            return Err(UndoError::NotOurs {
                entry: Box::new(self.clone()),
            });
        }
        match self {
            Self::Namespace { name } => namespace::remove_name(name).map_err(system(name)),
            Self::Link { name } => remove_link(name),
            Self::Cgroup { path } => cgroup::remove(path).map_err(system(&path.display())),
            Self::Folder { path } => folder::remove(path).map_err(system(&path.display())),
            Self::Mount { path } => namespace::unmount_all(path).map_err(system(&path.display())),
            Self::Device {
                name,
                namespace,
                home,
                settings,
            } => device::bring_back((name, namespace), *home, settings)
                .map_err(|source| UndoError::Device {
                    name: name.clone(),
                    namespace: namespace.clone(),
                    source: Box::new(source),
                })
                .and_then(|kept| all_but(&format!("the device {name}"), &kept)),
            Self::Controllers { path, changes } => {
                let kept = controllers::put_back(path, changes);
                let kept = kept.map_err(system(&path.display()))?;
                all_but(&path.display(), &kept)
            }
            Self::Kept { said } => Err(UndoError::Kept { said: said.clone() }),
            Self::Process { pid, started } => {
                process::end(*pid, *started).map_err(system(&format!("process {pid}")))
            }
            Self::Container {
                runtime,
                name,
                folder,
            } => container::remove(*runtime, name, folder),
        }
    }

    /// Whether it has the shape of a thing that Lockgate makes: nothing else is ever
    /// undone, whatever a damaged journal says.
    pub fn is_ours(&self) -> bool {
        match self {
            Self::Namespace { name } | Self::Container { name, .. } => is_our_name(name),
            Self::Link { name } => name.starts_with("lg") && name.bytes().all(is_of_a_name),
            Self::Cgroup { path } => {
                path.starts_with("/sys/fs/cgroup") && is_plain(path) && has_our_end(path)
            }
            Self::Folder { path } => is_plain(path) && has_our_end(path),
            Self::Mount { path } => is_plain(path) && path.iter().any(is_ours_part),
            // Nothing but what is in a namespace of ours is moved.
            Self::Device {
                name,
                namespace,
                settings,
                ..
            } => is_our_name(namespace) && !name.contains('/') && settings.are_plain(),
            Self::Controllers { path, changes } => {
                path.starts_with("/sys/fs/cgroup")
                    && is_plain(path)
                    && path.ends_with("cgroup.subtree_control")
                    && changes.are_plain()
            }
            Self::Kept { said } => said.len() <= SAID_BYTES_MAX && said.chars().all(is_shown),
            Self::Process { pid, .. } => *pid > 1,
        }
    }
}

/// `lockgate-` and letters, digits or `-`.
pub(crate) fn is_our_name(name: &str) -> bool {
    name.len() <= 64
        && name
            .strip_prefix("lockgate-")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(is_of_a_name))
}

/// Says which settings were not restored, if any.
fn all_but(of: &dyn std::fmt::Display, kept: &[Kept]) -> Result<(), UndoError> {
    if kept.is_empty() {
        return Ok(());
    }
    let each: Vec<_> = kept.iter().map(Kept::to_string).collect();
    let mut said = format!("of {of}, {}", each.join("; "));
    said.retain(is_shown);
    said.truncate(said.floor_char_boundary(SAID_BYTES_MAX));
    Err(UndoError::Kept { said })
}

fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

fn is_ours_part(part: &std::ffi::OsStr) -> bool {
    part.as_encoded_bytes().starts_with(b"lockgate-")
}

fn has_our_end(path: &Path) -> bool {
    path.file_name().is_some_and(is_ours_part)
}

fn system(what: &dyn std::fmt::Display) -> impl FnOnce(io::Error) -> UndoError {
    let what = what.to_string();
    move |source| UndoError::System { what, source }
}

pub(crate) fn absent_is_fine(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn remove_link(name: &str) -> Result<(), UndoError> {
    let failed = |source| UndoError::Link {
        name: name.to_owned(),
        source: Box::new(source),
    };
    let mut netlink = Netlink::open().map_err(failed)?;
    match netlink.remove_link(name) {
        Err(error) if error.is_absent() => Ok(()),
        other => other.map_err(failed),
    }
}
