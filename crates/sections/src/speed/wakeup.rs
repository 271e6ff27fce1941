//! What it costs to reach another core: with a wake-up, and without one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sys::affinity::pin_to;
use sys::clock::now_ns;
use sys::event::Event;
use trial::Histogram;

use kit::place::Cpus;

/// No answer for so long ends the measurement.
const STUCK: Duration = Duration::from_secs(2);

/// A look at the clock takes about as long as a line's way: one in so many
/// rounds, and one in so many polls.
const ROUNDS_A_LOOK: u64 = 64;

/// Median time, ns, from signalling a sleeping thread on the other CPU until
/// it runs, over `slice`; `None` where it could not be measured.
pub(super) fn wake_up_ns(cpus: &Cpus, slice: Duration) -> Option<f64> {
    let (here, there) = (Event::new().ok()?, Event::new().ok()?);
    let deadline = Instant::now() + slice;
    let rounds = thread::scope(|scope| {
        let echo = scope.spawn(|| {
            pin_to(cpus.workers[0]).ok()?;
            while Instant::now() < deadline {
                if there.wait(STUCK) {
                    here.signal();
                }
            }
            Some(())
        });
        let caller = scope.spawn(|| {
            pin_to(cpus.clients[0]).ok()?;
            let mut rounds = Histogram::new();
            while Instant::now() < deadline {
                let begin = now_ns();
                there.signal();
                if !here.wait(STUCK) {
                    break;
                }
                rounds.record(now_ns() - begin);
            }
            there.signal();
            Some(rounds)
        });
        let rounds = caller.join().ok().flatten();
        let _ = echo.join();
        rounds
    })?;
    // There and back are two wake-ups.
    rounds.quantile_ns(0.5).map(|round| round as f64 / 2.0)
}

/// Median time, ns, until the other CPU sees a value written here, both
/// looking all the time: the way of one cache line, the least any hand-over
/// can cost. `None` where it could not be measured.
pub(super) fn line_ns(cpus: &Cpus, slice: Duration) -> Option<f64> {
    let ball = AtomicU64::new(0);
    let deadline = Instant::now() + slice;
    // Each answers the other's count with the next; odd is the caller's.
    let player = || {
        // Over all counts: an answer mostly comes within fewer polls.
        let (ball, mut polls) = (&ball, 0u64);
        move |count: u64| {
            loop {
                polls += 1;
                if polls.is_multiple_of(ROUNDS_A_LOOK) && Instant::now() >= deadline {
                    return false;
                }
                if ball.load(Ordering::Acquire) == count {
                    break;
                }
                std::hint::spin_loop();
            }
            ball.store(count + 1, Ordering::Release);
            true
        }
    };
    thread::scope(|scope| {
        let echo = scope.spawn(|| {
            pin_to(cpus.workers[0]).ok()?;
            let mut returns = player();
            (1..).step_by(2).take_while(|&count| returns(count)).last()
        });
        let caller = scope.spawn(|| {
            pin_to(cpus.clients[0]).ok()?;
            let (mut returns, mut rounds) = (player(), Histogram::new());
            let mut begin = now_ns();
            for block in 0u64.. {
                let first = block * 2 * ROUNDS_A_LOOK;
                if !(first..)
                    .step_by(2)
                    .take(ROUNDS_A_LOOK as usize)
                    .all(&mut returns)
                {
                    break;
                }
                let now = now_ns();
                rounds.record((now - begin) / ROUNDS_A_LOOK);
                begin = now;
            }
            rounds.quantile_ns(0.5)
        });
        let round = caller.join().ok().flatten();
        let _ = echo.join();
        // There and back are two ways.
        round.map(|round| round as f64 / 2.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_takes_time_and_ends() {
        testing::alone(|| {
            let cpu = sys::affinity::allowed_cpus().unwrap()[0];
            let cpus = Cpus {
                workers: vec![cpu],
                clients: vec![cpu],
            };
            let wake_up = wake_up_ns(&cpus, Duration::from_millis(50));
            assert!(wake_up.expect("a round within 50 ms") > 100.0);
        });
    }

    #[test]
    fn a_line_reaches_another_core() {
        testing::alone(|| {
            let cpus = sys::affinity::allowed_cpus().unwrap();
            let [here, there, ..] = cpus[..] else {
                testing::skipped("one CPU is allowed, a line has no other core to go to");
                return;
            };
            let cpus = Cpus {
                workers: vec![there],
                clients: vec![here],
            };
            let ns = line_ns(&cpus, Duration::from_millis(200)).expect("64 rounds within 200 ms");
            assert!(ns > 1.0, "{ns}");
        });
    }
}
