//! The order in which the tester's frames go through many destinations.

/// The order in which frames go through many destinations. Each round has every one
/// of them once, and no step between two frames is more than a sixth of all, nor
/// leads to a neighbour. In rising order, a cache that keeps neighbours side by side,
/// or a prefetcher, would do better than outside a test.
///
/// Odd factors and a shifted exclusive or can be undone modulo a power of two:
/// so each round is a permutation. `turn_of` in `bpf/generator.bpf.c` is the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    mask: u32,
    shift: u32,
}

/// The golden ratio's share of 2^32, made odd. `TURN_FACTOR` in
/// `bpf/generator.bpf.c`.
const FACTOR: u32 = 0x9e37_79b1;

impl Spread {
    /// Over this many destinations, or `None` unless that is a power of two.
    pub fn over(count: u32) -> Option<Self> {
        count.is_power_of_two().then(|| Self {
            mask: count - 1,
            shift: count.trailing_zeros().div_ceil(2),
        })
    }

    /// The destination of a frame, from 0.
    pub fn turn(self, sequence: u64) -> u32 {
        // The high half makes no difference to any round.
        let turn = (sequence as u32).wrapping_mul(FACTOR) & self.mask;
        let mixed = turn ^ (turn >> self.shift);
        mixed.wrapping_mul(FACTOR) & self.mask
    }

    /// Of so many sources, a power of two, the one of a frame, from 0: in each round
    /// another for each destination, so that each of both meets each of the others.
    pub fn source_turn(self, sequence: u64, sources: u32) -> u32 {
        let round = sequence >> self.mask.trailing_ones();
        (sequence as u32 & self.mask).wrapping_add(round as u32) & (sources - 1)
    }

    pub fn shift(self) -> u32 {
        self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn each_source_meets_each_destination() {
        for (destinations, sources) in [(1, 4), (4, 16), (16, 4), (16, 16), (16, 1)] {
            let spread = Spread::over(destinations).unwrap();
            let all = u64::from(destinations * sources * destinations.max(sources));
            let pairs = (0..all).map(|at| (spread.turn(at), spread.source_turn(at, sources)));
            let pairs: std::collections::HashSet<_> = pairs.collect();
            assert_eq!(pairs.len() as u32, destinations * sources);
        }
    }

    #[test]
    fn every_round_has_each_once() {
        for bits in 0..=16 {
            let count = 1_u32 << bits;
            let spread = Spread::over(count).unwrap();
            for round in [0, 1, (1_u64 << 48) / u64::from(count) - 1] {
                let start = round * u64::from(count);
                let mut met = vec![0; count as usize];
                for sequence in start..start + u64::from(count) {
                    met[spread.turn(sequence) as usize] += 1;
                }
                assert!(met.iter().all(|&times| times == 1), "{count} in {round}");
            }
        }
    }

    #[test]
    fn no_step_recurs_often() {
        for bits in [8, 10, 16] {
            let count = 1_u32 << bits;
            let spread = Spread::over(count).unwrap();
            let mut steps: HashMap<u32, u32> = HashMap::new();
            for sequence in 0..u64::from(count) {
                let step = spread
                    .turn(sequence + 1)
                    .wrapping_sub(spread.turn(sequence));
                *steps.entry(step & (count - 1)).or_default() += 1;
            }
            let commonest = steps.values().max().unwrap();
            assert!(*commonest <= count / 6, "{commonest} of {count}");
            let side_by_side = [1, count - 1].map(|step| steps.get(&step).copied().unwrap_or(0));
            assert_eq!(side_by_side, [0, 0], "neighbours");
        }
    }

    #[test]
    fn others_than_powers_of_two_are_refused() {
        assert_eq!([0, 3, 65_535].map(Spread::over), [None; 3]);
    }
}
