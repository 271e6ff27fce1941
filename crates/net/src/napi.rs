//! The kernel's threads that do a link's receiving (threaded NAPI,
//! `Documentation/networking/napi.rst`): found, pinned, and their time read.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use rustix::thread::CpuSet;
use serde::{Deserialize, Serialize};
use sys::failure::Failure;

use crate::journal::process;
use crate::namespace::Namespace;
use crate::netlink::Netlink;
use crate::sysfs::Sysfs;

/// How long the kernel may take to start its threads.
const START_WAIT: Duration = Duration::from_secs(5);

/// A kernel thread that receives the frames of one queue of one link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NapiThread {
    pub link: String,
    pub napi: u32,
    pub pid: i32,
}

/// How the kernel schedules a thread, as far as another program may have set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Scheduling {
    /// The CPUs that it may run on: a hexadecimal mask, the highest first.
    pub cpus: String,
    /// `SCHED_OTHER`, …: sched(7).
    pub policy: i32,
    pub priority: i32,
    pub nice: i32,
}

impl Scheduling {
    /// The current scheduling of a thread.
    ///
    /// # Errors
    /// When there is no such thread.
    pub(crate) fn of(pid: i32) -> io::Result<Self> {
        let set = rustix::thread::sched_getaffinity(Pid::from_raw(pid))?;
        let digit = |first: usize| {
            (0..4).fold(0, |sum, bit| {
                sum | u32::from(set.is_set(first + bit)) << bit
            })
        };
        let digits = (0..CpuSet::MAX_CPU).step_by(4).rev().map(digit);
        let digits = digits.filter_map(|digit| char::from_digit(digit, 16));
        let cpus: String = digits.skip_while(|&digit| digit == '0').collect();
        let number = |field| {
            let text = process::field(pid, field)?;
            text.parse().map_err(io::Error::other)
        };
        Ok(Self {
            cpus,
            policy: number(process::POLICY)?,
            priority: number(process::PRIORITY)?,
            nice: number(process::NICE)?,
        })
    }

    /// Schedules a thread so.
    ///
    /// # Errors
    /// When the kernel refuses, or there is no such thread.
    pub(crate) fn put_back(&self, pid: i32) -> io::Result<()> {
        let now = Self::of(pid)?;
        if now.cpus != self.cpus {
            let mut set = CpuSet::new();
            for (place, digit) in self.cpus.chars().rev().enumerate() {
                let digit = digit.to_digit(16).unwrap_or(0);
                let cpus = (0..4).filter(|bit| digit >> bit & 1 == 1);
                cpus.for_each(|bit| set.set(4 * place + bit));
            }
            rustix::thread::sched_setaffinity(Pid::from_raw(pid), &set)?;
        }
        if (now.policy, now.priority) != (self.policy, self.priority) {
            sys::schedule::set(pid, self.policy, self.priority)?;
        }
        if now.nice != self.nice {
            rustix::process::setpriority_process(Pid::from_raw(pid), self.nice)?;
        }
        Ok(())
    }

    /// Whether it is plausible as read from a journal.
    pub(crate) fn is_plain(&self) -> bool {
        self.cpus.len() <= CpuSet::MAX_CPU / 4
            && self.cpus.bytes().all(|digit| digit.is_ascii_hexdigit())
    }
}

impl fmt::Display for Scheduling {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cpus,
            policy,
            priority,
            nice,
        } = self;
        write!(
            text,
            "CPUs 0x{cpus}, policy {policy}, priority {priority}, nice {nice}"
        )
    }
}

/// Lets kernel threads receive for a link instead of the sender's context. A veth
/// must have NAPI by then: an XDP program, or `rx-gro` on. When it loses both and
/// gets one again, it has new threads, which are not pinned.
pub fn set_threaded(namespace: &Namespace, link: &str, on: bool) -> Result<(), Failure> {
    let value = if on { "1" } else { "0" };
    Sysfs::of(namespace)
        .and_then(|sysfs| sysfs.write(&format!("{link}/threaded"), value))
        .map_err(Failure::of(format!(
            "cannot switch threaded NAPI of {link}; it takes a kernel since 5.12 and a link that has NAPI: a veth only with an XDP program or 'rx-gro' on"
        )))
}

