//! The arms, and how they are measured.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lockgate_forward::router::Router;
use lockgate_forward::router::af_xdp::Forwarder;
use lockgate_forward::router::path::{AfXdp, Poll};
use lockgate_forward::router::testpmd::Testpmd;
use lockgate_forward::topology::{Cpus, Spec, Topology};
use net::{Journal, Namespace, Tag};
use wire::{Stamp, TestFrame};
use xdp::{Generator, Plan, Sink};

#[derive(Clone, Copy)]
enum Arm {
    Ours(&'static str, AfXdp),
    Peer,
}

impl Arm {
    fn name(self) -> &'static str {
        match self {
            Arm::Ours(name, _) => name,
            Arm::Peer => "testpmd",
        }
    }

    fn start(self, journal: &Journal, topology: &Topology) -> Box<dyn Router> {
        match self {
            Arm::Peer => Box::new(Testpmd::over(journal, topology).unwrap()),
            Arm::Ours(_, config) => Box::new(Forwarder::over(topology, config).unwrap()),
        }
    }
}

fn arms() -> Vec<Arm> {
    let ours = |name, poll, batch| {
        Arm::Ours(
            name,
            AfXdp {
                poll,
                batch,
                queues_bound: true,
            },
        )
    };
    let all = vec![
        ours("polled-1", Poll::Polled, 1),
        ours("polled-8", Poll::Polled, 8),
        ours("polled-32", Poll::Polled, 32),
        ours("polled-64", Poll::Polled, 64),
        ours("interrupt-1", Poll::Interrupt, 1),
        ours("interrupt-32", Poll::Interrupt, 32),
        ours("interrupt-64", Poll::Interrupt, 64),
        ours("busy-poll-32", Poll::BusyPoll, 32),
        Arm::Peer,
    ];
    let wanted: Vec<String> = std::env::args().skip(3).collect();
    all.into_iter()
        .filter(|arm| wanted.is_empty() || wanted.iter().any(|name| name == arm.name()))
        .collect()
}

/// Gives the kernel's threads this program's own priority: under `nice -n -20`
/// a busy machine still gives figures.
fn as_urgent_as_us(topology: &Topology) {
    let nice = rustix::process::getpriority_process(None).unwrap();
    for thread in topology.router_threads().chain(topology.sink_threads()) {
        let pid = rustix::process::Pid::from_raw(thread.pid);
        rustix::process::setpriority_process(pid, nice).unwrap();
    }
}

fn argument(at: usize, default: f64) -> f64 {
    std::env::args()
        .nth(at)
        .map_or(default, |text| text.parse().unwrap())
}

struct Bench {
    journal: Journal,
    topology: Topology,
    generator: Generator,
    sink: Sink,
    trial: u8,
}

impl Bench {
    fn build(journal: &Journal, home: &Namespace) -> Self {
        let spec = Spec::new(Cpus::of_host().unwrap());
        let topology = Topology::build(journal, Tag::fresh(), &spec, home.clone()).unwrap();
        let [zero, one] = topology.sides();
        let index = |side: &lockgate_forward::topology::Built| {
            side.tester
                .netlink()
                .unwrap()
                .link(&side.names.tester)
                .unwrap()
                .index
        };
        let (from, to) = (index(zero), index(one));
        let generator = zero.tester.run(|| Generator::load(from).unwrap()).unwrap();
        let mut sink = one.tester.run(|| Sink::attach(to).unwrap()).unwrap();
        sink.time_every(16);
        as_urgent_as_us(&topology);
        Self {
            journal: journal.clone(),
            topology,
            generator,
            sink,
            trial: 0,
        }
    }

