//! Transfers over emulated links: on one that TCP already fills, which share each gets; on
//! one that loses packets, how long each takes and stands still.
//!
//! ```text
//!  left namespace                 emulated link                right namespace
//!  iperf3 client ──────▶┐  queue, rate     delay   ┌──────────▶ iperf3 server
//!  server of the        ├─────────────────────────▶┤
//!  transfer      ──────▶┘                          └──────────▶ its client
//! ```
//!
//! Several links run at once, each with namespaces of its own: at rates far below what a
//! CPU carries they do not disturb each other, and frames that came late say if they did.

use std::net::SocketAddrV4;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use forward::bench::tcp::{Filling, TcpError};
use net::emulator::{Direction, Emulator, LEFT, Lateness, RIGHT, Shape, Traffic};
use net::{Journal, Tag};
use offload::perf::Identity;
use trial::{Validity, Verdict};

use super::{End, Ends, LIMIT, Transfer, TransfersError, failed};
use crate::load::alone::Slice;
use crate::subject::Stopped;

/// What a section with such links needs, in a plan.
pub const PRIVILEGES: &str = "root (network namespaces, taps)";
/// Of the transfer's server.
const PORT: u16 = 4433;
/// Until TCP has found the rate of its link: it starts slowly, overshoots, and recovers
/// within some tens of round trips.
const SETTLE_ROUND_TRIPS: u32 = 60;
/// And iperf3 has connected twice, for control and for data.
const SETTLE_MIN: Duration = Duration::from_millis(600);
/// Of the link's rate: less than cubic holds with the smallest queue that is worth one.
const FILLED_MIN: f64 = 0.4;
/// As often as a thread asks whether to go on: an interrupt has links to take down, too.
const LOOK: Duration = Duration::from_millis(10);
/// So many bytes of acknowledgements wait without loss.
const BACK_QUEUE_BYTES: usize = 1 << 20;
/// Of the links' losses.
static SEED: AtomicU64 = AtomicU64::new(1);
/// More frames than that share came late: the link was not what it is said to be.
const LATE_RATIO_MAX: f64 = 0.01;

/// A link with the same rate and half the round trip each way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    pub rate_bit_per_s: u64,
    /// Without what waits in the queue.
    pub round_trip: Duration,
    /// Before the link, in the direction of the transfer.
    pub queue_bytes: usize,
    /// Share of frames that are lost in that direction: 0 to 1.
    pub loss: f64,
}

impl Link {
    /// What fills the link for a round trip, bytes.
    pub fn bytes_under_way(&self) -> f64 {
        self.rate_bit_per_s as f64 / 8.0 * self.round_trip.as_secs_f64()
    }

    /// In the direction of the transfer, and back.
    fn shapes(&self) -> (Shape, Shape) {
        let back = Shape {
            rate_bit_per_s: Some(self.rate_bit_per_s),
            delay: self.round_trip / 2,
            queue_bytes: BACK_QUEUE_BYTES,
            ..Shape::OPEN
        };
        let forth = Shape {
            queue_bytes: self.queue_bytes,
            loss: self.loss,
            // Another sequence for each link, or all would lose the same frames.
            seed: SEED.fetch_add(1, Ordering::Relaxed),
            ..back
        };
        (forth, back)
    }

    /// How long TCP is alone, seconds.
    pub fn settling_s(&self) -> f64 {
        self.settling().as_secs_f64()
    }

    fn settling(&self) -> Duration {
        (self.round_trip * SETTLE_ROUND_TRIPS).max(SETTLE_MIN)
    }
}

/// A transfer that comes to a link.
#[derive(Clone, Copy, Debug)]
pub struct Contest {
    pub transfer: Transfer,
    pub link: Link,
    /// Whether TCP fills the link before it comes.
    pub is_filled: bool,
}

/// How far a transfer was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mark {
    /// Of the file.
    pub bytes: u64,
    pub elapsed: Duration,
    /// Bytes of frames that the link carried for it, and for TCP, since it began.
    pub own_bytes: u64,
    pub other_bytes: u64,
}

