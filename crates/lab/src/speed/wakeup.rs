//! What one wake-up costs: two threads that wake each other in turn.

use std::thread;
use std::time::{Duration, Instant};

use sys::affinity::pin_to;
use sys::clock::now_ns;
use sys::event::Event;
use trial::Histogram;

use super::place::Cpus;

/// No answer for so long ends the measurement.
const STUCK: Duration = Duration::from_secs(2);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_takes_time_and_ends() {
        let cpu = sys::affinity::allowed_cpus().unwrap()[0];
        let cpus = Cpus {
            workers: vec![cpu],
            clients: vec![cpu],
        };
        assert!(wake_up_ns(&cpus, Duration::from_millis(20)).unwrap() > 100.0);
    }
}
