//! Requests/s through one polled lane to a worker on another core, and what
//! of the back-end's own loop that is. A quick look, and something to profile;
//! the lab's sections measure with verdicts.
//!
//! `cargo run --release -p lockgate-engine --example lane_speed [ALGORITHM] [BYTES] [DEPTH] [BACK-END]`

use std::sync::Arc;
use std::time::{Duration, Instant};

use crypto::{Algorithm, Backend, Kind, RawLoop, Workload};
use lockgate_engine::{
    Call, CryptoEngine, CryptoLane, LaneConfig, RegionId, SessionId, Span, WorkerConfig,
};
use policy::Moderation;

const ROUNDS: usize = 20;
const ROUND: Duration = Duration::from_millis(50);
const CLIENT_CPU: usize = 0;
const WORKER_CPU: usize = 1;

fn argument<T: std::str::FromStr>(index: usize, usual: &str) -> T {
    let text = std::env::args().nth(index);
    let text = text.as_deref().unwrap_or(usual);
    text.parse().unwrap_or_else(|_| {
        eprintln!("'{text}' is no value for argument {index}");
        std::process::exit(2)
    })
}

/// Keeps `depth` requests in flight, one a slot.
struct Client<'w> {
    lane: CryptoLane,
    session: SessionId,
    workload: &'w Workload,
    free: Vec<usize>,
}

impl Client<'_> {
    fn round(&mut self) -> f64 {
        let (begin, mut done) = (Instant::now(), 0_usize);
        while begin.elapsed() < ROUND {
            for _ in 0..64 {
                while let Some(slot) = self.free.pop() {
                    self.send(slot);
                }
                self.lane.kick();
                let free = &mut self.free;
                let _ = self.lane.wait_to_refill(Duration::from_secs(1));
                done += self
                    .lane
                    .reap(usize::MAX, |one| free.push(one.token as usize));
            }
        }
        done as f64 / begin.elapsed().as_secs_f64()
    }

    fn send(&mut self, slot: usize) {
        let layout = &self.workload.slot;
        let at = |(offset, len): (usize, usize)| Span::slab(slot * layout.stride + offset, len);
        let call = Call {
            session: self.session,
            operation: self.workload.kind.operation,
            source: &[at(layout.source)],
            destination: &[at(layout.destination)],
            iv: [slot as u8; 16],
            aad: Span::EMPTY,
            tag: at(layout.tag),
        };
        self.lane
            .enqueue(&call, slot as u64)
            .expect("a free slot means a free ticket");
    }
}

/// Runs `work` on a thread of that CPU.
fn pinned<T: Send>(cpu: usize, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let run = || {
            sys::affinity::pin_to(cpu).expect("two CPUs");
            work()
        };
        scope.spawn(run).join().expect("it does not panic")
    })
}

fn main() {
    let algorithm: Algorithm = argument(1, "aes-128-ctr");
    let (bytes, depth) = (argument(2, "64"), argument(3, "64"));
    let name: String = argument(4, "aws-lc");
    let backend: Arc<dyn Backend> = crypto::by_name(&name).unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(2)
    });
    let kind = Kind {
        algorithm,
        operation: algorithm.operations()[0],
    };
    let workload = Workload::new(&backend, kind, bytes).expect("a size that the kind takes");
    let worker = WorkerConfig {
        cpu: Some(WORKER_CPU),
        idle_spin: None,
        is_core_shared: false,
    };
    let engine = CryptoEngine::start(Arc::clone(&backend), &[worker])
        .expect("two CPUs")
        .for_measuring();
    let session = engine
        .session(algorithm, &workload.material)
        .expect("the key was taken before");
    let config = LaneConfig {
        depth,
        moderation: Moderation::Polled,
        ..LaneConfig::default()
    };
    let mut lane = engine
        .lane(0, config, depth * workload.slot.stride, 1)
        .expect("memory for the slots");
    for slot in 0..depth {
        lane.write(RegionId::SLAB, slot * workload.slot.stride, &workload.input)
            .expect("the slab holds every slot");
    }
    let session = lane.attach(&session).expect("of this engine");
    let mut client = Client {
        lane,
        session,
        workload: &workload,
        free: (0..depth).rev().collect(),
    };
    let mut lane_per_s = pinned(CLIENT_CPU, || -> Vec<f64> {
        (0..ROUNDS).map(|_| client.round()).collect()
    });
    lane_per_s.sort_by(f64::total_cmp);
    let counters = engine.counters(0);
    let batch = counters.requests as f64 / counters.batches as f64;
    drop(client);
    drop(engine);
    let raw_per_s = pinned(WORKER_CPU, || {
        let mut raw = RawLoop::new(Arc::clone(&backend), &workload, depth).expect("the same key");
        let mut round = || {
            let (begin, mut done) = (Instant::now(), 0);
            while begin.elapsed() < ROUND {
                done += raw.pass().expect("every job ends well");
            }
            done as f64 / begin.elapsed().as_secs_f64()
        };
        (0..ROUNDS).map(|_| round()).fold(0.0, f64::max)
    });
    let ns = |per_s: f64| 1e9 / per_s;
    let [best, median] = [lane_per_s[ROUNDS - 1], lane_per_s[ROUNDS / 2]];
    println!(
        "{algorithm} {bytes} B depth {depth} {name}: lane {:.1} ns (median {:.1}), own loop {:.1} ns, ratio {:.3}; {batch:.1} requests a breath",
        ns(best),
        ns(median),
        ns(raw_per_s),
        best / raw_per_s
    );
}
