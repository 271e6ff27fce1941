//! Clients that live on their worker: they take in, sleep, are kicked awake, leave and
//! are sent away, and every request that they submitted ends once.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crypto::{Algorithm, Operation, Status};
use lockgate_engine::{
    CallError, CryptoEngine, CryptoFunction, CryptoLane, CryptoRequest, EvictError, FunctionConfig,
    Intake, LaneConfig, Resident, Session, SessionId, Span, Tenancy,
};
use policy::{Moderation, Quota};
use sys::event::Event;

use crate::common::crypto_lane::{aws_lc, call, engine};
use crate::common::{LONG, lane_config, until, with_quota};

/// What a toy and its client share.
#[derive(Default)]
struct Shop {
    /// Not taken in yet, and by now.
    waiting: AtomicU32,
    taken: AtomicU32,
    done: AtomicU32,
    cancelled: AtomicU32,
    told: AtomicU32,
    looks: AtomicU64,
    is_armed: AtomicBool,
}

struct Toy {
    lane: CryptoLane,
    session: SessionId,
    shop: Arc<Shop>,
    kick: OwnedFd,
}

impl Toy {
    fn has_some(&self) -> bool {
        let is_waiting = self.shop.waiting.load(Ordering::SeqCst) > 0;
        is_waiting && self.lane.is_open() && self.lane.room() > 0
    }
}

impl Resident for Toy {
    fn kick(&self) -> BorrowedFd<'_> {
        self.kick.as_fd()
    }

    fn inhale(&mut self) -> Intake {
        self.shop.looks.fetch_add(1, Ordering::Relaxed);
        let mut intake = Intake::default();
        while self.has_some() {
            let span = [Span::slab(0, 16)];
            let call = call(self.session, Operation::Encrypt, &span, &span);
            match self.lane.enqueue(&call, 0) {
                Ok(()) => {}
                // After a reset.
                Err(CallError::SessionEnded) => {
                    self.shop.cancelled.fetch_add(1, Ordering::SeqCst);
                }
                Err(error) => panic!("{error}"),
            }
            self.shop.waiting.fetch_sub(1, Ordering::SeqCst);
            self.shop.taken.fetch_add(1, Ordering::SeqCst);
            self.shop.is_armed.store(false, Ordering::SeqCst);
            intake.is_some = true;
            intake.work_ns += 50;
        }
        self.lane.show_here();
        intake
    }

    fn exhale(&mut self) {
        self.lane.reap(usize::MAX, |done| {
            let counter = match done.status {
                Status::Ok => &self.shop.done,
                Status::Cancelled => &self.shop.cancelled,
                other => panic!("{other:?}"),
            };
            counter.fetch_add(1, Ordering::SeqCst);
        });
    }

    fn arm(&mut self) -> bool {
        self.shop.is_armed.store(true, Ordering::SeqCst);
        self.has_some()
    }

    fn unreaped(&mut self) -> u32 {
        self.shop.ended() - self.shop.told.load(Ordering::SeqCst)
    }

    fn is_awaited(&mut self) -> bool {
        self.unreaped() > 0
    }

    fn tell(&mut self) -> bool {
        let is_awaited = self.is_awaited();
        self.shop.told.store(self.shop.ended(), Ordering::SeqCst);
        is_awaited
    }
}

impl Shop {
    /// Kicks only whom asks for it.
    fn brings(&self, count: u32, event: &Event) {
        self.waiting.fetch_add(count, Ordering::SeqCst);
        if self.is_armed.swap(false, Ordering::SeqCst) {
            event.signal();
        }
    }

    fn ended(&self) -> u32 {
        self.done.load(Ordering::SeqCst) + self.cancelled.load(Ordering::SeqCst)
    }

    fn taken(&self) -> u32 {
        self.taken.load(Ordering::SeqCst)
    }

    fn looks(&self) -> u64 {
        self.looks.load(Ordering::SeqCst)
    }
}

type Stay = Tenancy<CryptoRequest, Toy>;

struct Customer {
    shop: Arc<Shop>,
    event: Event,
    stay: Stay,
}

impl Customer {
    fn new(function: &CryptoFunction, depth: usize) -> Self {
        let event = Event::new().unwrap();
        let kick = event.as_fd().try_clone_to_owned().unwrap();
        let (shop, stay) = settle(function, depth, kick);
        Self { shop, event, stay }
    }

