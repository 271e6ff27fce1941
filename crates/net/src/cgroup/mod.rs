//! Limits of processes and of the kernel's threads: control groups, version 1
//! and 2 (`Documentation/admin-guide/cgroup-v1` and `cgroup-v2.rst`).

pub(crate) mod controllers;
mod folder;
mod hierarchy;
mod limits;
mod member;
mod realtime;

use std::io;
use std::path::{Path, PathBuf};

pub use hierarchy::{Controller, Version};
pub use limits::Limits;

use crate::journal::{Journal, JournalError, Record, is_our_name};
use folder::{Folder, Task};
use hierarchy::{Hierarchy, find};
use member::Member;

#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    #[error(
        "'{name}' is not a valid name of a control group: use 'lockgate-' and up to 55 lower-case letters, digits or '-', e.g. of Tag::name"
    )]
    Name { name: String },
    /// A limit is out of range, or none was given.
    #[error("{limit} cannot be limited to {value}: {allowed}")]
    Limit {
        limit: &'static str,
        value: String,
        allowed: &'static str,
    },
    #[error(
        "no control group file system with '{controller}' is mounted; mount one, e.g. 'mount -t cgroup2 none /sys/fs/cgroup', or leave out that limit"
    )]
    Missing { controller: Controller },
    #[error("cannot journal the control group {name}")]
    Journal {
        name: String,
        #[source]
        source: JournalError,
    },
    #[error(
        "cannot move the thread {thread} alone into {}: control groups of version 2 take single threads only from the root group and groups of threads below it; start Lockgate in the root group: 'echo $$ > {}/cgroup.procs' first", group.display(), mount.display()
    )]
    SingleThread {
        thread: i32,
        group: PathBuf,
        mount: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "the kernel's threads cannot be limited here: since Linux 6.18 a limit of CPU time holds a thread only where it returns to its program, which they never do; take an earlier kernel, or one with CONFIG_RT_GROUP_SCHED and the cpu controller of version 1"
    )]
    KernelThreads,
    #[error(
        "cannot give the kernel's threads {:.0}% of each CPU in real time: all control groups together have what kernel.sched_rt_runtime_us says, usually 95%; lower the limit, or wait for other limited routers to end", each * 100.0
    )]
    RealTimeShare {
        each: f64,
        #[source]
        source: io::Error,
    },
    #[error("cannot {what}; it takes root, and a writable control group file system")]
    System {
        what: String,
        #[source]
        source: io::Error,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    pub periods: u64,
    pub throttled: u64,
    /// Time that tasks inside waited for the next period, ns.
    pub throttled_ns: u64,
}

/// A control group: one folder for each controller that its limits need, or one for
/// all (version 2). When it is dropped, tasks that were moved in are moved back to
/// where they came from, together with those that they started inside. If its owner
/// died, processes inside are killed, and the kernel's threads moved out.
#[derive(Debug)]
pub struct Cgroup {
    name: String,
    limits: Limits,
    folders: Vec<Folder>,
    members: Vec<Member>,
    // After the folders: their controllers are used until they are gone.
    controllers: Vec<Record>,
}

impl Cgroup {
    /// Makes a group, journalled, with these limits.
    ///
    /// Where version 2 has the controllers, they are switched on for all groups below
    /// its root as long as a group of Lockgate's is there.
    pub fn create(journal: &Journal, name: &str, limits: &Limits) -> Result<Self, CgroupError> {
        limits.check()?;
        let mut trees: Vec<(Hierarchy, Vec<Controller>)> = Vec::new();
        for controller in limits.controllers() {
            let hierarchy = find(controller)?;
            match trees.iter_mut().find(|(tree, _)| *tree == hierarchy) {
                Some((_, controllers)) => controllers.push(controller),
                None => trees.push((hierarchy, vec![controller])),
            }
        }
        // Before the turn, so that they are dropped after it.
        let mut enabled = vec![];
        let turn = controllers::turn();
        let _turn = turn.map_err(failed(format!("lock {}", crate::journal::FOLDER)))?;
        for (hierarchy, controllers) in &trees {
            if hierarchy.version == Version::Two {
                let names: Vec<_> = controllers.iter().map(Controller::to_string).collect();
                controllers::enable(journal, hierarchy, &names, &mut enabled)?;
            }
        }
        let mut group = Self::create_in(journal, name, limits, trees)?;
        group.controllers = enabled;
        Ok(group)
    }

