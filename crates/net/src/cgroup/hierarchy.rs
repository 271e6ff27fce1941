//! Where the control group file systems are, and which has which controller.

use std::fmt;
use std::path::{Path, PathBuf};

use super::{CgroupError, read, write};

/// What limits one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Controller {
    /// CPU time.
    Cpu,
    /// Which CPUs.
    CpuSet,
    /// Memory.
    Memory,
    /// Number of processes and threads.
    Processes,
}

impl Controller {
    /// The kernel's name.
    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::CpuSet => "cpuset",
            Self::Memory => "memory",
            Self::Processes => "pids",
        }
    }
}

impl fmt::Display for Controller {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(self.name())
    }
}

/// Of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A tree for each controller.
    One,
    /// One tree.
    Two,
}

/// A mounted tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    pub mount: PathBuf,
    pub version: Version,
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
    let of_one = mounts
        .lines()
        .filter_map(mounted)
        .find_map(|(mount, kind, options)| {
            let is_it =
                kind == "cgroup" && options.split(',').any(|name| name == controller.name());
            is_it.then_some((mount, Version::One))
        });
    let of_two = || {
        mounts
            .lines()
            .filter_map(mounted)
            .find_map(|(mount, kind, _)| {
                (kind == "cgroup2" && has(&mount)).then_some((mount, Version::Two))
            })
    };
    let (mount, version) = of_one.or_else(of_two)?;
    Some(Hierarchy { mount, version })
}

/// Mount point, type and the file system's options of a line of
/// `/proc/self/mountinfo` (proc(5)).
fn mounted(line: &str) -> Option<(PathBuf, &str, &str)> {
    let (before, after) = line.split_once(" - ")?;
    let mount = before.split(' ').nth(4)?;
    let mut after = after.split(' ');
    Some((mount.into(), after.next()?, after.nth(1)?))
}

/// Switches a controller on for the groups below the root of version 2.
pub(super) fn enable(hierarchy: &Hierarchy, controller: Controller) -> Result<(), CgroupError> {
    let file = hierarchy.mount.join("cgroup.subtree_control");
    let on = read(&file)?;
    if on.split_whitespace().any(|name| name == controller.name()) {
        return Ok(());
    }
    write(&file, &format!("+{controller}"))
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
    }
}
