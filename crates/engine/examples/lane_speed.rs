//! Requests/s through one lane to a worker on another core, by policy, in
//! interleaved rounds; what the client's time is, and what of the back-end's
//! own loop `polled` reaches. A quick look, and something to profile; the
//! lab's sections measure with verdicts.
//!
//! `cargo run --release -p lockgate-engine --example lane_speed [ALGORITHM|sectors:MODE:SECTOR_BYTES] [BYTES] [DEPTH] [BACK-END] [ROUNDS] [WAKE_DELAY_US]`

mod common;
#[path = "../tests/common/slots.rs"]
mod slots;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{CLIENT_CPU, WORKER_CPU, argument, pinned};
use crypto::{Algorithm, Backend, Kind, RawLoop, SectorIv, SectorMode, Sectors, Workload};
use lockgate_engine::{CryptoEngine, LaneConfig, WorkerConfig};
use policy::Moderation;
use slots::{Slots, slab_bytes};
use sys::clock::thread_cpu;
use trial::stats::{Interval, median, median_interval};

const ROUND: Duration = Duration::from_millis(50);

const POLICIES: [Moderation; 3] = [Moderation::Polled, Moderation::Hybrid, Moderation::Armed];

fn round(client: &mut Slots<'_>) -> Round {
    let (cpu, wakes) = (thread_cpu(), client.lane.counters().notifications);
    let (begin, mut done) = (Instant::now(), 0_usize);
    while begin.elapsed() < ROUND {
        for _ in 0..64 {
            client.fill();
            let _ = client.lane.wait_to_refill(Duration::from_secs(1));
            done += client.reap();
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    // It stands still by looking at the clock, which a far host does not.
    let woken = client.lane.counters().notifications - wakes;
    let delays = client.lane.config().wake_delay.as_secs_f64() * woken as f64;
    Round {
        per_s: done as f64 / seconds,
        client_cpus: ((thread_cpu() - cpu).as_secs_f64() - delays) / seconds,
    }
}

struct Arm<'w> {
    engine: CryptoEngine,
    client: Slots<'w>,
    rounds: Vec<Round>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    per_s: f64,
    client_cpus: f64,
}

impl<'w> Arm<'w> {
    fn new(
        backend: &Arc<dyn Backend>,
        workload: &'w Workload,
        config: LaneConfig,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let worker = WorkerConfig {
            cpu: Some(WORKER_CPU),
            ..WorkerConfig::default()
        };
        let engine = CryptoEngine::start(Arc::clone(backend), &[worker])?.for_measuring();
        let session = engine.session(workload.kind.algorithm, &workload.material)?;
        let mut lane = engine.lane(0, config, slab_bytes(workload, config.depth), 1)?;
        let session = lane.attach(&session)?;
        Ok(Self {
            engine,
            client: Slots::new(lane, session, workload),
            rounds: Vec::new(),
        })
    }

    fn median(&self, value: impl Fn(&Round) -> f64) -> f64 {
        let values: Vec<f64> = self.rounds.iter().map(value).collect();
        median(&values).expect("at least one round")
    }

    fn ratio(&self, other: &Self) -> String {
        let pairs = self.rounds.iter().zip(&other.rounds);
        let ratios: Vec<f64> = pairs.map(|(own, other)| own.per_s / other.per_s).collect();
        match median_interval(&ratios) {
            Ok(Interval {
                estimate,
                low,
                high,
                ..
            }) => {
                format!("{estimate:.3} ({low:.3} to {high:.3})")
            }
            Err(error) => error.to_string(),
        }
    }
}

/// As named, or `sectors:cbc:512`: AES-256 with that mode and sectors of that many bytes.
fn algorithm() -> Algorithm {
    let name: String = argument(1, "aes-128-ctr");
    let Some(name) = name.strip_prefix("sectors:") else {
        return argument(1, "aes-128-ctr");
    };
    let parsed = name.split_once(':').and_then(|(mode, bytes)| {
        let mode: SectorMode = mode.parse().ok()?;
        let [.., key_bytes] = mode.key_bytes();
        Sectors::new(mode, SectorIv::Plain64, key_bytes, bytes.parse().ok()?).ok()
    });
    Algorithm::Sectors(parsed.expect("a mode and 512, 1024, 2048 or 4096"))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let algorithm = algorithm();
    let (bytes, depth) = (argument(2, "64"), argument(3, "64"));
    let name: String = argument(4, "aws-lc");
    let (rounds, delay_us): (usize, u64) = (argument(5, "20"), argument(6, "0"));
    let backend = crypto::by_name(&name)?;
    let kind = Kind::from(algorithm);
    let workload = Workload::new(&backend, kind, bytes)?;
    let mut arms = Vec::new();
    for moderation in POLICIES {
        let config = LaneConfig {
            depth,
            moderation,
            wake_delay: Duration::from_micros(delay_us),
            ..LaneConfig::default()
        };
        arms.push(Arm::new(&backend, &workload, config)?);
    }
    let before = testing::Snapshot::now();
    pinned(CLIENT_CPU, || {
        for arm in &mut arms {
            round(&mut arm.client);
        }
        for number in 0..rounds {
            for turn in 0..arms.len() {
                // So that none is always after the same other.
                let arm = (turn + number) % POLICIES.len();
                let done = round(&mut arms[arm].client);
                arms[arm].rounds.push(done);
            }
        }
    });
    let learnt = arms[1].client.lane.counters();
    let host = before.until_now();
    println!(
        "{algorithm} {bytes} B depth {depth} {name}; here a wake-up takes {:.1} µs (of which {delay_us} are injected), and {:.1} of the worker's time; {:.1}% stolen, other programs kept {:.2} CPUs busy",
        learnt.wake_ns as f64 / 1e3,
        learnt.signal_ns as f64 / 1e3,
        host.stolen * 100.0,
        host.others_cpus
    );
    for (arm, policy) in arms.iter().zip(POLICIES) {
        let counters = arm.client.lane.counters();
        let worker = arm.engine.counters(0);
        let per = |count: u64| counters.completed as f64 / count.max(1) as f64;
        println!(
            "{policy:>7}: {:8.1} ns, {} of polled, client {:3.0}% of a core; {:.0} requests a notification, {:.0} a sleep, {:.0} a doorbell, {:.1} a breath",
            arm.median(|round| 1e9 / round.per_s),
            arm.ratio(&arms[0]),
            arm.median(|round| 100.0 * round.client_cpus),
            per(counters.notifications),
            per(counters.sleeps),
            per(counters.doorbells),
            per(worker.batches),
        );
    }
    let lane_per_s = arms[0].median(|round| round.per_s);
    drop(arms);
    let raw_per_s = pinned(WORKER_CPU, || {
        let mut raw = RawLoop::new(Arc::clone(&backend), &workload, depth).expect("the same key");
        let mut round = || {
            let (begin, mut done) = (Instant::now(), 0);
            while begin.elapsed() < ROUND {
                done += raw.pass().expect("every job ends well");
            }
            done as f64 / begin.elapsed().as_secs_f64()
        };
        (0..rounds).map(|_| round()).fold(0.0, f64::max)
    });
    println!(
        "own loop: {:.1} ns; polled reaches {:.3} of it",
        1e9 / raw_per_s,
        lane_per_s / raw_per_s
    );
    Ok(())
}