impl Mark {
    /// Of what the link carried, which share was the transfer's; `None` of nothing.
    pub fn share(&self) -> Option<f64> {
        let all = self.own_bytes + self.other_bytes;
        (all > 0).then(|| self.own_bytes as f64 / all as f64)
    }
}

/// What a contest gave.
#[derive(Clone, Debug)]
pub struct Fought {
    /// As the file grew; the last is its end, or that of the time.
    pub marks: Vec<Mark>,
    /// Of the link's rate, what TCP had just before; where it was to fill the link.
    pub filled: Option<f64>,
    /// Frames that the queue dropped, of both.
    pub dropped: u64,
    /// For how long nothing came, of pauses longer than the link's round trip.
    pub still: Duration,
    pub lateness: Lateness,
}

impl Fought {
    /// At the first mark with so many bytes of the file.
    pub fn at(&self, bytes: u64) -> Option<&Mark> {
        self.marks.iter().find(|mark| mark.bytes >= bytes)
    }

    pub fn end(&self) -> Mark {
        self.marks.last().copied().unwrap_or_default()
    }
}

/// From how many bytes of the file on the mean share of several stays within so much of
/// its last; `None` where one of them has not all of the file.
pub fn settled_bytes(all: &[Fought], bytes: u64, within: f64) -> Option<u64> {
    let steps = all.first()?.marks.len().max(1) as u64;
    let step_bytes = (bytes / steps).max(1);
    let mean = |bytes: u64| {
        let shares = all.iter().map(|one| one.at(bytes)?.share());
        let sum = shares.sum::<Option<f64>>()?;
        Some(sum / all.len() as f64)
    };
    let last = mean(bytes)?;
    let is_apart = |step: &u64| {
        let share = mean(step * step_bytes);
        share.is_none_or(|share| (share / last - 1.0).abs() > within)
    };
    let apart = (1..=steps).rev().find(is_apart).unwrap_or(0);
    Some(((apart + 1) * step_bytes).min(bytes))
}

/// Whether the links were what they are said to be, and TCP filled those that it should.
pub fn verdict(all: &[Fought]) -> Verdict {
    let filled = all.iter().filter_map(|one| one.filled);
    if let Some(least) = filled
        .min_by(f64::total_cmp)
        .filter(|least| *least < FILLED_MIN)
    {
        return Verdict::new(
            Validity::Noisy,
            format!("iperf3 had filled {:.0}% of a link only", 100.0 * least),
            "measure on a quiet host, or with fewer links at once",
        );
    }
    let worst = all.iter().map(|one| one.lateness);
    let ratio = |one: &Lateness| one.late as f64 / one.frames.max(1) as f64;
    let worst = worst.max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    match worst {
        Some(worst) if ratio(&worst) > LATE_RATIO_MAX => Verdict::new(
            Validity::Noisy,
            format!(
                "{:.1}% of a link's frames came a millisecond late or more, one by {:.0} ms",
                100.0 * ratio(&worst),
                worst.max_ns as f64 / 1e6
            ),
            "measure on a quiet host, or with fewer links at once",
        ),
        _ => Verdict::valid(),
    }
}

/// Of a file that had not come so far when its trial ended.
pub fn unfinished() -> Verdict {
    let reason = "the trial ended before so much of the file had come";
    Verdict::new(
        Validity::TooFewSamples,
        reason,
        "measure longer (--budget, --seconds)",
    )
}