/// The threads of a link of the socket's namespace, by their NAPI's number, once
/// there are as many as it has queues.
///
/// # Errors
/// [`Failure`] when there are not within a few seconds.
pub fn threads(
    netlink: &mut Netlink,
    link: &str,
    wanted: usize,
) -> Result<Vec<NapiThread>, Failure> {
    let deadline = Instant::now() + START_WAIT;
    loop {
        let found = threads_now(netlink, link);
        if found.len() >= wanted {
            return Ok(found);
        }
        if Instant::now() > deadline {
            return Err(Failure::new(format!(
                "{link} has {} NAPI threads after {} ms, not {wanted}; switch them on with set_threaded, and set the link up; in a container with its own process numbers they cannot be seen: run on the host",
                found.len(),
                START_WAIT.as_millis()
            )));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The current threads of a link, by their NAPI's number. Before Linux 6.8 they
/// cannot be distinguished from those of a link of the same name in another
/// namespace.
pub fn threads_now(netlink: &mut Netlink, link: &str) -> Vec<NapiThread> {
    let mut found = match netlink.napis(link) {
        // Those that were started before their NAPI had a number have 0 in the name.
        Ok(Some(napis)) => {
            let thread = |(napi, pid): (u32, u32)| NapiThread {
                link: link.to_owned(),
                napi,
                pid: pid.cast_signed(),
            };
            napis.into_iter().map(thread).collect()
        }
        _ => named_threads(link),
    };
    // A program may call itself so.
    found.retain(|thread| process::is_kernel_thread(thread.pid));
    found.sort();
    found
}

fn named_threads(link: &str) -> Vec<NapiThread> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten();
    let found = processes.filter_map(|process| {
        let process = process.ok()?;
        let pid = process.file_name().to_str()?.parse().ok()?;
        let name = std::fs::read_to_string(process.path().join("comm")).ok()?;
        named(name.trim_end(), link, pid)
    });
    found.collect()
}

/// The kernel names them `napi/<link>-<number>`.
fn named(name: &str, link: &str, pid: i32) -> Option<NapiThread> {
    let (named, number) = name.strip_prefix("napi/")?.rsplit_once('-')?;
    Some(NapiThread {
        link: (named == link).then(|| link.to_owned())?,
        napi: number.parse().ok()?,
        pid,
    })
}

impl NapiThread {
    /// Lets it run on these CPUs only.
    pub fn pin(&self, cpus: &[usize]) -> Result<(), Failure> {
        let what = || format!("pin to the CPUs {cpus:?}");
        if cpus.iter().any(|&cpu| cpu >= CpuSet::MAX_CPU) {
            return Err(self.failed(what(), io::ErrorKind::InvalidInput.into()));
        }
        sys::affinity::keep_thread_to(self.pid, cpus).map_err(|error| self.failed(what(), error))
    }

    /// CPU time since it was started, ns.
    pub fn cpu_ns(&self) -> Result<u64, Failure> {
        thread_cpu_ns(self.pid).map_err(|source| self.failed("read the time of".to_owned(), source))
    }

    fn failed(&self, what: String, source: io::Error) -> Failure {
        let Self { pid, link, .. } = self;
        Failure::of(format!(
            "cannot {what} the thread {pid} of {link}; it takes root, and the thread must still be there"
        ))(source)
    }
}

/// CPU time of any thread, ns: the first field of `/proc/PID/schedstat`, which counts
/// up to the last tick or switch.
///
/// # Errors
/// When there is no such thread, or the kernel has no `CONFIG_SCHED_INFO`.
pub fn thread_cpu_ns(pid: i32) -> io::Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
    text.split_whitespace()
        .next()
        .and_then(|field| field.parse().ok())
        .ok_or_else(|| io::Error::other(format!("/proc/{pid}/schedstat has no first field")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_known_by_its_links_whole_name() {
        let thread = named("napi/lg-d0-8193", "lg-d0", 7).unwrap();
        assert_eq!((thread.napi, thread.pid), (8193, 7));
        assert_eq!(named("napi/lg-d0-8193", "lg-d", 7), None);
        assert_eq!(named("ksoftirqd/0", "lg-d0", 7), None);
    }
}
