//! Whole blocks out of scattered segments.

use zeroize::Zeroize;

use crate::check::BLOCK_BYTES;
use crate::scatter::Cursor;
use crate::work::Work;

/// Calls `run(from, to, bytes)` over the whole message, in order: whole
/// blocks where both sides have them; where a block straddles a border, that
/// block alone, from and to a private one.
///
/// # Safety
/// As for [`super::run`]; the message is whole blocks; `run` may read and
/// write what it is given.
pub(super) unsafe fn each(work: &Work<'_>, mut run: impl FnMut(*const u8, *mut u8, usize)) {
    if let Some((source, destination)) = work.contiguous() {
        if source.len > 0 {
            run(source.address, destination.address, source.len);
        }
        return;
    }
    let mut source = Cursor::new(work.source);
    let mut destination = Cursor::new(work.destination);
    let mut block = [0; BLOCK_BYTES];
    let mut left = work.source_bytes;
    while left > 0 {
        let ((from, from_bytes), (to, to_bytes)) = (source.run(), destination.run());
        let mut bytes = from_bytes.min(to_bytes) & !(BLOCK_BYTES - 1);
        if bytes > 0 {
            run(from, to, bytes);
            source.advance(bytes);
            destination.advance(bytes);
        } else {
            bytes = BLOCK_BYTES;
            let private = block.as_mut_ptr();
            // SAFETY: both lists hold a block more, since the message is whole
            // blocks; segments are valid by the caller's word.
            unsafe {
                source.gather(private, bytes);
                run(private, private, bytes);
                destination.scatter(private, bytes);
            }
        }
        left -= bytes;
    }
    block.zeroize();
}
