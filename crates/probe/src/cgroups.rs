//! Control groups: which version, which controllers, and where this process is.

use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::fact::{Judge, fact, joined};

const V2_MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    vec![version(host), controllers(host)]
}

fn version(host: &Host) -> Fact {
    let (key, label) = ("cgroup.version", "Control groups");
    if host.exists("/sys/fs/cgroup/cgroup.controllers") {
        return fact(key, label, 2, "version 2");
    }
    if legacy_controllers(host).is_empty() {
        return fact(key, label, Value::Null, "none mounted")
            .absent("mount them: `mount -t cgroup2 none /sys/fs/cgroup`");
    }
    fact(key, label, 1, "version 1 (or hybrid)").degraded(
        "works; boot with `systemd.unified_cgroup_hierarchy=1` for version 2, whose CPU and memory limits nest",
    )
}

fn controllers(host: &Host) -> Fact {
    let unified = host
        .line("/sys/fs/cgroup/cgroup.controllers")
        .unwrap_or_default();
    let mut names: Vec<String> = unified.split_whitespace().map(str::to_owned).collect();
    names.extend(legacy_controllers(host));
    names.sort_unstable();
    names.dedup();
    let (key, label) = ("cgroup.controllers", "Cgroup controllers");
    let missing: Vec<_> = ["cpu", "cpuset", "memory"]
        .into_iter()
        .filter(|name| !names.iter().any(|n| n == name))
        .collect();
    let fact = fact(key, label, names.clone(), joined(&names));
    if names.is_empty() {
        fact.absent("without controllers nothing can be pinned or limited: mount cgroups")
    } else if missing.is_empty() {
        fact
    } else {
        fact.degraded(format!(
            "enable {} in the parent's cgroup.subtree_control, or undo `cgroup_disable=` on the kernel command line",
            missing.join(", ")
        ))
    }
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
    let mut dirs = Vec::new();
    for (names, path) in memberships(host) {
        if names.is_empty() {
            V2_MOUNTS
                .iter()
                .for_each(|mount| ascend(mount, &path, &mut dirs));
        } else if names.iter().any(|name| name == controller) {
            ascend(
                &format!("/sys/fs/cgroup/{}", names.join(",")),
                &path,
                &mut dirs,
            );
            ascend(&format!("/sys/fs/cgroup/{controller}"), &path, &mut dirs);
        }
    }
    dirs
}

/// `mount` + each prefix of `path`. A process outside its cgroup namespace
/// sees `/../..`, which [`Host`] does not follow.
fn ascend(mount: &str, path: &str, dirs: &mut Vec<String>) {
    let mut path = path.trim_end_matches('/');
    while !path.is_empty() {
        dirs.push(format!("{mount}{path}"));
        path = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    dirs.push(mount.to_owned());
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
    let path = path
        .starts_with('/')
        .then_some(path)
        .filter(|path| path.len() <= 4096)?;
    let names = names
        .split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    Some((names, path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_told_apart() {
        let v1 = membership("4:cpu,cpuacct:/a/b").expect("parses");
        assert_eq!(
            v1,
            (
                vec!["cpu".to_owned(), "cpuacct".to_owned()],
                "/a/b".to_owned()
            )
        );
        assert_eq!(membership("0::/"), Some((Vec::new(), "/".to_owned())));
        assert_eq!(membership("nonsense"), None);
    }

    #[test]
    fn limits_are_sought_up_to_the_root() {
        let mut dirs = Vec::new();
        ascend("/m", "/a/b", &mut dirs);
        assert_eq!(dirs, ["/m/a/b", "/m/a", "/m"]);
    }
}
