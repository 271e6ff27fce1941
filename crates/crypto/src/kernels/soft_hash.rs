//! GHASH (SP 800-38D §6.4) without instructions for it, in constant time: products of
//! integers whose bits are so far apart that no carry reaches the next (Pornin, BearSSL,
//! "constant-time GHASH").

use zeroize::Zeroize;

/// A hash on its way. Wiped on drop.
pub(super) struct SoftHash {
    key: [u64; 2],
    sum: [u64; 2],
}

impl Drop for SoftHash {
    fn drop(&mut self) {
        self.key.zeroize();
        self.sum.zeroize();
    }
}

impl SoftHash {
    pub fn new(key: &[u8; 16]) -> Self {
        Self {
            key: halves(key),
            sum: [0; 2],
        }
    }

    /// Bytes, with zeros behind them up to a block.
    pub fn add(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(16) {
            let mut block = [0; 16];
            block[..part.len()].copy_from_slice(part);
            let [high, low] = halves(&block);
            self.sum = times([self.sum[0] ^ high, self.sum[1] ^ low], self.key);
        }
    }

    pub fn value(&self) -> [u8; 16] {
        (u128::from(self.sum[0]) << 64 | u128::from(self.sum[1])).to_be_bytes()
    }
}

fn halves(block: &[u8; 16]) -> [u64; 2] {
    let block = u128::from_be_bytes(*block);
    [(block >> 64) as u64, block as u64]
}

/// The lower half of a product without carries.
fn low(x: u64, y: u64) -> u64 {
    const EVERY_FOURTH: u64 = 0x1111_1111_1111_1111;
    let parts = |value: u64| [0, 1, 2, 3].map(|at| value & EVERY_FOURTH << at);
    let (x, y) = (parts(x), parts(y));
    let place = |place: usize| {
        let products = (0..4).map(|at| x[at].wrapping_mul(y[(place + 4 - at) % 4]));
        products.fold(0, |sum, product| sum ^ product) & EVERY_FOURTH << place
    };
    place(0) | place(1) | place(2) | place(3)
}

/// In the field, whose bits are in reverse.
fn times([x1, x0]: [u64; 2], [y1, y0]: [u64; 2]) -> [u64; 2] {
    let high = |x: u64, y: u64| low(x.reverse_bits(), y.reverse_bits()).reverse_bits() >> 1;
    let pairs = [(x0, y0), (x1, y1), (x0 ^ x1, y0 ^ y1)];
    let [a, b, c] = pairs.map(|(x, y)| low(x, y));
    let [ah, bh, ch] = pairs.map(|(x, y)| high(x, y));
    let words = [a, ah ^ a ^ b ^ c, b ^ ah ^ bh ^ ch, bh];
    // The product is one bit short in reverse.
    let [v0, mut v1, mut v2, mut v3] = [
        words[0] << 1,
        words[1] << 1 | words[0] >> 63,
        words[2] << 1 | words[1] >> 63,
        words[3] << 1 | words[2] >> 63,
    ];
    v2 ^= v0 ^ v0 >> 1 ^ v0 >> 2 ^ v0 >> 7;
    v1 ^= v0 << 63 ^ v0 << 62 ^ v0 << 57;
    v3 ^= v1 ^ v1 >> 1 ^ v1 >> 2 ^ v1 >> 7;
    v2 ^= v1 << 63 ^ v1 << 62 ^ v1 << 57;
    [v3, v2]
}
