//! Runs one trial: begins to count, sends each way from a thread of its own,
//! waits for what is still on its way (RFC 2544, section 23).

use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::tester::port::{PortError, Received, Receiver, Transmitter};
use crate::tester::stream::Stream;

use super::Direction;
use super::group::{Group, Sending, Sent};
use super::host::{HostUse, Placement};
use super::window::{Limit, Mark, Reader, watch};

/// A transmitter that continues this long after the end of its stream is stopped:
/// live frames end some 30 ms late, a starved transmitter much later.
const OVERTIME: Duration = Duration::from_secs(5);

/// How often counts are looked at while the last frames come.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Looks without a change after which nothing is under way any more, where a loss
/// must be known; a busy host keeps a device waiting for that long.
const QUIET_LOOKS: u32 = 15;

/// The same at overload, where what is still queued is not part of the rate; not for
/// a burst, of which every frame counts.
const QUIET_LOOKS_OVERLOAD: u32 = 4;

/// One direction: transmitter, stream and receiver.
pub struct Way<'a> {
    pub transmitter: &'a mut dyn Transmitter,
    pub receiver: &'a mut dyn Receiver,
    pub stream: Stream,
    pub generator_cpu: usize,
}

impl<'a> Way<'a> {
    /// Splits what a thread of its own sends from what the harness reads meanwhile.
    fn split(&mut self) -> (Sending<'_, 'a>, &mut (dyn Receiver + 'a)) {
        let sending = Sending {
            transmitter: &mut *self.transmitter,
            stream: self.stream,
            cpu: self.generator_cpu,
        };
        (sending, &mut *self.receiver)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ran<R> {
    pub directions: Vec<Direction>,
    pub host: HostUse,
    /// Read when the sending began, and when it was over.
    pub readings: [R; 2],
}

#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error("the trial was interrupted")]
    Interrupted,
    #[error("way {way} of {count} of a trial failed", way = .way + 1)]
    Port {
        way: usize,
        count: usize,
        #[source]
        source: PortError,
    },
    #[error("a thread that sends cannot be pinned; choose another CPU for the generator")]
    Pin(#[source] sys::affinity::PinError),
    #[error("a thread that sends cannot be started; raise the limit of threads (ulimit -u)")]
    Thread(#[source] std::io::Error),
}

/// Sends on all ways at the same time. Waits until all frames have come, no more come
/// or `residual` is over, and returns what each way sent and received. The calling
/// thread sleeps meanwhile. The use of the CPUs of `placement` is noted, and `read`
/// is called at begin and end of sending (and before, in case neither is reported);
/// `go_on` is asked ten times a second.
///
/// # Panics
/// If a transmitter does.
pub fn run<R>(
    ways: &mut [Way<'_>],
    placement: &Placement,
    residual: Duration,
    read: &mut dyn FnMut() -> R,
    go_on: &dyn Fn() -> bool,
) -> Result<Ran<R>, TrialError> {
    let count = ways.len();
    let port = |way| move |source| TrialError::Port { way, count, source };
    for (index, way) in ways.iter_mut().enumerate() {
        way.receiver.begin(&way.stream).map_err(port(index))?;
    }
    let (sent, [first, last]) = send_all(ways, read, go_on)?;
    let deadline = Instant::now() + residual;
    let mut directions = Vec::with_capacity(count);
    for (index, (way, (sent, sender))) in ways.iter_mut().zip(sent).enumerate() {
        let received =
            last_counts(way.receiver, &way.stream, sent.offered, deadline).map_err(port(index))?;
        directions.push(Direction {
            stream: way.stream,
            sent,
            received,
            counting: last.counting[index].since(first.counting[index]),
            sender,
        });
    }
    Ok(Ran {
        directions,
        host: last.host.since(&first.host, placement),
        readings: [first.read, last.read],
    })
}

/// What each way sent, in order, and what was read at both ends of it.
type SentAll<R> = (Vec<Sent>, [Mark<R>; 2]);

fn send_all<R>(
    ways: &mut [Way<'_>],
    read: &mut dyn FnMut() -> R,
    go_on: &dyn Fn() -> bool,
) -> Result<SentAll<R>, TrialError> {
    let count = ways.len();
    let longest = ways.iter().map(|way| way.stream.duration).max();
    let stop = AtomicBool::new(false);
    let (sendings, receivers) = ways.iter_mut().map(Way::split).unzip();
    let mut reader = Reader { receivers, read };
    let groups = Group::all(sendings);
    let senders = groups.len();
    thread::scope(|scope| {
        let (phase, phases) = mpsc::channel();
        let mut threads = Vec::new();
        for (index, group) in groups.into_iter().enumerate() {
            let (go, start) = mpsc::channel();
            let (phase, stop) = (phase.clone(), &stop);
            let builder = thread::Builder::new().name(format!("lockgate-send-{index}"));
            // Its end of the channel is dropped at the end, whatever the end:
            // that wakes the waiting thread.
            let send = move || group.send(count, &start, &phase, stop);
            let thread = builder.spawn_scoped(scope, send);
            threads.push((go, thread.map_err(TrialError::Thread)?));
        }
        drop(phase);
        let before = reader.mark()?;
        for (go, _) in &threads {
            // A thread that could not be pinned has ended: its error says why.
            let _ = go.send(());
        }
        let limit = Limit {
            stop: &stop,
            deadline: Instant::now() + longest.unwrap_or_default() + OVERTIME,
            go_on,
        };
        let marks = watch(&mut reader, before, (&phases, senders), &limit);
        let mut sent = Vec::new();
        for (_, thread) in threads {
            match thread.join() {
                Ok(group) => sent.extend(group?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        sent.sort_by_key(|(way, _)| *way);
        let sent = sent.into_iter().map(|(_, sent)| sent).collect();
        Ok((sent, marks?))
    })
}

/// The counts once all `offered` frames have come, no more come, or the deadline is
/// over.
fn last_counts(
    receiver: &mut dyn Receiver,
    stream: &Stream,
    offered: u64,
    deadline: Instant,
) -> Result<Received, PortError> {
    let looks = match (stream.rate_pps, stream.frames_max) {
        (None, None) => QUIET_LOOKS_OVERLOAD,
        _ => QUIET_LOOKS,
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
