//! What the paper measured, to stand beside what was measured here. Only what
//! its text or its axes say: nothing is read off a curve.

/// Request sizes of figures 2, 8 and 9, bytes.
pub const BLOCKS_BYTES: [u32; 8] = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];

/// Data sizes of figure 10, bytes.
pub const RSA_DATA_BYTES: [u32; 4] = [512, 1024, 2048, 4096];

pub const TEST_BED: &str = "Xeon E5-2620 v3 (2.4 GHz), guests of 1 vCPU and 2048 MB under KVM, DH895XCC QAT, cryptodev's speed tool, CentOS 7";

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    pub algorithm: &'static str,
    pub figure: u8,
    pub blocks_bytes: &'static [u32],
    /// The size of the highest speed, bytes, where the text names one.
    pub peak_block_bytes: Option<u32>,
    pub best_interrupts_per_s: Option<f64>,
    /// Speed that it keeps with the monitor, MB/s, where the text names one.
    pub kept_mb_per_s: Option<f64>,
    /// Fall while the monitor sets the cap, MB/s, and at which size in bytes.
    pub dip: Option<(f64, u32)>,
    pub caption: &'static str,
    pub remark: &'static str,
}

/// Figure 8.
pub const AES_128: Published = Published {
    algorithm: "AES128",
    figure: 8,
    blocks_bytes: &BLOCKS_BYTES,
    peak_block_bytes: Some(16_384),
    best_interrupts_per_s: Some(6450.0),
    kept_mb_per_s: None,
    dip: Some((100.0, 32_768)),
    caption: "speed rises up to 16,384 bytes and falls beyond; with the monitor it dips by 0.1 GB/s at 32,768 bytes while the cap is being set, and then stays at its highest",
    remark: "the text gives no speed; the axis ends at 0.7 GB/s",
};

/// Figure 9.
pub const SHA_256: Published = Published {
    algorithm: "SHA256",
    figure: 9,
    blocks_bytes: &BLOCKS_BYTES,
    peak_block_bytes: Some(16_384),
    best_interrupts_per_s: Some(5109.0),
    kept_mb_per_s: Some(177.0),
    dip: None,
    caption: "the same shape with another peak and another best rate; with the monitor it keeps about 177 MB/s",
    remark: "177 MB/s in requests of 16,384 bytes are 10.8 k requests/s: two an interrupt",
};

/// Figure 10.
pub const RSA: Published = Published {
    algorithm: "RSA",
    figure: 10,
    blocks_bytes: &RSA_DATA_BYTES,
    peak_block_bytes: None,
    best_interrupts_per_s: None,
    kept_mb_per_s: None,
    dip: None,
    caption: "the larger the data, the slower; few interrupts; the monitor hardly gains, since RSA is bound by computing",
    remark: "512 to 4096 are bytes of data, not bits of a key",
};

pub const ALGORITHMS: [Published; 3] = [AES_128, SHA_256, RSA];

/// Figure 3: what each of `tasks` equal tasks has, as a share of one task's
/// speed: "about" 1/n, and in sum less than 1.
pub fn share_of_one_task(tasks: u32) -> f64 {
    1.0 / f64::from(tasks.max(1))
}

impl Published {
    /// Requests an interrupt at the peak, where the text has both figures.
    pub fn requests_per_interrupt(&self) -> Option<f64> {
        let bytes = f64::from(self.peak_block_bytes?);
        Some(self.kept_mb_per_s? * 1e6 / bytes / self.best_interrupts_per_s?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sha_256_has_two_requests_an_interrupt() {
        let found = SHA_256.requests_per_interrupt().unwrap();
        assert!((found - 2.1145).abs() < 1e-3, "{found}");
        assert_eq!(AES_128.requests_per_interrupt(), None);
        assert_eq!(RSA.requests_per_interrupt(), None);
    }

    #[test]
    fn peaks_are_among_the_sizes() {
        for published in ALGORITHMS {
            let inside = |bytes| published.blocks_bytes.contains(&bytes);
            assert!(published.peak_block_bytes.is_none_or(inside));
            assert!(published.dip.is_none_or(|(_, bytes)| inside(bytes)));
        }
        assert_eq!(share_of_one_task(4), 0.25);
    }
}
