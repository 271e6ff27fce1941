//! QEMU: which binaries, which versions.

use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::command::Outcome;
use crate::fact::{Judge, fact, refused};

/// (key, program or path, package on Debian).
const PROGRAMS: [(&str, &str, &str); 3] = [
    ("qemu.x86_64", "qemu-system-x86_64", "qemu-system-x86"),
    ("qemu.aarch64", "qemu-system-aarch64", "qemu-system-arm"),
    (
        "qemu.kvm",
        "/usr/libexec/qemu-kvm",
        "qemu-kvm (Red Hat's name)",
    ),
];

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    let native = if host.line("/proc/sys/kernel/arch").as_deref() == Some("aarch64") {
        1
    } else {
        0
    };
    PROGRAMS
        .iter()
        .enumerate()
        .map(|(index, program)| (index == native, fact_of(host, *program)))
        // Only the one that runs this machine's own guests is missed.
        .filter(|(native, fact)| *native || fact.state != trial::State::Absent)
        .map(|(_, fact)| fact)
        .collect()
}

fn fact_of(host: &Host, (key, program, package): (&str, &str, &str)) -> Fact {
    match host.command(program, &["--version"]) {
        Outcome::Printed(text) => {
            let version = version(&text).unwrap_or("unknown version");
            fact(key, program, version, version)
        }
        Outcome::Failed(_) => fact(
            key,
            program,
            Value::Null,
            "installed, but `--version` fails",
        )
        .degraded(format!(
            "reinstall {package}; `{program} --version` shows the error"
        )),
        Outcome::Refused(why) => refused(key, program, &why),
        Outcome::Missing => fact(key, program, Value::Null, "not installed").absent(format!(
            "install {package} to run guests; nothing else needs it"
        )),
    }
}

/// `QEMU emulator version 7.2.9 (Debian …)`.
fn version(text: &str) -> Option<&str> {
    text.lines()
        .next()?
        .split_once("version ")?
        .1
        .split_whitespace()
        .next()
}
