//! Who we are and what the kernel lets us do.

use trial::Fact;

use crate::Host;
use crate::fact::{Judge, fact, unread};
use crate::list::value_of;

/// Names by bit (Linux `include/uapi/linux/capability.h`).
const NAMES: &str = "chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap \
    linux_immutable net_bind_service net_broadcast net_admin net_raw ipc_lock ipc_owner \
    sys_module sys_rawio sys_chroot sys_ptrace sys_pacct sys_admin sys_boot sys_nice \
    sys_resource sys_time sys_tty_config mknod lease audit_write audit_control setfcap \
    mac_override mac_admin syslog wake_alarm block_suspend audit_read perfmon bpf \
    checkpoint_restore";

/// (name, what needs it).
const SHOWN: [(&str, &str); 7] = [
    ("net_admin", "network namespaces, links and XDP"),
    ("net_raw", "packet sockets and AF_XDP"),
    ("bpf", "loading BPF programs"),
    ("sys_admin", "namespaces and mounts"),
    ("sys_nice", "real-time priority of workers"),
    ("ipc_lock", "locking memory for DMA"),
    ("perfmon", "hardware performance counters"),
];

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    let status = host.text("/proc/self/status").unwrap_or_default();
    let mut facts = vec![user(&status)];
    let bits = value_of(&status, "CapEff").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let Some(bits) = bits else {
        facts.push(unread(
            "capability.effective",
            "Capabilities",
            "/proc/self/status",
        ));
        return facts;
    };
    facts.push(effective(bits));
    facts.extend(SHOWN.iter().map(|(name, needed)| one(bits, name, needed)));
    facts
}

fn user(status: &str) -> Fact {
    let (key, label) = ("host.user", "User");
    // Real, effective, saved, file system.
    let id =
        value_of(status, "Uid").and_then(|ids| ids.split_whitespace().nth(1)?.parse::<u32>().ok());
    match id {
        None => unread(key, label, "/proc/self/status"),
        Some(0) => fact(key, label, 0, "root"),
        Some(id) => fact(key, label, id, format!("unprivileged (user {id})")),
    }
}

fn effective(bits: u64) -> Fact {
    let known: Vec<_> = NAMES.split(' ').collect();
    let held = (0..64).filter(|bit| bits >> bit & 1 == 1);
    let names: Vec<&str> = held
        .map(|bit| known.get(bit).copied().unwrap_or("newer"))
        .collect();
    let text = match names.len() {
        0 => "none".to_owned(),
        count if known.iter().all(|name| names.contains(name)) => format!("all ({count})"),
        count => format!("{count} of {}", known.len()),
    };
    fact("capability.effective", "Capabilities", names, text)
}

fn one(bits: u64, name: &str, needed: &str) -> Fact {
    let bit = NAMES.split(' ').position(|known| known == name);
    let held = bit.is_some_and(|bit| bits >> bit & 1 == 1);
    let (key, label) = (
        format!("capability.{name}"),
        format!("CAP_{}", name.to_uppercase()),
    );
    if held {
        return fact(key, label, true, format!("held: {needed}"));
    }
    fact(key, label, false, format!("not held: {needed}")).absent(format!(
        "needed only for {needed}: run as root, or `--cap-add {}` for a container",
        name.to_uppercase()
    ))
}
