//! Moving bytes between private buffers and segments that others may write.

#![allow(unsafe_code, reason = "reads and writes raw segments")]

use crate::Segment;

#[derive(Clone)]
pub(crate) struct Cursor<'l> {
    list: &'l [Segment],
    offset: usize,
}

impl<'l> Cursor<'l> {
    pub fn new(list: &'l [Segment]) -> Self {
        Self { list, offset: 0 }
    }

    /// The bytes from here to the end of this segment; none after the last.
    pub fn run(&self) -> (*mut u8, usize) {
        self.list
            .first()
            .map_or((std::ptr::null_mut(), 0), |segment| {
                (
                    segment.address.wrapping_add(self.offset),
                    segment.len - self.offset,
                )
            })
    }

    /// Moves on by `bytes`, at most those of [`Self::run`].
    pub fn advance(&mut self, bytes: usize) {
        self.offset += bytes;
        if self
            .list
            .first()
            .is_some_and(|segment| segment.len == self.offset)
        {
            (self.list, self.offset) = (&self.list[1..], 0);
        }
    }

    /// Reads the next `len` bytes into `to`.
    ///
    /// # Safety
    /// The list is readable and holds `len` bytes from here; `to` is writable
    /// for `len` bytes and belongs to the caller alone.
    pub unsafe fn gather(&mut self, mut to: *mut u8, mut len: usize) {
        while len > 0 {
            let (from, run_bytes) = self.run();
            let bytes = run_bytes.min(len);
            assert!(bytes > 0, "the caller asks for no more than the list holds");
            // SAFETY: both are valid for `bytes` by this function's contract,
            // and `to` is private, so they cannot overlap.
            unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
            self.advance(bytes);
            to = to.wrapping_add(bytes);
            len -= bytes;
        }
    }

    /// Writes `len` bytes from `from` to the next places.
    ///
    /// # Safety
    /// The list is writable and holds `len` bytes from here; `from` is
    /// readable for `len` bytes and belongs to the caller alone.
    pub unsafe fn scatter(&mut self, mut from: *const u8, mut len: usize) {
        while len > 0 {
            let (to, run_bytes) = self.run();
            let bytes = run_bytes.min(len);
            assert!(bytes > 0, "the caller gives no more than the list holds");
            // SAFETY: as in `gather`, the other way round.
            unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
            self.advance(bytes);
            from = from.wrapping_add(bytes);
            len -= bytes;
        }
    }
}

/// A private copy of a list of `N` bytes, so that no one changes them under a
/// library that reads them twice.
///
/// # Safety
/// The list is readable and holds `N` bytes.
pub(crate) unsafe fn copied<const N: usize>(list: &[Segment]) -> [u8; N] {
    let mut bytes = [0; N];
    // SAFETY: the caller's; `bytes` is ours.
    unsafe { Cursor::new(list).gather(bytes.as_mut_ptr(), N) };
    bytes
}

/// Calls `run(from, to, bytes)` for every run that is contiguous on both
/// sides, in order. Touches no memory itself.
pub(crate) fn paired(
    source: &[Segment],
    destination: &[Segment],
    mut run: impl FnMut(*const u8, *mut u8, usize),
) {
    let (mut source, mut destination) = (Cursor::new(source), Cursor::new(destination));
    loop {
        let ((from, from_bytes), (to, to_bytes)) = (source.run(), destination.run());
        let bytes = from_bytes.min(to_bytes);
        if bytes == 0 {
            return;
        }
        run(from, to, bytes);
        source.advance(bytes);
        destination.advance(bytes);
    }
}

/// Zeroes every byte of the list.
///
/// # Safety
/// The list is writable.
pub(crate) unsafe fn wipe(list: &[Segment]) {
    for segment in list.iter().filter(|segment| segment.len > 0) {
        // SAFETY: the caller vouches for every segment.
        unsafe { segment.address.write_bytes(0, segment.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(bytes: &mut [u8], lens: &[usize]) -> Vec<Segment> {
        let mut at = bytes.as_mut_ptr();
        lens.iter()
            .map(|&len| {
                let segment = Segment { address: at, len };
                at = at.wrapping_add(len);
                segment
            })
            .collect()
    }

    #[test]
    fn gathers_and_scatters_in_order() {
        let mut source = *b"a canal lock lifts boats";
        let mut destination = [0; 24];
        let mut private = [0; 24];
        let from = split(&mut source, &[1, 7, 16]);
        let to = split(&mut destination, &[9, 15]);
        let mut reader = Cursor::new(&from);
        let mut writer = Cursor::new(&to);
        for chunk in [5, 19] {
            // SAFETY: the lists cover arrays of 24 bytes, and so does `private`.
            unsafe {
                reader.gather(private.as_mut_ptr(), chunk);
                writer.scatter(private.as_ptr(), chunk);
            }
        }
        assert_eq!(destination, source);
        // SAFETY: `to` covers `destination`.
        unsafe { wipe(&to) };
        assert_eq!(destination, [0; 24]);
    }

    #[test]
    fn pairs_break_where_either_side_does() {
        let (mut a, mut b) = ([0; 20], [0; 20]);
        let (from, to) = (split(&mut a, &[3, 17]), split(&mut b, &[10, 10]));
        let mut lens = Vec::new();
        paired(&from, &to, |_, _, bytes| lens.push(bytes));
        assert_eq!(lens, [3, 7, 10]);
    }
}
