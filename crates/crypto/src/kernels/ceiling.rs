//! What the AES unit can do at most: rounds on registers, no memory.

#[cfg(target_arch = "x86_64")]
use super::native;
use crate::{Instructions, instructions};

/// Passes over all registers in one call of the loop.
const LAPS: u64 = 4096;

/// A loop of AES rounds in registers only: what any mode of AES encryption on
/// this core stays below.
///
/// Eight to fourteen registers are independent of each other, since a round
/// takes four cycles (three on some CPUs) and two may begin in each: fewer
/// than eight leave the unit waiting, more than fourteen, with a key,
/// would not fit the sixteen registers of AVX2. Which number is best differs by CPU, so each is tried.
#[derive(Debug)]
pub struct Ceiling {
    rounds: usize,
    set: Instructions,
    width: usize,
}

impl Ceiling {
    /// For keys of `rounds` rounds: 10, 12 or 14. `None` for other numbers,
    /// and without AES instructions within the limit.
    pub fn new(rounds: usize) -> Option<Self> {
        let set = instructions();
        let fits = matches!(rounds, 10 | 12 | 14) && set > Instructions::Baseline;
        fits.then(|| Self::best(rounds, set))
    }

    fn best(rounds: usize, set: Instructions) -> Self {
        let of = |width| Self { rounds, set, width };
        let fastest = |width| (0..8).map(move |_| of(width).seconds_per_byte());
        let cost = |width| fastest(width).fold(f64::INFINITY, f64::min);
        let widths = [8, 12, 14].map(|width| (cost(width), width));
        let best = widths.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        of(best.map_or(8, |(_, width)| width))
    }

    fn seconds_per_byte(mut self) -> f64 {
        let start = std::time::Instant::now();
        let bytes = self.pass();
        start.elapsed().as_secs_f64() / bytes as f64
    }

    /// Runs the loop for some tens of microseconds; how many bytes that many
    /// rounds encrypt. A block is one xor and the rounds.
    pub fn pass(&mut self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the set is what the CPU has, and has AES-NI.
        unsafe {
            native::ceiling(self.set, self.width, self.rounds, LAPS)
        }
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!(
            "there is none without instructions: {:?} {} {} {LAPS}",
            self.set, self.width, self.rounds
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_for_the_rounds_of_aes_only() {
        assert!(Ceiling::new(11).is_none());
        for rounds in [10, 12, 14] {
            let Some(mut ceiling) = Ceiling::new(rounds) else {
                assert_eq!(instructions(), Instructions::Baseline);
                return;
            };
            let bytes = ceiling.pass();
            assert!(bytes >= LAPS * 8 * 16, "{ceiling:?} {bytes}");
            assert_eq!(bytes, ceiling.pass());
        }
    }
}
