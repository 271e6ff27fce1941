//! Threads of the kernel that work for a program, found by their names.

use std::time::{Duration, Instant};

use net::napi::thread_cpu_ns;

use super::RouterError;

const START_WAIT: Duration = Duration::from_secs(5);

/// Numbers of the threads whose names end so, once there are `wanted`.
pub fn wait_for(ending: &str, wanted: usize) -> Result<Vec<i32>, RouterError> {
    let deadline = Instant::now() + START_WAIT;
    loop {
        let found = named(ending);
        if found.len() >= wanted {
            return Ok(found);
        }
        if Instant::now() > deadline {
            return Err(RouterError::new(format!(
                "{} threads of the kernel are called …{ending}, not {wanted}; in a container with its own process numbers they cannot be seen: run on the host",
                found.len()
            )));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn named(ending: &str) -> Vec<i32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|process| {
        let number = process.file_name().to_str()?.parse().ok()?;
        let name = std::fs::read_to_string(process.path().join("comm")).ok()?;
        name.trim_end()
            .ends_with(&format!("/{ending}"))
            .then_some(number)
    });
    numbers.collect()
}

pub fn cpu_ns(threads: &[i32]) -> Result<u64, RouterError> {
    let used: Result<u64, _> = threads.iter().copied().map(thread_cpu_ns).sum();
    used.map_err(RouterError::of(
        "cannot read the time of a thread that takes frames on another CPU",
    ))
}
