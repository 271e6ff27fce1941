//! Limits of processes and of the kernel's threads: control groups, version 1
//! and 2 (`Documentation/admin-guide/cgroup-v1` and `cgroup-v2.rst`).

mod hierarchy;
mod limits;

use std::io;
use std::path::{Path, PathBuf};

pub use hierarchy::{Controller, Version};
pub use limits::Limits;

use crate::journal::{Entry, Journal, JournalError, Record, is_our_name};
use hierarchy::{Hierarchy, enable, find};

/// Why limits cannot be set.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    /// Its name is not one of ours.
    #[error(
        "'{name}' is no name for a control group: use 'lockgate-' and up to 55 lower-case letters, digits or '-', e.g. of Tag::name"
    )]
    Name {
        /// What was asked.
        name: String,
    },
    /// A limit is out of its range, or none was given.
    #[error("{limit} cannot be limited to {value}: {allowed}")]
    Limit {
        /// Which.
        limit: &'static str,
        /// What was asked.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The host has no such controller.
    #[error(
        "no control group file system with '{controller}' is mounted; mount one, e.g. 'mount -t cgroup2 none /sys/fs/cgroup', or leave out that limit"
    )]
    Missing {
        /// Which.
        controller: Controller,
    },
    /// It cannot be written down.
    #[error("cannot journal the control group {name}")]
    Journal {
        /// Its name.
        name: String,
        /// The cause.
        #[source]
        source: JournalError,
    },
    /// The kernel refused.
    #[error("cannot {what}; it takes root, and a control group file system that may be written")]
    System {
        /// What was being done.
        what: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// How often a group used up its share of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Periods in which somebody inside ran.
    pub periods: u64,
    /// Of these, periods in which the share was used up.
    pub throttled: u64,
    /// For how long somebody waited for the next period, ns.
    pub throttled_ns: u64,
}

/// A control group: one folder for each controller that its limits need, or
/// one for all (version 2). When it is dropped, processes inside are killed,
/// the kernel's threads and this process moved out.
#[derive(Debug)]
pub struct Cgroup {
    name: String,
    folders: Vec<Folder>,
}

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    version: Version,
    controllers: Vec<Controller>,
    _record: Record,
}

impl Cgroup {
    /// A new one, journalled, with these limits.
    ///
    /// Where version 2 has the controllers, they are switched on for all
    /// groups below its root, and stay so.
    ///
    /// # Errors
    /// [`CgroupError`].
    pub fn create(journal: &Journal, name: &str, limits: &Limits) -> Result<Self, CgroupError> {
        if !is_our_name(name) {
            return Err(CgroupError::Name {
                name: name.to_owned(),
            });
        }
        limits.check()?;
        let mut group = Self {
            name: name.to_owned(),
            folders: vec![],
        };
        for controller in limits.controllers() {
            let hierarchy = find(controller)?;
            group.join(journal, &hierarchy, controller)?;
        }
        for folder in &group.folders {
            for (file, value) in limits.settings(folder.version, &folder.controllers)? {
                write(&folder.path.join(&file), &value)?;
            }
        }
        Ok(group)
    }

    /// Makes the folder of a controller, if it is not one that is there.
    fn join(
        &mut self,
        journal: &Journal,
        hierarchy: &Hierarchy,
        controller: Controller,
    ) -> Result<(), CgroupError> {
        if hierarchy.version == Version::Two {
            enable(hierarchy, controller)?;
        }
        let path = hierarchy.mount.join(&self.name);
        if let Some(folder) = self.folders.iter_mut().find(|folder| folder.path == path) {
            folder.controllers.push(controller);
            return Ok(());
        }
        let entry = Entry::Cgroup { path: path.clone() };
        let record = journal
            .record(entry)
            .map_err(|source| CgroupError::Journal {
                name: self.name.clone(),
                source,
            })?;
        if let Err(source) = std::fs::create_dir(&path) {
            if source.kind() == io::ErrorKind::AlreadyExists {
                // It is somebody else's: not ours to remove.
                record.forget();
            }
            let what = format!("make the control group {}", path.display());
            return Err(failed(what)(source));
        }
        self.folders.push(Folder {
            path,
            version: hierarchy.version,
            controllers: vec![controller],
            _record: record,
        });
        Ok(())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Moves a process inside, or one of the kernel's threads.
    ///
    /// # Errors
    /// [`CgroupError::System`], e.g. when it has ended, or the kernel keeps
    /// this thread where it is.
    pub fn add(&self, pid: i32) -> Result<(), CgroupError> {
        for folder in &self.folders {
            write(&folder.path.join("cgroup.procs"), &pid.to_string())?;
        }
        Ok(())
    }

    /// Moves one thread of a process inside. Version 2 allows that only among
    /// groups of one threaded subtree, and so seldom.
    ///
    /// # Errors
    /// [`CgroupError::System`].
    pub fn add_thread(&self, tid: i32) -> Result<(), CgroupError> {
        for folder in &self.folders {
            let file = match folder.version {
                Version::One => "tasks",
                Version::Two => "cgroup.threads",
            };
            write(&folder.path.join(file), &tid.to_string())?;
        }
        Ok(())
    }

    /// The processes inside.
    ///
    /// # Errors
    /// [`CgroupError::System`].
    pub fn members(&self) -> Result<Vec<i32>, CgroupError> {
        let Some(folder) = self.folders.first() else {
            return Ok(vec![]);
        };
        let text = read(&folder.path.join("cgroup.procs"))?;
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    }

    /// How often it was throttled since it was made; zeros without a limit of
    /// CPU time.
    ///
    /// # Errors
    /// [`CgroupError::System`].
    pub fn throttling(&self) -> Result<Throttling, CgroupError> {
        let of_cpu = |folder: &&Folder| folder.controllers.contains(&Controller::Cpu);
        match self.folders.iter().find(of_cpu) {
            Some(folder) => Ok(throttling(&read(&folder.path.join("cpu.stat"))?)),
            None => Ok(Throttling::default()),
        }
    }
}

/// `cpu.stat` of either version.
fn throttling(text: &str) -> Throttling {
    let value = |name: &str| {
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .find_map(|(key, value)| (key == name).then(|| value.trim().parse().ok())?)
    };
    let of_two = value("throttled_usec").map(|us: u64| us.saturating_mul(1000));
    Throttling {
        periods: value("nr_periods").unwrap_or(0),
        throttled: value("nr_throttled").unwrap_or(0),
        throttled_ns: value("throttled_time").or(of_two).unwrap_or(0),
    }
}

fn failed(what: String) -> impl FnOnce(io::Error) -> CgroupError {
    move |source| CgroupError::System { what, source }
}

fn write(path: &Path, value: &str) -> Result<(), CgroupError> {
    std::fs::write(path, value).map_err(failed(format!("write '{value}' to {}", path.display())))
}

fn read(path: &Path) -> Result<String, CgroupError> {
    std::fs::read_to_string(path).map_err(failed(format!("read {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_tell_of_throttling() {
        let one = "nr_periods 7\nnr_throttled 3\nthrottled_time 5000\n";
        let two = "usage_usec 9\nnr_periods 7\nnr_throttled 3\nthrottled_usec 5\n";
        let expected = Throttling {
            periods: 7,
            throttled: 3,
            throttled_ns: 5000,
        };
        assert_eq!((throttling(one), throttling(two)), (expected, expected));
        assert_eq!(throttling("nonsense"), Throttling::default());
    }
}
