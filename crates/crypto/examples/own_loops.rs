//! The back-ends' own loops beside each other, and the AES ceiling: nothing but their calls.
//!
//! `cargo run --release -p lockgate-crypto --example own_loops [ALGORITHM [BYTES [JOBS [ROUNDS]]]]`
//!
//! Arms take turns of 10 ms, in an order that rotates; medians, and the ratio of each to the
//! kernels with its 95% interval.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lockgate_crypto::{Algorithm, Backend, Ceiling, Kind, RawLoop, Workload, candidates};

const TURN: Duration = Duration::from_millis(10);

/// An arm: its name, and what does some requests and says how many.
type Arm = (String, Box<dyn FnMut() -> f64>);

fn arms(kind: Kind, bytes: usize, jobs: usize) -> Vec<Arm> {
    let own = |backend: Arc<dyn Backend>| {
        let workload = Workload::new(&backend, kind, bytes).ok()?;
        let mut raw = RawLoop::new(Arc::clone(&backend), &workload, jobs).ok()?;
        let step: Box<dyn FnMut() -> f64> =
            Box::new(move || raw.pass().expect("what the loop did before") as f64);
        Some((backend.name().to_owned(), step))
    };
    let has = |backend: &Arc<dyn Backend>| backend.supports(kind);
    let mut arms: Vec<Arm> = candidates()
        .into_iter()
        .filter(has)
        .filter_map(own)
        .collect();
    let name = kind.algorithm.name();
    let rounds = [("aes-128", 10), ("aes-192", 12), ("aes-256", 14)];
    let rounds = rounds.iter().find(|(start, _)| name.starts_with(start));
    if let Some(mut ceiling) = rounds.and_then(|(_, rounds)| Ceiling::new(*rounds)) {
        let step = Box::new(move || ceiling.pass() as f64 / bytes as f64);
        arms.push(("AES ceiling".to_owned(), step));
    }
    arms
}

fn ns_a_request(step: &mut dyn FnMut() -> f64) -> f64 {
    let (began, mut done) = (Instant::now(), 0.0);
    while began.elapsed() < TURN {
        done += step();
    }
    began.elapsed().as_secs_f64() * 1e9 / done
}

/// The median, and the order statistics around it between which it is in 95% of cases.
fn interval(values: &mut [f64]) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    // Half the rounds, less about 1.96 standard deviations of a fair coin.
    let skip = ((n as f64 - 1.96 * (n as f64).sqrt()) / 2.0)
        .floor()
        .max(0.0) as usize;
    [values[n / 2], values[skip], values[n - 1 - skip]]
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or("aes-128-gcm".to_owned());
    let mut number = |usual| {
        let text = arguments.next();
        text.map_or(Ok(usual), |text| text.parse::<usize>())
    };
    let (Ok(algorithm), Ok(bytes), Ok(jobs), Ok(rounds)) = (
        name.parse::<Algorithm>(),
        number(64),
        number(32),
        number(31),
    ) else {
        eprintln!("usage: own_loops [ALGORITHM [BYTES [JOBS [ROUNDS]]]]");
        return ExitCode::from(2);
    };
    for operation in algorithm.operations().iter().take(2) {
        let mut arms = arms(Kind::new(algorithm, *operation), bytes, jobs);
        let mut ns = vec![Vec::new(); arms.len()];
        for round in 0..=rounds {
            for turn in 0..arms.len() {
                let at = (turn + round) % arms.len();
                let value = ns_a_request(&mut arms[at].1);
                // The first warms up.
                if round > 0 {
                    ns[at].push(value);
                }
            }
        }
        println!("{algorithm}, {operation}, {bytes} B, {jobs} at hand, {rounds} rounds");
        let own = arms.iter().position(|(name, _)| name == "kernels");
        for ((name, _), values) in arms.iter().zip(&ns) {
            let [median, ..] = interval(&mut values.clone());
            let speed = bytes as f64 / median;
            let ratio = own.map_or_else(String::new, |own| {
                let mut ratios: Vec<_> = values.iter().zip(&ns[own]).map(|(a, b)| a / b).collect();
                let [ratio, low, high] = interval(&mut ratios);
                format!("  kernels {ratio:.3} ({low:.3} to {high:.3}) times as fast")
            });
            println!("  {name:12} {median:9.1} ns {speed:7.2} GB/s{ratio}");
        }
    }
    ExitCode::SUCCESS
}
