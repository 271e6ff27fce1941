//! What one worker serves of one front-end: `load [DEPTH] [BYTES] [SECONDS]`. The
//! front-end is on CPU 0, the worker on CPU 1.
#![allow(clippy::unwrap_used, reason = "an example")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use crypto::Algorithm;
use engine::{CryptoEngine, FunctionConfig, RequestLimit, WorkerConfig};
use lockgate_vhost::front::{FrontConfig, FrontEnd, Interrupts, Request, SessionSpec};
use lockgate_vhost::{Device, DeviceConfig, REQUEST_BYTES_MAX, SocketConfig};
use policy::Moderation;
use wire::virtio_crypto::{Header, Opcode, Status};

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
        depth: 256,
        segments_max: 258,
        piece_bytes: Some(16 << 10),
        moderation: Moderation::Armed,
        allowed: vec![Algorithm::Aes128Cbc],
        offers_config: false,
    };
    let device =
        Device::start(engine.function(function).unwrap(), config, Arc::new(|_| {})).unwrap();
    sys::affinity::pin_to(0).unwrap();
    let mut front = FrontEnd::connect(
        &path,
        FrontConfig {
            interrupts: Interrupts::Polled,
            data_bytes: depth * bytes,
            ..FrontConfig::default()
        },
    )
    .unwrap();
    let session = front
        .open_session(&SessionSpec::Cipher {
            encrypts: true,
            key: &[7; 16],
        })
        .unwrap();
    let mut driver = front.start(0).unwrap();
    let base = front.data_at();
    let header = Header {
        opcode: Opcode::CipherEncrypt,
        session,
        iv_bytes: 16,
        source_bytes: bytes as u32,
        destination_bytes: bytes as u32,
    };
    let submit = |driver: &mut lockgate_vhost::front::Driver, slot: u64| {
        let place = [(base + slot as usize * bytes, bytes)];
        let request = Request {
            header,
            iv: [1; 16],
            source: &place,
            destination: &place,
        };
        driver.submit(&request, slot).unwrap();
    };
    for slot in 0..depth as u64 {
        submit(&mut driver, slot);
    }
    driver.kick();
    let mut done = 0u64;
    let begin = Instant::now();
    let before = engine.cpu_time(0).unwrap();
    let mut slots = Vec::new();
    while begin.elapsed() < Duration::from_secs(seconds as u64) {
        for _ in 0..256 {
            slots.clear();
            driver.reap(|end| {
                assert_eq!(end.status, Some(Status::Ok));
                slots.push(end.token);
            });
            for &slot in &slots {
                submit(&mut driver, slot);
            }
            driver.kick();
            done += slots.len() as u64;
            std::hint::spin_loop();
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    let busy = (engine.cpu_time(0).unwrap() - before).as_secs_f64();
    println!(
        "{depth} x {bytes}: {:.3} M requests/s, {:.2} GB/s, worker {:.0} ns CPU a request, batches of {:.1}",
        done as f64 / seconds / 1e6,
        done as f64 * bytes as f64 / seconds / 1e9,
        busy * 1e9 / done as f64,
        engine.counters(0).requests as f64 / engine.counters(0).batches as f64,
    );
    drop((front, device));
}
