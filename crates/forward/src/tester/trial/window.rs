//! The time in which a trial sends, and what is read where it begins and ends.
//!
//! Starting and ending a generator takes up to 30 ms, and the last frames are
//! waited for: a router that spins is busy all that time, one that sleeps is
//! not. What a frame costs is measured over the sending alone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Inbox, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::host::Moment;
use super::{Counting, TrialError};
use crate::tester::port::{PortError, Receiver};

/// How often `go_on` is asked.
const ASK_EVERY: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Begun,
    Over,
}

pub(super) struct Reader<'r, 'a, R> {
    pub receivers: Vec<&'r mut (dyn Receiver + 'a)>,
    pub read: &'r mut dyn FnMut() -> R,
}

pub(super) struct Mark<R> {
    pub host: Moment,
    pub read: R,
    pub counting: Vec<Counting>,
}

impl<R> Reader<'_, '_, R> {
    pub(super) fn mark(&mut self) -> Result<Mark<R>, TrialError> {
        let count = self.receivers.len();
        let (host, read) = (Moment::now(), (self.read)());
        let ways = self.receivers.iter_mut().enumerate();
        let counting = ways.map(|(way, receiver)| {
            counting(*receiver).map_err(|source| TrialError::Port { way, count, source })
        });
        Ok(Mark {
            host,
            read,
            counting: counting.collect::<Result<_, _>>()?,
        })
    }
}

fn counting(receiver: &mut dyn Receiver) -> Result<Counting, PortError> {
    Ok(Counting {
        cpu_ns: receiver.cpu_ns()?,
        frames: receiver.counts()?.received,
    })
}

/// A deadline, and the flag that stops senders.
pub(super) struct Limit<'s> {
    pub stop: &'s AtomicBool,
    pub deadline: Instant,
    pub go_on: &'s dyn Fn() -> bool,
}

/// Waits until all `senders` have ended, and reads at the begin of the first and the
/// end of the last. `before` was read before they could begin, and replaces a begin
/// that was not reported. Sets `stop` when `go_on` returns false, time is over, or
/// nothing can be read.
pub(super) fn watch<R>(
    reader: &mut Reader<'_, '_, R>,
    before: Mark<R>,
    (phases, senders): (&Inbox<Phase>, usize),
    limit: &Limit<'_>,
) -> Result<[Mark<R>; 2], TrialError> {
    let watched = watch_on(reader, before, (phases, senders), limit);
    if watched.is_err() {
        limit.stop.store(true, Ordering::Relaxed);
    }
    watched
}

fn watch_on<R>(
    reader: &mut Reader<'_, '_, R>,
    before: Mark<R>,
    (phases, senders): (&Inbox<Phase>, usize),
    limit: &Limit<'_>,
) -> Result<[Mark<R>; 2], TrialError> {
    let (mut first, mut last) = (before, None);
    let (mut begun, mut over) = (0, 0);
    loop {
        match phases.recv_timeout(ASK_EVERY) {
            Ok(Phase::Begun) => {
                begun += 1;
                if begun == 1 {
                    first = reader.mark()?;
                }
            }
            Ok(Phase::Over) => {
                over += 1;
                if over == senders {
                    last = Some(reader.mark()?);
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                if !(limit.go_on)() {
                    return Err(TrialError::Interrupted);
                }
                if Instant::now() > limit.deadline {
                    limit.stop.store(true, Ordering::Relaxed);
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let last = match last {
        Some(last) => last,
        None => reader.mark()?,
    };
    Ok([first, last])
}
