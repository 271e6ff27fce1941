//! A small seeded simulator of one core: a worker and the clients it serves
//! share it, and every lane is moderated by the real `Moderator` with the
//! settings that an unchanged `Controller` chooses.
//!
//! It is the equation of the VCM paper, event by event: T a notification, c a
//! request, t a byte, and no more than D requests of a client in flight.

mod lane;
mod random;

pub use lane::{Lane, Load, counters_of};
pub use random::Random;

use lockgate_policy::{Controller, Counters, Decision, Moderation, Progress, Settings};

#[derive(Clone, Copy, Debug)]
pub struct Core {
    pub notification_ns: f64,
    /// The part of T that the client pays, which the worker's own CPU time
    /// does not show.
    pub client_part: f64,
    pub request_ns: f64,
    pub byte_ns: f64,
    /// How long a client on a core of its own takes to wake up; on the
    /// worker's core it runs at once, and the worker does not.
    pub split_wake_ns: Option<u64>,
    /// Requests of a lane that the worker does before it publishes them.
    pub burst: u32,
    pub noise: f64,
    /// The part of the core's time that other programs take, a few
    /// milliseconds now and then.
    pub stolen: f64,
    pub counters_begin: u64,
}

impl Core {
    /// A notification as it was measured once, a fast cipher, and a device that
    /// completes one request after the other.
    pub const USUAL: Self = Self {
        notification_ns: 650.0,
        client_part: 0.3,
        request_ns: 100.0,
        byte_ns: 0.1,
        split_wake_ns: None,
        burst: 1,
        noise: 0.05,
        stolen: 0.0,
        counters_begin: 0,
    };
}

#[derive(Clone, Debug)]
pub struct Measured {
    pub requests_per_s: f64,
    pub bytes_per_s: f64,
    pub notifications_per_s: f64,
    pub utilisation: f64,
    pub latencies_ns: Vec<u64>,
}

impl Measured {
    pub fn p99_ns(&self) -> u64 {
        let at = self.latencies_ns.len() * 99 / 100;
        self.latencies_ns.get(at).copied().unwrap_or(0)
    }
}

pub struct Sim {
    pub now_ns: u64,
    core: Core,
    random: Random,
    pub lanes: Vec<Lane>,
    next: usize,
    worker_ns: f64,
    core_ns: f64,
    /// When another program next takes the core: the same whatever else
    /// happens, so that two runs can be compared.
    thief: Random,
    theft_ns: u64,
}

const THEFT_NS: f64 = 2e6;

impl Sim {
    pub fn new(core: Core, seed: u64) -> Self {
        Self {
            now_ns: 1_000_000,
            core,
            random: Random::new(seed),
            lanes: Vec::new(),
            next: 0,
            worker_ns: 0.0,
            core_ns: 0.0,
            thief: Random::new(!seed),
            theft_ns: 0,
        }
    }

    pub fn add(&mut self, controller: Box<dyn Controller>) -> usize {
        self.lanes.push(Lane::new(controller, self.now_ns));
        self.lanes.len() - 1
    }

    pub fn load(&mut self, lane: usize, load: Load) {
        self.lanes[lane].change(load, self.now_ns, &mut self.random);
    }

    pub fn measure(&mut self, duration_ns: u64) -> Vec<Measured> {
        let begin_ns = self.now_ns;
        let core_ns = self.core_ns;
        let before: Vec<Counters> = self.lanes.iter().map(|lane| lane.counters).collect();
        self.lanes
            .iter_mut()
            .for_each(|lane| lane.latencies_ns.clear());
        self.run_until(begin_ns + duration_ns);
        let seconds = (self.now_ns - begin_ns) as f64 / 1e9;
        let utilisation = (self.core_ns - core_ns) / seconds / 1e9;
        let measure = |(lane, before): (&mut Lane, &Counters)| {
            let done = lane.counters.since(before);
            let mut latencies_ns = std::mem::take(&mut lane.latencies_ns);
            latencies_ns.sort_unstable();
            Measured {
                requests_per_s: done.requests as f64 / seconds,
                bytes_per_s: done.bytes as f64 / seconds,
                notifications_per_s: done.notifications as f64 / seconds,
                utilisation,
                latencies_ns,
            }
        };
        self.lanes.iter_mut().zip(&before).map(measure).collect()
    }

    pub fn run_until(&mut self, end_ns: u64) {
        loop {
            self.arrive();
            self.wake();
            self.tick();
            if self.now_ns >= end_ns {
                return;
            }
            if !self.ask_held() && !self.work() {
                self.idle(end_ns);
            }
        }
    }

