//! The loop that sends a stream, for every port that user space drives.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sys::clock::{make_timers_exact, now_ns, thread_cpu};

use super::frames::{FRAME_BYTES_MAX, Frames};
use super::pace::Pace;
use super::{PortError, Transmitted, Transmitter};
use crate::tester::stream::Stream;

/// Frames staged between two looks at the clock.
pub(super) const BATCH_MAX: u64 = 64;

/// A pause before the next frame that is worth sleeping for, and the part of it kept
/// to be awake in time.
const SLEEP_NS_MIN: u64 = 200_000;
const AWAKE_NS: u64 = 100_000;

pub(super) trait Outlet {
    /// Takes a frame; it may wait in a batch. `false`: no room now, and the
    /// frame is not taken.
    fn stage(&mut self, frame: &[u8]) -> Result<bool, PortError>;

    /// Sends what was staged. Says how many frames the port refused: they are
    /// gone.
    fn flush(&mut self) -> Result<u64, PortError>;

    /// At the end of a stream, gives frames that still wait time to leave. Returns
    /// how many the link never took: these were not offered.
    fn finish(&mut self) -> Result<u64, PortError> {
        Ok(0)
    }
}

impl<T: Outlet + Send> Transmitter for T {
    fn transmit(&mut self, stream: &Stream, stop: &AtomicBool) -> Result<Transmitted, PortError> {
        send(self, stream, stop)
    }
}

