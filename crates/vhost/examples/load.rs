//! What one worker serves of one front-end: `load [DEPTH] [BYTES] [SECONDS]`. The
//! front-end is on CPU 0, the worker on CPU 1.
#![allow(clippy::unwrap_used, reason = "an example")]

use std::sync::Arc;
use std::time::Duration;

use crypto::Algorithm;
use engine::{CryptoEngine, FunctionConfig, RequestLimit, WorkerConfig};
use lockgate_vhost::front::{Interrupts, Load, LoadConfig};
use lockgate_vhost::{
    Device, DeviceConfig, HostLimits, Limits, REQUEST_BYTES_MAX, SocketConfig, Supervisor,
};
use policy::Moderation;

fn main() {
    let arguments: Vec<usize> = std::env::args()
        .skip(1)
        .map(|a| a.parse().unwrap())
        .collect();
    let at = |index: usize, usual| arguments.get(index).copied().unwrap_or(usual);
    let (depth, bytes, seconds) = (at(0, 64), at(1, 64), at(2, 2));
    let backend = crypto::by_name("auto").unwrap();
    let worker = WorkerConfig {
        cpu: Some(1),
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
