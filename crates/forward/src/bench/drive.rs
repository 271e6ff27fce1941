//! One trial: senders and counters, several at the same time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver as Inbox, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::error::BenchError;
use super::result::DirectionResult;
use crate::tester::port::{PortError, Receiver, Transmitted, Transmitter};
use crate::tester::stream::Stream;

/// How often whoever waits is asked whether to go on.
const ASK_EVERY: Duration = Duration::from_millis(100);
/// How long no frame may come until no more is expected.
const QUIET: Duration = Duration::from_millis(40);
/// How long frames under way are waited for at most. RFC 2544, section 23,
/// says 2 s, for networks; here nothing is longer than a queue.
const SETTLE_MAX: Duration = Duration::from_millis(500);
/// A sender that has not ended by its time and this is told to stop.
const OVERTIME: Duration = Duration::from_secs(5);

/// One direction: who sends what, and who counts it.
pub struct Way<'a> {
    pub transmitter: &'a mut dyn Transmitter,
    pub receiver: &'a mut dyn Receiver,
    pub stream: Stream,
    pub generator_cpu: usize,
}

/// Sends on all ways at the same time, waits until no more frames come, and
/// says what each way sent and got. The calling thread sleeps meanwhile.
pub fn drive(
    ways: &mut [Way<'_>],
    go_on: &dyn Fn() -> bool,
) -> Result<Vec<DirectionResult>, BenchError> {
    for way in ways.iter_mut() {
        way.receiver.begin(way.stream.trial, way.stream.id)?;
    }
    let sent = send(ways, go_on)?;
    settle(ways)?;
    ways.iter_mut()
        .zip(sent)
        .map(|(way, sent)| {
            let received = way.receiver.counts()?;
            Ok(DirectionResult { sent, received })
        })
        .collect()
}

fn send(ways: &mut [Way<'_>], go_on: &dyn Fn() -> bool) -> Result<Vec<Transmitted>, BenchError> {
    let longest = ways.iter().map(|way| way.stream.duration).max();
    let deadline = Instant::now() + longest.unwrap_or_default() + OVERTIME;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (ended, endings) = mpsc::channel();
        let mut senders = Vec::new();
        for (index, way) in ways.iter_mut().enumerate() {
            let (go, start) = mpsc::channel();
            let (ended, stop) = (ended.clone(), &stop);
            let builder = thread::Builder::new().name(format!("lockgate-send-{index}"));
            let thread = builder
                .spawn_scoped(scope, move || send_one(way, &start, &ended, stop))
                .map_err(|source| port_error("cannot start a thread that sends", source))?;
            senders.push((go, thread));
        }
        drop(ended);
        // Had one thread not been started, the others would see their channels
        // closed, and end.
        for (go, _) in &senders {
            go.send(()).expect("each thread waits for its start first");
        }
        let go_on = wait(&endings, &stop, deadline, go_on);
        let sent = senders.into_iter().map(|(_, thread)| match thread.join() {
            Ok(sent) => sent,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        let sent = sent.collect::<Result<Vec<_>, _>>();
        if go_on {
            sent
        } else {
            Err(BenchError::Interrupted)
        }
    })
}

fn send_one(
    way: &mut Way<'_>,
    start: &Inbox<()>,
    ended: &Sender<()>,
    stop: &AtomicBool,
) -> Result<Transmitted, BenchError> {
    // Dropped at the end, whatever the end: that wakes who waits.
    let _ended = ended.clone();
    if start.recv().is_err() {
        return Err(BenchError::Interrupted);
    }
    let what = "cannot bind the generator to its CPU";
    let sent = sys::affinity::pin_to(way.generator_cpu)
        .map_err(|source| port_error(what, source))
        .and_then(|()| way.transmitter.transmit(&way.stream, stop));
    if sent.is_err() {
        // The trial is lost: the others need not go on.
        stop.store(true, Ordering::Relaxed);
    }
    Ok(sent?)
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

/// Waits until no way has got a frame for a while.
fn settle(ways: &mut [Way<'_>]) -> Result<(), PortError> {
    let deadline = Instant::now() + SETTLE_MAX;
    let mut before = None;
    loop {
        let mut frames = 0;
        for way in ways.iter_mut() {
            let counts = way.receiver.counts()?;
            frames += counts.received + counts.duplicates + counts.late + counts.foreign;
        }
        if before == Some(frames) || Instant::now() > deadline {
            return Ok(());
        }
        before = Some(frames);
        thread::sleep(QUIET);
    }
}

fn port_error(context: &str, source: impl std::error::Error + Send + Sync + 'static) -> PortError {
    PortError {
        context: context.to_owned(),
        source: Some(Box::new(source)),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::tester::port::Received;
    use crate::tester::stream::{Addresses, FrameSize, Link};

    /// A cable: what is sent is received.
    #[derive(Clone, Default)]
    struct Cable(Arc<Mutex<Received>>);

    impl Transmitter for Cable {
        fn transmit(
            &mut self,
            stream: &Stream,
            stop: &AtomicBool,
        ) -> Result<Transmitted, PortError> {
            let until = Instant::now() + stream.duration;
            while Instant::now() < until && !stop.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
            self.0.lock().unwrap().received += 1000;
            Ok(Transmitted {
                offered: 1000,
                elapsed_ns: 1_000_000,
                ..Transmitted::default()
            })
        }
    }

    impl Receiver for Cable {
        fn begin(&mut self, _: u8, _: u8) -> Result<(), PortError> {
            *self.0.lock().unwrap() = Received::default();
            Ok(())
        }

        fn counts(&mut self) -> Result<Received, PortError> {
            Ok(self.0.lock().unwrap().clone())
        }
    }

    struct Broken;

    impl Transmitter for Broken {
        fn transmit(&mut self, _: &Stream, _: &AtomicBool) -> Result<Transmitted, PortError> {
            Err(PortError {
                context: "the port is gone".to_owned(),
                source: None,
            })
        }
    }

    fn stream(duration: Duration) -> Stream {
        Stream {
            trial: 1,
            id: 0,
            link: Link {
                source: [2; 6],
                destination: [4; 6],
                vlan: None,
            },
            addresses: Addresses::V4 {
                source: Ipv4Addr::LOCALHOST,
                first: Ipv4Addr::LOCALHOST,
                count: 1,
                stride: 1,
            },
            size: FrameSize::Fixed(64),
            rate_pps: None,
            duration,
            frames_max: None,
        }
    }

    fn cpu() -> usize {
        sys::affinity::allowed_cpus().unwrap()[0]
    }

    fn run(
        transmitters: &mut [Box<dyn Transmitter>],
        duration: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<DirectionResult>, BenchError> {
        let mut receiver = Cable::default();
        let mut receivers: Vec<Cable> = transmitters.iter().map(|_| receiver.clone()).collect();
        receiver.begin(0, 0).unwrap();
        let mut ways: Vec<Way<'_>> = transmitters
            .iter_mut()
            .zip(&mut receivers)
            .map(|(transmitter, receiver)| Way {
                transmitter: transmitter.as_mut(),
                receiver,
                stream: stream(duration),
                generator_cpu: cpu(),
            })
            .collect();
        drive(&mut ways, go_on)
    }

    #[test]
    fn both_ways_are_driven() {
        let (one, other) = (Cable::default(), Cable::default());
        let mut ends = [one.clone(), other.clone(), one, other];
        let [a, b, c, d] = &mut ends;
        let mut ways = [(a, c), (b, d)].map(|(transmitter, receiver)| Way {
            transmitter,
            receiver,
            stream: stream(Duration::from_millis(5)),
            generator_cpu: cpu(),
        });
        let results = drive(&mut ways, &|| true).unwrap();
        let counts: Vec<u64> = results.iter().map(|way| way.received.received).collect();
        assert_eq!(counts, [1000, 1000]);
        assert_eq!(results[0].lost(), 0);
    }

    #[test]
    fn an_interrupt_ends_a_long_trial() {
        let mut cables: [Box<dyn Transmitter>; 1] = [Box::new(Cable::default())];
        let ended = run(&mut cables, Duration::from_secs(3600), &|| false);
        assert!(matches!(ended, Err(BenchError::Interrupted)));
    }

    #[test]
    fn a_port_that_fails_fails_the_trial_and_stops_the_others() {
        let mut both: [Box<dyn Transmitter>; 2] = [Box::new(Cable::default()), Box::new(Broken)];
        let ended = run(&mut both, Duration::from_secs(3600), &|| true);
        assert!(matches!(ended, Err(BenchError::Port(_))));
    }
}
