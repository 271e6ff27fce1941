//! The thread of a planted device.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use net::Namespace;
use sys::clock::now_ns;
use xdp::socket::{Capture, Frame, Pool, Socket, SocketOptions, Umem};

use super::{Act, Plant, Planted};
use crate::pinned::Pinned;
use crate::router::ports::Ports;
use crate::router::{Counters, Cpu, Router, RouterError, Task};
use crate::topology::Topology;
use crate::topology::plan::Side;

/// Frames that the kernel may fill at each port, all of its ring: a late device must
/// not lose frames that it was not told to lose.
const FILL_LEVEL: u32 = 4096;

/// Frames of memory, of 2 KiB: both rings of both ports.
const FRAMES: u32 = 4 * FILL_LEVEL;

const BATCH: u32 = 64;

/// How long the thread sleeps when nothing comes; then a held frame is sent all the
/// same.
const SLEEP: Duration = Duration::from_millis(20);

/// What a device did to the frames of all directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    pub received: u64,
    /// Of these, frames that it sent, the first copy of each.
    pub sent: u64,
    pub dropped: u64,
    /// Frames that it sent a second time.
    pub duplicated: u64,
    pub reordered: u64,
    /// Frames lost without being told to: a full ring.
    pub mishaps: u64,
}

pub struct Device {
    shared: Arc<Shared>,
    /// Of a topology: the kernel's part of the work is known there.
    ports: Option<Ports>,
    thread: Pinned<io::Result<()>>,
    cpu_ns_before: u64,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    truth: Mutex<Truth>,
}

impl Shared {
    fn truth(&self) -> MutexGuard<'_, Truth> {
        self.truth.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device {
    /// Starts a device between both ports of the topology, on the first CPU of
    /// the router's.
    pub fn start(topology: &Topology, plant: Plant) -> Result<Self, RouterError> {
        let cpu = topology.spec().cpus.router.first().copied();
        let mut device = Self::between(topology.router(), ports(topology), cpu, plant)?;
        device.ports = Some(Ports::of(topology)?);
        Ok(device)
    }

    /// Starts a device between two links of one queue of a namespace.
    pub fn between(
        namespace: &Namespace,
        ports: [PlantedPort; 2],
        cpu: Option<usize>,
        plant: Plant,
    ) -> Result<Self, RouterError> {
        let shared = Arc::new(Shared::default());
        let opened = namespace.run(|| Worker::open(ports, plant));
        let mut worker =
            opened.map_err(RouterError::of("cannot enter the device's namespace"))??;
        let inside = Arc::clone(&shared);
        let work = move || worker.run(&inside);
        let mut device = Self {
            shared,
            ports: None,
            thread: Pinned::start("lockgate-planted", cpu, work)?,
            cpu_ns_before: 0,
        };
        device.cpu_ns_before = device.thread.cpu_ns();
        Ok(device)
    }

    /// The kernel's number of its thread.
    pub fn thread(&self) -> i32 {
        self.thread.number
    }

    pub fn truth(&self) -> Truth {
        *self.shared.truth()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // What it could not do shows in its counters.
        self.thread.join();
    }
}

impl Router for Device {
    fn path(&self) -> &'static str {
        "planted"
    }

    fn counters(&mut self) -> Result<Counters, RouterError> {
        let truth = self.truth();
        Ok(Counters {
            received: truth.received + truth.mishaps,
            forwarded: truth.sent + truth.duplicated,
            dropped: truth.dropped + truth.mishaps,
            unsure: 0,
            own: None,
        })
    }

    fn cpu(&mut self) -> Result<Cpu, RouterError> {
        Ok(Cpu {
            kernel_ns: self.ports.as_mut().map_or(Ok(0), Ports::cpu_ns)?,
            own_ns: self.thread.cpu_ns().saturating_sub(self.cpu_ns_before),
        })
    }

    fn tasks(&self) -> Vec<Task> {
        vec![Task::Thread(self.thread.number)]
    }
}

/// A link of the device's, and the Ethernet addresses of what it sends there.
#[derive(Clone, Copy, Debug)]
pub struct PlantedPort {
    pub index: u32,
    pub source: [u8; 6],
    pub destination: [u8; 6],
}

fn ports(topology: &Topology) -> [PlantedPort; 2] {
    [Side::Zero, Side::One].map(|side| {
        let built = topology.side(side);
        PlantedPort {
            index: built.router_index,
            source: built.router_mac,
            destination: built.tester_mac,
        }
    })
}

struct Worker {
    // Before the sockets that it feeds.
    _captures: [Capture; 2],
    umem: Arc<Umem>,
    pool: Pool,
    sockets: [Socket; 2],
    ports: [PlantedPort; 2],
    planted: [Planted; 2],
    held: [Option<Frame>; 2],
    delay_ns: u64,
    /// Frames that are due to leave by a port at a time.
    delayed: VecDeque<(u64, usize, Frame)>,
    frames: Vec<Frame>,
    truth: Truth,
    /// Frames for which the other port's ring had no room.
    unsent: u64,
}

