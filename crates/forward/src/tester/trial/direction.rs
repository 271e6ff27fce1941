//! What one direction of a trial gave.

use trial::Histogram;

use crate::tester::port::{Received, Transmitted};
use crate::tester::stream::Stream;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sender {
    /// Time in which it was ready to run and another thread ran, ns
    /// (`/proc/thread-self/schedstat`).
    pub waited_ns: u64,
    /// Network receive softirqs that its CPU ran meanwhile: those of a device that
    /// forwards in the sender's context.
    pub receive_softirqs: u64,
}

/// Cost of counting from the begin of sending to its end: frames that came later do
/// not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counting {
    pub frames: u64,
    pub cpu_ns: u64,
}

impl Counting {
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            frames: self.frames.saturating_sub(before.frames),
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    pub stream: Stream,
    pub sent: Transmitted,
    pub received: Received,
    pub counting: Counting,
    pub sender: Sender,
}

impl Direction {
    pub fn lost(&self) -> u64 {
        self.sent.offered.saturating_sub(self.received.received)
    }

    /// Frames lost as a share of those sent; 1 where none was sent.
    pub fn loss_ratio(&self) -> f64 {
        if self.sent.offered == 0 {
            return 1.0;
        }
        self.lost() as f64 / self.sent.offered as f64
    }

    /// Frames a second that were sent; 0 for none.
    pub fn offered_pps(&self) -> f64 {
        per_second(self.sent.offered, self.sending_ns())
    }

    /// Frames a second that came, over the longer of sending and receiving: a
    /// queue that empties afterwards makes no rate higher.
    pub fn received_pps(&self) -> f64 {
        let elapsed_ns = self.sending_ns().max(self.received.elapsed_ns);
        per_second(self.received.received, elapsed_ns)
    }

    /// Megabits (10^6) a second that came, over the same time: frames with their
    /// frame check sequences and tags, without what only the wire adds.
    pub fn received_mbit_per_s(&self) -> f64 {
        let elapsed_ns = self.sending_ns().max(self.received.elapsed_ns);
        per_second(self.received.bytes, elapsed_ns) * 8.0 / 1e6
    }

    /// Time that sending took: the stream's, even if its last sent frame was due long
    /// before its end; or a burst's.
    fn sending_ns(&self) -> u64 {
        let planned_ns = match self.stream.frames_max {
            Some(_) => 0,
            None => u64::try_from(self.stream.duration.as_nanos()).unwrap_or(u64::MAX),
        };
        self.sent.elapsed_ns.max(planned_ns)
    }
}

fn per_second(frames: u64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 {
        return 0.0;
    }
    frames as f64 * 1e9 / elapsed_ns as f64
}

pub fn latency_of(directions: &[Direction]) -> Histogram {
    let mut all = Histogram::new();
    for direction in directions {
        all.merge(&direction.received.latency);
    }
    all
}

/// An outcome for a procedure: all directions together, the verdict as given.
pub fn outcome(
    directions: &[Direction],
    verdict: trial::Verdict,
) -> crate::tester::procedure::Outcome {
    crate::tester::procedure::Outcome {
        offered: directions.iter().map(|one| one.sent.offered).sum(),
        lost: directions.iter().map(Direction::lost).sum(),
        latency: latency_of(directions),
        verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::Direction;
    use crate::tester::testing::direction;

    #[test]
    fn rates_and_losses() {
        let direction = direction(1_000, 990);
        assert_eq!(direction.lost(), 10);
        assert!((direction.loss_ratio() - 0.01).abs() < 1e-12);
        assert!((direction.offered_pps() - 1_000.0).abs() < 1e-9);
        assert!((direction.received_pps() - 990.0).abs() < 1e-9);
        assert!((direction.received_mbit_per_s() - 990.0 * 64.0 * 8.0 / 1e6).abs() < 1e-9);
    }

    #[test]
    fn nothing_sent_is_all_lost() {
        let nothing: Direction = direction(0, 0);
        assert!((nothing.loss_ratio() - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn frames_that_come_slowly_make_no_rate_higher() {
        let mut slow = direction(1_000, 1_000);
        slow.received.elapsed_ns = 2_000_000_000;
        assert!((slow.received_pps() - 500.0).abs() < 1e-9);
    }
}
