//! QEMU: which binaries, which versions.

use serde_json::Value;
use trial::{Fact, State};

use crate::Host;
use crate::command::Outcome;
use crate::fact::{Found, absent, ok, refused, shown};
use crate::machine::Machine;
use crate::row::Row::{self, Many};

pub(super) const FACTS: &[Row] = &[Many(facts)];

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

fn facts(on: &Machine) -> Vec<Fact> {
    let is_aarch64 = on.host.line("/proc/sys/kernel/arch").as_deref() == Some("aarch64");
    let native = if is_aarch64 {
        "qemu.aarch64"
    } else {
        "qemu.x86_64"
    };
    PROGRAMS
        .iter()
        .map(|(key, program, package)| found(&on.host, program, package).named(key, program))
        // Only the one that runs this machine's own guests is missed.
        .filter(|fact| fact.key == native || fact.state != State::Absent)
        .collect()
}

fn found(host: &Host, program: &str, package: &str) -> Found {
    match host.command(program, &["--version"]) {
        Outcome::Printed(text) => shown(version(&text).unwrap_or("unknown version")),
        Outcome::Failed(_) => ok(Value::Null, "installed, but `--version` fails").degraded(
            format!("reinstall {package}; `{program} --version` shows the error"),
        ),
        Outcome::Refused(why) => refused(&why),
        Outcome::Missing => absent(
            "not installed",
            format!("install {package} to run guests; nothing else needs it"),
        ),
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