    fn arrive(&mut self) {
        for lane in &mut self.lanes {
            lane.arrive(self.now_ns, &mut self.random);
        }
    }

    fn wake(&mut self) {
        let now_ns = self.now_ns;
        let is_up = |lane: &&mut Lane| lane.waking_ns.is_some_and(|at_ns| at_ns <= now_ns);
        for lane in self.lanes.iter_mut().filter(is_up) {
            let woken_ns = lane.waking_ns.take().unwrap_or(now_ns);
            lane.reap(woken_ns);
        }
    }

    fn tick(&mut self) {
        let begin = self.core.counters_begin;
        for lane in &mut self.lanes {
            if self.now_ns >= lane.next_tick_ns {
                lane.counters.busy_ns = self.worker_ns as u64;
                lane.tick(self.now_ns, begin);
            }
        }
    }

    /// Asks a lane again whose notification was held until now.
    fn ask_held(&mut self) -> bool {
        let is_due = |lane: &Lane| lane.due_ns.is_some_and(|due_ns| due_ns <= self.now_ns);
        let Some(at) = self.lanes.iter().position(is_due) else {
            return false;
        };
        self.decide(at, 0);
        true
    }

    fn work(&mut self) -> bool {
        let count = self.lanes.len();
        let next = (0..count).map(|i| (self.next + i) % count);
        let Some(at) = next.into_iter().find(|&at| self.lanes[at].queued > 0) else {
            return false;
        };
        self.next = at + 1;
        let lane = &mut self.lanes[at];
        let done = lane.queued.min(self.core.burst);
        let cost_ns = self.core.request_ns + self.core.byte_ns * f64::from(lane.block_bytes);
        let noise = 1.0 + self.core.noise * (2.0 * self.random.unit() - 1.0);
        lane.complete(done);
        self.spend(f64::from(done) * cost_ns * noise, 1.0);
        self.decide(at, done);
        true
    }

    fn spend(&mut self, cost_ns: f64, worker_part: f64) {
        self.core_ns += cost_ns;
        self.worker_ns += cost_ns * worker_part;
        self.now_ns += (cost_ns.round() as u64).max(1);
        while self.core.stolen > 0.0 && self.now_ns >= self.theft_ns {
            let taken_ns = (THEFT_NS * self.thief.gap()) as u64;
            let gap_ns = THEFT_NS * (1.0 / self.core.stolen - 1.0) * self.thief.gap();
            self.now_ns = self.now_ns.max(self.theft_ns + taken_ns);
            self.theft_ns += taken_ns + gap_ns as u64;
        }
    }

    fn idle(&mut self, end_ns: u64) {
        let next = self.lanes.iter().map(Lane::next_event_ns).min();
        let next_ns = next.unwrap_or(end_ns).min(end_ns);
        self.now_ns = next_ns.max(self.now_ns + 1);
    }

    fn decide(&mut self, at: usize, published: u32) {
        let now_ns = self.now_ns;
        let lane = &mut self.lanes[at];
        let progress = Progress {
            published,
            is_dry: lane.queued == 0,
            unreaped: lane.unreaped,
            in_flight: lane.in_flight(),
            is_urgent: false,
        };
        let signals = match lane.moderator.decide(progress, now_ns, &lane.gate) {
            Decision::Later(due_ns) => {
                lane.hold(now_ns, due_ns);
                return;
            }
            Decision::Silent => 0,
            Decision::Signal(signals) => signals,
            Decision::IfReached => u32::from(lane.is_asleep() && lane.unreaped >= lane.wanted),
            Decision::IfAsleep => u32::from(lane.is_asleep() && lane.unreaped > 0),
        };
        lane.release(now_ns);
        if signals > 0 {
            lane.notified(now_ns, signals);
            self.signal(at, f64::from(signals));
        }
    }

    fn signal(&mut self, at: usize, signals: f64) {
        let worker_part = 1.0 - self.core.client_part;
        let cost_ns = signals * self.core.notification_ns;
        if let Some(wake_ns) = self.core.split_wake_ns {
            self.spend(cost_ns * worker_part, 1.0);
            let waking_ns = self.now_ns + wake_ns;
            self.lanes[at].waking_ns.get_or_insert(waking_ns);
        } else {
            self.spend(cost_ns, worker_part);
            self.lanes[at].reap(self.now_ns);
        }
    }
}

pub struct Fixed(pub Moderation, pub Settings);

impl Controller for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn moderation(&self) -> Moderation {
        self.0
    }

    fn period_ns(&self) -> u64 {
        1_000_000_000
    }

    fn observe(&mut self, _now_ns: u64, _counters: &Counters) -> Settings {
        self.1
    }
}