    fn brings(&self, count: u32) {
        self.shop.brings(count, &self.event);
    }

    fn sees(&self, count: u32) {
        until("all ends", || self.shop.ended() == count);
        until("all is told", || {
            self.shop.told.load(Ordering::SeqCst) == count
        });
    }
}

fn session(function: &CryptoFunction) -> Arc<Session> {
    let key = crypto::generate_key(Algorithm::Aes128Cbc);
    function.session(Algorithm::Aes128Cbc, &key).unwrap()
}

fn settle(function: &CryptoFunction, depth: usize, kick: OwnedFd) -> (Arc<Shop>, Stay) {
    let shop: Arc<Shop> = Arc::default();
    let (own, session) = (Arc::clone(&shop), session(function));
    let config = LaneConfig {
        order: lockgate_engine::Order::Fifo,
        ..lane_config(depth, Moderation::Armed)
    };
    let make = move |mut lane: CryptoLane| Toy {
        session: lane.attach(&session).unwrap(),
        lane,
        shop: own,
        kick,
    };
    let stay = function.settle(0, config, 4096, 4, make).unwrap();
    (shop, stay)
}

fn rig(config: FunctionConfig) -> (CryptoEngine, CryptoFunction) {
    let engine = engine(aws_lc());
    let function = engine.function(config).unwrap();
    (engine, function)
}

fn unlimited() -> (CryptoEngine, CryptoFunction) {
    rig(FunctionConfig::default())
}

/// One request a second: next to nothing.
fn throttled() -> (CryptoEngine, CryptoFunction) {
    rig(with_quota(Quota::UNLIMITED.and_requests(1).unwrap()))
}

#[test]
fn a_resident_sleeps_and_is_kicked_awake() {
    let (engine, function) = unlimited();
    let customer = Customer::new(&function, 32);
    for round in 1..=100 {
        until("it is armed", || {
            customer.shop.is_armed.load(Ordering::SeqCst)
        });
        customer.brings(3);
        customer.sees(3 * round);
    }
    assert_eq!(function.counters().requests, 300);
    assert!(engine.counters(0).sleeps > 0);
}

