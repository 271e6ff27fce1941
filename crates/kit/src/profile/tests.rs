use std::hint::black_box;
use std::time::{Duration, Instant};

use super::*;

/// Samples of work on one CPU for a while; `None` where this host has none.
fn profile(mut work: impl FnMut() + Send) -> Option<Profile> {
    let cpu = crate::place::usable_cpus().unwrap()[0];
    let mut profiler = match Profiler::on(&[cpu]) {
        Ok(profiler) => profiler,
        Err(error) => {
            testing::skipped(format!("no samples of the kernel's clock: {error}"));
            return None;
        }
    };
    let run = || {
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                sys::affinity::pin_to(cpu).unwrap();
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_millis(400) {
                    work();
                }
                sys::clock::thread_cpu()
            });
            worker.join().unwrap()
        })
    };
    let (used, profile) = profiler.around(run).unwrap();
    // None is lost without a word.
    let expected = used.as_secs_f64() * RATE_HZ as f64;
    assert!(
        profile.samples() as f64 > 0.7 * expected,
        "{profile:?} in {used:?}"
    );
    Some(profile)
}

fn mostly(profile: Option<Profile>, part: Part) {
    let Some(profile) = profile else { return };
    assert_eq!(profile.lost, 0);
    let most = Part::ALL.into_iter();
    let most = most.max_by(|a, b| profile.share(*a).total_cmp(&profile.share(*b)));
    assert_eq!(most, Some(part), "{profile:?}");
}

#[test]
fn what_a_thread_does_most_has_most_samples() {
    testing::alone_as_root(|| {
        let from = vec![1_u8; 1 << 20];
        let mut to = vec![0_u8; 1 << 20];
        let copies = profile(|| black_box(&mut to).copy_from_slice(black_box(&from)));
        mostly(copies, Part::Copies);
        let asks = profile(|| {
            for _ in 0..1000 {
                let _ = black_box(std::fs::metadata("/proc/self/nothing"));
            }
        });
        mostly(asks, Part::Kernel);
        let allocates = profile(|| {
            for bytes in 1..1000_usize {
                drop(black_box(Vec::<u8>::with_capacity(black_box(bytes))));
            }
        });
        mostly(allocates, Part::Memory);
    });
}

#[test]
fn a_record_that_is_cut_short_is_none() {
    let mut body = 7_u64.to_ne_bytes().to_vec();
    assert!(Seen::of(RECORD_SAMPLE, MODE_KERNEL, &body).is_none());
    body.extend(5_u32.to_ne_bytes());
    let seen = Seen::of(RECORD_SAMPLE, 2, &body);
    assert!(matches!(
        seen,
        Some(Seen::Sample {
            pid: 5,
            address: 7,
            is_kernel: false
        })
    ));
    assert!(Seen::of(RECORD_LOST, 0, &body).is_none());
    assert!(Seen::of(1, 0, &body).is_none());
}
