//! Containers of runc: runc-run(8), OCI runtime specification 1.0.2.

use std::path::Path;
use std::process::Command;

use net::journal::{Journal, Runtime};
use net::{Namespace, namespace};
use serde_json::{Value, json};

use super::container::{Container, Folder};
use super::error::HomeError;
use super::root::{self, INIT};

const PROGRAM: &str = "runc";

pub(super) fn start(
    journal: &Journal,
    name: &str,
    namespace: &Namespace,
) -> Result<Container, HomeError> {
    let program = root::find(PROGRAM, "runc")?;
    let folder = Folder::make(journal, name)?;
    let path = Path::new(namespace::FOLDER).join(namespace.name());
    let bundle = folder.path().join("bundle");
    let text = configuration(name, &folder.root(), &path).to_string();
    std::fs::create_dir(&bundle)
        .and_then(|()| std::fs::write(bundle.join("config.json"), text))
        .map_err(folder.failed("configure"))?;
    let record = journal.record(folder.entry(Runtime::Runc))?;
    let numbered = folder.path().join("pid");
    let mut command = Command::new(program);
    command.arg("--root").arg(folder.path()).arg("run");
    command.arg("--detach").arg("--bundle").arg(&bundle);
    command.arg("--pid-file").arg(&numbered).arg(name);
    let (mut runtime, input) = folder.run(command)?;
    // It is written under another name, and whole when it has this one.
    let process = folder.wait(PROGRAM, &mut runtime, &|| {
        std::fs::read_to_string(&numbered).ok()?.trim().parse().ok()
    })?;
    Ok(Container::new(
        process,
        input,
        runtime,
        vec![record],
        folder,
    ))
}

/// The configuration: no terminal and no capability, the network namespace
/// given, `/usr` of the host read-only.
pub fn configuration(name: &str, root: &Path, namespace: &Path) -> Value {
    json!({
        "ociVersion": "1.0.2",
        "hostname": name,
        "root": { "path": root, "readonly": true },
        "process": {
            "terminal": false,
            "user": { "uid": 0, "gid": 0 },
            "args": [INIT],
            "cwd": "/",
            "capabilities": { "bounding": [], "effective": [], "permitted": [] },
            "noNewPrivileges": true,
        },
        "mounts": [
            { "destination": "/proc", "type": "proc", "source": "proc" },
            // runc's devices: the root lies in /run, which systemd mounts without any.
            {
                "destination": "/dev", "type": "tmpfs", "source": "tmpfs",
                "options": ["nosuid", "mode=755", "size=64k"],
            },
            {
                "destination": "/usr", "type": "bind", "source": "/usr",
                "options": ["rbind", "ro", "nosuid", "nodev"],
            },
        ],
        "linux": {
            "cgroupsPath": format!("/{name}"),
            "namespaces": [
                { "type": "pid" },
                { "type": "ipc" },
                { "type": "uts" },
                { "type": "mount" },
                { "type": "network", "path": namespace },
            ],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_the_network_namespace_it_is_given() {
        let value = configuration("lockgate-x", Path::new("/r"), Path::new("/run/netns/n"));
        assert_eq!(value["linux"]["namespaces"][4]["path"], "/run/netns/n");
        assert_eq!(value["linux"]["cgroupsPath"], "/lockgate-x");
        assert_eq!(value["root"]["path"], "/r");
    }
}
