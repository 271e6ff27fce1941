//! The loop that asks, once for each socket.

use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use sys::clock::now_ns;

use crate::kspeed::af_alg::AfAlgError;
use crate::kspeed::af_alg::expected::Expected;
use crate::kspeed::af_alg::request::AfAlg;
use crate::kspeed::af_alg::socket::{Operation, Transform};
use crate::kspeed::trial_line::{LatencyRecorder, ThreadCount};

/// So much of a result is compared after every request: a block, or a tag.
const TAIL_BYTES: usize = 16;

/// What all threads counted.
pub(super) struct Run {
    pub(super) elapsed_ns: u64,
    pub(super) latency: LatencyRecorder,
    pub(super) threads: Vec<ThreadCount>,
}

/// What one did.
struct Count {
    begin_ns: u64,
    end_ns: u64,
    latency: LatencyRecorder,
    thread: ThreadCount,
}

/// Runs `depth` loops side by side.
pub(super) fn run(
    request: &AfAlg,
    transform: &Transform,
    expected: &Expected,
) -> Result<Run, AfAlgError> {
    let operations = (0..request.depth)
        .map(|_| transform.operation())
        .collect::<Result<Vec<_>, _>>()?;
    let counts = match &operations[..] {
        // In this thread, so that no other takes part.
        [only] => vec![pump(request, transform, expected, only, &Gate::open())],
        many => side_by_side(request, transform, expected, many)?,
    };
    let counts = counts.into_iter().collect::<Result<Vec<_>, _>>()?;
    let begin_ns = counts.iter().map(|one| one.begin_ns).min().unwrap_or(0);
    let end_ns = counts.iter().map(|one| one.end_ns).max().unwrap_or(0);
    let mut latency = LatencyRecorder::default();
    counts.iter().for_each(|one| latency.merge(&one.latency));
    Ok(Run {
        elapsed_ns: end_ns.saturating_sub(begin_ns),
        latency,
        threads: counts.into_iter().map(|one| one.thread).collect(),
    })
}

fn side_by_side(
    request: &AfAlg,
    transform: &Transform,
    expected: &Expected,
    operations: &[Operation],
) -> Result<Vec<Result<Count, AfAlgError>>, AfAlgError> {
    let gate = Gate::default();
    thread::scope(|scope| {
        let mut pumps = Vec::new();
        for (thread, operation) in (1..).zip(operations) {
            let gate = &gate;
            let run = move || pump(request, transform, expected, operation, gate);
            match thread::Builder::new().spawn_scoped(scope, run) {
                Ok(pump) => pumps.push(pump),
                Err(source) => {
                    gate.decide(Start::Never);
                    let depth = request.depth;
                    return Err(AfAlgError::Thread {
                        thread,
                        depth,
                        source,
                    });
                }
            }
        }
        gate.decide(Start::Now);
        let join = |pump: thread::ScopedJoinHandle<'_, _>| pump.join();
        let counts = pumps.into_iter().map(join);
        Ok(counts
            .map(|count| count.unwrap_or(Err(AfAlgError::Panic)))
            .collect())
    })
}

/// What threads that wait for each other learn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    Now,
    /// One of them could not be started.
    Never,
}

/// Where threads wait until all are there.
#[derive(Default)]
struct Gate {
    decided: Mutex<Option<Start>>,
    changed: Condvar,
}

impl Gate {
    fn open() -> Self {
        let own = Self::default();
        own.decide(Start::Now);
        own
    }

    fn decide(&self, start: Start) {
        *self.decided.lock().unwrap_or_else(PoisonError::into_inner) = Some(start);
        self.changed.notify_all();
    }

    fn wait(&self) -> Start {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *decided {
                Some(start) => return start,
                None => {
                    let woken = self.changed.wait(decided);
                    decided = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

/// Asks until the time is over.
fn pump(
    request: &AfAlg,
    transform: &Transform,
    expected: &Expected,
    operation: &Operation,
    gate: &Gate,
) -> Result<Count, AfAlgError> {
    let mut output = vec![0; expected.output.len()];
    if gate.wait() == Start::Never {
        // Nobody looks at it: the error is that another did not start.
        return Err(AfAlgError::Panic);
    }
    let mut ask = || ask(transform, expected, operation, &mut output);
    let warm_ns = now_ns() + ns(request.warm_up);
    while now_ns() < warm_ns {
        ask()?;
    }
    let begin_ns = now_ns();
    let until_ns = begin_ns + ns(request.time);
    let (mut latency, mut completed, mut last_ns) = (LatencyRecorder::default(), 0, begin_ns);
    while last_ns < until_ns {
        ask()?;
        let now = now_ns();
        latency.record(now - last_ns);
        completed += 1;
        last_ns = now;
    }
    if output[expected.skip..] != expected.output[expected.skip..] {
        return Err(wrong(transform));
    }
    let cpu = rustix::thread::sched_getcpu();
    let thread = ThreadCount {
        cpu: u32::try_from(cpu).unwrap_or(0),
        completed,
        in_flight_max: 1,
        ..ThreadCount::default()
    };
    Ok(Count {
        begin_ns,
        end_ns: last_ns,
        latency,
        thread,
    })
}

/// One request, its result's end compared: with chaining and tags that is
/// where any mistake shows.
fn ask(
    transform: &Transform,
    expected: &Expected,
    operation: &Operation,
    output: &mut [u8],
) -> Result<(), AfAlgError> {
    operation
        .run(&expected.head, &expected.input, output)
        .map_err(|source| failed(transform, source))?;
    let tail = output.len().saturating_sub(TAIL_BYTES).max(expected.skip);
    if output[tail..] == expected.output[tail..] {
        Ok(())
    } else {
        Err(wrong(transform))
    }
}

fn failed(transform: &Transform, source: io::Error) -> AfAlgError {
    AfAlgError::System {
        call: "a request",
        driver: transform.driver.clone(),
        remedy: "",
        source,
    }
}

fn wrong(transform: &Transform) -> AfAlgError {
    AfAlgError::Wrong {
        driver: transform.driver.clone(),
        what: "a repeated request gave another result",
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2)
}
