//! When each frame of a stream is due. Pure.

use crate::tester::stream::Stream;

/// Evenly spaced frames: frame `k` is due `k / rate` after the start.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    start_ns: u64,
    end_ns: u64,
    /// Between two frames, ns; 0 without a rate.
    interval_ns: f64,
    frames_max: u64,
}

impl Pace {
    pub fn new(stream: &Stream, start_ns: u64) -> Self {
        let duration_ns = u64::try_from(stream.duration.as_nanos()).unwrap_or(u64::MAX);
        Self {
            start_ns,
            end_ns: start_ns.saturating_add(duration_ns),
            interval_ns: stream.rate_pps.map_or(0.0, |rate| 1e9 / rate),
            frames_max: stream.frames_max.unwrap_or(u64::MAX),
        }
    }

    /// How many frames are due by `now_ns`, of which `sent` were sent; without a
    /// rate, the maximum.
    pub fn due(&self, now_ns: u64) -> u64 {
        // The end itself is out: rate × duration frames, not one more.
        let until = now_ns.min(self.end_ns.saturating_sub(1));
        let since_ns = until.saturating_sub(self.start_ns);
        let due = if self.interval_ns > 0.0 {
            (since_ns as f64 / self.interval_ns) as u64 + 1
        } else if now_ns < self.end_ns {
            u64::MAX
        } else {
            0
        };
        due.min(self.frames_max)
    }

    /// When frame `sequence` is due; without a rate, now.
    pub fn due_ns(&self, sequence: u64, now_ns: u64) -> u64 {
        if self.interval_ns > 0.0 {
            self.start_ns + (sequence as f64 * self.interval_ns) as u64
        } else {
            now_ns
        }
    }

    /// Whether nothing more will be due once `sent` frames were sent.
    pub fn is_over(&self, sent: u64, now_ns: u64) -> bool {
        sent >= self.frames_max || (now_ns >= self.end_ns && sent >= self.due(now_ns))
    }

    /// Whether the time is over: a sender that is behind stops here.
    pub fn is_past(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns
    }

    /// Frames that were due in all, when `sent` were and the time is over.
    pub fn due_in_all(&self, sent: u64, now_ns: u64) -> u64 {
        if self.interval_ns > 0.0 {
            self.due(now_ns).max(sent)
        } else {
            sent
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tester::testing::stream;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_many_are_due_as_rate_and_time_say(rate in 1.0..2e7_f64, start in 0..1_u64 << 60) {
            let pace = Pace::new(&stream(Some(rate)), start);
            prop_assert_eq!(pace.due(start), 1);
            let all = pace.due(u64::MAX);
            prop_assert!((all as f64 - rate).abs() <= 1.0, "{} of {}", all, rate);
            prop_assert!(pace.is_over(all, start + 1_000_000_000));
            prop_assert!(!pace.is_over(all - 1, start + 1_000_000_000));
            // A frame is due when it is counted as due.
            let at = pace.due_ns(all / 2, 0);
            prop_assert!(pace.due(at + 1) > all / 2);
        }
    }

    #[test]
    fn a_burst_ends_with_its_frames() {
        let mut burst = stream(None);
        burst.frames_max = Some(3);
        let pace = Pace::new(&burst, 100);
        assert_eq!((pace.due(100), pace.due_ns(2, 150)), (3, 150));
        assert!(pace.is_over(3, 101) && !pace.is_over(2, 101));
        assert_eq!(pace.due_in_all(3, 200), 3);
        let pace = Pace::new(&stream(None), 0);
        assert_eq!((pace.due(5), pace.due(2_000_000_000)), (u64::MAX, 0));
        assert!(pace.is_over(7, 1_000_000_000));
    }
}
