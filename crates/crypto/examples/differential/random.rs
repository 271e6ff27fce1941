//! Numbers that look random but are the same each time (splitmix64).

pub struct Random(u64);

impl Random {
    /// Depends on every part of `seed`.
    pub fn of(seed: [u64; 4]) -> Self {
        let mut own = Self(0);
        for part in seed {
            own.0 ^= part;
            own.0 = own.next();
        }
        own
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which is far below 2^32.
    pub fn below(&mut self, limit: usize) -> usize {
        (((self.next() >> 32) * limit as u64) >> 32) as usize
    }

    pub fn bytes(&mut self, bytes: usize) -> Vec<u8> {
        let words = std::iter::repeat_with(|| self.next().to_le_bytes());
        let words = words.take(bytes.div_ceil(8));
        let mut bytes_made: Vec<u8> = words.flatten().collect();
        bytes_made.truncate(bytes);
        bytes_made
    }

    /// Bytes of a text: 0 to 256 but for one in 64, which may have 4 KiB, and
    /// one in 4096, which may have 128 KiB and is likely to be near a border.
    pub fn text_bytes(&mut self) -> usize {
        match self.below(4096) {
            0 => match self.below(3) {
                0 => self.below(128 << 10) + 1,
                1 => 65_536 + 17 - self.below(34),
                _ => (1 + self.below(8)) * 16_384 - self.below(18),
            },
            1..64 => self.below(4097),
            _ => self.below(257),
        }
    }
}
