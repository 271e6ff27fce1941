//! How many frames a second each path carries on this host: generator on CPU 0,
//! router and sink on CPU 1.
//!
//!     cargo run --release --example rates -- SECONDS DESTINATIONS STRIDE PATH…
#![allow(
    clippy::unwrap_used,
    reason = "an experiment that cannot go on says so"
)]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/programs/bench.rs"]
mod bench;
#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/programs/wires.rs"]
mod wires;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, fs, thread};

use bench::{Bench, ROUTER};
use lockgate_xdp::path::{Fib, FibCached, RouterOptions, Wire};
use lockgate_xdp::{Attached, Generator, Plan, Sink};
use wires::{frame_v4, in_namespace, shell};

fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [seconds, destinations, stride] =
        [0, 1, 2].map(|index: usize| arguments[index].parse::<u32>().unwrap());
    for path in &arguments[3..] {
        in_namespace(|| {
            let line = measure(path, seconds, destinations, stride);
            println!("{path:12} {destinations:6} destinations: {line}");
        });
    }
}

/// NAPI runs in threads of its own on CPU 1: else it runs in the generator's.
fn thread_napi(bench: &Bench) -> Vec<u32> {
    let prefix = bench.prefix.clone();
    let switch = format!(
        "for i in /sys/class/net/{prefix}*; do \
             ethtool -K ${{i##*/}} gro on; echo 1 > $i/threaded; done"
    );
    let here = switch.clone();
    bench.router.run(move || shell(&switch));
    shell(&here);
    let mut threads = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let comm = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
        if comm.starts_with(&format!("napi/{prefix}")) {
            let pid = process.file_name().into_string().unwrap();
            shell(&format!("taskset -pc 1 {pid}; renice -n -19 -p {pid}"));
            threads.push(pid.parse().unwrap());
        }
    }
    threads
}

fn cpu_ns(threads: &[u32]) -> u64 {
    let of = |thread: &u32| -> u64 {
        let text = fs::read_to_string(format!("/proc/{thread}/schedstat")).unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    };
    threads.iter().map(of).sum()
}

fn measure(path: &str, seconds: u32, destinations: u32, stride: u32) -> String {
    let bench = Bench::new();
    let mut sink = Sink::attach(bench.tester[1]).unwrap();
    let _back = Sink::attach(bench.tester[0]).unwrap();
    sink.time_every(16);
    if stride > 1 {
        bench
            .router
            .run(|| shell("ip route add 10.0.0.0/8 via 192.0.2.6"));
    }
    let router = start(path, &bench);
    let threads = thread_napi(&bench);
    let control = router.control.clone();
    let listening = AtomicBool::new(true);
    let mut frame = frame_v4(60, ROUTER[0]);
    if stride > 1 {
        frame[30..34].copy_from_slice(&[10, 0, 0, 1]);
    }
    let plan = Plan {
        frames: vec![frame],
        order: vec![0],
        destinations,
        stride,
        trial: 1,
        stream: 0,
        rate_pps: env::var("RATE").ok().map(|rate| rate.parse().unwrap()),
        duration: Duration::from_secs(u64::from(seconds)),
        frames_max: None,
        in_flight_max: None,
    };
    thread::scope(|scope| {
        if let Some(control) = control {
            let listening = &listening;
            scope.spawn(move || {
                sys::affinity::pin_to(1).unwrap();
                while listening.load(Ordering::Relaxed) {
                    bench::renew(&control);
                    thread::sleep(Duration::from_millis(20));
                }
            });
        }
        sys::affinity::pin_to(0).unwrap();
        let mut generator = Generator::load(bench.tester[0]).unwrap();
        sink.begin(1, 0).unwrap();
        let cpu = cpu_ns(&threads);
        let sent = generator.send(&plan, &AtomicBool::new(false)).unwrap();
        listening.store(false, Ordering::Relaxed);
        let counts = sink.counts().unwrap();
        let cpu_ns = (cpu_ns(&threads) - cpu) as f64 / counts.received as f64;
        let per_s = |frames: u64| frames as f64 * 1e3 / sent.elapsed_ns as f64;
        let latency: Vec<_> = counts.latency.recorded().collect();
        let half = counts.latency.frames() / 2;
        let mut seen = 0;
        let median = latency.iter().find(|(_, frames)| {
            seen += frames;
            seen >= half
        });
        format!(
            "offered {:.3} Mpps, received {:.3} Mpps, {cpu_ns:.0} ns each, p50 {:?} ns, behind {} µs, gap {} µs{}",
            per_s(sent.offered),
            per_s(counts.received),
            median.map(|(ns, _)| ns),
            sent.behind_ns_max / 1000,
            sent.gap_ns_max / 1000,
            router
                .counters
                .as_ref()
                .map_or(String::new(), |read| read()),
        )
    })
}

struct Router {
    control: Option<lockgate_xdp::path::Control>,
    counters: Option<Box<dyn Fn() -> String + Send>>,
    _keep: Box<dyn Send>,
}

fn start(path: &str, bench: &Bench) -> Router {
    let ports = bench.ports;
    let path = path.to_owned();
    bench.router.run(move || {
        let options = RouterOptions {
            any_source: path.ends_with("any"),
            ..RouterOptions::default()
        };
        match path.as_str() {
            "wire" => {
                let wire = Wire::load(ports.map(|port| port.ifindex)).unwrap();
                Router {
                    control: None,
                    counters: None,
                    _keep: Box::new(Attached::new(wire).unwrap()),
                }
            }
            "fib" | "fib-any" => {
                let fib = Attached::new(Fib::load(&ports, options).unwrap()).unwrap();
                Router {
                    control: Some(fib.control()),
                    counters: None,
                    _keep: Box::new(fib),
                }
            }
            "cached" => {
                let cached = Attached::new(FibCached::load(&ports, options).unwrap()).unwrap();
                Router {
                    control: Some(cached.control()),
                    counters: Some(Box::new(move || format!(" {:?}", cached.counters()))),
                    _keep: Box::new(()),
                }
            }
            "drop" => Router {
                control: None,
                counters: None,
                _keep: Box::new(Sink::attach(ports[0].ifindex).unwrap()),
            },
            // The kernel: only NAPI.
            _ => Router {
                control: None,
                counters: None,
                _keep: Box::new(()),
            },
        }
    })
}
