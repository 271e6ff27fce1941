//! MB/s of a back-end's raw batch loop on this core, for each kind and size:
//! the upper bound of what an engine built on it can reach. A quick look; the
//! lab's sections measure with verdicts.
//!
//! `cargo run --release -p lockgate-crypto --example raw_speed [BACK-END]`

use std::sync::Arc;
use std::time::{Duration, Instant};

use lockgate_crypto::{Algorithm, Backend, Kind, RawLoop, Workload, by_name};

const SIZES: [usize; 3] = [64, 1024, 16 * 1024];
const BATCH_BYTES: usize = 256 * 1024;
const BATCH_JOBS_MAX: usize = 128;
/// Many short rounds: the best of them ran without a neighbour.
const ROUNDS: usize = 60;
const ROUND: Duration = Duration::from_millis(3);

fn seconds_per_job(backend: &Arc<dyn Backend>, kind: Kind, block_bytes: usize) -> f64 {
    let workload = Workload::new(backend, kind, block_bytes).expect("sizes that every kind takes");
    let slots = (BATCH_BYTES / block_bytes).min(BATCH_JOBS_MAX);
    let mut raw = RawLoop::new(Arc::clone(backend), &workload, slots).expect("the same key again");
    let mut round = || {
        let (start, mut jobs) = (Instant::now(), 0);
        while start.elapsed() < ROUND {
            jobs += raw.pass().expect("every job ends well");
        }
        start.elapsed().as_secs_f64() / jobs as f64
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn line(backend: &Arc<dyn Backend>, kind: Kind) -> String {
    let name = format!("{:<17} {:<7}", kind.algorithm, kind.operation);
    if kind.algorithm.is_public_key() {
        let per_second = 1.0 / seconds_per_job(backend, kind, SIZES[0]);
        return format!("{name} {per_second:>10.0} operations/s");
    }
    let cells = SIZES.map(|bytes| {
        let speed = bytes as f64 / seconds_per_job(backend, kind, bytes) / 1e6;
        format!("{speed:>10.0}")
    });
    format!("{name} {}", cells.join(" "))
}

fn main() {
    let name = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "aws-lc".to_owned());
    let backend = by_name(&name).unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(2);
    });
    println!(
        "{}; MB/s of batches on one core, by bytes of a job",
        backend.version()
    );
    let [small, middle, large] = SIZES;
    println!("{:<25} {small:>10} {middle:>10} {large:>10}", "");
    for algorithm in Algorithm::ALL {
        for &operation in algorithm.operations() {
            let kind = Kind {
                algorithm,
                operation,
            };
            if backend.supports(kind) {
                println!("{}", line(&backend, kind));
            }
        }
    }
}
