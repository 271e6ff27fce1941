//! A worker that a virtual function holds up goes on for the others, and nothing of that
//! function is lost, done twice or done meanwhile.

use std::collections::BTreeMap;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crypto::Status;
use lockgate_engine::{
    Batch, Closed, DrainError, EndError, Engine, FunctionConfig, Lane, Outcomes, Service,
    VirtualFunction, WorkerConfig,
};
use policy::Moderation;
use proptest::prelude::*;
use sys::clock::now_ns;

use crate::common::{LONG, lane_config, until};

/// Whoever goes through waits until it is opened, as for a page that is on its way: the
/// kernel says that he waits, and does not break it off.
#[derive(Clone)]
struct Gates(Arc<Mutex<BTreeMap<u64, Gate>>>);

struct Gate {
    reader: Arc<PipeReader>,
    writer: PipeWriter,
    is_reached: bool,
}

impl Gates {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn make(&self, number: u64) {
        let (reader, writer) = pipe().unwrap();
        let gate = Gate {
            reader: Arc::new(reader),
            writer,
            is_reached: false,
        };
        self.0.lock().unwrap().insert(number, gate);
    }

    /// Somebody has come to it.
    fn is_reached(&self, number: u64) {
        until("it is reached", || {
            self.0.lock().unwrap()[&number].is_reached
        });
    }

    fn pass(&self, number: u64) -> bool {
        let reader = {
            let mut gates = self.0.lock().unwrap();
            let gate = gates.get_mut(&number).unwrap();
            gate.is_reached = true;
            Arc::clone(&gate.reader)
        };
        let mut byte = [0];
        // Closed at a test's end.
        let is_open = (&*reader).read_exact(&mut byte).is_ok();
        is_open && byte[0] == b'p'
    }

    fn open(&self, number: u64) {
        (&self.0.lock().unwrap()[&number].writer)
            .write_all(b"o")
            .unwrap();
    }

    /// Whoever passes it panics.
    fn trap(&self, number: u64) {
        (&self.0.lock().unwrap()[&number].writer)
            .write_all(b"p")
            .unwrap();
    }
}

#[derive(Clone, Copy, Debug)]
struct Task {
    number: u64,
    is_gated: bool,
}

/// Counts how often each task was done.
struct Doorman {
    gates: Gates,
    done: Arc<[AtomicU64]>,
}

impl Service for Doorman {
    type Request = Task;

    fn bytes(_: &Task) -> usize {
        1
    }

    fn process(&mut self, requests: Batch<'_, Task>, outcomes: &mut Outcomes<'_, Task>) {
        for (index, task) in requests.iter().enumerate() {
            if task.is_gated {
                assert!(!self.gates.pass(task.number), "planted");
            }
            self.done[task.number as usize].fetch_add(1, Ordering::Relaxed);
            outcomes.complete(index, Status::Ok);
            outcomes.publish();
        }
    }
}

const TASKS_MAX: usize = 4096;