    fn create_in(
        journal: &Journal,
        name: &str,
        limits: &Limits,
        trees: Vec<(Hierarchy, Vec<Controller>)>,
    ) -> Result<Self, CgroupError> {
        if !is_our_name(name) {
            return Err(CgroupError::Name {
                name: name.to_owned(),
            });
        }
        let mut group = Self {
            name: name.to_owned(),
            limits: limits.clone(),
            folders: vec![],
            members: vec![],
            controllers: vec![],
        };
        for (hierarchy, controllers) in trees {
            let folder = Folder::make(journal, name, hierarchy, controllers)?;
            for (file, value) in limits.settings(folder.hierarchy.version, &folder.controllers)? {
                write(&folder.path.join(&file), &value)?;
            }
            group.folders.push(folder);
        }
        Ok(group)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Moves a process or one of the kernel's threads inside.
    ///
    /// Since Linux 6.18 a limit of CPU time does not bind the kernel's threads. There
    /// they are scheduled in real time while they are inside, which has a limit of
    /// its own. Where other tasks are inside as well, each kind has half.
    ///
    /// # Errors
    /// [`CgroupError::System`], e.g. when it has ended, or the kernel keeps
    /// this thread where it is; [`CgroupError::KernelThreads`],
    /// [`CgroupError::RealTimeShare`].
    pub fn add(&mut self, pid: i32) -> Result<(), CgroupError> {
        self.take(Task::Process(pid))
    }

    /// Moves one thread of a process inside. Version 2 allows that only among
    /// groups of one threaded subtree: from the root group, usually.
    ///
    /// # Errors
    /// [`CgroupError::SingleThread`], and as [`add`](Self::add).
    pub fn add_thread(&mut self, tid: i32) -> Result<(), CgroupError> {
        self.take(Task::Thread(tid))
    }

    fn take(&mut self, task: Task) -> Result<(), CgroupError> {
        let mut member = Member::new(task);
        let moved = member.move_in(&self.folders);
        // Also one that is in some of the folders only: it is moved back.
        self.members.push(member);
        moved?;
        self.limit_kernel_threads()
    }

    fn limit_kernel_threads(&self) -> Result<(), CgroupError> {
        let kernels = self.members.iter().filter(|member| member.is_kernels);
        let threads: Vec<i32> = kernels.map(|member| member.task.number()).collect();
        let Some(cpus) = self.limits.cpus else {
            return Ok(());
        };
        if threads.is_empty() || realtime::is_needless() {
            return Ok(());
        }
        let mut share = self.limits.clone();
        if threads.len() < self.members.len() {
            share.cpus = Some(cpus / 2.0);
        }
        if let Some(folder) = self.of_cpu_time() {
            for (file, value) in share.cpu_time(folder.hierarchy.version) {
                write(&folder.path.join(&file), &value)?;
            }
        }
        realtime::limit(&self.folders, share.cpus.unwrap_or(cpus), &threads)
    }

    fn of_cpu_time(&self) -> Option<&Folder> {
        let has_it = |folder: &&Folder| folder.controllers.contains(&Controller::Cpu);
        self.folders.iter().find(has_it)
    }

    /// The processes inside, including those with only one thread inside.
    ///
    /// # Errors
    /// [`CgroupError::System`].
    pub fn members(&self) -> Result<Vec<i32>, CgroupError> {
        match self.folders.first() {
            Some(folder) => folder.processes(),
            None => Ok(vec![]),
        }
    }

    /// How often it was throttled since it was made; zeros without a limit of CPU
    /// time, and for the kernel's threads since Linux 6.18.
    ///
    /// # Errors
    /// [`CgroupError::System`].
    pub fn throttling(&self) -> Result<Throttling, CgroupError> {
        match self.of_cpu_time() {
            Some(folder) => Ok(throttling(&read(&folder.path.join("cpu.stat"))?)),
            None => Ok(Throttling::default()),
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for member in self.members.iter().rev() {
            member.move_back(&self.folders);
        }
        if let Some(member) = self.members.first() {
            member.lead_back(&self.folders);
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
mod tests;
