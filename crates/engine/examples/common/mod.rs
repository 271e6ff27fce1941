//! Arguments and CPUs of the examples.
#![allow(dead_code, reason = "each example uses a part")]

pub const CLIENT_CPU: usize = 0;
pub const WORKER_CPU: usize = 1;

/// The argument at `index`, or the usual one.
pub fn argument<T: std::str::FromStr>(index: usize, usual: &str) -> T {
    let text = std::env::args().nth(index);
    let text = text.as_deref().unwrap_or(usual);
    text.parse().unwrap_or_else(|_| {
        eprintln!("argument {index}, '{text}', is not valid");
        std::process::exit(2)
    })
}

/// Does the work on a thread that stays on `cpu`.
pub fn pinned<T: Send>(cpu: usize, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let run = || {
            sys::affinity::pin_to(cpu).expect("two CPUs");
            work()
        };
        scope.spawn(run).join().expect("it does not panic")
    })
}
