//! What every section of these needs of the host.

use trial::{PlanError, Probe};

/// Capabilities that they need: interfaces, namespaces with mounts.
const NEEDED: [(&str, &str); 3] = [
    ("capability.net_admin", "CAP_NET_ADMIN"),
    ("capability.sys_admin", "CAP_SYS_ADMIN"),
    ("capability.net_raw", "CAP_NET_RAW"),
];
const AS_ROOT: &str = "run as root: sudo lockgate run …; in a container with --privileged";

/// What such a section needs, in a plan.
pub const PRIVILEGES: &str = "root (network namespaces, interfaces, packet sockets, BPF programs)";
/// What it makes, in a plan.
pub const CREATES: &str = "network namespaces lockgate-… with interfaces lg…; gone when the section ends, or at the next start after a crash";

/// The CPUs to measure on.
///
/// # Errors
/// [`PlanError::NotSupported`] without the privileges, or with one CPU alone.
pub fn check(probe: &Probe) -> Result<Vec<usize>, PlanError> {
    namespaces(probe)?;
    let cpus = crate::place::usable_cpus().map_err(|error| PlanError::NotSupported {
        reason: format!("the CPUs that this process may use are not known: {error}"),
        remedy: "mount /proc, or run outside the sandbox".to_owned(),
    })?;
    if cpus.len() < 2 {
        return Err(PlanError::NotSupported {
            reason: "generator and router would share one CPU and hold each other back: no loss could be seen".to_owned(),
            remedy: "allow this process two CPUs or more (taskset, cpuset)".to_owned(),
        });
    }
    Ok(cpus)
}

/// Whether there may be namespaces and interfaces.
///
/// # Errors
/// [`PlanError::NotSupported`] without the privileges.
pub fn namespaces(probe: &Probe) -> Result<(), PlanError> {
    privileges(probe, rustix::process::geteuid().is_root())
}

/// What a probe does not say, being root answers.
fn privileges(probe: &Probe, is_root: bool) -> Result<(), PlanError> {
    let lacks = |key: &str| match probe.fact(key) {
        Some(_) => !probe.is_ok(key),
        None => !is_root,
    };
    let missing: Vec<_> = NEEDED
        .iter()
        .filter(|(key, _)| lacks(key))
        .map(|(_, name)| *name)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(PlanError::NotSupported {
        reason: format!(
            "namespaces and interfaces of its own are needed, and this process lacks {}",
            missing.join(", ")
        ),
        remedy: AS_ROOT.to_owned(),
    })
}

/// What a plan says of the tester's ports.
pub fn ports_step() -> String {
    if cfg!(feature = "bpf") {
        return "ports: frames made and counted by XDP programs; generator on one CPU, router and sink on another".to_owned();
    }
    "ports: packet sockets, since this build has no BPF (install libelf-dev and zlib1g-dev, build again): the generator is slower than most routers here".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trial::{Fact, Group, State};

    fn probe(state: State) -> Probe {
        let fact = |(key, label): &(&str, &str)| Fact {
            key: (*key).to_owned(),
            label: (*label).to_owned(),
            state,
            value: serde_json::Value::Null,
            text: String::new(),
            remedy: String::new(),
        };
        Probe {
            groups: vec![Group {
                title: "Host".to_owned(),
                facts: NEEDED.iter().map(fact).collect(),
            }],
        }
    }

    #[test]
    fn without_privileges_the_remedy_is_named() {
        let error = privileges(&probe(State::Absent), true).unwrap_err();
        let PlanError::NotSupported { reason, remedy } = error else {
            panic!("{error}")
        };
        assert!(reason.contains("CAP_NET_ADMIN, CAP_SYS_ADMIN"), "{reason}");
        assert!(remedy.contains("sudo"), "{remedy}");
        assert!(privileges(&probe(State::Ok), false).is_ok());
        assert!(privileges(&Probe::default(), false).is_err());
        assert!(privileges(&Probe::default(), true).is_ok());
    }
}
