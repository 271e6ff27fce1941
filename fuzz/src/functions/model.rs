//! What must be true of virtual functions and their lanes after each step.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crypto::Status;
use engine::{
    Batch, Closed, Completion, Engine, FunctionConfig, Hint, Lane, LaneConfig, LaneError, Life,
    Order, Outcomes, Service, SubmitError, VirtualFunction, WorkerConfig,
};
use policy::{Moderation, Quota, Settings, WEIGHT_MAX};

use super::super::bytes::Bytes;

/// Nothing an input asks for takes that long: reaching it is a lost wake-up.
const LONG: Duration = Duration::from_secs(8);

const FUNCTIONS_MAX: usize = 4;
const LANES_MAX: usize = 8;
const LANES_EACH: usize = 3;

/// A request that is charged so much.
#[derive(Clone, Copy, Debug)]
struct Work {
    work_ns: u64,
    bytes: u32,
}

/// Does nothing, exactly once.
struct Nothing {
    width: usize,
}

impl Service for Nothing {
    type Request = Work;

    fn width(&self) -> usize {
        self.width
    }

    fn bytes(request: &Work) -> usize {
        request.bytes as usize
    }

    fn work_ns(&self, request: &Work) -> u64 {
        request.work_ns
    }

    fn split(&mut self, request: &mut Work, bytes: usize) -> Option<Work> {
        let bytes = u32::try_from(bytes).ok()?;
        let first = Work { bytes, ..*request };
        request.bytes -= bytes;
        Some(first)
    }

    fn process(&mut self, requests: Batch<'_, Work>, outcomes: &mut Outcomes<'_, Work>) {
        // Backwards, so that no order is right by accident.
        for index in (0..requests.len()).rev() {
            outcomes.complete(index, Status::Ok);
            if index.is_multiple_of(5) {
                outcomes.publish();
            }
        }
    }
}

/// A lane, the function it is of, and the tokens in flight on it.
struct Client {
    lane: Lane<Work>,
    function: Option<u64>,
    in_flight: BTreeSet<u64>,
    /// Its function was reset or removed with requests in flight.
    may_cancel: bool,
}

/// A function, by a number that is never used again.
struct Tenant {
    number: u64,
    function: VirtualFunction<Work>,
}

pub(super) struct Model {
    engine: Option<Engine<Nothing>>,
    workers: usize,
    tenants: Vec<Tenant>,
    clients: Vec<Client>,
    /// Tokens and functions so far.
    count: u64,
}

impl Model {
    pub(super) fn start(input: &mut Bytes<'_>) -> Self {
        let config = WorkerConfig {
            is_core_shared: true,
            ..WorkerConfig::default()
        };
        let workers = 1 + input.below(2);
        let width = input.pick(&[1, 1, 4, 32]);
        let engine = Engine::start(&vec![config; workers], move |_| Nothing { width });
        Self {
            engine: Some(engine.expect("threads can be had")),
            workers,
            tenants: Vec::new(),
            clients: Vec::new(),
            count: 0,
        }
    }

    /// Does one thing, and looks whether all still is as it must be.
    pub(super) fn step(&mut self, input: &mut Bytes<'_>) {
        match input.below(24) {
            0 | 1 => self.create(input),
            2..5 => self.open(input),
            5 => self.remove(input),
            6 if input.below(8) == 0 => self.engine = None,
            7 | 8 if !self.clients.is_empty() => {
                let which = input.below(self.clients.len());
                drop(self.clients.swap_remove(which));
            }
            9..14 => self.change(input),
            _ if !self.clients.is_empty() => {
                let which = input.below(self.clients.len());
                self.clients[which].act(&mut self.count, input);
            }
            _ => {}
        }
        for client in &self.clients {
            assert_eq!(client.lane.in_flight(), client.in_flight.len());
        }
    }

    fn create(&mut self, input: &mut Bytes<'_>) {
        let Some(engine) = &self.engine else { return };
        if self.tenants.len() == FUNCTIONS_MAX {
            return;
        }
        let config = FunctionConfig {
            weight: weight(input),
            quota: quota(input),
            settings: settings(input),
            lanes_max: LANES_EACH,
            ..FunctionConfig::default()
        };
        let function = engine.function(config).expect("few, and all in range");
        self.count += 1;
        let number = self.count;
        self.tenants.push(Tenant { number, function });
    }

    fn open(&mut self, input: &mut Bytes<'_>) {
        let Some(engine) = &self.engine else { return };
        if self.clients.len() == LANES_MAX {
            return;
        }
        let config = LaneConfig {
            depth: 1 + input.below(70),
            moderation: input.pick(&Moderation::ALL),
            settings: settings(input),
            piece_bytes: input.pick(&[None, Some(512), Some(4096)]),
            order: input.pick(&[Order::Any, Order::Fifo]),
            is_core_shared: true,
            ..LaneConfig::default()
        };
        let worker = input.below(self.workers);
        let which = input.below(self.tenants.len() + 1);
        let tenant = self.tenants.get(which);
        let lane = match tenant {
            Some(tenant) => tenant.function.lane(worker, config),
            None => engine.lane(worker, config),
        };
        match (lane, tenant) {
            (Ok(lane), _) => self.clients.push(Client {
                lane,
                function: tenant.map(|tenant| tenant.number),
                in_flight: BTreeSet::new(),
                may_cancel: false,
            }),
            (Err(LaneError::Share { lanes }), Some(_)) => assert_eq!(lanes, LANES_EACH),
            (Err(LaneError::TooOften { .. }), Some(_)) => {}
            (Err(LaneError::Ended(life)), Some(_)) => assert_eq!(life, Life::Draining),
            (Err(error), _) => panic!("{error}"),
        }
    }

