//! Runs one trial: begins to count, sends each way from a thread of its own,
//! waits for what is still on its way (RFC 2544, section 23).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver as Inbox, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::tester::port::{PortError, Received, Receiver, Transmitter};
use crate::tester::stream::Stream;

use super::Direction;
use super::group::{Group, Sent};
use super::host::{HostUse, Moment, Placement};

/// A transmitter that goes on so long after its stream should have ended is
/// told to stop: live frames end some 30 ms late, a starved one much later.
const OVERTIME: Duration = Duration::from_secs(5);

/// How often whoever waits is asked whether to go on.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// How often counts are looked at while the last frames come.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Looks without a change that mean that nothing is on its way any more, where
/// a loss is to be told; a busy host keeps a device waiting for that long.
const QUIET_LOOKS: u32 = 15;

/// The same at overload, where what is still queued is no part of the rate.
const QUIET_LOOKS_OVERLOAD: u32 = 4;

/// One direction: who sends what, and who counts it.
pub struct Way<'a> {
    /// What sends.
    pub transmitter: &'a mut dyn Transmitter,
    /// What counts.
    pub receiver: &'a mut dyn Receiver,
    /// What is sent.
    pub stream: Stream,
    /// Where it is sent from.
    pub generator_cpu: usize,
}

/// What a trial gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// One a way, in the order of the ways.
    pub directions: Vec<Direction>,
    /// What the host did while it sent.
    pub host: HostUse,
}

/// Why there is no trial.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// Whoever wanted it no longer does.
    #[error("the trial was interrupted")]
    Interrupted,
    /// A port failed.
    #[error("way {way} of {count} of a trial failed", way = .way + 1)]
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
    #[error("a thread that sends cannot be pinned; choose another CPU for the generator")]
    Pin(#[source] sys::affinity::PinError),
    /// No thread.
    #[error("a thread that sends cannot be started; raise the limit of threads (ulimit -u)")]
    Thread(#[source] std::io::Error),
}

/// Sends on all ways at the same time, waits until all frames have come, none
/// does any more or `residual` is over, and says what each way sent and got.
/// The calling thread sleeps meanwhile. The use of the CPUs of `placement`
/// is noted; `go_on` is asked ten times a second.
///
/// # Errors
/// [`TrialError`].
///
/// # Panics
/// If a transmitter does.
pub fn run(
    ways: &mut [Way<'_>],
    placement: &Placement,
    residual: Duration,
    go_on: &dyn Fn() -> bool,
) -> Result<Ran, TrialError> {
    let count = ways.len();
    let port = |way| move |source| TrialError::Port { way, count, source };
    for (index, way) in ways.iter_mut().enumerate() {
        let Stream { trial, id, .. } = way.stream;
        way.receiver.begin(trial, id).map_err(port(index))?;
    }
    let before = Moment::now();
    let sent = send_all(ways, go_on)?;
    let host = before.used(placement);
    let deadline = Instant::now() + residual;
    let mut directions = Vec::with_capacity(count);
    for (index, (way, (sent, sender))) in ways.iter_mut().zip(sent).enumerate() {
        let received =
            last_counts(way.receiver, &way.stream, sent.offered, deadline).map_err(port(index))?;
        directions.push(Direction {
            stream: way.stream,
            sent,
            received,
            sender,
        });
    }
    Ok(Ran { directions, host })
}

fn send_all(ways: &mut [Way<'_>], go_on: &dyn Fn() -> bool) -> Result<Vec<Sent>, TrialError> {
    let count = ways.len();
    let longest = ways.iter().map(|way| way.stream.duration).max();
    let deadline = Instant::now() + longest.unwrap_or_default() + OVERTIME;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (ended, endings) = mpsc::channel::<()>();
        let mut senders = Vec::new();
        for (index, group) in Group::all(ways).into_iter().enumerate() {
            let (go, start) = mpsc::channel();
            let (ended, stop) = (ended.clone(), &stop);
            let builder = thread::Builder::new().name(format!("lockgate-send-{index}"));
            let thread = builder.spawn_scoped(scope, move || {
                // Dropped at the end, whatever the end: that wakes who waits.
                let _ended = ended;
                group.send(count, &start, stop)
            });
            senders.push((go, thread.map_err(TrialError::Thread)?));
        }
        drop(ended);
        for (go, _) in &senders {
            // A thread that could not be pinned has ended: its error says why.
            let _ = go.send(());
        }
        let wanted = wait(&endings, &stop, deadline, go_on);
        let mut sent = Vec::new();
        for (_, thread) in senders {
            match thread.join() {
                Ok(group) => sent.extend(group?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        sent.sort_by_key(|(way, _)| *way);
        if !wanted {
            return Err(TrialError::Interrupted);
        }
        Ok(sent.into_iter().map(|(_, sent)| sent).collect())
    })
}

/// Waits until all have ended, and sets `stop` when nobody wants to go on or
/// time is over. Returns whether it went on to the end.
fn wait(
    endings: &Inbox<()>,
    stop: &AtomicBool,
    deadline: Instant,
    go_on: &dyn Fn() -> bool,
) -> bool {
    let mut wanted = true;
    while let Err(RecvTimeoutError::Timeout) = endings.recv_timeout(ASK_EVERY) {
        wanted = wanted && go_on();
        if !wanted || Instant::now() > deadline {
            stop.store(true, Ordering::Relaxed);
        }
    }
    wanted
}

/// The counts once all `offered` frames have come, nothing comes any more, or
/// the deadline is over.
fn last_counts(
    receiver: &mut dyn Receiver,
    stream: &Stream,
    offered: u64,
    deadline: Instant,
) -> Result<Received, PortError> {
    let looks = match stream.rate_pps {
        Some(_) => QUIET_LOOKS,
        None => QUIET_LOOKS_OVERLOAD,
    };
    let mut counts = receiver.counts()?;
    let mut quiet = 0;
    while counts.received < offered && quiet < looks && Instant::now() < deadline {
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
