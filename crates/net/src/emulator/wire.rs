//! One direction of a link, as arithmetic: which frames it carries, and when they arrive.

use std::time::Duration;

/// How a direction treats frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Bits of frames, Ethernet headers among them, each second; `None`: at once.
    pub rate_bit_per_s: Option<u64>,
    /// From the last bit of a frame at the near end to that at the far end.
    pub delay: Duration,
    /// Bytes that wait for the rate, the frame that leaves among them; a frame that does
    /// not fit is dropped (drop-tail).
    pub queue_bytes: usize,
    /// Share of frames that are lost, of those that the queue takes: 0 to 1.
    pub loss: f64,
    /// Of the loss.
    pub seed: u64,
}

impl Shape {
    /// Carries all, at once.
    pub const OPEN: Self = Self {
        rate_bit_per_s: None,
        delay: Duration::ZERO,
        queue_bytes: usize::MAX,
        loss: 0.0,
        seed: 0,
    };
}

/// What became of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub carried: u64,
    pub carried_bytes: u64,
    /// By a queue that was full.
    pub dropped: u64,
    /// By chance.
    pub lost: u64,
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Arrives { due_ns: u64 },
    Dropped,
    Lost,
}

/// The state of a direction. Time is an argument, in nanoseconds that do not go back.
#[derive(Clone, Debug)]
pub struct Wire {
    shape: Shape,
    /// When the last bit of what was taken leaves the near end.
    busy_until_ns: u64,
    random: u64,
    pub counts: Counts,
}

impl Wire {
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            busy_until_ns: 0,
            random: shape.seed,
            counts: Counts::default(),
        }
    }

    /// A frame comes to the near end. Frames arrive in the order in which they came.
    pub fn offer(&mut self, now_ns: u64, bytes: usize) -> Fate {
        let begins_ns = self.busy_until_ns.max(now_ns);
        let leaves_ns = match self.shape.rate_bit_per_s {
            Some(rate) => {
                let waiting = bytes_in(begins_ns - now_ns, rate);
                if waiting + bytes as u64 > self.shape.queue_bytes as u64 {
                    self.counts.dropped += 1;
                    return Fate::Dropped;
                }
                begins_ns + ns_for(bytes as u64, rate)
            }
            None => begins_ns,
        };
        self.busy_until_ns = leaves_ns;
        // It takes its turn all the same.
        if self.is_lost() {
            self.counts.lost += 1;
            return Fate::Lost;
        }
        self.counts.carried += 1;
        self.counts.carried_bytes += bytes as u64;
        let due_ns = leaves_ns + self.shape.delay.as_nanos() as u64;
        Fate::Arrives { due_ns }
    }

    /// By splitmix64 (Steele, Lea, Flood).
    fn is_lost(&mut self) -> bool {
        if self.shape.loss <= 0.0 {
            return false;
        }
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        // 53 bits, as many as a double has.
        ((z >> 11) as f64) < self.shape.loss * (1_u64 << 53) as f64
    }
}

/// Rounded up: a queue is never fuller than it may be.
fn bytes_in(ns: u64, rate_bit_per_s: u64) -> u64 {
    let bits = u128::from(ns) * u128::from(rate_bit_per_s);
    bits.div_ceil(8 * 1_000_000_000) as u64
}

/// Rounded up: a link is never faster than it is.
fn ns_for(bytes: u64, rate_bit_per_s: u64) -> u64 {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    bits.div_ceil(u128::from(rate_bit_per_s.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_frame_takes_its_time_and_the_delay() {
        let mut wire = Wire::new(Shape {
            rate_bit_per_s: Some(5_000_000),
            delay: Duration::from_millis(25),
            queue_bytes: 3100,
            ..Shape::OPEN
        });
        // 1514 bytes at 5 Mbit/s take 2.4224 ms.
        let first = wire.offer(1000, 1514);
        assert_eq!(
            first,
            Fate::Arrives {
                due_ns: 1000 + 2_422_400 + 25_000_000
            }
        );
        let second = wire.offer(1000, 1514);
        assert_eq!(
            second,
            Fate::Arrives {
                due_ns: 1000 + 2 * 2_422_400 + 25_000_000
            }
        );
        assert_eq!(wire.offer(1000, 1514), Fate::Dropped);
        // When the first has left there is room for another.
        assert!(matches!(
            wire.offer(1000 + 2_422_400, 1514),
            Fate::Arrives { .. }
        ));
        assert_eq!((wire.counts.carried, wire.counts.dropped), (3, 1));
    }

    #[test]
    fn an_open_wire_carries_all_at_once() {
        let mut wire = Wire::new(Shape::OPEN);
        for now_ns in [0, 5, 5, 9] {
            assert_eq!(wire.offer(now_ns, 60_000), Fate::Arrives { due_ns: now_ns });
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(200, 5000)))]

        /// Beside a queue of frames that are kept one by one.
        #[test]
        fn what_a_queue_does(
            rate in 1_000_u64..10_000_000_000,
            queue_bytes in 0_usize..100_000,
            frames in prop::collection::vec((0_u64..3_000_000, 1_usize..9000), 1..200),
        ) {
            let shape = Shape { rate_bit_per_s: Some(rate), queue_bytes, ..Shape::OPEN };
            let mut wire = Wire::new(shape);
            let (mut now, mut free_at, mut last) = (0_u64, 0_f64, 0);
            for (gap, bytes) in frames {
                now += gap;
                let begins = free_at.max(now as f64);
                let waiting = (begins - now as f64) * rate as f64 / 8e9;
                let room = queue_bytes as f64 - waiting - bytes as f64;
                match wire.offer(now, bytes) {
                    Fate::Arrives { due_ns } => {
                        prop_assert!(room > -2.0, "{room}");
                        free_at = begins + bytes as f64 * 8e9 / rate as f64;
                        let off = due_ns as f64 - free_at;
                        prop_assert!(off.abs() <= 1.0 + free_at * 1e-12, "{off}");
                        free_at = due_ns as f64;
                        prop_assert!(due_ns >= last);
                        last = due_ns;
                    }
                    Fate::Dropped => prop_assert!(room < 2.0, "{room}"),
                    Fate::Lost => prop_assert!(false, "nothing is to be lost"),
                }
            }
        }

        #[test]
        fn as_many_are_lost_as_should_be(loss in 0.0_f64..1.0, seed in any::<u64>()) {
            let mut wire = Wire::new(Shape { loss, seed, ..Shape::OPEN });
            for now_ns in 0..20_000 {
                wire.offer(now_ns, 100);
            }
            let share = wire.counts.lost as f64 / 20_000.0;
            // Six standard deviations.
            let error = 6.0 * (loss * (1.0 - loss) / 20_000.0).sqrt();
            prop_assert!((share - loss).abs() <= error + 1e-4, "{share}");
        }
    }
}