    fn remove(&mut self, input: &mut Bytes<'_>) {
        if self.tenants.is_empty() {
            return;
        }
        let which = input.below(self.tenants.len());
        let tenant = self.tenants.swap_remove(which);
        self.cancels(tenant.number);
        if input.below(3) == 0 {
            drop(tenant);
            return;
        }
        tenant.function.remove(LONG).expect("no batch takes long");
        let own = |client: &&Client| client.function == Some(tenant.number);
        for client in self.clients.iter().filter(own) {
            let closed = client.lane.closed();
            assert!(matches!(closed, Some(Closed::Removed | Closed::Shutdown)));
        }
    }

    fn cancels(&mut self, number: u64) {
        for client in &mut self.clients {
            client.may_cancel |= client.function == Some(number);
        }
    }

    fn change(&mut self, input: &mut Bytes<'_>) {
        if self.tenants.is_empty() {
            return;
        }
        let which = input.below(self.tenants.len());
        let function = &self.tenants[which].function;
        match input.below(7) {
            0 => function.set_weight(weight(input)).expect("in range"),
            1 => function.set_quota(quota(input)),
            2 => function.watch().set(settings(input)),
            3 => {
                // A quota may hold it up.
                let limit = Duration::from_micros(input.below(64) as u64 * 20);
                if function.drain(limit).is_ok() {
                    assert_eq!(function.life(), Life::Draining);
                }
            }
            4 | 5 => function.resume(),
            _ => {
                self.cancels(self.tenants[which].number);
                let function = &self.tenants[which].function;
                function.reset(LONG).expect("no batch takes long");
            }
        }
    }

    /// Everything in flight comes back.
    pub(super) fn finish(mut self) {
        for tenant in &self.tenants {
            tenant.function.set_quota(Quota::UNLIMITED);
            assert!(tenant.function.counters().lanes <= LANES_EACH);
        }
        for client in &mut self.clients {
            let began = Instant::now();
            while !client.in_flight.is_empty() {
                let _ = client.lane.wait(usize::MAX, LONG);
                let counters = client.lane.counters();
                assert!(began.elapsed() < LONG, "stranded: {counters:?}");
                client.reap(usize::MAX);
            }
            let counters = client.lane.counters();
            assert_eq!(counters.submitted, counters.reaped);
        }
    }
}

impl Client {
    fn act(&mut self, tokens: &mut u64, input: &mut Bytes<'_>) {
        match input.below(10) {
            0 => self.lane.kick(),
            1 | 2 => self.reap(input.below(80)),
            3 => {
                let limit = Duration::from_micros(input.below(64) as u64 * 8);
                let _ = self.lane.wait(input.below(80), limit);
            }
            _ => self.submit(tokens, input),
        }
    }

    fn submit(&mut self, tokens: &mut u64, input: &mut Bytes<'_>) {
        let work = Work {
            work_ns: input.pick(&[0, 1, 1000, 100_000, 10_000_000, u64::MAX]),
            bytes: input.pick(&[0, 16, 512, 5000, 70_000]),
        };
        for _ in 0..1 + input.below(40) {
            *tokens += 1;
            let hint = input.pick(&[Hint::None, Hint::None, Hint::Urgent, Hint::Barrier]);
            match self.lane.enqueue_with(work, *tokens, hint) {
                Ok(()) => {
                    self.in_flight.insert(*tokens);
                }
                Err(SubmitError::Full) => assert_eq!(self.lane.room(), 0),
                Err(SubmitError::Draining) => assert!(self.function.is_some()),
                Err(SubmitError::Closed(closed)) => {
                    assert_ne!(closed, Closed::WorkerFailed);
                }
            }
        }
        if input.below(2) == 0 {
            self.lane.kick();
        }
    }

    fn reap(&mut self, max: usize) {
        let may_cancel = self.may_cancel || self.lane.closed().is_some();
        let is_fifo = self.lane.config().order == Order::Fifo;
        let in_flight = &mut self.in_flight;
        self.lane.reap(max, |Completion { token, status }| {
            let is_first = in_flight.first() == Some(&token);
            assert!(in_flight.remove(&token), "{token} is not in flight");
            assert!(is_first || !is_fifo || may_cancel, "{token} overtook");
            match status {
                Status::Ok => {}
                Status::Cancelled => assert!(may_cancel, "{token}"),
                other => panic!("{other:?}"),
            }
        });
    }
}

fn weight(input: &mut Bytes<'_>) -> u32 {
    1 + input.below(WEIGHT_MAX as usize) as u32
}

/// None, or any limit of requests or bytes.
fn quota(input: &mut Bytes<'_>) -> Quota {
    let quota = Quota::UNLIMITED;
    match input.below(4) {
        0 => quota.and_requests(1 + 16 * input.below(1 << 16) as u64),
        1 => quota.and_bytes(1 + 10_000 * input.below(1 << 16) as u64),
        _ => Ok(quota),
    }
    .expect("in range")
}

fn settings(input: &mut Bytes<'_>) -> Settings {
    match input.below(4) {
        0 => Settings::cap(1000 + input.below(1 << 16) as u32),
        1 => Settings::coalesce(1 + input.below(60) as u32, 1 + input.below(400) as u32),
        _ => Ok(Settings::UNLIMITED),
    }
    .expect("in range")
}