struct House {
    engine: Option<Engine<Doorman>>,
    gates: Gates,
    done: Arc<[AtomicU64]>,
    next: u64,
    overseer: Option<std::thread::JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

impl House {
    fn new(stand_ins: usize) -> Self {
        let gates = Gates::new();
        let done: Arc<[AtomicU64]> = (0..TASKS_MAX).map(|_| AtomicU64::new(0)).collect();
        let of_service = (gates.clone(), Arc::clone(&done));
        let config = WorkerConfig {
            stand_ins,
            is_core_shared: true,
            ..WorkerConfig::default()
        };
        let engine = Engine::start(&[config], move |_| Doorman {
            gates: of_service.0.clone(),
            done: Arc::clone(&of_service.1),
        });
        let engine = engine.unwrap();
        let mut overseer = engine.overseer();
        let is_over = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&is_over);
        let overseer = std::thread::spawn(move || {
            while !own.load(Ordering::Relaxed) {
                overseer.look(now_ns(), |_| {});
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Self {
            engine: Some(engine),
            gates,
            done,
            next: 0,
            overseer: Some(overseer),
            is_over,
        }
    }

    fn function(&self) -> VirtualFunction<Task> {
        let engine = self.engine.as_ref().unwrap();
        engine.function(FunctionConfig::default()).unwrap()
    }

    fn submit(&mut self, lane: &mut Lane<Task>, is_gated: bool) -> u64 {
        let number = self.next;
        self.next += 1;
        if is_gated {
            self.gates.make(number);
        }
        lane.submit(Task { number, is_gated }, number).unwrap();
        number
    }

    /// Submits a task that holds the worker up. It has come that far: one that was held up
    /// before pays for that first.
    fn holds_up(&mut self, lane: &mut Lane<Task>) -> u64 {
        let number = self.submit(lane, true);
        self.gates.is_reached(number);
        number
    }

    fn times(&self, number: u64) -> u64 {
        self.done[number as usize].load(Ordering::Relaxed)
    }

    fn is_done(&self, number: u64) {
        until("it is done", || self.times(number) == 1);
    }

    /// Does something for others, of which the one that is held up takes no part.
    fn serves(&mut self, lane: &mut Lane<Task>) {
        for _ in 0..3 {
            let number = self.submit(lane, false);
            assert!(lane.wait(1, LONG).is_ok());
            lane.reap(4, |one| {
                assert_eq!((one.token, one.status), (number, Status::Ok))
            });
        }
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.overseer.take().unwrap().join();
        // Else a failed test would wait for its worker for ever.
        let gates = std::mem::take(&mut *self.gates.0.lock().unwrap());
        drop(gates);
    }
}

fn lane(function: &VirtualFunction<Task>) -> Lane<Task> {
    function
        .lane(0, lane_config(16, Moderation::Armed))
        .unwrap()
}

fn reaped(lane: &mut Lane<Task>, count: usize) -> Vec<(u64, Status)> {
    let mut all = Vec::new();
    while all.len() < count {
        assert!(lane.wait(1, LONG).is_ok(), "{all:?}");
        lane.reap(16, |one| all.push((one.token, one.status)));
    }
    all.sort_by_key(|one| one.0);
    all
}

#[test]
fn others_are_served_while_one_holds_the_worker_up() {
    let mut house = House::new(1);
    let (held, free) = (house.function(), house.function());
    let (mut lanes, mut other) = ([lane(&held), lane(&held)], lane(&free));
    for _ in 0..3 {
        let first = house.submit(&mut lanes[0], true);
        house.serves(&mut other);
        // All of its lanes wait: its keys are in use.
        let later: Vec<u64> = lanes
            .iter_mut()
            .map(|lane| house.submit(lane, false))
            .collect();
        let mut late = lane(&held);
        let latest = house.submit(&mut late, false);
        house.serves(&mut other);
        for number in later.iter().chain([&first, &latest]) {
            assert_eq!(house.times(*number), 0);
        }
        house.gates.open(first);
        assert_eq!(
            reaped(&mut lanes[0], 2),
            [(first, Status::Ok), (later[0], Status::Ok)]
        );
        assert_eq!(reaped(&mut lanes[1], 1), [(later[1], Status::Ok)]);
        assert_eq!(reaped(&mut late, 1), [(latest, Status::Ok)]);
        house.serves(&mut other);
    }
}

#[test]
fn as_many_hold_it_up_at_a_time_as_stand_by() {
    let mut house = House::new(2);
    let held = [house.function(), house.function()];
    let free = house.function();
    let (mut lanes, mut other) = (held.each_ref().map(lane), lane(&free));
    let gated = [0, 1].map(|one| {
        let number = house.submit(&mut lanes[one], true);
        house.serves(&mut other);
        number
    });
    // In the order in which they came, and the other way round.
    for one in [1, 0] {
        house.gates.open(gated[one]);
        house.is_done(gated[one]);
        house.serves(&mut other);
        assert_eq!(reaped(&mut lanes[one], 1), [(gated[one], Status::Ok)]);
    }
    // One more than stand by waits, and all with it, until one is back.
    let mut third = lane(&free);
    let gated = [0, 1].map(|one| house.submit(&mut lanes[one], true));
    house.serves(&mut other);
    let last = house.submit(&mut third, true);
    for number in gated.iter().chain([&last]) {
        house.gates.open(*number);
    }
    for number in gated.iter().chain([&last]) {
        house.is_done(*number);
    }
    house.serves(&mut other);
}

#[test]
fn what_is_asked_of_it_meanwhile_is_done_when_it_is_back() {
    let mut house = House::new(1);
    let free = house.function();
    let mut other = lane(&free);
    // Drained.
    let held = house.function();
    let mut own = lane(&held);
    let gated = house.holds_up(&mut own);
    let later = house.submit(&mut own, false);
    house.serves(&mut other);
    let soon = Duration::from_millis(20);
    let drained = held.drain(soon);
    assert!(
        matches!(drained, Err(DrainError::TimedOut { .. })),
        "{drained:?}"
    );
    house.gates.open(gated);
    held.drain(LONG).unwrap();
    assert_eq!((house.times(gated), house.times(later)), (1, 1));
    held.resume();
    // Reset: what was begun is done, what was not is cancelled.
    reaped(&mut own, 2);
    let gated = house.holds_up(&mut own);
    house.serves(&mut other);
    let later = house.submit(&mut own, false);
    let reset = held.reset(soon);
    assert!(matches!(reset, Err(EndError::TimedOut { .. })), "{reset:?}");
    house.serves(&mut other);
    house.gates.open(gated);
    assert_eq!(
        reaped(&mut own, 2),
        [(gated, Status::Ok), (later, Status::Cancelled)]
    );
    assert_eq!(house.times(later), 0);
    // Its client leaves.
    let gated = house.holds_up(&mut own);
    house.serves(&mut other);
    drop(own);
    house.serves(&mut other);
    house.gates.open(gated);
    house.is_done(gated);
    // Removed.
    let mut own = lane(&held);
    let gated = house.holds_up(&mut own);
    house.serves(&mut other);
    let removed = held.remove(soon);
    assert!(matches!(removed, Err(EndError::TimedOut { .. })));
    house.serves(&mut other);
    house.gates.open(gated);
    until("it is closed", || own.closed() == Some(Closed::Removed));
    house.serves(&mut other);
}

#[test]
fn a_panic_of_one_who_was_relieved_ends_that_lane_alone() {
    let mut house = House::new(1);
    let (held, free) = (house.function(), house.function());
    let (mut lanes, mut other) = ([lane(&held), lane(&held)], lane(&free));
    for _ in 0..3 {
        let gated = house.submit(&mut lanes[0], true);
        house.serves(&mut other);
        house.gates.trap(gated);
        until("it is closed", || {
            lanes[0].closed() == Some(Closed::WorkerFailed)
        });
        house.serves(&mut lanes[1]);
        house.serves(&mut other);
        lanes[0] = lane(&held);
    }
}

#[test]
fn a_stop_finishes_what_is_there_and_waits_for_who_is_held_up() {
    for stand_ins in [0, 1] {
        let mut house = House::new(stand_ins);
        let (held, free) = (house.function(), house.function());
        let (mut own, mut other) = (lane(&held), lane(&free));
        let gated = house.holds_up(&mut own);
        let later = house.submit(&mut own, false);
        if stand_ins > 0 {
            house.serves(&mut other);
        }
        let engine = house.engine.take().unwrap();
        let stopping = std::thread::spawn(move || engine.shutdown());
        if stand_ins > 0 {
            house.serves(&mut other);
        }
        // Its keys are in use.
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!((own.closed(), stopping.is_finished()), (None, false));
        house.gates.open(gated);
        stopping.join().unwrap();
        assert_eq!(own.closed(), Some(Closed::Shutdown));
        assert_eq!(
            reaped(&mut own, 2),
            [(gated, Status::Ok), (later, Status::Ok)]
        );
    }
}

/// What ends a worker ends nothing that somebody uses who is held up.
#[test]
fn a_worker_that_panics_waits_for_who_is_held_up() {
    let mut house = House::new(1);
    let (held, free) = (house.function(), house.function());
    let (mut own, mut other) = (lane(&held), lane(&free));
    let gated = house.holds_up(&mut own);
    house.serves(&mut other);
    let trapped = house.submit(&mut other, true);
    house.gates.trap(trapped);
    until("its owner is told", || {
        other.closed() == Some(Closed::WorkerFailed)
    });
    let soon = Duration::from_millis(20);
    let reset = held.reset(soon);
    assert!(matches!(reset, Err(EndError::TimedOut { .. })), "{reset:?}");
    house.gates.open(gated);
    held.reset(LONG).unwrap();
    assert_eq!(reaped(&mut own, 1), [(gated, Status::Ok)]);
    until("it is closed", || {
        own.closed() == Some(Closed::WorkerFailed)
    });
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Submit { lane: usize, is_gated: bool },
    Open { of: usize },
    Reset { function: usize },
    Renew { lane: usize },
    Pause,
}

fn step() -> impl Strategy<Value = Step> {
    let lane = 0..LANES;
    prop_oneof![
        6 => (lane.clone(), prop::bool::weighted(0.2))
            .prop_map(|(lane, is_gated)| Step::Submit { lane, is_gated }),
        3 => (0..8_usize).prop_map(|of| Step::Open { of }),
        1 => (0..FUNCTIONS).prop_map(|function| Step::Reset { function }),
        1 => lane.prop_map(|lane| Step::Renew { lane }),
        3 => Just(Step::Pause),
    ]
}

const FUNCTIONS: usize = 3;
const LANES: usize = 2 * FUNCTIONS;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: testing::cases(24, 2000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever comes in whatever order: each task ends once, and was done once if it
    /// ended well, and not at all if it was cancelled.
    #[test]
    fn every_task_ends_once(steps in prop::collection::vec(step(), 1..80), stand_ins in 1..3_usize) {
        let mut house = House::new(stand_ins);
        let functions: Vec<_> = (0..FUNCTIONS).map(|_| house.function()).collect();
        let mut lanes: Vec<_> = (0..LANES).map(|at| lane(&functions[at / 2])).collect();
        let mut in_flight = vec![0; LANES];
        let mut shut: Vec<u64> = Vec::new();
        let mut ended = BTreeMap::new();
        for step in steps {
            match step {
                Step::Submit { lane, is_gated } if in_flight[lane] < 16 => {
                    let number = house.submit(&mut lanes[lane], is_gated);
                    in_flight[lane] += 1;
                    if is_gated {
                        shut.push(number);
                    }
                }
                Step::Open { of } if !shut.is_empty() => {
                    house.gates.open(shut.swap_remove(of % shut.len()));
                }
                Step::Reset { function } => {
                    let _ = functions[function].reset(Duration::ZERO);
                }
                // Its client leaves; what it submitted is done.
                Step::Renew { lane: at } => {
                    lanes[at] = lane(&functions[at / 2]);
                    in_flight[at] = 0;
                }
                Step::Pause => std::thread::sleep(Duration::from_millis(4)),
                Step::Submit { .. } | Step::Open { .. } => {}
            }
            for (lane, in_flight) in lanes.iter_mut().zip(&mut in_flight) {
                lane.reap(16, |one| {
                    *in_flight -= 1;
                    assert_eq!(ended.insert(one.token, one.status), None);
                });
            }
        }
        for number in shut {
            house.gates.open(number);
        }
        for (lane, in_flight) in lanes.iter_mut().zip(&in_flight) {
            for (number, status) in reaped(lane, *in_flight) {
                assert_eq!(ended.insert(number, status), None);
            }
        }
        drop(house.engine.take());
        for number in 0..house.next {
            let times = house.times(number);
            match ended.get(&number) {
                Some(Status::Ok) => prop_assert_eq!(times, 1),
                Some(status) => prop_assert_eq!((*status, times), (Status::Cancelled, 0)),
                // Of clients that left.
                None => prop_assert!(times <= 1),
            }
        }
    }
}
