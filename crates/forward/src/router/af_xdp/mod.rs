//! A router in a process, with AF_XDP sockets at both ports.
//!
//! It has two ports, and what comes at one leaves by the other, to a fixed next
//! hop: no table is asked, as DPDK's `testpmd` asks none. The time to live and
//! its checksum are a router's. What is local or odd goes to the kernel, by
//! `bpf/sockets.bpf.c`. Each queue of the ports is a lane of its own,
//! with its own memory where it has a thread of its own.

mod deferral;
mod feed;
mod lane;
mod rewrite;
mod thread;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use xdp::socket::{BusyPoll, SocketOptions, Umem};

pub use rewrite::{Hop, send_on};

use self::deferral::Deferral;
use self::feed::Feed;
use self::lane::{LANE_FRAMES, Lane};
use self::thread::Thread;
use self::worker::Worker;
use super::path::{AfXdp, Poll};
use super::{Counters, Lack, Router, RouterError, Task};
use crate::topology::Topology;

/// The most frames taken at once.
pub const BATCH_MAX: u32 = 64;

/// A port of the router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwarderPort {
    /// The interface's name, for people.
    pub interface: String,
    /// Its number in its network namespace.
    pub interface_index: u32,
    /// Addresses of what leaves by it.
    pub hop: Hop,
    /// Process numbers of the kernel threads that receive for it (threaded
    /// NAPI), whose time is the router's, too.
    pub napi_pids: Vec<i32>,
}

/// A router in a process. It stops when dropped.
pub struct Forwarder {
    threads: Vec<Thread>,
    stop: Arc<AtomicBool>,
    napi_pids: Vec<i32>,
    napi_ns_before: u64,
    feed: Feed,
    /// Put back when dropped.
    deferral: Option<Deferral>,
}

impl Forwarder {
    /// Starts forwarding over a topology: each port's next hop is the tester's
    /// port there, queues and CPUs are the topology's.
    ///
    /// # Errors
    /// [`RouterError`].
    pub fn over(topology: &Topology, config: AfXdp) -> Result<Self, RouterError> {
        let ports = topology.sides().each_ref().map(|side| ForwarderPort {
            interface: side.names.router.clone(),
            interface_index: side.router_index,
            hop: Hop {
                source: side.router_mac,
                destination: side.tester_mac,
            },
            napi_pids: side
                .router_threads
                .iter()
                .map(|thread| thread.pid)
                .collect(),
        });
        let links = ports.each_ref().map(|port| port.interface.as_str());
        let deferral = match config.poll {
            Poll::BusyPoll => Some(Deferral::set(topology.router(), links)?),
            Poll::Polled | Poll::Interrupt => None,
        };
        let spec = topology.spec();
        check(config, &spec.cpus.router)?;
        let feed = Feed::plain(topology)?;
        let start = || Self::start_fed(feed, &ports, spec.queues, config, &spec.cpus.router);
        let inside = topology.router().run(start);
        let started = inside.map_err(failed("cannot enter the router's namespace".to_owned()))?;
        started.map(|mut forwarder| {
            forwarder.deferral = deferral;
            forwarder
        })
    }

    /// Starts forwarding every packet between two ports of `queues` queues each, which are in
    /// the calling thread's network namespace. Queue `q` is on CPU
    /// `cpus[q mod len]` where queues are bound, else all are on the first.
    ///
    /// # Errors
    /// [`RouterError`].
    pub fn start(
        ports: &[ForwarderPort; 2],
        queues: u32,
        config: AfXdp,
        cpus: &[usize],
    ) -> Result<Self, RouterError> {
        check(config, cpus)?;
        let interfaces = ports.each_ref().map(|port| port.interface_index);
        Self::start_fed(Feed::all(interfaces, queues)?, ports, queues, config, cpus)
    }