    fn trial(&mut self, arm: Arm, seconds: f64) -> (f64, f64, String) {
        let mut router = arm.start(&self.journal, &self.topology);
        let frame = self.frame();
        // Warm up, then measure.
        let mut result = (0.0, 0.0, String::new());
        for duration in [0.1, seconds] {
            self.trial = self.trial.wrapping_add(1);
            self.sink.begin(self.trial, 0).unwrap();
            let cpu_before = router.cpu().unwrap().total_ns();
            let counters_before = router.counters().unwrap();
            let plan = Plan {
                frames: vec![frame.clone()],
                order: vec![0],
                destinations: 1,
                stride: 1,
                trial: self.trial,
                stream: 0,
                rate_pps: None,
                duration: Duration::from_secs_f64(duration),
                frames_max: None,
                in_flight_max: None,
            };
            let (generator, zero) = (&mut self.generator, &self.topology.sides()[0].tester);
            let cpu = self.topology.spec().cpus.generator;
            let send = || {
                sys::affinity::pin_to(cpu).unwrap();
                generator.send(&plan, &AtomicBool::new(false)).unwrap()
            };
            let sent = zero.run(send).unwrap();
            let cpu_ns = router.cpu().unwrap().total_ns() - cpu_before;
            let counted = self.sink.counts().unwrap();
            let counters = router.counters().unwrap();
            let received = counted.received as f64;
            let elapsed_s = sent.elapsed_ns as f64 * 1e-9;
            result = (
                received / elapsed_s * 1e-6,
                received / (cpu_ns as f64 * 1e-3).max(1.0),
                format!(
                    "offered {:.2} Mpps, router in {:.3} out {:.3} Mpps, cpu {:.2}",
                    sent.offered as f64 / elapsed_s * 1e-6,
                    (counters.received - counters_before.received) as f64 / elapsed_s * 1e-6,
                    (counters.forwarded - counters_before.forwarded) as f64 / elapsed_s * 1e-6,
                    cpu_ns as f64 * 1e-9 / elapsed_s,
                ),
            );
        }
        result
    }

    fn frame(&self) -> Vec<u8> {
        let [zero, _] = self.topology.sides();
        TestFrame {
            source_ethernet: zero.tester_mac,
            destination_ethernet: zero.router_mac,
            vlan: None,
            source: "192.0.2.2".parse().unwrap(),
            destination: "198.19.0.1".parse().unwrap(),
            source_port: 7,
            frame_bytes: 64,
        }
        .to_bytes(Stamp {
            trial: 0,
            stream: 0,
            sequence: 0,
            due_ns: 0,
        })
        .unwrap()
    }
}

pub fn main() {
    let (rounds, seconds) = (argument(1, 3.0) as usize, argument(2, 0.5));
    let journal = Journal::open().unwrap();
    let home = Namespace::create(&journal, &Tag::fresh().name("dut").unwrap()).unwrap();
    let mut bench = Bench::build(&journal, &home);
    let arms = arms();
    let mut rates = vec![Vec::new(); arms.len()];
    for _ in 0..rounds {
        for (arm, rates) in arms.iter().zip(&mut rates) {
            let (mpps, per_us, detail) = bench.trial(*arm, seconds);
            rates.push((mpps, per_us));
            println!("{:14} {mpps:.3} Mpps {per_us:.3}/µs  {detail}", arm.name());
        }
    }
    summarise(&arms, &rates);
}

type Figure = fn(&(f64, f64)) -> f64;

/// Medians, and each arm against the first: the median of the rounds' ratios
/// with its interval. A round in which one of the two received nothing has no
/// ratio.
fn summarise(arms: &[Arm], rates: &[Vec<(f64, f64)>]) {
    let figures: [(&str, Figure); 2] = [("Mpps", |rate| rate.0), ("per CPU-µs", |rate| rate.1)];
    for (unit, of) in figures {
        for (arm, own) in arms.iter().zip(rates) {
            let values: Vec<f64> = own.iter().map(of).filter(|value| *value > 0.0).collect();
            let Some(median) = trial::stats::median(&values) else {
                println!("{:14} received nothing in {} rounds", arm.name(), own.len());
                continue;
            };
            println!(
                "{:14} {median:.3} {unit}, {}",
                arm.name(),
                beside(own, &rates[0], of, arms[0].name())
            );
        }
    }
}

fn beside(own: &[(f64, f64)], first: &[(f64, f64)], of: Figure, name: &str) -> String {
    let both = own.iter().map(of).zip(first.iter().map(of));
    let ratios: Vec<f64> = both
        .filter(|(own, first)| *own > 0.0 && *first > 0.0)
        .map(|(own, first)| own / first)
        .collect();
    match trial::stats::median_interval(&ratios) {
        Ok(ratio) => format!(
            "{:.2} ({:.2} to {:.2}) times {name}",
            ratio.estimate, ratio.low, ratio.high
        ),
        Err(_) => format!("no round to compare with {name}"),
    }
}
