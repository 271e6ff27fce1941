//! BPF and AF_XDP.

use crate::fact::{Found, absent, ok, whether};
use crate::machine::Machine;
use crate::row::Row::{self, One};

pub(super) const FACTS: &[Row] = &[
    One("bpf.jit", "BPF JIT", jit),
    One("bpf.btf", "BPF type information", btf),
    One("bpf.fs", "BPF file system", file_system),
    One(
        "bpf.unprivileged",
        "BPF for unprivileged users",
        unprivileged,
    ),
    One("xdp.sockets", "AF_XDP sockets", af_xdp),
];

fn jit(on: &Machine) -> Found {
    let path = "/proc/sys/net/core/bpf_jit_enable";
    match on.host.parsed::<u32>(path) {
        Some(0) => ok(false, "off: programs are interpreted")
            .degraded("`sysctl net.core.bpf_jit_enable=1`"),
        Some(_) => ok(true, "on"),
        None if on.host.exists(path) => absent(
            "on or off is shown to root only",
            format!("`sudo cat {path}`, or run as root"),
        ),
        // Network namespaces other than the first do not have the switch.
        None => absent(
            "not shown",
            "a kernel with CONFIG_BPF_JIT; inside a network namespace ask outside it",
        ),
    }
}

fn btf(on: &Machine) -> Found {
    let path = "/sys/kernel/btf/vmlinux";
    let remedy = "a kernel with CONFIG_DEBUG_INFO_BTF (Debian's and Ubuntu's have it)";
    whether(on.host.exists(path), path, format!("no {path}"), remedy)
}

fn file_system(on: &Machine) -> Found {
    let mounts = on.host.text("/proc/self/mountinfo").unwrap_or_default();
    // The type follows the separator " - " (proc(5)).
    let is_bpf = |line: &str| {
        line.split_once(" - ")
            .is_some_and(|(_, rest)| rest.split(' ').next() == Some("bpf"))
    };
    let remedy = "to keep programs after their loader ends: `mount -t bpf bpf /sys/fs/bpf`";
    let is_mounted = mounts.lines().any(is_bpf);
    whether(is_mounted, "mounted", "not mounted", remedy)
}

fn unprivileged(on: &Machine) -> Found {
    let path = "/proc/sys/kernel/unprivileged_bpf_disabled";
    match on.host.parsed::<u32>(path) {
        Some(0) => ok(true, "allowed"),
        Some(_) => ok(
            false,
            "switched off, as distributions advise: root or CAP_BPF loads programs",
        ),
        None => absent(
            "no BPF system call in this kernel",
            "a kernel with CONFIG_BPF_SYSCALL",
        ),
    }
}

/// Where /proc/net is not readable, the kernel's configuration says the same.
fn af_xdp(on: &Machine) -> Found {
    if on.host.has_protocol("XDP") {
        return ok(true, "in this kernel");
    }
    let release = on.host.line("/proc/sys/kernel/osrelease");
    let path = format!("/boot/config-{}", release.unwrap_or_default());
    let config = on.host.text(&path).unwrap_or_default();
    whether(
        config.lines().any(|line| line == "CONFIG_XDP_SOCKETS=y"),
        "in this kernel's configuration",
        "not in this kernel",
        "a kernel with CONFIG_XDP_SOCKETS=y",
    )
}
