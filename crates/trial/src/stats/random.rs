//! A small seeded generator.

/// `SplitMix64` (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", OOPSLA 2014). For resampling and shuffling, never for keys:
/// the same seed gives the same run on every machine.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator whose whole sequence follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A whole number in `0..limit`; 0 when `limit` is 0.
    ///
    /// The upper half of a 128-bit product: its bias, under `limit` / 2^64, is
    /// far below what any resampling could show.
    pub fn below(&mut self, limit: usize) -> usize {
        let product = u128::from(self.next_u64()) * (limit as u128);
        usize::try_from(product >> 64).expect("the upper half is below `limit`, a usize")
    }

    /// A number in `[0, 1)` with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0
    }

    /// Puts `items` in random order (Fisher and Yates): the order in which the
    /// arms of a pair are measured, for one.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_sequence_is_the_published_one() {
        // Reference values of SplitMix64 for seed 1234567 (Vigna's C code).
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn every_number_below_the_limit_is_as_likely() {
        let mut random = Random::new(1);
        let mut seen = [0_u32; 9];
        for _ in 0..90_000 {
            seen[random.below(9)] += 1;
        }
        let is_fair = |count: &u32| (9_500..10_500).contains(count);
        assert!(seen.iter().all(is_fair), "{seen:?}");
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn a_shuffle_keeps_its_items() {
        let mut items: Vec<u32> = (0..50).collect();
        Random::new(3).shuffle(&mut items);
        assert_ne!(items, (0..50).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
