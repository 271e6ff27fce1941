//! A task: keeps its lane busy as the orders say.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crypto::{Status, Workload};
use engine::SessionId;
use sys::affinity::pin_to;
use sys::clock::now_ns;
use sys::memory::Mapping;

use crate::load::rig::board::{Board, Channel};
use crate::load::rig::dial::{Dial, Orders};
use crate::load::rig::error::{ClientError, STUCK};
use crate::load::rig::tenant::{Load, Mode, Tenant};
use crate::load::slots::Slots;

/// An open-loop client that sleeps comes back so early before the next
/// request is due: a timer may be late, a late request may not.
const SLEEP_MARGIN_NS: u64 = 100_000;
/// Nor does it look at its orders more rarely than this.
const SLEEP_MAX: Duration = Duration::from_millis(20);

/// The slots of one workload in a task's memory.
#[derive(Clone, Debug)]
struct Area {
    workload: Arc<Workload>,
    base: usize,
}

/// Areas of a tenant's workloads, one behind the other, and bytes in all.
fn areas(tenant: &Tenant) -> (Vec<Area>, usize) {
    let mut base = 0;
    let area = |workload: &Arc<Workload>| {
        let own = Area {
            workload: Arc::clone(workload),
            base,
        };
        base += workload.slot.stride * tenant.depth_max;
        own
    };
    let areas = tenant.workloads.iter().map(area).collect();
    (areas, base)
}

/// Bytes of memory that a task of the tenant needs.
pub fn memory_bytes(tenant: &Tenant) -> usize {
    areas(tenant).1
}

/// A task's own side; its thread runs [`Client::run`].
pub struct Client {
    /// Which of its tenant's tasks.
    index: usize,
    cpu: usize,
    dial: Arc<Dial>,
    board: Arc<Board>,
    memory: Arc<Mapping>,
    areas: Vec<Area>,
    channel: Option<Channel>,
    /// Slots not in flight; each is one of every area.
    free: Vec<usize>,
    /// When the request in a slot was (meant to be) sent; 0 is not timed.
    sent_ns: Vec<u64>,
    sent: u64,
    reaped: u64,
    /// Doorbells of the lanes that it had before.
    rung: u64,
}

impl Client {
    pub fn new(
        tenant: &Tenant,
        (index, cpu): (usize, usize),
        (dial, board): (&Arc<Dial>, &Arc<Board>),
        memory: Arc<Mapping>,
    ) -> Self {
        let depth = tenant.depth_max;
        Self {
            index,
            cpu,
            dial: Arc::clone(dial),
            board: Arc::clone(board),
            memory,
            areas: areas(tenant).0,
            channel: None,
            free: (0..depth).rev().collect(),
            sent_ns: vec![0; depth],
            sent: 0,
            reaped: 0,
            rung: 0,
        }
    }

    /// Works until the orders say that it ends, or something fails.
    pub fn run(mut self) {
        if let Err(error) = self.serve() {
            self.board.fail(error);
        }
        // A task that has ended is not waited for.
        self.board.park(u64::MAX - 1);
    }

    fn serve(&mut self) -> Result<(), ClientError> {
        pin_to(self.cpu)?;
        self.board.sign_in();
        self.write_slots();
        let mut orders = self.dial.orders();
        while !orders.is_ending {
            if self.in_flight() == 0
                && let Some(channel) = self.board.take()
            {
                let old = std::mem::replace(&mut self.channel, channel);
                self.rung += old.map_or(0, |old| old.lane.doorbells());
            }
            if orders.has(self.index) {
                orders = self.work(orders)?;
            } else {
                self.drain()?;
                self.board.park(orders.number);
                orders = self.dial.wait_for_others(orders.number);
            }
        }
        Ok(())
    }

    fn write_slots(&self) {
        for place in 0..self.areas.len() {
            self.slots(place, engine::RegionId::SLAB)
                .write(self.free.len(), |offset, bytes| {
                    self.memory
                        .write(offset, bytes)
                        .expect("the memory holds every slot");
                });
        }
    }

