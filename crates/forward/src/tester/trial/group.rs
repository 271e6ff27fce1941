//! Ways that one thread sends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Inbox, Sender as Outbox};

use crate::tester::port::{PortError, Transmitted, Transmitter};
use crate::tester::stream::{Addresses, Stream};

use super::host::Reading;
use super::window::Phase;
use super::{Sender, TrialError};

/// What a way sent, and what was seen of the thread.
pub(super) type Sent = (Transmitted, Sender);

pub(super) struct Sending<'w, 'a> {
    pub transmitter: &'w mut (dyn Transmitter + 'a),
    pub stream: Stream,
    pub cpu: usize,
}

/// Ways that share a CPU and can take turns there frame by frame, or one way.
///
/// Separate threads would have the CPU in turns of milliseconds: each stream would
/// have gaps, with bursts after them.
pub(super) struct Group<'w, 'a> {
    ways: Vec<(usize, Sending<'w, 'a>)>,
}

impl<'w, 'a> Group<'w, 'a> {
    pub(super) fn all(ways: Vec<Sending<'w, 'a>>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for (index, mut way) in ways.into_iter().enumerate() {
            let place = groups.iter_mut().position(|group| group.takes(&mut way));
            match place {
                Some(group) => groups[group].ways.push((index, way)),
                None => groups.push(Self {
                    ways: vec![(index, way)],
                }),
            }
        }
        groups
    }

    fn takes(&mut self, way: &mut Sending<'_, '_>) -> bool {
        let (_, first) = &mut self.ways[0];
        first.cpu == way.cpu
            && is_like(&first.stream, &way.stream)
            && can_take_turns(first)
            && can_take_turns(way)
            && self.ways.len() < most()
    }

    /// Sends all ways from the calling thread, on their CPU, once `start` allows it,
    /// and reports begin and end. A failure sets `stop`: the trial is lost, so the
    /// others stop too.
    pub(super) fn send(
        mut self,
        count: usize,
        start: &Inbox<()>,
        phase: &Outbox<Phase>,
        stop: &AtomicBool,
    ) -> Result<Vec<(usize, Sent)>, TrialError> {
        let (way, first) = &self.ways[0];
        let (way, cpu) = (*way, first.cpu);
        sys::affinity::pin_to(cpu).map_err(TrialError::Pin)?;
        if start.recv().is_err() {
            // Another thread could not be started.
            return Err(TrialError::Interrupted);
        }
        let before = Reading::now(cpu);
        // Who listens hears of the end, too: the channel closes.
        let sent = self.transmit(stop, &|now| phase.send(now).unwrap_or(()));
        let sender = Reading::now(cpu).since(before);
        let sent = sent.map_err(|source| {
            stop.store(true, Ordering::Relaxed);
            TrialError::Port { way, count, source }
        })?;
        let numbers = self.ways.iter().map(|(way, _)| *way);
        Ok(numbers
            .zip(sent.into_iter().map(|sent| (sent, sender)))
            .collect())
    }

    fn transmit(
        &mut self,
        stop: &AtomicBool,
        tell: &(dyn Fn(Phase) + Sync),
    ) -> Result<Vec<Transmitted>, PortError> {
        let [(_, only), ..] = &mut self.ways[..] else {
            return Ok(vec![]);
        };
        if can_take_turns(only) {
            return self.transmit_in_turns(stop, tell);
        }
        tell(Phase::Begun);
        let sent = only.transmitter.transmit(&only.stream, stop);
        tell(Phase::Over);
        Ok(vec![sent?])
    }

    /// Live frames: the program knows when it has begun and ended, not the call.
    #[cfg(feature = "bpf")]
    fn transmit_in_turns(
        &mut self,
        stop: &AtomicBool,
        tell: &(dyn Fn(Phase) + Sync),
    ) -> Result<Vec<Transmitted>, PortError> {
        let streams: Vec<_> = self.ways.iter().map(|(_, way)| way.stream).collect();
        let transmitters = self.ways.iter_mut();
        let mut transmitters: Vec<_> = transmitters
            .filter_map(|(_, way)| way.transmitter.taking_turns())
            .collect();
        let tell = |phase| {
            tell(match phase {
                xdp::Phase::Begun => Phase::Begun,
                xdp::Phase::Over => Phase::Over,
            });
        };
        let watch = xdp::Watch { stop, tell: &tell };
        crate::tester::port::live::transmit_in_turns(&mut transmitters, &streams, watch)
    }

    #[cfg(not(feature = "bpf"))]
    fn transmit_in_turns(
        &mut self,
        _: &AtomicBool,
        _: &(dyn Fn(Phase) + Sync),
    ) -> Result<Vec<Transmitted>, PortError> {
        unreachable!("no port of this build takes turns")
    }
}

#[cfg(feature = "bpf")]
fn can_take_turns(way: &mut Sending<'_, '_>) -> bool {
    way.transmitter.taking_turns().is_some()
}

#[cfg(not(feature = "bpf"))]
fn can_take_turns(_: &mut Sending<'_, '_>) -> bool {
    false
}

fn most() -> usize {
    #[cfg(feature = "bpf")]
    return xdp::GENERATORS_MAX;
    #[cfg(not(feature = "bpf"))]
    return 1;
}

fn is_like(one: &Stream, other: &Stream) -> bool {
    let is_v6 = |stream: &Stream| matches!(stream.addresses, Addresses::V6 { .. });
    one.size == other.size
        && one.link.vlan.is_some() == other.link.vlan.is_some()
        && is_v6(one) == is_v6(other)
}
