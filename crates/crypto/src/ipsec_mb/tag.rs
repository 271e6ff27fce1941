//! Tags: read once, compared in the same time wherever they differ.

/// Copies a tag that another party may be writing.
///
/// # Safety
/// 16 bytes are readable at `from`.
#[inline]
pub(super) unsafe fn read(from: *const u8) -> [u8; 16] {
    let mut tag = [0; 16];
    for (index, byte) in tag.iter_mut().enumerate() {
        // SAFETY: as the caller says; volatile, so that each byte is read
        // once.
        *byte = unsafe { from.add(index).read_volatile() };
    }
    tag
}

/// Compares in the same time wherever they differ.
#[inline]
pub(super) fn equal(a: &[u8; 16], b: &[u8; 16]) -> bool {
    std::hint::black_box(u128::from_ne_bytes(*a) ^ u128::from_ne_bytes(*b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_counts() {
        let tag = [0x5a; 16];
        // SAFETY: an array of 16 bytes.
        let copy = unsafe { read(tag.as_ptr()) };
        assert!(equal(&copy, &tag));
        for bit in 0..128 {
            let mut other = tag;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!equal(&other, &tag), "bit {bit}");
        }
    }
}