impl Worker {
    fn open(ports: [PlantedPort; 2], plant: Plant) -> Result<Self, RouterError> {
        let memory = RouterError::of("cannot map the device's memory");
        let (umem, pool) = Umem::new(FRAMES, 2048).map_err(memory)?;
        let options = SocketOptions {
            ring_entries: FILL_LEVEL,
            ..SocketOptions::default()
        };
        let open = |port: PlantedPort| -> Result<(Capture, Socket), RouterError> {
            let failed = "cannot open an AF_XDP socket for a planted device";
            let capture = Capture::attach(port.index, 1).map_err(RouterError::of(failed))?;
            let socket =
                Socket::open(&umem, port.index, 0, &options).map_err(RouterError::of(failed))?;
            capture
                .feed(0, &socket.receive)
                .map_err(RouterError::of(failed))?;
            Ok((capture, socket))
        };
        let [(capture0, socket0), (capture1, socket1)] = [open(ports[0])?, open(ports[1])?];
        let mut worker = Self {
            _captures: [capture0, capture1],
            umem,
            pool,
            sockets: [socket0, socket1],
            ports,
            planted: [Planted::new(plant), Planted::new(plant)],
            held: [None, None],
            delay_ns: plant.delay_ns(),
            delayed: VecDeque::new(),
            frames: Vec::new(),
            truth: Truth::default(),
            unsent: 0,
        };
        worker.refill();
        Ok(worker)
    }

    fn refill(&mut self) {
        for socket in &mut self.sockets {
            socket.receive.refill(&mut self.pool, FILL_LEVEL);
            socket.receive.wake();
        }
    }

    fn run(&mut self, shared: &Shared) -> io::Result<()> {
        while !shared.stop.load(Ordering::Relaxed) {
            let count = self.pass(0)? + self.pass(1)?;
            if count == 0 {
                self.truth.mishaps = self.unsent + self.ring_losses()?;
                *shared.truth() = self.truth;
                self.sleep()?;
            } else {
                *shared.truth() = self.truth;
            }
        }
        Ok(())
    }

    fn pass(&mut self, from: usize) -> io::Result<u32> {
        let mut frames = std::mem::take(&mut self.frames);
        let count = self.sockets[from].receive.receive(BATCH, &mut frames);
        let now_ns = now_ns();
        for frame in frames.drain(..) {
            self.truth.received += 1;
            self.act(from, frame, now_ns);
        }
        self.frames = frames;
        self.send_due(now_ns);
        self.sockets[1 - from].transmit.flush()?;
        self.sockets[1 - from].transmit.reclaim(&mut self.pool);
        self.sockets[from]
            .receive
            .refill(&mut self.pool, FILL_LEVEL);
        self.sockets[from].receive.wake();
        Ok(count)
    }

    fn act(&mut self, from: usize, mut frame: Frame, now_ns: u64) {
        self.address(1 - from, &mut frame);
        match self.planted[from].act(now_ns) {
            Act::Drop => {
                self.truth.dropped += 1;
                self.pool.put(frame);
                return;
            }
            Act::Hold if self.held[from].is_none() => {
                self.held[from] = Some(frame);
                return;
            }
            Act::Twice => {
                if let Some(copy) = self.copy(&frame)
                    && self.send(1 - from, copy)
                {
                    self.truth.duplicated += 1;
                }
            }
            Act::Send | Act::Hold => {}
        }
        if self.delay_ns > 0 {
            let due_ns = now_ns + self.delay_ns;
            self.delayed.push_back((due_ns, 1 - from, frame));
            return;
        }
        self.truth.sent += u64::from(self.send(1 - from, frame));
        if let Some(held) = self.held[from].take()
            && self.send(1 - from, held)
        {
            self.truth.sent += 1;
            self.truth.reordered += 1;
        }
    }

    fn send_due(&mut self, now_ns: u64) {
        while let Some((due_ns, to, frame)) = self.delayed.pop_front() {
            if due_ns > now_ns {
                self.delayed.push_front((due_ns, to, frame));
                return;
            }
            self.truth.sent += u64::from(self.send(to, frame));
        }
    }

    fn address(&self, to: usize, frame: &mut Frame) {
        let port = self.ports[to];
        if let Some(addresses) = self.umem.bytes_mut(frame).first_chunk_mut::<12>() {
            addresses[..6].copy_from_slice(&port.destination);
            addresses[6..].copy_from_slice(&port.source);
        }
    }

    fn copy(&mut self, frame: &Frame) -> Option<Frame> {
        let mut copy = self.pool.take()?;
        let written = self.umem.write(&mut copy, self.umem.bytes(frame));
        written.expect("frames of one memory have one size");
        Some(copy)
    }

    fn send(&mut self, to: usize, frame: Frame) -> bool {
        let transmit = &mut self.sockets[to].transmit;
        let Err(frame) = transmit.stage(frame) else {
            return true;
        };
        // An error shows again at the end of the batch.
        let _ = transmit.flush();
        transmit.reclaim(&mut self.pool);
        match transmit.stage(frame) {
            Ok(()) => true,
            Err(frame) => {
                self.unsent += 1;
                self.pool.put(frame);
                false
            }
        }
    }

    /// Until a frame comes, or one is due to leave.
    fn sleep(&mut self) -> io::Result<()> {
        let polled = [
            self.sockets[0].receive.as_fd(),
            self.sockets[1].receive.as_fd(),
        ];
        let next = self.delayed.front();
        let until_due =
            next.map(|(due_ns, ..)| Duration::from_nanos(due_ns.saturating_sub(now_ns())));
        let within = until_due.unwrap_or(SLEEP).min(SLEEP);
        if sys::readable::any(&polled, within)? || until_due.is_some() {
            return Ok(());
        }
        for from in [0, 1] {
            if let Some(held) = self.held[from].take() {
                self.truth.sent += u64::from(self.send(1 - from, held));
                self.sockets[1 - from].transmit.flush()?;
            }
            self.sockets[1 - from].transmit.reclaim(&mut self.pool);
        }
        Ok(())
    }

    fn ring_losses(&self) -> io::Result<u64> {
        let mut losses = 0;
        for socket in &self.sockets {
            let statistics = socket.receive.statistics()?;
            losses += statistics.rx_dropped + statistics.rx_ring_full.unwrap_or(0);
        }
        Ok(losses)
    }
}
