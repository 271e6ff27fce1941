//! Loops that have a CPU to themselves: the back-end's own, and other libraries'.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crypto::{Backend, KeyError, RawLoop, Status, Workload};
use sys::affinity::{PinError, pin_to};
use sys::clock::{now_ns, thread_cpu};

use crate::evidence::Evidence;
use crate::load::rig::Cores;
use crate::observe::{CpuTimes, step_ns};

/// Before a trial counts.
pub const WARM_UP: Duration = Duration::from_millis(5);
/// A loop that is not set up by then never will be.
const READY_LIMIT: Duration = Duration::from_secs(10);

/// How long a trial is, and whether it is still wanted.
#[derive(Clone, Copy)]
pub struct Slice<'a> {
    pub length: Duration,
    /// Asked ten times a second; a trial that ends early is of no use.
    pub go_on: &'a dyn Fn() -> bool,
}

impl Slice<'_> {
    /// One that is not interrupted.
    #[must_use]
    pub fn whole(length: Duration) -> Self {
        let go_on = &|| true;
        Self { length, go_on }
    }

    fn sleep(self) {
        const STEP: Duration = Duration::from_millis(100);
        let end = Instant::now() + self.length;
        while (self.go_on)() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(STEP));
        }
    }
}

/// What a loop did.
#[derive(Clone, Debug, Default)]
pub struct Alone {
    pub requests: f64,
    pub seconds: f64,
    /// CPU time of its thread.
    pub cpu: Duration,
    /// What the kernel counted on its CPU.
    pub times: CpuTimes,
    /// How fast the core was before: ns of one step.
    pub step_ns: Option<f64>,
}

impl Alone {
    pub fn requests_per_s(&self) -> f64 {
        self.requests / self.seconds
    }

    /// Cores that it kept busy.
    pub fn cpus(&self) -> f64 {
        self.cpu.as_secs_f64() / self.seconds
    }

    /// For how long it stood still, ns: it never sleeps.
    pub fn pause_ns(&self) -> f64 {
        (1.0 - self.cpus()).max(0.0) * self.seconds * 1e9
    }

    /// What disturbed it on that CPU.
    pub fn evidence(&self, cpu: usize, in_flight_bytes: usize) -> Evidence {
        Evidence {
            requests: self.requests as u64,
            times: self.times,
            step_ns: self.step_ns,
            pause_ns: self.pause_ns(),
            busy_cpus: self.cpus(),
            in_flight_bytes,
            cores: Cores {
                worker: cpu,
                client: cpu,
            },
            cpus: 1,
            crowd: 0,
            rates: None,
        }
    }
}

/// Why a loop gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum AloneError {
    #[error("no key")]
    Key(#[from] KeyError),
    #[error("the thread could not be placed")]
    Pin(#[from] PinError),
    #[error("the back-end ended a request with {0:?}")]
    Status(Status),
    #[error("{0} refused a request")]
    Refused(&'static str),
    #[error("the measuring thread panicked")]
    Panic,
    #[error("the measuring thread was not ready within {} s: stop other programs", READY_LIMIT.as_secs())]
    NotReady,
}

/// Set by the thread that runs a trial.
#[derive(Default)]
struct Phase(AtomicU8);

const READY: u8 = 1;
const MEASURING: u8 = 2;
const DONE: u8 = 3;

impl Phase {
    fn set(&self, phase: u8) {
        self.0.store(phase, Ordering::Release);
    }

    fn is_before(&self, phase: u8) -> bool {
        self.0.load(Ordering::Acquire) < phase
    }

    fn wait_until_ready(&self) -> Result<(), AloneError> {
        let deadline = Instant::now() + READY_LIMIT;
        while self.is_before(READY) {
            if Instant::now() >= deadline {
                return Err(AloneError::NotReady);
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// The back-end's own loop over this many slots on that CPU.
pub fn raw(
    backend: &Arc<dyn Backend>,
    workload: &Workload,
    slots: usize,
    cpu: usize,
    slice: Slice<'_>,
) -> Result<Alone, AloneError> {
    alone(cpu, slice, || {
        let mut raw = RawLoop::new(Arc::clone(backend), workload, slots)?;
        Ok(move || {
            raw.pass()
                .map_err(AloneError::Status)
                .map(|jobs| jobs as f64)
        })
    })
}

/// A trial of one loop: `make` sets it up in the thread that runs it, and each
/// call of what it makes says how many requests it did.
pub fn alone<W>(
    cpu: usize,
    slice: Slice<'_>,
    make: impl FnOnce() -> Result<W, AloneError> + Send,
) -> Result<Alone, AloneError>
where
    W: FnMut() -> Result<f64, AloneError>,
{
    let (phase, step_ns) = (Phase::default(), step_ns(cpu));
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let work = pin_to(cpu).map_err(AloneError::from).and_then(|()| make());
            // Before any return: the runner waits for it.
            phase.set(READY);
            let mut work = work?;
            work_until(&mut work, &phase, MEASURING)?;
            let (begin_ns, cpu) = (now_ns(), thread_cpu());
            let requests = work_until(&mut work, &phase, DONE)?;
            let seconds = (now_ns() - begin_ns) as f64 / 1e9;
            Ok((requests, seconds, thread_cpu() - cpu))
        });
        // Filling the slots is no part of the warm-up, and may take longer.
        let times = phase.wait_until_ready().map(|()| {
            thread::sleep(WARM_UP);
            let times = CpuTimes::now(&[cpu]);
            phase.set(MEASURING);
            slice.sleep();
            CpuTimes::now(&[cpu]).since(times)
        });
        phase.set(DONE);
        let counted = worker.join().unwrap_or(Err(AloneError::Panic));
        let (times, (requests, seconds, cpu)) = (times?, counted?);
        Ok(Alone {
            requests,
            seconds,
            cpu,
            times,
            step_ns,
        })
    })
}

fn work_until<W>(work: &mut W, phase: &Phase, until: u8) -> Result<f64, AloneError>
where
    W: FnMut() -> Result<f64, AloneError>,
{
    let mut requests = 0.0;
    while phase.is_before(until) {
        requests += work()?;
    }
    Ok(requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_never_sleeps_pauses_while_it_is_off_its_cpu() {
        let of = |cpu_ms| Alone {
            requests: 500.0,
            seconds: 0.5,
            cpu: Duration::from_millis(cpu_ms),
            ..Alone::default()
        };
        assert!((of(450).pause_ns() - 5e7).abs() < 1.0);
        assert_eq!(of(501).pause_ns(), 0.0);
        assert_eq!(of(450).requests_per_s(), 1000.0);
    }

    #[test]
    fn what_a_loop_does_is_counted_and_its_failure_told() {
        testing::timed(|| {
            let cpu = sys::affinity::allowed_cpus().unwrap()[0];
            let slice = Slice::whole(Duration::from_millis(10));
            let did = alone(cpu, slice, || Ok(|| Ok(2.0))).unwrap();
            assert!(did.requests > 0.0, "{did:?}");
            let refused = || Err::<f64, _>(AloneError::Refused("it"));
            let error = alone(cpu, slice, || Ok(refused)).unwrap_err();
            assert_eq!(error.to_string(), "it refused a request");
        });
    }
}
