//! Where the control group file systems are, and which has which controller.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::{CgroupError, read};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Controller {
    Cpu,
    CpuSet,
    Memory,
    Processes,
}

impl Controller {
    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::CpuSet => "cpuset",
            Self::Memory => "memory",
            Self::Processes => "pids",
        }
    }

    /// Whether version 2 lets a group of single threads have it.
    pub(super) fn takes_threads(self) -> bool {
        !matches!(self, Self::Memory)
    }
}

impl fmt::Display for Controller {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(self.name())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    One,
    Two,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    pub mount: PathBuf,
    /// The group that is seen at the mount: `/`, but in containers.
    pub root: PathBuf,
    pub version: Version,
}

impl Hierarchy {
    /// The folder of the group that a process or a thread is in; of what lies
    /// outside the mount, the mount itself.
    pub(super) fn home_of(&self, controller: Controller, task: i32) -> io::Result<PathBuf> {
        let groups = std::fs::read_to_string(format!("/proc/{task}/cgroup"))?;
        let group = group_in(&groups, self.version, controller);
        let below = group.and_then(|group| Path::new(group).strip_prefix(&self.root).ok());
        Ok(below.map_or_else(|| self.mount.clone(), |below| self.mount.join(below)))
    }
}

/// The group in one tree, of the text of `/proc/PID/cgroup` (cgroups(7)): lines
/// of `number:controllers:group`, version 2 with number 0 and no controller.
fn group_in(groups: &str, version: Version, controller: Controller) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        let is_it = match version {
            Version::One => controllers.split(',').any(|name| name == controller.name()),
            Version::Two => number == "0",
        };
        is_it.then_some(group)
    })
}

/// The tree that has a controller: version 1 where it is mounted, as a
/// controller is in one of them only.
pub(super) fn find(controller: Controller) -> Result<Hierarchy, CgroupError> {
    let mounts = read(Path::new("/proc/self/mountinfo"))?;
    let has = |mount: &Path| {
        read(&mount.join("cgroup.controllers")).is_ok_and(|names| {
            names
                .split_whitespace()
                .any(|name| name == controller.name())
        })
    };
    choose(&mounts, controller, has).ok_or(CgroupError::Missing { controller })
}

fn choose(mounts: &str, controller: Controller, has: impl Fn(&Path) -> bool) -> Option<Hierarchy> {
    let trees = || mounts.lines().filter_map(mounted);
    let of_one = trees().find(|tree| {
        tree.kind == "cgroup"
            && tree
                .options
                .split(',')
                .any(|name| name == controller.name())
    });
    let of_two = || trees().find(|tree| tree.kind == "cgroup2" && has(Path::new(tree.mount)));
    let (tree, version) = match of_one {
        Some(tree) => (tree, Version::One),
        None => (of_two()?, Version::Two),
    };
    Some(Hierarchy {
        mount: tree.mount.into(),
        root: tree.root.into(),
        version,
    })
}

struct Mounted<'a> {
    root: &'a str,
    mount: &'a str,
    kind: &'a str,
    options: &'a str,
}

fn mounted(line: &str) -> Option<Mounted<'_>> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let mut after = after.split(' ');
    Some(Mounted {
        root: before.next()?,
        mount: before.next()?,
        kind: after.next()?,
        options: after.nth(1)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
20 1 0:20 / /sys rw,relatime - sysfs sysfs rw
30 29 0:27 / /sys/fs/cgroup/unified rw,relatime shared:5 - cgroup2 cgroup2 rw,nsdelegate
31 29 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:6 - cgroup cgroup rw,cpu,cpuacct
32 29 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
";

    #[test]
    fn the_tree_is_the_one_that_has_the_controller() {
        let cpu = choose(HYBRID, Controller::Cpu, |_| true).unwrap();
        assert_eq!(cpu.mount, Path::new("/sys/fs/cgroup/cpu,cpuacct"));
        assert_eq!(cpu.version, Version::One);
        let memory = choose(HYBRID, Controller::Memory, |_| true).unwrap();
        assert_eq!(memory.mount, Path::new("/sys/fs/cgroup/unified"));
        assert_eq!(memory.version, Version::Two);
        assert_eq!(choose(HYBRID, Controller::Memory, |_| false), None);
        assert_eq!(choose("damaged\n - \n", Controller::Cpu, |_| true), None);
        let inside = "31 29 0:28 /box /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let cpu = choose(inside, Controller::Cpu, |_| true).unwrap();
        assert_eq!(cpu.root, Path::new("/box"));
    }

    #[test]
    fn a_task_is_in_one_group_of_each_tree() {
        let groups = "12:cpu,cpuacct:/a/b\n2:cpuset:/\n0::/user.slice/x:y\n";
        let of = |version, controller| group_in(groups, version, controller);
        assert_eq!(of(Version::One, Controller::Cpu), Some("/a/b"));
        assert_eq!(of(Version::One, Controller::CpuSet), Some("/"));
        assert_eq!(of(Version::One, Controller::Memory), None);
        assert_eq!(of(Version::Two, Controller::Cpu), Some("/user.slice/x:y"));
        assert_eq!(
            group_in("damaged\n0:\n", Version::Two, Controller::Cpu),
            None
        );
    }

    #[test]
    fn a_home_outside_the_mount_is_its_root() {
        let tree = |root: &str| Hierarchy {
            mount: "/mnt".into(),
            root: root.into(),
            version: Version::Two,
        };
        let own = std::process::id().cast_signed();
        let seen = tree("/").home_of(Controller::Cpu, own).unwrap();
        assert!(seen.starts_with("/mnt"), "{}", seen.display());
        let outside = tree("/elsewhere").home_of(Controller::Cpu, own).unwrap();
        assert_eq!(outside, Path::new("/mnt"));
        assert!(tree("/").home_of(Controller::Cpu, i32::MAX).is_err());
    }
}
