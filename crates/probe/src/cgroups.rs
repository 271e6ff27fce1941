//! Control groups: which version, which controllers, and where this process is.

use crate::Host;
use crate::fact::{Found, absent, joined, ok};
use crate::machine::Machine;
use crate::row::Row::{self, One};

pub(super) const FACTS: &[Row] = &[
    One("cgroup.version", "Control groups", version),
    One("cgroup.controllers", "Cgroup controllers", controllers),
];

const V2_MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
const CONTROLLERS: &str = "/sys/fs/cgroup/cgroup.controllers";

fn version(on: &Machine) -> Found {
    if on.host.exists(CONTROLLERS) {
        return ok(2, "version 2");
    }
    if legacy_controllers(&on.host).is_empty() {
        return absent(
            "none mounted",
            "mount them: `mount -t cgroup2 none /sys/fs/cgroup`",
        );
    }
    ok(1, "version 1 (or hybrid)").degraded(
        "works; boot with `systemd.unified_cgroup_hierarchy=1` for version 2, whose CPU and memory limits nest",
    )
}

fn controllers(on: &Machine) -> Found {
    let unified = on.host.line(CONTROLLERS).unwrap_or_default();
    let mut names: Vec<String> = unified.split_whitespace().map(str::to_owned).collect();
    names.extend(legacy_controllers(&on.host));
    names.sort_unstable();
    names.dedup();
    let mut missing = vec!["cpu", "cpuset", "memory"];
    missing.retain(|name| !names.iter().any(|there| there == name));
    let found = ok(names.clone(), joined(&names));
    if names.is_empty() {
        return found.absent("without controllers nothing can be pinned or limited: mount cgroups");
    }
    let remedy = format!(
        "enable {} in the parent's cgroup.subtree_control, or undo `cgroup_disable=` on the kernel command line",
        missing.join(", ")
    );
    found.degraded_unless(missing.is_empty(), remedy)
}

/// Controllers of our version-1 hierarchies, from `/proc/self/cgroup`.
fn legacy_controllers(host: &Host) -> Vec<String> {
    memberships(host)
        .into_iter()
        .flat_map(|(names, _)| names)
        .filter(|name| !name.contains('=') && host.exists(&format!("/sys/fs/cgroup/{name}")))
        .collect()
}

/// The directories of our cgroup for `controller`, from ours up to the root.
pub(super) fn dirs(host: &Host, controller: &str) -> Vec<String> {
    let mounts = |(names, path): (Vec<String>, String)| {
        let mounts = if names.is_empty() {
            V2_MOUNTS.map(str::to_owned).to_vec()
        } else if names.iter().any(|name| name == controller) {
            [&names.join(","), controller]
                .map(|name| format!("/sys/fs/cgroup/{name}"))
                .to_vec()
        } else {
            Vec::new()
        };
        mounts
            .into_iter()
            .flat_map(move |mount| ascend(&mount, &path))
    };
    memberships(host).into_iter().flat_map(mounts).collect()
}

/// `mount` + each prefix of `path`. A process outside its cgroup namespace
/// sees `/../..`, which [`Host`] does not follow.
fn ascend(mount: &str, path: &str) -> Vec<String> {
    let mut path = path.trim_end_matches('/');
    let mut dirs = Vec::new();
    while !path.is_empty() {
        dirs.push(format!("{mount}{path}"));
        path = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    dirs.push(mount.to_owned());
    dirs
}

/// (controllers, path) of each hierarchy: `4:memory:/a`, `0::/b`.
fn memberships(host: &Host) -> Vec<(Vec<String>, String)> {
    let text = host.text("/proc/self/cgroup").unwrap_or_default();
    text.lines().take(64).filter_map(membership).collect()
}

fn membership(line: &str) -> Option<(Vec<String>, String)> {
    let (_, rest) = line.split_once(':')?;
    let (names, path) = rest.split_once(':')?;
    // Linux bounds paths at 4,096 bytes; deeper ones would only cost time.
    let is_path = path.starts_with('/') && path.len() <= 4096;
    let names = names.split(',').filter(|name| !name.is_empty());
    is_path.then(|| (names.map(str::to_owned).collect(), path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_told_apart() {
        let v1 = membership("4:cpu,cpuacct:/a/b").expect("parses");
        assert_eq!(v1, (vec!["cpu".into(), "cpuacct".into()], "/a/b".into()));
        assert_eq!(membership("0::/"), Some((Vec::new(), "/".to_owned())));
        assert_eq!(membership("nonsense"), None);
    }

    #[test]
    fn limits_are_sought_up_to_the_root() {
        assert_eq!(ascend("/m", "/a/b"), ["/m/a/b", "/m/a", "/m"]);
    }
}