    fn slots(&self, place: usize, region: engine::RegionId) -> Slots<'_> {
        let Area { workload, base } = &self.areas[place];
        Slots {
            workload,
            region,
            base: *base,
        }
    }

    /// Works under `orders`; returns those that came instead.
    fn work(&mut self, orders: Orders) -> Result<Orders, ClientError> {
        let Orders { load, number, .. } = orders;
        match load.rate_per_s {
            None => self.closed(&load, number)?,
            Some(rate_per_s) => self.paced(&load, rate_per_s, number)?,
        }
        Ok(self.dial.orders())
    }

    fn channel(&mut self) -> Result<&mut Channel, ClientError> {
        self.channel.as_mut().ok_or(ClientError::Stuck)
    }

    fn in_flight(&self) -> usize {
        self.channel
            .as_ref()
            .map_or(0, |channel| channel.lane.in_flight())
    }

    /// Keeps as many in flight as the load's mode and depth say.
    fn closed(&mut self, load: &Load, number: u64) -> Result<(), ClientError> {
        while self.dial.number() == number {
            let in_flight = self.in_flight();
            let room = match load.mode {
                Mode::Sync => usize::from(in_flight == 0),
                Mode::Batch if in_flight > 0 => 0,
                Mode::Batch | Mode::Async => load.depth.saturating_sub(in_flight),
            };
            for _ in 0..room.min(self.free.len()) {
                let is_timed = self.sent.is_multiple_of(load.timed_one_in);
                let sent_ns = if is_timed { now_ns() } else { 0 };
                self.send(load.workload, sent_ns)?;
            }
            let lane = &mut self.channel()?.lane;
            lane.kick();
            let waited = match load.mode {
                Mode::Sync | Mode::Batch => lane.wait(lane.in_flight(), STUCK),
                Mode::Async => lane.wait_to_refill(STUCK),
            };
            waited.map_err(|_| ClientError::Stuck)?;
            self.reap()?;
        }
        Ok(())
    }

    /// Sends the task's share of the load's rate, evenly; one that finds the
    /// lane full waits, and its latency counts from when it was meant to be
    /// sent.
    fn paced(&mut self, load: &Load, rate_per_s: f64, number: u64) -> Result<(), ClientError> {
        let (begin_ns, begin) = (now_ns(), self.sent);
        let apart_ns = 1e9 * load.tasks as f64 / rate_per_s;
        let due_ns = |sent: u64| begin_ns + ((sent - begin) as f64 * apart_ns) as u64;
        let config = *self.channel()?.lane.config();
        while self.dial.number() == number {
            let now = now_ns();
            while due_ns(self.sent) <= now && self.in_flight() < load.depth {
                self.send(load.workload, due_ns(self.sent))?;
            }
            let due = begin + ((now - begin_ns) as f64 / apart_ns) as u64 + 1;
            let is_behind = due_ns(self.sent) <= now;
            let attended = if is_behind {
                due.max(self.sent)
            } else {
                self.sent
            };
            self.board.attended.store(attended, Ordering::Relaxed);
            let left_ns = due_ns(self.sent).saturating_sub(now_ns());
            let is_full = self.in_flight() >= load.depth;
            let in_flight = self.in_flight();
            let lane = &mut self.channel()?.lane;
            lane.kick();
            if config.moderation.client_sleeps() && is_full {
                // Without a time limit of its own: nothing can be sent before.
                lane.wait(1, STUCK).map_err(|_| ClientError::Stuck)?;
            } else if config.moderation.client_sleeps() && left_ns > SLEEP_MARGIN_NS {
                let left = Duration::from_nanos(left_ns - SLEEP_MARGIN_NS);
                if in_flight > 0 {
                    // A time-out is no failure here: the next request is due.
                    let _ = lane.wait(1, left);
                } else {
                    std::thread::sleep(left.min(SLEEP_MAX));
                }
            } else if config.is_core_shared {
                // Looking on would only keep the worker from the core.
                std::thread::yield_now();
            }
            self.reap()?;
        }
        Ok(())
    }

    /// Takes back what is still in flight.
    fn drain(&mut self) -> Result<(), ClientError> {
        while self.in_flight() > 0 {
            let lane = &mut self.channel()?.lane;
            lane.wait(lane.in_flight(), STUCK)
                .map_err(|_| ClientError::Stuck)?;
            self.reap()?;
        }
        Ok(())
    }

    fn send(&mut self, place: usize, sent_ns: u64) -> Result<(), ClientError> {
        let slot = self.free.pop().ok_or(ClientError::Stuck)?;
        self.sent_ns[slot] = sent_ns;
        self.sent += 1;
        let Area { workload, base } = &self.areas[place];
        let channel = self.channel.as_mut().ok_or(ClientError::Stuck)?;
        let session: SessionId = channel.sessions[place];
        let slots = Slots {
            workload,
            region: channel.region,
            base: *base,
        };
        slots
            .enqueue(&mut channel.lane, session, slot, self.sent)
            .map_err(|_| ClientError::Stuck)
    }

    fn reap(&mut self) -> Result<(), ClientError> {
        let Self {
            channel,
            free,
            sent_ns,
            board,
            reaped,
            sent,
            rung,
            ..
        } = self;
        let lane = &mut channel.as_mut().ok_or(ClientError::Stuck)?.lane;
        let (mut now, mut failed) = (0, None);
        lane.reap(usize::MAX, |done| {
            let slot = usize::try_from(done.token).expect("a slot number");
            let sent_ns = std::mem::take(&mut sent_ns[slot]);
            if sent_ns > 0 {
                now = if now == 0 { now_ns() } else { now };
                board.latency.record(now.saturating_sub(sent_ns));
            }
            if done.status != Status::Ok {
                failed = Some(done.status);
            }
            *reaped += 1;
            free.push(slot);
        });
        let doorbells = *rung + lane.doorbells();
        board.doorbells.store(doorbells, Ordering::Relaxed);
        board.submitted.store(*sent, Ordering::Relaxed);
        board.reaped.store(*reaped, Ordering::Relaxed);
        failed.map_or(Ok(()), |status| Err(ClientError::Status(status)))
    }
}
