//! Runs one trial: begins to count, sends from a pinned thread a direction,
//! waits for what is still on its way (RFC 2544, section 23).

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::tester::port::{PortError, Received, Receiver, Transmitted, Transmitter};
use crate::tester::stream::Stream;

use super::host::{CpuTime, Reading, cpu_time};
use super::{Direction, Sender};

/// A transmitter that goes on so long after its stream should have ended is
/// told to stop: live frames end some 30 ms late, a starved one much later.
const OVERTIME: Duration = Duration::from_secs(5);

/// How often counts are looked at while the last frames come. It is the
/// harness's only work then: seldom enough to leave the device its CPU.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Looks without a change that mean that nothing is on its way any more.
const QUIET_LOOKS: u32 = 3;

/// Which CPUs a trial uses. Empty where it is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// One a direction, or one for all: where frames are sent from.
    pub generator: Vec<usize>,
    /// Where the device under test forwards.
    pub device: Vec<usize>,
    /// Where frames are counted.
    pub sink: Vec<usize>,
}

impl Placement {
    /// All of them, each once.
    #[must_use]
    pub fn cpus(&self) -> Vec<usize> {
        let parts = [&self.generator, &self.device, &self.sink];
        let mut cpus: Vec<_> = parts.into_iter().flatten().copied().collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }

    fn generator_of(&self, direction: usize) -> Option<usize> {
        let count = self.generator.len();
        (count > 0).then(|| self.generator[direction % count])
    }
}

/// A direction to be tried.
pub struct Way<'a> {
    /// What sends.
    pub transmitter: &'a mut dyn Transmitter,
    /// What counts.
    pub receiver: &'a mut dyn Receiver,
    /// What is sent.
    pub stream: Stream,
}

/// What a trial gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// One a direction, in the order of the ways.
    pub directions: Vec<Direction>,
    /// Time that the trial's CPUs were busy while it sent, all together.
    pub busy: Duration,
    /// Time that the hypervisor took from them.
    pub steal: Duration,
    /// How long it sent, by the harness's clock.
    pub elapsed: Duration,
}

/// Why there is no trial.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// Nothing to send.
    #[error("a trial needs one direction at least, none was given")]
    NoWay,
    /// A port failed.
    #[error("{way} of {count} directions failed", way = .way + 1)]
    Port {
        /// From 0.
        way: usize,
        /// How many there are.
        count: usize,
        /// The cause.
        #[source]
        source: PortError,
    },
    /// The CPU for the generator cannot be had.
    #[error("the generator's thread cannot be pinned; choose another CPU for it")]
    Pin(#[source] sys::affinity::PinError),
    /// A transmitter panicked: a bug of its own.
    #[error("the thread of direction {way} panicked")]
    Panicked {
        /// From 0.
        way: usize,
    },
}

/// Runs one trial. `residual` is the longest wait for frames still on their
/// way; it ends as soon as all have come or none does any more. `stop` ends it
/// early, e.g. on Ctrl-C: what was sent and counted until then is returned.
///
/// # Errors
/// [`TrialError`].
pub fn run(
    ways: &mut [Way<'_>],
    placement: &Placement,
    residual: Duration,
    stop: &AtomicBool,
) -> Result<Ran, TrialError> {
    let count = ways.len();
    if count == 0 {
        return Err(TrialError::NoWay);
    }
    let port = |way| move |source| TrialError::Port { way, count, source };
    for (index, way) in ways.iter_mut().enumerate() {
        let Stream { trial, id, .. } = way.stream;
        way.receiver.begin(trial, id).map_err(port(index))?;
    }
    let cpus = placement.cpus();
    let (before, start) = (times(&cpus), Instant::now());
    let sent = send_all(ways, placement, stop)?;
    let (elapsed, used) = (start.elapsed(), times(&cpus).since(before));
    let mut directions = Vec::with_capacity(count);
    let deadline = Instant::now() + residual;
    for (index, (way, (transmitted, sender))) in ways.iter_mut().zip(sent).enumerate() {
        let received =
            last_counts(way.receiver, transmitted.offered, deadline).map_err(port(index))?;
        directions.push(Direction {
            stream: way.stream,
            transmitted,
            received,
            sender,
        });
    }
    Ok(Ran {
        directions,
        busy: used.busy,
        steal: used.steal,
        elapsed,
    })
}

fn times(cpus: &[usize]) -> CpuTime {
    cpu_time(
        &std::fs::read_to_string("/proc/stat").unwrap_or_default(),
        cpus,
    )
}

type Sent = (Transmitted, Sender);

/// Each direction from a thread of its own, all at once.
fn send_all(
    ways: &mut [Way<'_>],
    placement: &Placement,
    stop: &AtomicBool,
) -> Result<Vec<Sent>, TrialError> {
    let count = ways.len();
    // The caller's flag is read only: ours ends what outlives its time.
    let halt = AtomicBool::new(false);
    let longest = ways.iter().map(|way| way.stream.duration).max();
    let deadline = Instant::now() + longest.unwrap_or_default() + OVERTIME;
    thread::scope(|scope| {
        let halt = &halt;
        let threads: Vec<_> = ways
            .iter_mut()
            .enumerate()
            .map(|(index, way)| {
                let cpu = placement.generator_of(index);
                scope.spawn(move || send(way, (index, count), cpu, halt))
            })
            .collect();
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            if stop.load(Ordering::Relaxed) || Instant::now() > deadline {
                halt.store(true, Ordering::Relaxed);
            }
            thread::sleep(LOOK_EVERY);
        }
        let joined = threads
            .into_iter()
            .enumerate()
            .map(|(way, thread)| thread.join().unwrap_or(Err(TrialError::Panicked { way })));
        joined.collect()
    })
}

fn send(
    way: &mut Way<'_>,
    (index, count): (usize, usize),
    cpu: Option<usize>,
    halt: &AtomicBool,
) -> Result<Sent, TrialError> {
    if let Some(cpu) = cpu {
        sys::affinity::pin_to(cpu).map_err(TrialError::Pin)?;
    }
    let before = Reading::now(cpu);
    let transmitted = way
        .transmitter
        .transmit(&way.stream, halt)
        .map_err(|source| TrialError::Port {
            way: index,
            count,
            source,
        })?;
    Ok((transmitted, Reading::now(cpu).since(before)))
}

/// The counts once all `offered` frames have come, nothing comes any more, or
/// the deadline is over.
fn last_counts(
    receiver: &mut dyn Receiver,
    offered: u64,
    deadline: Instant,
) -> Result<Received, PortError> {
    let mut counts = receiver.counts()?;
    let mut quiet = 0;
    while counts.received < offered && quiet < QUIET_LOOKS && Instant::now() < deadline {
        thread::sleep(LOOK_EVERY);
        let later = receiver.counts()?;
        let still = (later.received, later.duplicates) == (counts.received, counts.duplicates);
        quiet = if still { quiet + 1 } else { 0 };
        counts = later;
    }
    Ok(counts)
}

#[cfg(test)]
mod tests;
