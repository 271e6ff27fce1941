//! What an entry names, and whether undoing one takes what another names.

use std::fmt;
use std::path::{Path, PathBuf};

use super::Entry;
use crate::namespace::FOLDER as NAMESPACES;
use crate::netlink::Netlink;

/// How a dead owner's entry stands to what living owners have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claim {
    Free,
    /// Undoing it would take a part of theirs, or what it owes waits for theirs.
    Waits,
    /// It is theirs: it was never made, or is gone and was made anew.
    Theirs,
}

impl Entry {
    /// Whether one owner alone may have what it names.
    pub(super) fn is_exclusive(&self) -> bool {
        !matches!(
            self,
            // Of a run all switch on; numbers of processes are given once.
            Self::Controllers { .. } | Self::Kept { .. } | Self::Process { .. }
        )
    }

    /// Whether something is there under the name of what is yet to be made.
    pub(super) fn is_there(&self) -> bool {
        let has = |path: &Path| path.symlink_metadata().is_ok();
        match self {
            Self::Namespace { name } => has(&Path::new(NAMESPACES).join(name)),
            Self::Link { name } => {
                Netlink::open().is_ok_and(|mut netlink| netlink.link(name).is_ok())
            }
            Self::Cgroup { path } | Self::Folder { path } => has(path),
            // Something is mounted or lent that is there; a runtime's folder is made before.
            Self::Mount { .. }
            | Self::Device { .. }
            | Self::Container { .. }
            | Self::Controllers { .. }
            | Self::Kept { .. }
            | Self::Process { .. } => false,
        }
    }

    /// Whether undoing this one takes what `theirs`, a living owner's, names.
    pub(super) fn against(&self, theirs: &Self) -> Claim {
        let same = |is_same: bool| match is_same {
            true => Claim::Theirs,
            false => Claim::Free,
        };
        match (self, theirs) {
            (Self::Namespace { name }, Self::Namespace { name: other })
            | (Self::Link { name }, Self::Link { name: other }) => same(name == other),
            (Self::Namespace { name }, Self::Device { namespace, .. }) if name == namespace => {
                Claim::Waits
            }
            // A link in their namespace that has its name is theirs.
            (Self::Device { namespace, .. }, Self::Namespace { name }) if name == namespace => {
                Claim::Waits
            }
            // Its settings are owed still, once it is back.
            (Self::Device { name, .. }, Self::Device { name: other, .. }) if name == other => {
                Claim::Waits
            }
            (
                Self::Process { pid, started },
                Self::Process {
                    pid: other,
                    started: begun,
                },
            ) => same((pid, started) == (other, begun)),
            (
                Self::Container { name, folder, .. },
                Self::Container {
                    name: other,
                    folder: place,
                    ..
                },
            ) => same((name, folder) == (other, place)),
            _ => match (self.path(), theirs.path()) {
                (Some(own), Some(other)) if own == other => Claim::Theirs,
                (Some(own), Some(other)) if other.starts_with(&own) => Claim::Waits,
                // A part of their folder; a group of control groups is only near theirs.
                (Some(own), Some(other))
                    if own.starts_with(&other) && matches!(theirs, Self::Folder { .. }) =>
                {
                    Claim::Waits
                }
                _ => Claim::Free,
            },
        }
    }

    fn path(&self) -> Option<PathBuf> {
        match self {
            Self::Cgroup { path } | Self::Folder { path } | Self::Mount { path } => {
                Some(path.clone())
            }
            Self::Container { name, folder, .. } => Some(folder.join(name)),
            _ => None,
        }
    }
}

/// E.g. `the namespace lockgate-x`.
impl fmt::Display for Entry {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace { name } => write!(text, "the namespace {name}"),
            Self::Link { name } => write!(text, "the link {name}"),
            Self::Cgroup { path } => write!(text, "the control group {}", path.display()),
            Self::Folder { path } => write!(text, "the folder {}", path.display()),
            Self::Mount { path } => write!(text, "the mount {}", path.display()),
            Self::Process { pid, .. } => write!(text, "the process {pid}"),
            Self::Device { name, .. } => write!(text, "the loan of the device {name}"),
            Self::Controllers { path, .. } => {
                write!(text, "what was switched on in {}", path.display())
            }
            Self::Kept { said } => text.write_str(said),
            Self::Container { name, .. } => write!(text, "the container {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Runtime;

    fn folder(path: &str) -> Entry {
        Entry::Folder { path: path.into() }
    }

    fn group(path: &str) -> Entry {
        Entry::Cgroup { path: path.into() }
    }

    fn namespace(name: &str) -> Entry {
        Entry::Namespace { name: name.into() }
    }

    fn device(name: &str, namespace: &str) -> Entry {
        Entry::Device {
            name: name.into(),
            namespace: namespace.into(),
            home: 1,
            settings: serde_json::from_str(
                r#"{"index":1,"up":true,"changes":{"before":{},"set":{}},"sysctls":{},"threads":[]}"#,
            )
            .unwrap(),
        }
    }

    fn container(name: &str, folder: &str) -> Entry {
        let runtime = Runtime::Runc;
        let (name, folder) = (name.into(), folder.into());
        Entry::Container {
            runtime,
            name,
            folder,
        }
    }

    #[test]
    fn what_a_living_owner_has_is_not_free() {
        use Claim::{Free, Theirs, Waits};
        let mount = |path: &str| Entry::Mount { path: path.into() };
        let process = |pid, started| Entry::Process { pid, started };
        let rows = [
            (namespace("lockgate-a"), namespace("lockgate-a"), Theirs),
            (namespace("lockgate-a"), namespace("lockgate-b"), Free),
            (namespace("lockgate-a"), device("eth1", "lockgate-a"), Waits),
            (device("eth1", "lockgate-a"), namespace("lockgate-a"), Waits),
            (
                device("eth1", "lockgate-a"),
                device("eth1", "lockgate-b"),
                Waits,
            ),
            (
                device("eth1", "lockgate-a"),
                device("eth2", "lockgate-a"),
                Free,
            ),
            (folder("/r/lockgate-a"), folder("/r/lockgate-a"), Theirs),
            (folder("/r/lockgate-a"), folder("/r/lockgate-ab"), Free),
            (
                folder("/r/lockgate-a"),
                folder("/r/lockgate-a/lockgate-b"),
                Waits,
            ),
            (
                folder("/r/lockgate-a/lockgate-b"),
                folder("/r/lockgate-a"),
                Waits,
            ),
            (folder("/r/lockgate-a"), mount("/r/lockgate-a/usr"), Waits),
            (mount("/r/lockgate-a/usr"), folder("/r/lockgate-a"), Waits),
            (
                folder("/r/lockgate-a"),
                container("lockgate-c", "/r/lockgate-a"),
                Waits,
            ),
            (
                group("/sys/fs/cgroup/lockgate-a"),
                group("/sys/fs/cgroup/lockgate-a"),
                Theirs,
            ),
            (
                group("/g/lockgate-a"),
                group("/g/lockgate-a/lockgate-b"),
                Waits,
            ),
            (
                group("/g/lockgate-a/lockgate-b"),
                group("/g/lockgate-a"),
                Free,
            ),
            (process(7, 1), process(7, 1), Theirs),
            (process(7, 1), process(7, 2), Free),
            (
                container("lockgate-c", "/r"),
                container("lockgate-c", "/r"),
                Theirs,
            ),
            (
                container("lockgate-c", "/r"),
                container("lockgate-c", "/q"),
                Free,
            ),
        ];
        for (own, theirs, wanted) in rows {
            assert_eq!(own.against(&theirs), wanted, "{own} against {theirs}");
        }
    }
}
