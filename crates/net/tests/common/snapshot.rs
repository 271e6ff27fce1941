//! Everything that may be set of a device and of the host that it is in, as it is
//! now; and devices of which much of it is set, at random. Other crates' tests
//! include this file.

use std::collections::BTreeMap;
use std::fs::{read_dir, read_to_string};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use net::Namespace;
use net::sysfs::Sysfs;

const FILES: [&str; 14] = [
    "threaded",
    "gro_flush_timeout",
    "napi_defer_hard_irqs",
    "mtu",
    "tx_queue_len",
    "flags",
    "address",
    "ifindex",
    "ifalias",
    "netdev_group",
    "proto_down",
    "queues/rx-0/rps_cpus",
    "queues/rx-0/rps_flow_cnt",
    "queues/tx-0/xps_cpus",
];

pub type Settings = BTreeMap<String, String>;

pub fn snapshot(device: &str) -> Settings {
    let here = Namespace::current().unwrap();
    let (sysfs, mut netlink) = (Sysfs::of(&here).unwrap(), here.netlink().unwrap());
    let mut settings = Settings::new();
    for file in FILES {
        let value = sysfs.read(&format!("{device}/{file}"));
        settings.insert(file.to_owned(), value.unwrap_or_default());
    }
    let mut link = netlink.link(device).unwrap();
    // It follows some time after the link is up, and so do automatic addresses.
    link.running = false;
    settings.insert("link".to_owned(), format!("{link:?}"));
    let mut addresses = netlink.addresses(device).unwrap();
    addresses.retain(|(address, _)| !address.to_string().starts_with("fe80:"));
    settings.insert("addresses".to_owned(), format!("{addresses:?}"));
    let offloads = netlink.offloads(device).unwrap();
    settings.insert("offloads".to_owned(), format!("{offloads:?}"));
    for (number, thread) in net::napi::threads_now(&mut netlink, device)
        .iter()
        .enumerate()
    {
        let name = format!("NAPI thread {number}");
        settings.insert(name, scheduling(thread.pid));
    }
    add_files(Path::new("/proc/sys/net/ipv4"), &mut settings);
    add_files(Path::new("/proc/sys/net/ipv6"), &mut settings);
    settings
}

fn scheduling(pid: i32) -> String {
    let status = read_to_string(format!("/proc/{pid}/status")).unwrap();
    let cpus = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list"));
    let stat = read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<_> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    format!(
        "{} {:?}",
        cpus.unwrap(),
        [16, 37, 38].map(|field| fields[field])
    )
}

fn add_files(folder: &Path, settings: &mut Settings) {
    for entry in read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_files(&path, settings);
        } else if let Ok(text) = read_to_string(&path) {
            settings.insert(path.display().to_string(), text.trim_end().to_owned());
        }
    }
}

/// What is not as it was, of both.
pub fn differences(before: &Settings, now: &Settings) -> Vec<String> {
    let names = before
        .keys()
        .chain(now.keys().filter(|name| !before.contains_key(*name)));
    names
        .filter(|name| before.get(*name) != now.get(*name))
        .map(|name| format!("{name}: {:?}, now {:?}", before.get(name), now.get(name)))
        .collect()
}

pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        Self(RandomState::new().hash_one(0))
    }

    pub fn number(&mut self, least: u64, most: u64) -> u64 {
        // splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        least + (mixed ^ (mixed >> 31)) % (most - least + 1)
    }

    pub fn coin(&mut self) -> bool {
        self.number(0, 1) == 1
    }
}

/// Sets much of a device in this namespace as another program may have; up and with
/// threads of NAPI where it is to be `threaded`.
pub fn unsettle(home: &Namespace, device: &str, threaded: bool, random: &mut Random) {
    let (sysfs, mut netlink) = (Sysfs::of(home).unwrap(), home.netlink().unwrap());
    let offloads = [
        "tx-tcp-segmentation",
        "tx-tcp6-segmentation",
        "tx-checksum-ip-generic",
    ];
    let mut wanted = offloads.map(|name| (name, random.coin())).to_vec();
    wanted.push(("rx-gro", threaded || random.coin()));
    for (name, on) in wanted {
        // Some go only with others.
        let _ = netlink.set_offloads(device, &[(name, on)]);
    }
    netlink.set_promiscuous(device, random.coin()).unwrap();
    netlink
        .set_mtu(device, random.number(1280, 3000) as u32)
        .unwrap();
    if threaded || random.coin() {
        netlink.set_up(device).unwrap();
    }
    let mut files = vec![
        ("gro_flush_timeout", random.number(1, 1_000_000)),
        ("napi_defer_hard_irqs", random.number(1, 200)),
        ("tx_queue_len", random.number(1, 5000)),
    ];
    if threaded {
        files.push(("threaded", 1));
    }
    for (file, value) in files {
        sysfs
            .write(&format!("{device}/{file}"), &value.to_string())
            .unwrap();
    }
    let sysctls = [
        ("ipv4/conf", "rp_filter", random.number(0, 2)),
        ("ipv4/conf", "send_redirects", random.number(0, 1)),
        ("ipv4/neigh", "retrans_time_ms", random.number(100, 9000)),
        ("ipv6/conf", "accept_ra", random.number(0, 2)),
        ("ipv6/conf", "hop_limit", random.number(1, 255)),
    ];
    for (group, name, value) in sysctls {
        let setting = format!("{group}/{device}/{name}");
        home.set_sysctl(&setting, &value.to_string()).unwrap();
    }
    for thread in net::napi::threads_now(&mut netlink, device) {
        let cpus = sys::affinity::allowed_cpus().unwrap();
        let cpu = random.number(0, cpus.len() as u64 - 1);
        thread.pin(&[cpus[cpu as usize]]).unwrap();
        if random.coin() {
            sys::schedule::in_real_time(thread.pid).unwrap();
        } else {
            let pid = rustix::process::Pid::from_raw(thread.pid);
            let nice = random.number(0, 19) as i32;
            rustix::process::setpriority_process(pid, nice).unwrap();
        }
    }
}
