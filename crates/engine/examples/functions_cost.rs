//! What a request costs more where there are 1,000 virtual functions: with
//! one of them busy, and with all of them in turns. Client and worker on a
//! core each, AES-128-GCM; both arms interleaved, in pairs. Polled, by the
//! clock on the wall, which wants a quiet host; and in batches, asleep in
//! between, by the CPU time of worker and client, which others disturb less.
//!
//! `cargo run --release -p lockgate-engine --example functions_cost [FUNCTIONS] [PAIRS] [ROUND-MS]`

mod common;
#[path = "../tests/common/slots.rs"]
mod slots;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{CLIENT_CPU, WORKER_CPU, argument, pinned};
use crypto::{Algorithm, Backend, Kind, Operation, Workload};
use lockgate_engine::{CryptoEngine, CryptoFunction, FunctionConfig, LaneConfig, WorkerConfig};
use policy::Moderation;
use slots::{Slots, slab_bytes};

/// In flight where one function is busy among idle ones.
const DEPTH: usize = 64;
const SIZES: [usize; 3] = [64, 1024, 4096];
const KIND: Kind = Kind::new(Algorithm::Aes128Gcm, Operation::Encrypt);

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Polled,
    Batches,
}

/// Nanoseconds a request.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    wall: f64,
    worker: f64,
    client: f64,
}

struct Arm<'w> {
    clients: Vec<Slots<'w>>,
    busy: usize,
    _functions: Vec<CryptoFunction>,
    engine: CryptoEngine,
}

impl<'w> Arm<'w> {
    fn new(
        backend: &Arc<dyn Backend>,
        workload: &'w Workload,
        functions: usize,
        busy: usize,
        depth: usize,
        how: How,
    ) -> Self {
        let spin_us = if how == How::Polled { 20 } else { 0 };
        let worker = WorkerConfig {
            cpu: Some(WORKER_CPU),
            idle_spin: Some(Duration::from_micros(spin_us)),
            nice: 0,
            stand_ins: 0,
            is_core_shared: false,
        };
        let engine = CryptoEngine::start(Arc::clone(backend), &[worker])
            .expect("two CPUs")
            .for_measuring();
        let make = |_| {
            engine
                .function(FunctionConfig::default())
                .expect("no more than there may be")
        };
        let functions: Vec<CryptoFunction> = (0..functions).map(make).collect();
        let client = |function: &CryptoFunction| client(function, workload, depth, how);
        let mut clients: Vec<Slots<'w>> = functions[..busy].iter().map(client).collect();
        // The idle ones have a lane each, too, which was used once.
        let idle = functions[busy..].iter();
        clients.extend(idle.map(|function| self::client(function, workload, 1, how)));
        for client in &mut clients {
            client.fill();
            client.drain();
        }
        Self {
            clients,
            busy,
            _functions: functions,
            engine,
        }
    }

    fn round(&mut self, time: Duration, how: How) -> Cost {
        self.run(time / 4, how);
        self.run(time, how)
    }

    fn run(&mut self, time: Duration, how: How) -> Cost {
        let busy = &mut self.clients[..self.busy];
        let worker = || self.engine.cpu_time(0).expect("the worker runs");
        let before = (worker(), sys::clock::thread_cpu());
        let (begin, mut done) = (Instant::now(), 0);
        while begin.elapsed() < time {
            for client in &mut *busy {
                if how == How::Polled {
                    done += client.reap();
                }
                client.fill();
            }
            if how == How::Batches {
                done += busy.iter_mut().map(Slots::drain).sum::<usize>();
            }
        }
        let wall = begin.elapsed();
        let cpu = (worker() - before.0, sys::clock::thread_cpu() - before.1);
        for client in busy {
            client.drain();
        }
        let each = |time: Duration| time.as_nanos() as f64 / done.max(1) as f64;
        Cost {
            wall: each(wall),
            worker: each(cpu.0),
            client: each(cpu.1),
        }
    }
}

fn client<'w>(
    function: &CryptoFunction,
    workload: &'w Workload,
    depth: usize,
    how: How,
) -> Slots<'w> {
    let config = LaneConfig {
        depth,
        moderation: match how {
            How::Polled => Moderation::Polled,
            How::Batches => Moderation::Armed,
        },
        ..LaneConfig::default()
    };
    let mut lane = function
        .lane(0, config, slab_bytes(workload, depth), 1)
        .expect("memory and open files");
    let session = function
        .session(KIND.algorithm, &workload.material)
        .expect("the key was taken before");
    let session = lane.attach(&session).expect("of this function");
    Slots::new(lane, session, workload)
}

fn spread(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    [2, 1, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}

struct Pairs<'w> {
    one: Arm<'w>,
    many: Arm<'w>,
    how: How,
}

impl Pairs<'_> {
    fn compare(&mut self, name: &str, workload: &Workload, pairs: usize, time: Duration) {
        let mut costs = Vec::new();
        let before = self.many.engine.counters(0);
        for pair in 0..pairs {
            let how = self.how;
            let one = |own: &mut Self| pinned(CLIENT_CPU, || own.one.round(time, how));
            let many = |own: &mut Self| pinned(CLIENT_CPU, || own.many.round(time, how));
            costs.push(if pair.is_multiple_of(2) {
                let one = one(self);
                (one, many(self))
            } else {
                let many = many(self);
                (one(self), many)
            });
        }
        let after = self.many.engine.counters(0);
        let batches = (after.batches - before.batches).max(1) as f64;
        let requests = (after.requests - before.requests) as f64 / batches;
        let looks = (after.looks - before.looks) as f64 / batches;
        let ratio = |what: &str, part: fn(&Cost) -> f64| {
            let [median, low, high] = spread(costs.iter().map(|c| part(&c.1) / part(&c.0)));
            let [base, ..] = spread(costs.iter().map(|c| part(&c.0)));
            format!("{what} {base:.0} ns × {median:.3} ({low:.3} to {high:.3})")
        };
        let measured = match self.how {
            How::Polled => ratio("wall", |cost| cost.wall),
            How::Batches => format!(
                "{}, {}",
                ratio("worker", |cost| cost.worker),
                ratio("client", |cost| cost.client)
            ),
        };
        let bytes = workload.block_bytes;
        println!(
            "{name:<22} {bytes:>4} B: {measured}; {requests:.0} requests, {looks:.0} looks a breath"
        );
    }
}

struct Shape(usize, usize, usize);

fn main() {
    let (functions, pairs): (usize, usize) = (argument(1, "1000"), argument(2, "11"));
    let time = Duration::from_millis(argument(3, "30"));
    let backend = crypto::by_name("aws-lc").expect("the base back-end");
    for bytes in SIZES {
        let workload = Workload::new(&backend, KIND, bytes).expect("a size that the kind takes");
        for how in [How::Batches, How::Polled] {
            let arm = |Shape(functions, busy, depth)| {
                Arm::new(&backend, &workload, functions, busy, depth, how)
            };
            for (name, one, many) in [
                ("1 busy", Shape(1, 1, DEPTH), Shape(functions, 1, DEPTH)),
                (
                    "all busy, 1 each",
                    Shape(1, 1, functions),
                    Shape(functions, functions, 1),
                ),
                (
                    "all busy, 4 each",
                    Shape(1, 1, 4 * functions),
                    Shape(functions, functions, 4),
                ),
            ] {
                let (one, many) = (arm(one), arm(many));
                let name = format!("{how:?}, {name}");
                Pairs { one, many, how }.compare(&name, &workload, pairs, time);
            }
        }
    }
}
