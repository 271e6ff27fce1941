//! BPF and AF_XDP.

use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::fact::{Judge, fact};

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    vec![
        jit(host),
        btf(host),
        file_system(host),
        unprivileged(host),
        af_xdp(host),
    ]
}

fn jit(host: &Host) -> Fact {
    let (key, label) = ("bpf.jit", "BPF JIT");
    let path = "/proc/sys/net/core/bpf_jit_enable";
    match host.parsed::<u32>(path) {
        Some(0) => fact(key, label, false, "off: programs are interpreted")
            .degraded("`sysctl net.core.bpf_jit_enable=1`"),
        Some(_) => fact(key, label, true, "on"),
        None if host.exists(path) => {
            fact(key, label, Value::Null, "on or off is shown to root only")
                .absent(format!("`sudo cat {path}`, or run as root"))
        }
        // Network namespaces other than the first do not have the switch.
        None => fact(key, label, Value::Null, "not shown")
            .absent("a kernel with CONFIG_BPF_JIT; inside a network namespace ask outside it"),
    }
}

fn btf(host: &Host) -> Fact {
    let (key, label) = ("bpf.btf", "BPF type information");
    if host.exists("/sys/kernel/btf/vmlinux") {
        return fact(key, label, true, "/sys/kernel/btf/vmlinux");
    }
    fact(key, label, false, "no /sys/kernel/btf/vmlinux")
        .absent("a kernel with CONFIG_DEBUG_INFO_BTF (Debian's and Ubuntu's have it)")
}

fn file_system(host: &Host) -> Fact {
    let (key, label) = ("bpf.fs", "BPF file system");
    let mounts = host.text("/proc/self/mountinfo").unwrap_or_default();
    // The type follows the separator " - " (proc(5)).
    let mounted = mounts.lines().any(|line| {
        line.split_once(" - ")
            .is_some_and(|(_, rest)| rest.split(' ').next() == Some("bpf"))
    });
    if mounted {
        return fact(key, label, true, "mounted");
    }
    fact(key, label, false, "not mounted")
        .absent("to keep programs after their loader ends: `mount -t bpf bpf /sys/fs/bpf`")
}

fn unprivileged(host: &Host) -> Fact {
    let (key, label) = ("bpf.unprivileged", "BPF for unprivileged users");
    match host.parsed::<u32>("/proc/sys/kernel/unprivileged_bpf_disabled") {
        Some(0) => fact(key, label, true, "allowed"),
        Some(_) => fact(
            key,
            label,
            false,
            "switched off, as distributions advise: root or CAP_BPF loads programs",
        ),
        None => fact(key, label, Value::Null, "no BPF system call in this kernel")
            .absent("a kernel with CONFIG_BPF_SYSCALL"),
    }
}

/// The socket family registers the protocol `XDP`; a kernel's configuration
/// tells the same where /proc/net is not readable.
fn af_xdp(host: &Host) -> Fact {
    let (key, label) = ("xdp.sockets", "AF_XDP sockets");
    let protocols = host.text("/proc/net/protocols").unwrap_or_default();
    if protocols
        .lines()
        .any(|line| line.split_whitespace().next() == Some("XDP"))
    {
        return fact(key, label, true, "in this kernel");
    }
    let release = host.line("/proc/sys/kernel/osrelease").unwrap_or_default();
    let config = host
        .text(&format!("/boot/config-{release}"))
        .unwrap_or_default();
    if config.lines().any(|line| line == "CONFIG_XDP_SOCKETS=y") {
        return fact(key, label, true, "in this kernel's configuration");
    }
    fact(key, label, false, "not in this kernel").absent("a kernel with CONFIG_XDP_SOCKETS=y")
}
