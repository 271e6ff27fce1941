//! Who we are and what the kernel lets us do.

use trial::Fact;

use crate::Host;
use crate::fact::{Found, ok, unread, whether};
use crate::list::value_of;
use crate::machine::Machine;
use crate::row::Row::{self, Many, One};

pub(super) const FACTS: &[Row] = &[One("host.user", "User", user), Many(facts)];

const STATUS: &str = "/proc/self/status";

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

/// A field of this process's status.
pub(super) fn status(host: &Host, field: &str) -> Option<String> {
    value_of(&host.text(STATUS)?, field).map(str::to_owned)
}

fn user(on: &Machine) -> Found {
    // Real, effective, saved, file system.
    let id =
        status(&on.host, "Uid").and_then(|ids| ids.split_whitespace().nth(1)?.parse::<u32>().ok());
    match id {
        None => unread(STATUS),
        Some(0) => ok(0, "root"),
        Some(id) => ok(id, format!("unprivileged (user {id})")),
    }
}

fn facts(on: &Machine) -> Vec<Fact> {
    let hex = status(&on.host, "CapEff");
    let bits = hex.and_then(|hex| u64::from_str_radix(&hex, 16).ok());
    let all = bits.map_or_else(|| unread(STATUS), effective);
    let mut facts = vec![all.named("capability.effective", "Capabilities")];
    if let Some(bits) = bits {
        facts.extend(SHOWN.iter().map(|(name, needed)| one(bits, name, needed)));
    }
    facts
}

fn effective(bits: u64) -> Found {
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
    ok(names, text)
}

fn one(bits: u64, name: &str, needed: &str) -> Fact {
    let bit = NAMES.split(' ').position(|known| known == name);
    let is_held = bit.is_some_and(|bit| bits >> bit & 1 == 1);
    let upper = name.to_uppercase();
    let (held, not_held) = (format!("held: {needed}"), format!("not held: {needed}"));
    let remedy =
        format!("needed only for {needed}: run as root, or `--cap-add {upper}` for a container");
    whether(is_held, held, not_held, remedy)
        .named(format!("capability.{name}"), format!("CAP_{upper}"))
}