/// Whom nothing came for long is left to its kicks, and they are seen though the worker
/// never sleeps.
#[test]
fn a_kick_is_seen_while_another_resident_is_busy() {
    let (_engine, function) = unlimited();
    let (busy, quiet) = (Customer::new(&function, 32), Customer::new(&function, 32));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (shop, event) = (&busy.shop, &busy.event);
        let is_over = &is_over;
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                if shop.waiting.load(Ordering::SeqCst) < 64 {
                    shop.brings(64, event);
                }
                std::thread::yield_now();
            }
        });
        until("one is busy", || busy.shop.taken() > 0);
        for round in 1..=50 {
            until("it is armed", || quiet.shop.is_armed.load(Ordering::SeqCst));
            quiet.brings(1);
            quiet.sees(round);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_resident_leaves_with_all_that_it_took_done() {
    let (_engine, function) = unlimited();
    for _ in 0..50 {
        let mut customer = Customer::new(&function, 8);
        customer.brings(40);
        let toy = customer.stay.evict(false, LONG).unwrap();
        let shop = &customer.shop;
        assert_eq!(
            (shop.done.load(Ordering::SeqCst), toy.lane.in_flight()),
            (shop.taken(), 0)
        );
        assert_eq!(toy.lane.closed(), Some(lockgate_engine::Closed::Removed));
        // It is over: there is no second time.
        assert!(matches!(
            customer.stay.evict(false, LONG),
            Err(EvictError::Ended)
        ));
    }
}

#[test]
fn a_resident_that_is_held_up_leaves_when_it_is_cancelled() {
    let (_engine, function) = throttled();
    let mut customer = Customer::new(&function, 16);
    customer.brings(20);
    until("they are taken", || customer.shop.taken() >= 16);
    let little = Duration::from_millis(20);
    for _ in 0..3 {
        let evicted = customer.stay.evict(false, little).map(drop);
        assert_eq!(evicted, Err(EvictError::TimedOut(little)));
    }
    let toy = customer.stay.evict(true, LONG).unwrap();
    assert_eq!(toy.lane.in_flight(), 0);
    assert_eq!(customer.shop.ended(), customer.shop.taken());
    assert!(customer.shop.cancelled.load(Ordering::SeqCst) >= 14);
}

#[test]
fn residents_end_with_their_function_and_with_their_worker() {
    for is_removed in [true, false] {
        let (engine, function) = throttled();
        let mut customer = Customer::new(&function, 16);
        customer.brings(16);
        until("they are taken", || customer.shop.taken() == 16);
        if is_removed {
            function.remove(LONG).unwrap();
        } else {
            drop(engine);
        }
        // The toy is gone, and has seen the end of all.
        until("it is dropped", || Arc::strong_count(&customer.shop) == 1);
        assert_eq!(customer.shop.ended(), 16);
        assert!(matches!(
            customer.stay.evict(true, LONG),
            Err(EvictError::Ended)
        ));
    }
}

#[test]
fn a_stay_that_is_dropped_ends_the_resident() {
    let (_engine, function) = throttled();
    let customer = Customer::new(&function, 16);
    customer.brings(16);
    until("they are taken", || customer.shop.taken() == 16);
    let Customer { shop, stay, .. } = customer;
    drop(stay);
    until("it is dropped", || Arc::strong_count(&shop) == 1);
    assert_eq!(shop.ended(), 16);
    let other = Customer::new(&function, 4);
    function.set_quota(Quota::UNLIMITED);
    other.brings(9);
    other.sees(9);
}

/// A lane that is full and held up is no reason to look all the time.
#[test]
fn a_full_lane_lets_the_worker_sleep() {
    const COUNT: u32 = 60;
    let quota = Quota::UNLIMITED.and_requests(200).unwrap();
    let (engine, function) = rig(with_quota(quota));
    let customer = Customer::new(&function, 4);
    customer.brings(COUNT);
    customer.sees(COUNT);
    assert!(engine.counters(0).sleeps > 0);
    let looks = customer.shop.looks();
    assert!(
        looks < 1000 + u64::from(COUNT) * 20,
        "{looks} looks for {COUNT} requests"
    );
}

/// What a full lane left outside is taken in when a reset makes room, without a kick.
#[test]
fn a_reset_makes_room_for_what_waits_outside() {
    let (_engine, function) = throttled();
    let customer = Customer::new(&function, 4);
    customer.brings(16);
    until("the lane is full", || {
        customer.shop.taken() - customer.shop.ended() == 4
    });
    until("it is armed", || {
        customer.shop.is_armed.load(Ordering::SeqCst)
    });
    assert!(customer.shop.taken() < 16);
    function.reset(LONG).unwrap();
    until("all end", || customer.shop.ended() == 16);
}

/// Nothing is taken in while a function is drained, and nobody looks for it; all that
/// came meanwhile is, when it goes on.
#[test]
fn a_drained_function_leaves_its_residents_in_peace() {
    let (engine, function) = unlimited();
    let customer = Customer::new(&function, 4);
    customer.brings(2);
    customer.sees(2);
    for round in 0..20 {
        function.drain(LONG).unwrap();
        let (before, looks) = (customer.shop.ended(), customer.shop.looks());
        let slept = engine.counters(0).sleeps;
        customer.brings(10);
        until("the worker sleeps", || engine.counters(0).sleeps > slept);
        assert_eq!(customer.shop.ended(), before, "round {round}");
        let looks = customer.shop.looks() - looks;
        assert!(looks < 600, "{looks} looks");
        function.resume();
        customer.sees(before + 10);
    }
}

/// One whose kick cannot be waited for does not come to live there; the worker and its
/// other residents live on.
#[test]
fn a_kick_that_cannot_be_watched_ends_its_resident() {
    let (_engine, function) = unlimited();
    for _ in 0..3 {
        let file = OwnedFd::from(std::fs::File::open("/proc/self/exe").unwrap());
        let (shop, mut stay) = settle(&function, 4, file);
        until("it is dropped", || Arc::strong_count(&shop) == 1);
        assert!(matches!(stay.evict(false, LONG), Err(EvictError::Ended)));
    }
    let customer = Customer::new(&function, 4);
    customer.brings(9);
    customer.sees(9);
}