fn send(
    outlet: &mut impl Outlet,
    stream: &Stream,
    stop: &AtomicBool,
) -> Result<Transmitted, PortError> {
    let frames = Frames::new(stream).map_err(PortError::of("cannot make the stream's frames"))?;
    make_timers_exact();
    let cpu_before = thread_cpu();
    let mut sender = Sender::new(frames, Pace::new(stream, now_ns()));
    while !stop.load(Ordering::Relaxed) && sender.step(outlet)? {}
    sender.result.offered -= outlet.finish()?;
    sender.result.cpu_ns = nanos(thread_cpu().saturating_sub(cpu_before));
    Ok(sender.result)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

struct Sender {
    frames: Frames,
    pace: Pace,
    sent: u64,
    first_due_ns: Option<u64>,
    looked_ns: u64,
    buffer: [u8; FRAME_BYTES_MAX],
    result: Transmitted,
}

impl Sender {
    fn new(frames: Frames, pace: Pace) -> Self {
        Self {
            frames,
            pace,
            sent: 0,
            first_due_ns: None,
            looked_ns: now_ns(),
            buffer: [0; FRAME_BYTES_MAX],
            result: Transmitted::default(),
        }
    }

    /// Sends what is due, up to a batch, or waits for the next frame. `false` when
    /// the stream is over.
    fn step(&mut self, outlet: &mut impl Outlet) -> Result<bool, PortError> {
        let now = now_ns();
        self.result.gap_ns_max = self.result.gap_ns_max.max(now - self.looked_ns);
        self.looked_ns = now;
        let is_past = self.pace.is_past(now);
        if is_past || self.pace.is_over(self.sent, now) {
            self.result.due = self.pace.due_in_all(self.sent, now);
            return Ok(false);
        }
        let due = self.pace.due(now).saturating_sub(self.sent);
        if due == 0 {
            self.wait(now);
            return Ok(true);
        }
        for _ in 0..due.min(BATCH_MAX) {
            if !self.stage(outlet, now)? {
                break;
            }
        }
        self.result.refused += outlet.flush()?;
        Ok(true)
    }

    fn stage(&mut self, outlet: &mut impl Outlet, now: u64) -> Result<bool, PortError> {
        let due_ns = self.pace.due_ns(self.sent, now);
        let length = self
            .frames
            .write(self.sent, due_ns, &mut self.buffer)
            .expect("tried with its first frame");
        if !outlet.stage(&self.buffer[..length])? {
            return Ok(false);
        }
        self.sent += 1;
        let first = *self.first_due_ns.get_or_insert(due_ns);
        self.result.offered = self.sent;
        self.result.elapsed_ns = due_ns - first;
        let behind = now.saturating_sub(due_ns);
        self.result.behind_ns_max = self.result.behind_ns_max.max(behind);
        Ok(true)
    }

    /// Sleeps if the next frame is far, otherwise returns at once. It looks at the
    /// clock when it wakes, so a planned sleep is no gap.
    fn wait(&mut self, now: u64) {
        let next = self.pace.due_ns(self.sent, now);
        let pause = next.saturating_sub(now);
        if pause > SLEEP_NS_MIN {
            std::thread::sleep(Duration::from_nanos(pause - AWAKE_NS));
            // What the sleep took beyond what was meant remains a gap.
            self.looked_ns = now + (pause - AWAKE_NS).min(now_ns() - now);
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tester::accounting::Account;
    use crate::tester::testing::stream;

    struct Planted {
        room: u64,
        left: u64,
        refuses: bool,
        account: Account,
        staged: u64,
        waiting: u64,
    }

    impl Planted {
        fn new(room: u64, refuses: bool) -> Self {
            Self {
                room,
                left: room,
                refuses,
                account: Account::new(1, 0),
                staged: 0,
                waiting: 0,
            }
        }
    }

    impl Outlet for Planted {
        fn stage(&mut self, frame: &[u8]) -> Result<bool, PortError> {
            if self.left == 0 {
                return Ok(false);
            }
            self.left -= 1;
            self.staged += 1;
            self.account.record(frame, now_ns());
            Ok(true)
        }

        fn flush(&mut self) -> Result<u64, PortError> {
            self.left = self.room;
            let staged = std::mem::take(&mut self.staged);
            Ok(if self.refuses { staged } else { 0 })
        }

        fn finish(&mut self) -> Result<u64, PortError> {
            Ok(self.waiting)
        }
    }

    #[test]
    fn what_the_link_never_took_was_not_offered() {
        let mut burst = stream(None);
        burst.frames_max = Some(1000);
        burst.duration = Duration::from_secs(3600);
        let mut port = Planted {
            waiting: 3,
            ..Planted::new(7, false)
        };
        let sent = send(&mut port, &burst, &AtomicBool::new(false)).unwrap();
        assert_eq!((sent.due, sent.offered), (1000, 997));
    }

    #[test]
    fn a_burst_has_exactly_its_frames() {
        let mut burst = stream(None);
        burst.frames_max = Some(1000);
        // An hour is enough on the busiest machine.
        burst.duration = Duration::from_secs(3600);
        let mut port = Planted::new(7, false);
        let sent = send(&mut port, &burst, &AtomicBool::new(false)).unwrap();
        let counted = port.account.counts();
        assert_eq!((sent.due, sent.offered, sent.refused), (1000, 1000, 0));
        assert_eq!((counted.received, counted.reordered), (1000, 0));
    }

    #[test]
    fn refused_frames_are_counted_apart() {
        let mut burst = stream(Some(1e6));
        burst.frames_max = Some(50);
        burst.duration = Duration::from_secs(3600);
        let mut port = Planted::new(9, true);
        let sent = send(&mut port, &burst, &AtomicBool::new(false)).unwrap();
        assert_eq!((sent.offered, sent.refused), (50, 50));
        assert_eq!(sent.elapsed_ns, 49_000);
    }

    #[test]
    fn it_stops_when_told() {
        let mut long = stream(Some(1.0));
        long.duration = Duration::from_secs(3600);
        let sent = send(&mut Planted::new(1, false), &long, &AtomicBool::new(true)).unwrap();
        assert_eq!(sent.offered, 0);
    }

    #[test]
    fn a_port_without_room_is_behind() {
        let mut fast = stream(Some(1e9));
        fast.duration = Duration::from_millis(5);
        let sent = send(&mut Planted::new(1, false), &fast, &AtomicBool::new(false)).unwrap();
        assert!(sent.due > sent.offered, "{sent:?}");
        assert!(sent.behind_ns_max > 0);
    }
}
