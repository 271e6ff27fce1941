//! Random jobs by every back-end against the portable one, for as long as one
//! likes: mostly small texts, now and then up to 128 KiB, misaligned, in place
//! or not, batches of up to 32 jobs with keys of their own.
//!
//! `cargo run --release -p lockgate-crypto --example differential [CASES [THREADS [SEED]]]`
//!
//! A case is one job by one back-end beside the same job by another library.
//! Ends with 1 at the first that differs, and says how to see it again.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[path = "differential/arena.rs"]
mod arena;
#[path = "differential/pair.rs"]
mod pair;
#[path = "differential/random.rs"]
mod random;
#[path = "../tests/support/shape.rs"]
mod shape;

use pair::{Pair, pairs};
use random::Random;

const CASES: u64 = 100_000_000;
const THREADS: u64 = 2;
const SEED: u64 = 1;
const REPORT_EVERY: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Progress {
    cases: AtomicU64,
    wrong: AtomicU64,
    done: AtomicBool,
}

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|text| {
        text.parse::<u64>().unwrap_or_else(|_| {
            eprintln!("usage: differential [CASES [THREADS [SEED]]]; '{text}' is no whole number");
            std::process::exit(2)
        })
    });
    let cases = numbers.next().unwrap_or(CASES);
    let threads = numbers.next().unwrap_or(THREADS).max(1);
    let seed = numbers.next().unwrap_or(SEED);
    let progress = Progress::default();
    let began = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let progress = &progress;
                scope.spawn(move || work(progress, cases, seed, thread))
            })
            .collect();
        report(&progress, cases, began, || {
            workers.iter().all(|worker| worker.is_finished())
        });
    });
    let done = progress.cases.load(Ordering::Relaxed);
    let wrong = progress.wrong.load(Ordering::Relaxed);
    let seconds = began.elapsed().as_secs_f64();
    println!("{done} cases, {wrong} wrong; seed {seed}, {threads} threads, {seconds:.1} s");
    if wrong == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn report(progress: &Progress, cases: u64, began: Instant, is_over: impl Fn() -> bool) {
    let mut next = REPORT_EVERY;
    while !is_over() {
        std::thread::sleep(Duration::from_millis(5));
        if began.elapsed() >= next {
            next += REPORT_EVERY;
            let done = progress.cases.load(Ordering::Relaxed);
            let per_s = done as f64 / began.elapsed().as_secs_f64();
            eprintln!("{done} of {cases} cases, {per_s:.0}/s");
        }
    }
}

/// Batches of each pair in turn. What a batch is depends on the seed, the
/// thread and the number of the round alone.
fn work(progress: &Progress, cases: u64, seed: u64, thread: u64) {
    let mut pairs: Vec<Pair> = pairs();
    for round in 0_u64.. {
        for (index, pair) in pairs.iter_mut().enumerate() {
            let is_enough = progress.cases.load(Ordering::Relaxed) >= cases;
            if is_enough || progress.done.load(Ordering::Relaxed) {
                return;
            }
            let mut random = Random::of([seed, thread, round, index as u64]);
            match pair.run(&mut random) {
                Ok(jobs) => {
                    progress.cases.fetch_add(jobs as u64, Ordering::Relaxed);
                }
                Err(difference) => {
                    progress.wrong.fetch_add(1, Ordering::Relaxed);
                    progress.done.store(true, Ordering::Relaxed);
                    println!(
                        "wrong: seed {seed}, thread {thread}, round {round}, pair {index}: {difference}"
                    );
                    return;
                }
            }
        }
    }
}
