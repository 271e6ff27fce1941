//! Containers of LXC: lxc-start(1), lxc.container.conf(5).

use std::path::{Path, PathBuf};
use std::process::Command;

use net::journal::{Entry, Journal, Record, Runtime};
use net::{Namespace, namespace};

use super::container::{Container, Folder};
use super::error::HomeError;
use super::root::{self, INIT};

const PROGRAM: &str = "lxc-start";

pub(super) fn start(
    journal: &Journal,
    name: &str,
    namespace: &Namespace,
) -> Result<Container, HomeError> {
    let program = root::find(PROGRAM, "lxc")?;
    let folder = Folder::make(journal, name)?;
    let path = Path::new(namespace::FOLDER).join(namespace.name());
    let config = folder.state().join("config");
    let text = configuration(name, &folder.root(), &path);
    std::fs::create_dir(folder.state())
        .and_then(|()| std::fs::write(&config, text))
        .map_err(folder.failed("configure"))?;
    // Killed, LXC leaves them.
    let mut records = cgroups(journal, &[name, &monitor(name)])?;
    records.push(journal.record(folder.entry(Runtime::Lxc))?);
    records.reverse();
    let mut command = Command::new(program);
    command.arg("-F").arg("-n").arg(name);
    command.arg("-P").arg(folder.path());
    let (mut runtime, input) = folder.run(command)?;
    // In the foreground the container's first process is the runtime's child.
    let monitor = runtime.id();
    let process = folder.wait(PROGRAM, &mut runtime, &|| root::child_running_init(monitor))?;
    Ok(Container::new(process, input, runtime, records, folder))
}

pub fn configuration(name: &str, root: &Path, namespace: &Path) -> String {
    [
        ("lxc.uts.name", name.to_owned()),
        ("lxc.rootfs.path", format!("dir:{}", root.display())),
        // Names that a sweep knows for ours.
        ("lxc.cgroup.dir.container", name.to_owned()),
        ("lxc.cgroup.dir.monitor", monitor(name)),
        // `lxc-destroy` leaves the folder to us.
        ("lxc.rootfs.managed", "0".to_owned()),
        ("lxc.namespace.share.net", namespace.display().to_string()),
        ("lxc.mount.auto", "proc:mixed".to_owned()),
        ("lxc.mount.entry", "/usr usr none ro,bind 0 0".to_owned()),
        ("lxc.init.cmd", INIT.to_owned()),
        // Input and output are what `lxc-start` was given.
        ("lxc.console.path", "none".to_owned()),
        ("lxc.pty.max", "0".to_owned()),
        ("lxc.tty.max", "0".to_owned()),
        ("lxc.autodev", "0".to_owned()),
    ]
    .into_iter()
    .map(|(key, value)| format!("{key} = {value}\n"))
    .collect()
}

fn monitor(name: &str) -> String {
    format!("{name}-monitor")
}

fn cgroups(journal: &Journal, names: &[&str]) -> Result<Vec<Record>, HomeError> {
    let root = Path::new("/sys/fs/cgroup");
    let trees = std::fs::read_dir(root).into_iter().flatten().flatten();
    let trees = trees.map(|tree| tree.path());
    let is_tree = |path: &PathBuf| path.join("cgroup.procs").is_file();
    let mut records = Vec::new();
    for tree in trees.chain([root.to_owned()]).filter(is_tree) {
        for name in names {
            let path = tree.join(name);
            records.push(journal.record(Entry::Cgroup { path })?);
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_key() {
        let text = configuration("lockgate-x", Path::new("/r"), Path::new("/run/netns/n"));
        assert!(text.contains("lxc.rootfs.path = dir:/r\n"));
        assert!(text.contains("lxc.namespace.share.net = /run/netns/n\n"));
        assert!(text.lines().all(|line| line.starts_with("lxc.")));
    }
}