    fn start_fed(
        feed: Feed,
        ports: &[ForwarderPort; 2],
        queues: u32,
        config: AfXdp,
        cpus: &[usize],
    ) -> Result<Self, RouterError> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut forwarder = Self {
            threads: Vec::new(),
            napi_pids: ports
                .iter()
                .flat_map(|port| &port.napi_pids)
                .copied()
                .collect(),
            napi_ns_before: 0,
            stop,
            feed,
            deferral: None,
        };
        for (cpu, queues) in shares(queues, config, cpus) {
            let mut worker = forwarder.worker(ports, &queues, config)?;
            worker.prepare();
            worker.shares_core = forwarder.napi_runs_on(cpu);
            forwarder
                .threads
                .push(thread::start(worker, queues[0], cpu)?);
        }
        forwarder.napi_ns_before = forwarder.napi_ns()?;
        Ok(forwarder)
    }

    fn worker(
        &self,
        ports: &[ForwarderPort; 2],
        queues: &[u32],
        config: AfXdp,
    ) -> Result<Worker, RouterError> {
        let frames = LANE_FRAMES.saturating_mul(queues.len() as u32);
        let (umem, pool) = Umem::new(frames, 2048)
            .map_err(failed("cannot make the router's memory".to_owned()))?;
        let mut lanes = Vec::new();
        for &queue in queues {
            let interfaces = [0, 1].map(|port| ports[port].interface_index);
            let hops = [0, 1].map(|port| ports[port].hop);
            let lane = Lane::open(&umem, interfaces, queue, hops, &options(config))
                .map_err(failed(format!("cannot open queue {queue} of the router")))?;
            for port in [0, 1] {
                self.feed.feed(port, queue, &lane.socket(port).receive)?;
            }
            if config.poll == Poll::BusyPoll {
                check_busy_poll(&lane, &ports[0])?;
            }
            lanes.push(lane);
        }
        Ok(Worker {
            lanes,
            hands: lane::Hands {
                umem,
                pool,
                frames: Vec::with_capacity(BATCH_MAX as usize),
                batch: config.batch,
                counters: Counters::default(),
            },
            poll: config.poll,
            shares_core: false,
            empty_rounds: 0,
            told: Arc::default(),
            stop: Arc::clone(&self.stop),
        })
    }

    /// Whether a thread that receives for the ports may run on this CPU.
    fn napi_runs_on(&self, cpu: usize) -> bool {
        self.napi_pids.iter().any(|&pid| {
            let thread = rustix::process::Pid::from_raw(pid);
            rustix::thread::sched_getaffinity(thread).is_ok_and(|set| set.is_set(cpu))
        })
    }

    fn napi_ns(&self) -> Result<u64, RouterError> {
        let mut sum = 0;
        for &pid in &self.napi_pids {
            sum += net::napi::thread_cpu_ns(pid)
                .map_err(failed(format!("cannot read the time of NAPI thread {pid}")))?;
        }
        Ok(sum)
    }
}

/// Since Linux 6.14 the kernel knows from the start whether it can; before, the
/// first packet tells, and until then it is believed.
fn check_busy_poll(lane: &Lane, port: &ForwarderPort) -> Result<(), RouterError> {
    let context = || format!("cannot busy-poll {}", port.interface);
    let can = lane
        .socket(0)
        .receive
        .can_busy_poll()
        .map_err(failed(context()))?;
    if can || sys::kernel::version() < (6, 14) {
        return Ok(());
    }
    Err(failed(context())(Lack {
        what: format!(
            "the driver of {} does not tell the kernel which NAPI fills a queue (SO_INCOMING_NAPI_ID is 0), so it cannot be busy-polled",
            port.interface
        ),
        remedy: "poll without (polled), or take a port whose driver does".to_owned(),
    }))
}

fn check(config: AfXdp, cpus: &[usize]) -> Result<(), RouterError> {
    let wrong = |context| {
        Err(RouterError {
            context,
            source: None,
        })
    };
    if !(1..=BATCH_MAX).contains(&config.batch) {
        return wrong(format!(
            "a batch of {} frames: 1 to {BATCH_MAX} are possible",
            config.batch
        ));
    }
    if cpus.is_empty() {
        return wrong("no CPU for the router: name one at least".to_owned());
    }
    Ok(())
}

fn options(config: AfXdp) -> SocketOptions {
    SocketOptions {
        ring_entries: lane::RING_ENTRIES,
        busy_poll: (config.poll == Poll::BusyPoll).then(BusyPoll::default),
        send_budget: Some(BATCH_MAX),
        ..SocketOptions::default()
    }
}

/// Which CPU has which queues.
fn shares(queues: u32, config: AfXdp, cpus: &[usize]) -> Vec<(usize, Vec<u32>)> {
    if !config.queues_bound {
        return vec![(cpus[0], (0..queues).collect())];
    }
    (0..queues)
        .map(|queue| (cpus[queue as usize % cpus.len()], vec![queue]))
        .collect()
}

impl Router for Forwarder {
    fn path(&self) -> &'static str {
        "af-xdp"
    }

    fn counters(&mut self) -> Result<Counters, RouterError> {
        let mut sum = Counters::default();
        for thread in &mut self.threads {
            thread.check()?;
            let counted = thread.told.counters();
            sum.received += counted.received;
            sum.forwarded += counted.forwarded;
            sum.dropped += counted.dropped;
        }
        Ok(sum)
    }

    fn cpu_ns(&mut self) -> Result<u64, RouterError> {
        let napi_ns = self.napi_ns()?.saturating_sub(self.napi_ns_before);
        let threads_ns: u64 = self.threads.iter_mut().map(Thread::cpu_ns).sum();
        Ok(threads_ns + napi_ns)
    }

    fn tasks(&self) -> Vec<Task> {
        let numbers = self.threads.iter().map(|thread| thread.number);
        numbers.map(Task::Thread).collect()
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in &mut self.threads {
            if let Some(handle) = thread.handle.take() {
                let _ = handle.join();
            }
        }
    }
}

fn failed<E>(context: String) -> impl FnOnce(E) -> RouterError
where
    E: std::error::Error + Send + Sync + 'static,
{
    move |source| RouterError {
        context,
        source: Some(Box::new(source)),
    }
}
