//! A group's folder in one tree.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::hierarchy::{Controller, Hierarchy, Version};
use super::{CgroupError, failed, write};
use crate::journal::{Entry, Journal, Record, is_kernel_thread, process_of, threads_inside};

/// A kernel thread cannot be moved before it ran for the first time, which takes a
/// while on a busy host. A thread bound to its CPU can never be moved.
const BIRTH_WAIT: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Process(i32),
    Thread(i32),
}

impl Task {
    pub(super) fn number(self) -> i32 {
        match self {
            Self::Process(number) | Self::Thread(number) => number,
        }
    }

    pub(super) fn door(self, version: Version) -> &'static str {
        match (self, version) {
            (Self::Process(_), _) => "cgroup.procs",
            (Self::Thread(_), Version::One) => "tasks",
            (Self::Thread(_), Version::Two) => "cgroup.threads",
        }
    }
}

/// A group's folder in one tree. When it is dropped the folder is removed and the
/// processes inside are killed.
#[derive(Debug)]
pub(super) struct Folder {
    pub hierarchy: Hierarchy,
    pub path: PathBuf,
    pub controllers: Vec<Controller>,
    _record: Record,
}

impl Folder {
    /// Makes the folder, journalled. In version 2 it is a group of threads (type
    /// `threaded`) where its controllers and its place allow that: the kernel takes
    /// single threads into no other.
    pub(super) fn make(
        journal: &Journal,
        name: &str,
        hierarchy: Hierarchy,
        controllers: Vec<Controller>,
    ) -> Result<Self, CgroupError> {
        let path = hierarchy.mount.join(name);
        let record = reserve(journal, name, &path)?;
        let folder = Self {
            hierarchy,
            path,
            controllers,
            _record: record,
        };
        folder.set_type()?;
        Ok(folder)
    }

    fn set_type(&self) -> Result<(), CgroupError> {
        let is_for_threads = self.controllers.iter().all(|one| one.takes_threads());
        if self.hierarchy.version == Version::One || !is_for_threads {
            return Ok(());
        }
        match write(&self.path.join("cgroup.type"), "threaded") {
            // Below a group that has processes of its own: then for processes.
            Err(CgroupError::System { source, .. })
                if source.kind() == io::ErrorKind::Unsupported =>
            {
                Ok(())
            }
            set => set,
        }
    }

    /// The processes inside, including those with only one thread inside.
    pub(super) fn processes(&self) -> Result<Vec<i32>, CgroupError> {
        let inside = threads_inside(&self.path);
        let inside = inside.map_err(failed(format!("read {}", self.path.display())))?;
        let mut processes: Vec<i32> = inside.into_iter().filter_map(process_of).collect();
        processes.sort_unstable();
        processes.dedup();
        Ok(processes)
    }

    pub(super) fn home_of(&self, task: Task) -> Result<PathBuf, CgroupError> {
        let number = task.number();
        let controller = self.controllers[0];
        let home = self.hierarchy.home_of(controller, number);
        home.map_err(failed(format!("find the control group of {number}")))
    }

    pub(super) fn take(&self, task: Task) -> Result<(), CgroupError> {
        let door = self.path.join(task.door(self.hierarchy.version));
        let until = Instant::now() + BIRTH_WAIT;
        let mut taken = write(&door, &task.number().to_string());
        while is_refused(&taken) && is_kernel_thread(task.number()) && Instant::now() < until {
            std::thread::sleep(BIRTH_WAIT / 100);
            taken = write(&door, &task.number().to_string());
        }
        match (taken, task) {
            (Err(CgroupError::System { source, .. }), Task::Thread(thread))
                if source.kind() == io::ErrorKind::Unsupported =>
            {
                Err(CgroupError::SingleThread {
                    thread,
                    group: self.path.clone(),
                    mount: self.hierarchy.mount.clone(),
                    source,
                })
            }
            (taken, _) => taken,
        }
    }
}

/// `EINVAL`: the kernel keeps this thread where it is.
fn is_refused(taken: &Result<(), CgroupError>) -> bool {
    let Err(CgroupError::System { source, .. }) = taken else {
        return false;
    };
    source.kind() == io::ErrorKind::InvalidInput
}

fn reserve(journal: &Journal, name: &str, path: &Path) -> Result<Record, CgroupError> {
    let entry = Entry::Cgroup { path: path.into() };
    let record = journal
        .record(entry)
        .map_err(|source| CgroupError::Journal {
            name: name.to_owned(),
            source,
        })?;
    match std::fs::create_dir(path) {
        Ok(()) => Ok(record),
        Err(source) => {
            if source.kind() == io::ErrorKind::AlreadyExists {
                // It belongs to another program: not to be removed.
                record.forget();
            }
            Err(failed(format!("make the control group {}", path.display()))(source))
        }
    }
}
