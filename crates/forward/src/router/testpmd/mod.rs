//! The peer: DPDK's `testpmd` with its AF_XDP driver at the same ports.
//!
//! So that it can be compared with [`af_xdp`](super::path::AfXdp), polled, with
//! batches of 32, it has the same batch, queues and ring sizes, is called on
//! need only (`XDP_USE_NEED_WAKEUP`), and neither busy-polls. On veths both copy.
//!
//! Its threads have the CPUs and the nice value of ours, and CPU time of its idle
//! polls is known apart ([`super::Own`]).
//!
//! What differs: it gives frames new Ethernet addresses and leaves their time to
//! live and checksum as they are (`--forward-mode=mac`), where ours changes
//! both; its program at the ports gives it every frame, where ours looks at each
//! and leaves what is local or odd to the kernel; and it never sleeps, where
//! ours does when it shares its CPU with the driver's threads.

mod command;
mod console;

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use net::journal::{Entry, Record};
use net::napi::thread_cpu_ns;
use net::{Journal, Netlink};

pub use command::Call;

use self::console::Console;
use super::ports::Ports;
use super::{Counters, Cpu, Lack, Router, RouterError, Task, rise_above_drivers};
use crate::topology::Topology;

/// The names in Debian's package `dpdk` and in a build from source.
const PROGRAMS: [&str; 2] = ["dpdk-testpmd", "testpmd"];

const BURST: u32 = 32;

/// Time to open both ports, also on a busy machine.
const START_MAX: Duration = Duration::from_secs(30);

/// Least CPU time of a thread that forwards: before, they wait for work.
const FORWARDING_NS: u64 = 20_000_000;

const STOP_MAX: Duration = Duration::from_secs(5);

/// `testpmd`, running. It ends when dropped, and with this process.
pub struct Testpmd {
    child: Child,
    console: Console,
    ports: Ports,
    cpu_ns_before: u64,
    _files: Record,
}

impl Testpmd {
    /// Starts it over a topology, and waits until it has both ports. Its files
    /// are in a folder of their own, journalled.
    ///
    /// # Errors
    /// [`RouterError`]; [`RouterError::lacks`] without the program.
    pub fn over(journal: &Journal, topology: &Topology) -> Result<Self, RouterError> {
        let program = find()?;
        let (files, record) = make_folder(journal, topology)?;
        let context = format!("cannot start {}", program.display());
        let mut command = call(topology, files).command(&program);
        let (console, theirs) = Console::open().map_err(RouterError::of(&*context))?;
        for give in [Command::stdin, Command::stdout, Command::stderr] {
            let end = theirs.try_clone().map_err(RouterError::of(&*context))?;
            give(&mut command, Stdio::from(end));
        }
        drop(theirs);
        let child = topology.router().spawn_process(command);
        let child = child.map_err(RouterError::of(context))?;
        let mut testpmd = Self {
            child,
            console,
            ports: Ports::of(topology)?,
            cpu_ns_before: 0,
            _files: record,
        };
        testpmd.wait_for_ports(topology)?;
        testpmd.threads()?.for_each(rise_above_drivers);
        testpmd.ports = Ports::of(topology)?;
        testpmd.cpu_ns_before = testpmd.process_ns()?;
        Ok(testpmd)
    }

