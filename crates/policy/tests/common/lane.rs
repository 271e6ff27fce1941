use std::collections::VecDeque;

use lockgate_policy::{Controller, Counters, Gate, Moderation, Moderator, Refill, Settings};

use super::Random;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    Idle,
    Closed {
        depth: u32,
        block_bytes: u32,
    },
    Eager {
        depth: u32,
        block_bytes: u32,
    },
    Open {
        per_s: f64,
        block_bytes: u32,
        window: u32,
    },
}

impl Load {
    pub const fn closed(depth: u32, block_bytes: u32) -> Self {
        Self::Closed { depth, block_bytes }
    }

    pub const fn eager(depth: u32, block_bytes: u32) -> Self {
        Self::Eager { depth, block_bytes }
    }
}

/// Counters of these words, in the order of their fields.
pub fn counters_of(words: [u64; 9]) -> Counters {
    Counters {
        requests: words[0],
        bytes: words[1],
        notifications: words[2],
        held: words[3],
        held_ns: words[4],
        in_flight: words[5],
        looks: words[6],
        spun_ns: words[7],
        busy_ns: words[8],
    }
}

pub struct Lane {
    controller: Box<dyn Controller>,
    pub moderator: Moderator,
    pub gate: Gate,
    load: Load,
    pub block_bytes: u32,
    pub queued: u32,
    pub unreaped: u32,
    pub wanted: u32,
    refill: Refill,
    arrival_ns: Option<u64>,
    submitted_ns: VecDeque<u64>,
    pub latencies_ns: Vec<u64>,
    pub counters: Counters,
    pub due_ns: Option<u64>,
    pub waking_ns: Option<u64>,
    held_since_ns: Option<u64>,
    hold_bound_ns: u64,
    pub overdue_ns: u64,
    pub held_alone: u64,
    pub refused: u64,
    pub next_tick_ns: u64,
    pub history: Vec<(u64, Settings)>,
}

impl Lane {
    pub fn new(controller: Box<dyn Controller>, now_ns: u64) -> Self {
        Self {
            moderator: Moderator::new(controller.moderation(), Settings::UNLIMITED),
            controller,
            gate: Gate::default(),
            load: Load::Idle,
            block_bytes: 0,
            queued: 0,
            unreaped: 0,
            wanted: 1,
            refill: Refill::new(1),
            arrival_ns: None,
            submitted_ns: VecDeque::new(),
            latencies_ns: Vec::new(),
            counters: Counters::default(),
            due_ns: None,
            waking_ns: None,
            held_since_ns: None,
            hold_bound_ns: 0,
            overdue_ns: 0,
            held_alone: 0,
            refused: 0,
            next_tick_ns: now_ns,
            history: Vec::new(),
        }
    }

    pub fn in_flight(&self) -> u32 {
        self.queued + self.unreaped
    }

    pub fn is_asleep(&self) -> bool {
        self.waking_ns.is_none()
    }

    pub fn settings(&self) -> Settings {
        self.moderator.settings()
    }

    pub fn change(&mut self, load: Load, now_ns: u64, random: &mut Random) {
        self.load = load;
        self.arrival_ns = None;
        match load {
            Load::Idle => {}
            Load::Closed { depth, block_bytes } | Load::Eager { depth, block_bytes } => {
                self.block_bytes = block_bytes;
                self.refill = Refill::new(depth as usize);
                self.refill_to(depth, now_ns);
            }
            Load::Open { block_bytes, .. } => {
                self.block_bytes = block_bytes;
                self.wanted = 1;
                self.schedule(now_ns, random);
            }
        }
    }

    fn schedule(&mut self, from_ns: u64, random: &mut Random) {
        if let Load::Open { per_s, .. } = self.load {
            self.arrival_ns = Some(from_ns + (random.gap() * 1e9 / per_s) as u64);
        }
    }

    pub fn arrive(&mut self, now_ns: u64, random: &mut Random) {
        while let (Some(at_ns), Load::Open { window, .. }) = (self.arrival_ns, self.load)
            && at_ns <= now_ns
        {
            if self.in_flight() < window {
                self.submit(1, at_ns);
            } else {
                self.refused += 1;
            }
            self.schedule(at_ns, random);
        }
    }

    fn submit(&mut self, count: u32, at_ns: u64) {
        self.queued += count;
        self.submitted_ns.extend((0..count).map(|_| at_ns));
    }

    fn refill_to(&mut self, depth: u32, now_ns: u64) {
        self.submit(depth.saturating_sub(self.in_flight()), now_ns);
        self.wanted = match self.load {
            Load::Closed { .. } => self.refill.wanted(self.in_flight() as usize) as u32,
            _ => 1,
        };
    }

    pub fn complete(&mut self, done: u32) {
        self.queued -= done;
        self.unreaped += done;
        self.counters.requests += u64::from(done);
        self.counters.bytes += u64::from(done) * u64::from(self.block_bytes);
    }

    pub fn hold(&mut self, now_ns: u64, due_ns: u64) {
        if self.in_flight() <= 1 {
            self.held_alone += 1;
        }
        if self.held_since_ns.is_none() {
            self.held_since_ns = Some(now_ns);
            self.hold_bound_ns = 0;
        }
        self.widen_bound();
        self.due_ns = Some(due_ns);
    }

    fn widen_bound(&mut self) {
        let settings = self.settings();
        let bound_ns = settings.timeout_ns().max(settings.interval_ns().into());
        self.hold_bound_ns = self.hold_bound_ns.max(bound_ns);
    }

    pub fn release(&mut self, now_ns: u64) {
        self.due_ns = None;
        if let Some(since_ns) = self.held_since_ns.take() {
            let held_ns = now_ns - since_ns;
            self.counters.held += 1;
            self.counters.held_ns += held_ns;
            let overdue_ns = held_ns.saturating_sub(self.hold_bound_ns);
            self.overdue_ns = self.overdue_ns.max(overdue_ns);
        }
    }

    pub fn notified(&mut self, now_ns: u64, signals: u32) {
        self.counters.notifications += u64::from(signals);
        self.counters.looks += 1;
        self.counters.in_flight += u64::from(self.in_flight());
        self.moderator.notified(now_ns, &mut self.gate);
    }

    pub fn reap(&mut self, now_ns: u64) {
        let reaped = self.submitted_ns.drain(..self.unreaped as usize);
        self.latencies_ns
            .extend(reaped.map(|at_ns| now_ns.saturating_sub(at_ns)));
        self.unreaped = 0;
        if let Load::Closed { depth, .. } | Load::Eager { depth, .. } = self.load {
            if self.controller.moderation() == Moderation::Armed {
                self.refill.woken(self.queued as usize);
            }
            self.refill_to(depth, now_ns);
        }
    }

    pub fn tick(&mut self, now_ns: u64, begin: u64) {
        let shifted = self.counters.plus(&counters_of([begin; 9]));
        self.observe(now_ns, &shifted);
        self.next_tick_ns = now_ns + self.controller.period_ns();
    }

    pub fn observe(&mut self, now_ns: u64, counters: &Counters) {
        let settings = self.controller.observe(now_ns, counters);
        if settings != self.settings() {
            self.history.push((now_ns, settings));
            self.moderator.set(settings);
            self.widen_bound();
        }
    }

    pub fn next_event_ns(&self) -> u64 {
        [self.due_ns, self.arrival_ns, self.waking_ns]
            .into_iter()
            .flatten()
            .fold(self.next_tick_ns, u64::min)
    }
}
