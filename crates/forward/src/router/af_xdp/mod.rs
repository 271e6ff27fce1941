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
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use xdp::socket::{BusyPoll, SocketOptions, Umem};

use self::feed::Feed;
use self::lane::{LANE_FRAMES, Lane};
use self::rewrite::Hop;
use self::thread::Thread;
use self::worker::Worker;
use super::path::{AfXdp, Poll};
use super::ports::Ports;
use super::{Counters, Cpu, Lack, Own, Router, RouterError, Task};
use crate::topology::Topology;

pub const BATCH_MAX: u32 = 64;

/// A router in a process. It stops when dropped.
pub struct Forwarder {
    threads: Vec<Thread>,
    stop: Arc<AtomicBool>,
    ports: Ports,
    feed: Feed,
}

impl Forwarder {
    pub fn over(topology: &Topology, config: AfXdp) -> Result<Self, RouterError> {
        let spec = topology.spec();
        check(config, &spec.cpus.router)?;
        let links = topology.sides().each_ref().map(|side| &*side.names.router);
        if config.poll == Poll::BusyPoll {
            let context = "cannot prepare the router's ports for busy polling".to_owned();
            deferral::set(topology.router(), links).map_err(RouterError::of(context))?;
        }
        let mut forwarder = Self {
            threads: Vec::new(),
            stop: Arc::new(AtomicBool::new(false)),
            feed: Feed::over(topology)?,
            ports: Ports::of(topology)?,
        };
        let inside = topology.router().run(|| forwarder.start(topology, config));
        inside.map_err(RouterError::of("cannot enter the router's namespace"))??;
        Ok(forwarder)
    }

    fn start(&mut self, topology: &Topology, config: AfXdp) -> Result<(), RouterError> {
        let spec = topology.spec();
        for (cpu, queues) in shares(spec.queues, config, &spec.cpus.router) {
            let mut worker = self.worker(topology, &queues, config)?;
            worker.prepare();
            worker.shares_core = receives_on(topology, cpu);
            self.threads.push(thread::start(worker, queues[0], cpu)?);
        }
        Ok(())
    }

    fn worker(
        &self,
        topology: &Topology,
        queues: &[u32],
        config: AfXdp,
    ) -> Result<Worker, RouterError> {
        let frames = LANE_FRAMES.saturating_mul(queues.len() as u32);
        let (umem, pool) =
            Umem::new(frames, 2048).map_err(RouterError::of("cannot make the router's memory"))?;
        let sides = topology.sides();
        let mut lanes = Vec::new();
        for &queue in queues {
            let interfaces = sides.each_ref().map(|side| side.router_index);
            let hops = sides.each_ref().map(|side| Hop {
                source: side.router_mac,
                destination: side.tester_mac,
            });
            let lane = Lane::open(&umem, interfaces, queue, hops, &options(config)).map_err(
                RouterError::of(format!("cannot open queue {queue} of the router")),
            )?;
            for port in [0, 1] {
                self.feed.feed(port, queue, &lane.socket(port).receive)?;
            }
            if config.poll == Poll::BusyPoll {
                check_busy_poll(&lane, &sides[0].names.router)?;
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
                tally: Arc::default(),
            },
            poll: config.poll,
            shares_core: false,
            empty_rounds: 0,
            stop: Arc::clone(&self.stop),
        })
    }
}

fn receives_on(topology: &Topology, cpu: usize) -> bool {
    topology.router_threads().any(|thread| {
        let thread = rustix::process::Pid::from_raw(thread.pid);
        rustix::thread::sched_getaffinity(thread).is_ok_and(|set| set.is_set(cpu))
    })
}

/// Since Linux 6.14 the kernel knows from the start whether it can. Before, the first
/// packet tells, and until then it counts as possible.
fn check_busy_poll(lane: &Lane, port: &str) -> Result<(), RouterError> {
    let context = || format!("cannot busy-poll {port}");
    let can = lane
        .socket(0)
        .receive
        .can_busy_poll()
        .map_err(RouterError::of(context()))?;
    if can || sys::kernel::version() < (6, 14) {
        return Ok(());
    }
    Err(RouterError::of(context())(Lack {
        what: format!(
            "the driver of {port} does not tell the kernel which NAPI fills a queue (SO_INCOMING_NAPI_ID is 0), so it cannot be busy-polled"
        ),
        remedy: "poll without (polled), or take a port whose driver does".to_owned(),
    }))
}

fn check(config: AfXdp, cpus: &[usize]) -> Result<(), RouterError> {
    let wrong = |context: String| Err(RouterError::new(context));
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

    /// As the kernel counts, like any router's: the frames sent on are those that the
    /// link took. Only the router itself knows those without room to be sent.
    fn counters(&mut self) -> Result<Counters, RouterError> {
        let mut counters = self.ports.counters()?;
        let mut own = Own::default();
        for thread in &mut self.threads {
            thread.check()?;
            let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
            counters.dropped += of(&thread.tally.dropped);
            own.forwarded += of(&thread.tally.forwarded);
            own.busy_ns += of(&thread.tally.busy_ns);
        }
        counters.own = Some(own);
        Ok(counters)
    }

    fn cpu(&mut self) -> Result<Cpu, RouterError> {
        let threads = self.threads.iter_mut();
        let own_ns = threads.map(|thread| thread.pinned.cpu_ns()).sum();
        Ok(Cpu {
            kernel_ns: self.ports.cpu_ns()?,
            own_ns,
        })
    }

    fn tasks(&self) -> Vec<Task> {
        let numbers = self.threads.iter().map(|thread| thread.pinned.number);
        numbers.map(Task::Thread).collect()
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in &mut self.threads {
            thread.pinned.join();
        }
    }
}
