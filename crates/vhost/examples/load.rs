//! What one worker serves of one front-end: `load [DEPTH] [BYTES] [SECONDS]`. The
//! front-end is on CPU 0, the worker on CPU 1.
//!
//! `load DEPTH BYTES SECONDS SOCKET OTHER` compares two devices that serve already: pairs
//! in turn, each as long; medians of the rates' ratios, and of those of the 99th
//! percentiles with one request in flight. First the front-end is notified, then it polls.
#![allow(clippy::unwrap_used, reason = "an example")]

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crypto::Algorithm;
use engine::{CryptoEngine, FunctionConfig, RequestLimit, WorkerConfig};
use lockgate_vhost::front::{Interrupts, Load, LoadConfig};
use lockgate_vhost::{
    Device, DeviceConfig, HostLimits, Limits, REQUEST_BYTES_MAX, SocketConfig, Supervisor,
};
use policy::Moderation;

fn main() {
    let sockets: Vec<_> = std::env::args().skip(4).map(PathBuf::from).collect();
    let arguments: Vec<usize> = std::env::args()
        .skip(1)
        .take(3)
        .map(|a| a.parse().unwrap())
        .collect();
    let at = |index: usize, usual| arguments.get(index).copied().unwrap_or(usual);
    let (depth, bytes, seconds) = (at(0, 64), at(1, 64), at(2, 2));
    if let [one, other] = &sockets[..] {
        for interrupts in [Interrupts::EventIndex, Interrupts::Polled] {
            println!("{interrupts:?}:");
            compare([one, other], depth, bytes, seconds, interrupts);
        }
        return;
    }
    let backend = crypto::by_name("auto").unwrap();
    let worker = WorkerConfig {
        cpu: Some(1),
        // As `lockgate serve` has.
        stand_ins: 2,
        ..WorkerConfig::default()
    };
    let engine = CryptoEngine::start(backend, &[worker]).unwrap();
    let function = FunctionConfig {
        request_max: RequestLimit {
            bytes: REQUEST_BYTES_MAX,
            segments: 258,
        },
        ..FunctionConfig::default()
    };
    let path = std::env::temp_dir().join(format!("lockgate-load-{}.sock", std::process::id()));
    let config = DeviceConfig {
        socket: SocketConfig {
            path: path.clone(),
            mode: 0o600,
            owner: None,
            group: None,
        },
        queues: 1,
        workers: vec![0],
        quarantine: Vec::new(),
        limits: Limits::default(),
        depth: 256,
        segments_max: 258,
        piece_bytes: Some(16 << 10),
        moderation: Moderation::Armed,
        allowed: vec![Algorithm::Aes128Cbc],
        offers_config: false,
    };
    let supervisor = Supervisor::start(engine.overseer(), HostLimits::default()).unwrap();
    let device = Device::start(
        engine.function(function).unwrap(),
        config,
        Arc::new(|_| {}),
        &supervisor,
    )
    .unwrap();
    sys::affinity::pin_to(0).unwrap();
    let load = LoadConfig {
        kind: Algorithm::Aes128Cbc.into(),
        block_bytes: bytes,
        depth,
        interrupts: Interrupts::Polled,
        delays: false,
    };
    let mut load = Load::start(&path, load).unwrap();
    let before = engine.cpu_time(0).unwrap();
    let did = load
        .run(Duration::from_secs(seconds as u64), &|| true)
        .unwrap();
    let busy = (engine.cpu_time(0).unwrap() - before).as_secs_f64();
    println!(
        "{depth} x {bytes}: {:.3} M requests/s, {:.2} GB/s, worker {:.0} ns CPU a request",
        did.requests as f64 / did.seconds / 1e6,
        did.requests as f64 * bytes as f64 / did.seconds / 1e9,
        busy * 1e9 / did.requests as f64,
    );
    drop((load, device));
}

const PAIRS: usize = 20;

fn compare(
    sockets: [&Path; 2],
    depth: usize,
    bytes: usize,
    seconds: usize,
    interrupts: Interrupts,
) {
    let length = Duration::from_secs(seconds as u64) / (4 * PAIRS as u32);
    let load = |depth| LoadConfig {
        kind: Algorithm::Aes128Cbc.into(),
        block_bytes: bytes,
        depth,
        interrupts,
        delays: false,
    };
    let (mut rates, mut p99s) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        let mut of = [(0.0, 0.0); 2];
        // Who is first changes.
        for side in [pair % 2, 1 - pair % 2] {
            let mut many = Load::start(sockets[side], load(depth)).unwrap();
            let counts = many.run(length, &|| true).unwrap();
            drop(many);
            let mut one = Load::start(sockets[side], load(1)).unwrap();
            let (last, times) = (RefCell::new(Instant::now()), RefCell::new(Vec::new()));
            // It asks before each request.
            let ask = || {
                let now = Instant::now();
                times.borrow_mut().push(now - last.replace(now));
                true
            };
            one.run(length, &ask).unwrap();
            let mut times = times.into_inner();
            times.sort_unstable();
            let p99 = times[times.len() * 99 / 100].as_secs_f64();
            of[side] = (counts.requests as f64 / counts.seconds, p99);
        }
        rates.push(of[0].0 / of[1].0);
        p99s.push(of[0].1 / of[1].1);
    }
    for (what, mut ratios) in [("rate", rates), ("p99", p99s)] {
        ratios.sort_unstable_by(f64::total_cmp);
        let at = |part: usize| ratios[(ratios.len() - 1) * part / 4];
        println!("{what}: {:.3} ({:.3} to {:.3})", at(2), at(1), at(3));
    }
}