/// Lets all transfers come to their links at once, and ends those that take longer than
/// the slice; `steps` of the file are marked.
///
/// # Errors
/// [`Stopped`]: without root, iperf3, or where one of them broke.
pub fn run(
    contests: &[Contest],
    identity: &Identity,
    steps: u32,
    slice: Slice<'_>,
) -> Result<Vec<Fought>, Stopped> {
    let is_wanted = AtomicBool::new(true);
    thread::scope(|scope| {
        let own = |contest: &Contest| {
            let contest = *contest;
            let is_wanted = &is_wanted;
            scope.spawn(move || {
                let go_on = || is_wanted.load(Ordering::Relaxed);
                contest.run(
                    identity,
                    steps,
                    Slice {
                        go_on: &go_on,
                        ..slice
                    },
                )
            })
        };
        let running: Vec<_> = contests.iter().map(own).collect();
        while running.iter().any(|one| !one.is_finished()) {
            thread::sleep(LOOK);
            is_wanted.store((slice.go_on)(), Ordering::Relaxed);
        }
        let ended = running.into_iter().map(|one| {
            one.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ended.collect()
    })
}

impl Contest {
    fn run(self, identity: &Identity, steps: u32, slice: Slice<'_>) -> Result<Fought, Stopped> {
        let (link, mut rival) = self.begin(slice)?;
        let mut filled = None;
        if rival.is_some() {
            // A half to find its rate, and a half in which it must fill the link.
            let half = self.link.settling() / 2;
            wait(half, slice)?;
            let (before, begin) = (carried(&link), Instant::now());
            wait(half, slice)?;
            let bits = 8.0 * (carried(&link) - before) as f64;
            filled = Some(bits / begin.elapsed().as_secs_f64() / self.link.rate_bit_per_s as f64);
        }
        let marker = Marker::new(&link, self, steps, slice.length);
        // One transfer, however long it takes.
        let once = Slice {
            length: Duration::ZERO,
            ..slice
        };
        let watch = &|bytes| marker.came(bytes);
        self.transfer
            .run_between(&ends(&link), identity, (once, slice.length + LIMIT, watch))?;
        if !link.is_running() {
            return Err(failed(TransfersError::Link));
        }
        if !rival.as_mut().is_none_or(Filling::is_running) {
            return Err(failed(TransfersError::RivalEnded));
        }
        Ok(Fought {
            filled,
            ..marker.fought()
        })
    }

    fn begin(self, slice: Slice<'_>) -> Result<(Emulator, Option<Filling>), Stopped> {
        if !(slice.go_on)() {
            return Err(Stopped::Interrupted);
        }
        let journal = Journal::open().map_err(Stopped::failed)?;
        let (forth, back) = self.link.shapes();
        let link = Emulator::start(&journal, &Tag::fresh(), forth, back);
        let link = link.map_err(|error| failed(error.into()))?;
        link.watch(PORT);
        if !self.is_filled {
            return Ok((link, None));
        }
        let addresses = (LEFT.into(), RIGHT.into());
        let rival = Filling::start((&link.left, &link.right), addresses, slice.go_on);
        let rival = rival.map_err(|error| match error {
            TcpError::Interrupted => Stopped::Interrupted,
            TcpError::Absent => Stopped::NotSupported {
                what: "TCP that fills a link".to_owned(),
                remedy: "install iperf3 (apt-get install iperf3)".to_owned(),
            },
            other => failed(other.into()),
        })?;
        Ok((link, Some(rival)))
    }
}

fn ends(link: &Emulator) -> Ends {
    let end = |address, namespace: &net::Namespace| End {
        address,
        cpu: None,
        namespace: Some(namespace.clone()),
    };
    Ends {
        server: end(SocketAddrV4::new(LEFT, PORT), &link.left),
        client: end(SocketAddrV4::new(RIGHT, 0), &link.right),
    }
}

/// Looks at the link as a file grows.
struct Marker<'l> {
    link: &'l Emulator,
    contest: Contest,
    step_bytes: u64,
    limit: Duration,
    seen: Mutex<Seen>,
}

struct Seen {
    begin: Instant,
    before: [Traffic; 2],
    marks: Vec<Mark>,
    /// When something came last, and how long nothing did.
    last: Instant,
    still: Duration,
}

impl<'l> Marker<'l> {
    fn new(link: &'l Emulator, contest: Contest, steps: u32, limit: Duration) -> Self {
        let now = Instant::now();
        Self {
            link,
            contest,
            step_bytes: (contest.transfer.bytes / u64::from(steps.max(1))).max(1),
            limit,
            seen: Mutex::new(Seen {
                begin: now,
                before: traffic(link),
                marks: Vec::new(),
                last: now,
                still: Duration::ZERO,
            }),
        }
    }

    /// So many bytes of the file have come, 0 as it begins.
    fn came(&self, bytes: u64) -> ControlFlow<()> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let pause = now - std::mem::replace(&mut seen.last, now);
        if bytes == 0 {
            seen.begin = now;
            seen.before = traffic(self.link);
            return ControlFlow::Continue(());
        }
        // Before the first bytes it is the connection that takes its time.
        if pause > self.contest.link.round_trip && !seen.marks.is_empty() {
            seen.still += pause;
        }
        let elapsed = now - seen.begin;
        let last = seen.marks.last().map_or(0, |mark| mark.bytes);
        let is_over = elapsed >= self.limit;
        if is_over
            || bytes >= self.contest.transfer.bytes
            || bytes / self.step_bytes > last / self.step_bytes
        {
            let [forth, _] = traffic(self.link);
            let [before, _] = seen.before;
            let own_bytes = forth.watched_bytes - before.watched_bytes;
            let all = forth.counts.carried_bytes - before.counts.carried_bytes;
            seen.marks.push(Mark {
                bytes,
                elapsed,
                own_bytes,
                other_bytes: all - own_bytes,
            });
        }
        match is_over {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn fought(self) -> Fought {
        let after = traffic(self.link);
        let seen = self.seen.into_inner();
        let seen = seen.unwrap_or_else(PoisonError::into_inner);
        let before = seen.before;
        let lateness = |way: usize| {
            let (before, after) = (before[way].lateness, after[way].lateness);
            Lateness {
                frames: after.frames - before.frames,
                sum_ns: after.sum_ns - before.sum_ns,
                // Since the link began: no less than since the transfer did.
                max_ns: after.max_ns,
                late: after.late - before.late,
            }
        };
        let (forth, back) = (lateness(0), lateness(1));
        Fought {
            marks: seen.marks,
            still: seen.still,
            filled: None,
            dropped: after[0].counts.dropped - before[0].counts.dropped,
            lateness: Lateness {
                frames: forth.frames + back.frames,
                sum_ns: forth.sum_ns + back.sum_ns,
                max_ns: forth.max_ns.max(back.max_ns),
                late: forth.late + back.late,
            },
        }
    }
}

fn wait(time: Duration, slice: Slice<'_>) -> Result<(), Stopped> {
    let begin = Instant::now();
    while begin.elapsed() < time {
        if !(slice.go_on)() {
            return Err(Stopped::Interrupted);
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Bytes in the direction of the transfer.
fn carried(link: &Emulator) -> u64 {
    link.traffic(Direction::LeftToRight).counts.carried_bytes
}

fn traffic(link: &Emulator) -> [Traffic; 2] {
    [Direction::LeftToRight, Direction::RightToLeft].map(|way| link.traffic(way))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfers::Stack;

    fn mark(bytes: u64, own_bytes: u64, other_bytes: u64) -> Mark {
        Mark {
            bytes,
            elapsed: Duration::from_secs(1),
            own_bytes,
            other_bytes,
        }
    }

    fn fought(marks: &[Mark]) -> Fought {
        Fought {
            marks: marks.to_vec(),
            filled: Some(1.0),
            dropped: 0,
            still: Duration::ZERO,
            lateness: Lateness::default(),
        }
    }

    #[test]
    fn a_share_settles_where_it_stays_near_its_last() {
        // 10%, 50%, 30%, 52%, 50%.
        let marks = [(1, 9), (5, 5), (3, 7), (52, 48), (5, 5)];
        let marks: Vec<_> = marks
            .iter()
            .zip(1..)
            .map(|(&(own, other), step)| mark(100 * step, own, other))
            .collect();
        let one = fought(&marks);
        assert_eq!(
            settled_bytes(std::slice::from_ref(&one), 500, 0.1),
            Some(400)
        );
        assert_eq!(
            settled_bytes(std::slice::from_ref(&one), 500, 0.5),
            Some(200)
        );
        // The mean of two that differ is judged, not each.
        let mirrored: Vec<_> = marks
            .iter()
            .map(|one| mark(one.bytes, one.other_bytes, one.own_bytes))
            .collect();
        let both = [one.clone(), fought(&mirrored)];
        assert_eq!(settled_bytes(&both, 500, 0.01), Some(100));
        let short = [one, fought(&marks[..2])];
        assert_eq!(
            settled_bytes(&short, 500, 0.1),
            None,
            "one has not all of it"
        );
        assert_eq!(fought(&marks).at(250).unwrap().bytes, 300);
        assert_eq!(mark(1, 0, 0).share(), None);
    }

    #[test]
    fn a_link_that_was_late_is_noise() {
        let link = |late| Fought {
            lateness: Lateness {
                frames: 1000,
                late,
                max_ns: 7_000_000,
                ..Lateness::default()
            },
            ..fought(&[])
        };
        assert!(verdict(&[link(3), link(10)]).is_valid());
        let noisy = verdict(&[link(3), link(11)]);
        assert_eq!(noisy.validity, Validity::Noisy);
        assert!(noisy.reason.contains("1.1%"), "{noisy:?}");
        let empty = Fought {
            filled: Some(0.3),
            ..link(0)
        };
        let unfilled = verdict(&[link(3), empty]);
        assert!(unfilled.reason.contains("30%"), "{unfilled:?}");
    }

    /// TCP and QUIC each beside TCP, and one that is ended before its end.
    #[test]
    fn files_come_to_links_that_tcp_fills() {
        testing::alone_as_root(|| {
            let contest = |stack, bytes| Contest {
                transfer: Transfer::cold(stack, bytes),
                link: Link {
                    rate_bit_per_s: 20_000_000,
                    round_trip: Duration::from_millis(4),
                    queue_bytes: 20_000,
                    loss: 0.0,
                },
                is_filled: true,
            };
            let contests = [
                contest(Stack::Tcp, 200_000),
                contest(Stack::Stock, 200_000),
                contest(Stack::Together, 50_000_000),
                contest(Stack::Tcp, 50_000_000),
            ];
            let identity = Identity::generate(&["localhost"]).unwrap();
            let slice = Slice::whole(Duration::from_secs(2));
            let fought = match run(&contests, &identity, 10, slice) {
                Err(Stopped::NotSupported { what, remedy }) => {
                    return testing::skipped(format!("{what}: {remedy}"));
                }
                fought => fought.unwrap(),
            };
            for (contest, fought) in contests.iter().zip(&fought) {
                let end = fought.end();
                let is_whole = contest.transfer.bytes == 200_000;
                assert_eq!(end.bytes == contest.transfer.bytes, is_whole, "{end:?}");
                assert!(end.own_bytes > end.bytes, "frames have headers: {end:?}");
                assert!(end.other_bytes > 0, "TCP has nothing: {end:?}");
                let most = end.elapsed.as_secs_f64() * 20e6 / 8.0 + 50_000.0;
                assert!((end.own_bytes + end.other_bytes) as f64 <= most, "{end:?}");
                assert!(fought.lateness.frames > 0);
                assert!(fought.filled.is_some_and(|filled| filled <= 1.05));
                let grows = |pair: &[Mark]| pair[0].bytes < pair[1].bytes;
                assert!(fought.marks.windows(2).all(grows));
            }
            assert!(fought[0].marks.len() >= 5, "{:?}", fought[0].marks);
        });
    }
}
