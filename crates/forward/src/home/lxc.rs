//! LXC's configuration of a container (lxc.container.conf(5)).

use std::path::Path;

use super::root::INIT;

/// The configuration: no terminal, the network namespace given, `/usr` of the
/// host read-only.
#[must_use]
pub fn configuration(name: &str, root: &Path, namespace: &Path) -> String {
    [
        ("lxc.uts.name", name.to_owned()),
        ("lxc.rootfs.path", format!("dir:{}", root.display())),
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
