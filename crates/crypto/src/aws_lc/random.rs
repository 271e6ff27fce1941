//! Random bytes.

use aws_lc_sys as lc;

/// Fills `buffer` from the library's generator, which the operating system
/// seeds; aborts where there is no randomness.
pub(crate) fn fill(buffer: &mut [u8]) {
    // SAFETY: the buffer is ours and has that many bytes.
    let done = unsafe { lc::RAND_bytes(buffer.as_mut_ptr(), buffer.len()) };
    assert_eq!(done, 1, "RAND_bytes aborts rather than fails");
}
