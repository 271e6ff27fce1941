//! runc's configuration of a container (OCI runtime specification 1.0.2,
//! `config.json`).

use std::path::Path;

use serde_json::{Value, json};

use super::root::INIT;

/// The configuration: no terminal and no capability, the network namespace
/// given, `/usr` of the host read-only.
#[must_use]
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