    /// Its program is at both ports once they are open, and its threads do not sleep
    /// once they forward.
    fn wait_for_ports(&mut self, topology: &Topology) -> Result<(), RouterError> {
        let context = "cannot see whether testpmd has its ports";
        let mut netlink = topology
            .router()
            .netlink()
            .map_err(RouterError::of(context))?;
        let until = Instant::now() + START_MAX;
        while !(has_ports(&mut netlink, topology)? && self.forwards()?) {
            let ended = self.child.try_wait().ok().flatten();
            if ended.is_some() || Instant::now() > until {
                return Err(self.failure());
            }
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn forwards(&self) -> Result<bool, RouterError> {
        let main = i32::try_from(self.child.id()).ok();
        let threads = self.threads()?;
        let times = threads
            .filter(|tid| Some(*tid) != main)
            .filter_map(|tid| thread_cpu_ns(tid).ok());
        Ok(times.max().unwrap_or(0) > FORWARDING_NS)
    }

    fn failure(&mut self) -> RouterError {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let last = self.console.last_failure();
        let last = last.unwrap_or_else(|| "it said nothing".to_owned());
        RouterError::new(format!(
            "testpmd did not open both ports within {START_MAX:?}: {last}; the ports must have no other XDP program"
        ))
    }

    fn process_ns(&self) -> Result<u64, RouterError> {
        // A thread may end in between: its time is what was read before.
        Ok(self
            .threads()?
            .filter_map(|tid| thread_cpu_ns(tid).ok())
            .sum())
    }

    fn threads(&self) -> Result<impl Iterator<Item = i32>, RouterError> {
        let context = "cannot see testpmd's threads; it may have ended";
        let folder = format!("/proc/{}/task", self.child.id());
        let threads = std::fs::read_dir(folder).map_err(RouterError::of(context))?;
        Ok(threads
            .flatten()
            .filter_map(|thread| thread.file_name().to_str()?.parse().ok()))
    }
}

fn make_folder(journal: &Journal, topology: &Topology) -> Result<(PathBuf, Record), RouterError> {
    let context = "cannot make a folder for testpmd";
    let name = topology.tag().name("testpmd");
    let name = name.map_err(RouterError::of(context))?;
    let path = Path::new(net::journal::FOLDER).join(name);
    let record = journal.record(Entry::Folder { path: path.clone() });
    let record = record.map_err(RouterError::of(context))?;
    let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
    made.map_err(RouterError::of(format!("cannot make {}", path.display())))?;
    Ok((path, record))
}

fn call(topology: &Topology, files: PathBuf) -> Call {
    let sides = topology.sides();
    Call {
        interfaces: sides.each_ref().map(|side| side.names.router.clone()),
        peers: sides.each_ref().map(|side| side.tester_mac),
        queues: topology.spec().queues,
        burst: BURST,
        cpus: topology.spec().cpus.router.clone(),
        files,
    }
}

fn find() -> Result<PathBuf, RouterError> {
    let lack = |what: &str, remedy: String| {
        let what = what.to_owned();
        RouterError::of("cannot start DPDK's testpmd")(Lack { what, remedy })
    };
    for program in PROGRAMS {
        match sys::program::find(program, &[]) {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            Err(error) => {
                return Err(lack(
                    "no dpdk-testpmd that may be started",
                    error.to_string(),
                ));
            }
        }
    }
    Err(lack(
        "no dpdk-testpmd",
        "apt-get install dpdk-dev".to_owned(),
    ))
}

fn has_ports(netlink: &mut Netlink, topology: &Topology) -> Result<bool, RouterError> {
    for side in topology.sides() {
        let link = netlink
            .link(&side.names.router)
            .map_err(RouterError::of("cannot look at the router's ports"))?;
        if !link.xdp {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Router for Testpmd {
    fn path(&self) -> &'static str {
        "testpmd"
    }

    fn counters(&mut self) -> Result<Counters, RouterError> {
        let context = "testpmd does not say what it counted; it may have ended";
        let own = self.console.ask().map_err(RouterError::of(context))?;
        Ok(Counters {
            own: Some(own),
            ..self.ports.counters()?
        })
    }

    fn cpu(&mut self) -> Result<Cpu, RouterError> {
        Ok(Cpu {
            kernel_ns: self.ports.cpu_ns()?,
            own_ns: self.process_ns()?.saturating_sub(self.cpu_ns_before),
        })
    }

    fn tasks(&self) -> Vec<Task> {
        let process = i32::try_from(self.child.id());
        process.map(Task::Process).into_iter().collect()
    }
}

impl Drop for Testpmd {
    fn drop(&mut self) {
        self.console.quit();
        let until = Instant::now() + STOP_MAX;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.console.close();
    }
}
