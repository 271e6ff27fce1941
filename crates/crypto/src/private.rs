//! Opening in memory that no other process can read.

#![allow(unsafe_code, reason = "moves text from private memory into a job's")]

use crate::scatter::Cursor;
use crate::work::checked_lists;
use crate::{Backend, Job, Kind, Segment, Segments, Status};

/// Longest text that is opened in private memory.
pub const PRIVATE_BYTES_MAX: usize = 16 << 10;

/// Private memory for one text that is being opened; wiped after each.
#[derive(Debug, Default)]
pub struct Private(Vec<u8>);

impl Private {
    /// Opens the text of an AEAD whose destination other parties can read: in private
    /// memory, from where it is copied after its tag was checked, or zeros if that is
    /// wrong. **A text of more than [`PRIVATE_BYTES_MAX`] bytes is opened where it goes:
    /// who can read there sees it before its tag is checked.** Allocates for a text
    /// longer than any before.
    ///
    /// # Safety
    /// As for [`Backend::process`].
    pub unsafe fn open(&mut self, backend: &dyn Backend, kind: Kind, job: &Job<'_>) -> Status {
        let mut status = [Status::BackendFailed];
        // SAFETY: forwarded from the caller; the private text is ours, and as long as the
        // destination, which the checks found as long as the source.
        unsafe {
            checked_lists(kind, job, |work| {
                let bytes = work.source_bytes;
                if bytes > PRIVATE_BYTES_MAX {
                    backend.process(kind, &[*job], &mut status);
                    return status[0];
                }
                self.0.resize(bytes.max(self.0.len()), 0);
                // Of a packet, its tag left out.
                let bytes = kind.destination_bytes(bytes).unwrap_or(bytes);
                let text = Segment::new(self.0.as_mut_ptr(), bytes);
                let inside = Job {
                    destination: Segments::one(text),
                    ..*job
                };
                backend.process(kind, &[inside], &mut status);
                Cursor::new(work.destination).scatter(text.address, bytes);
                aws_lc_sys::OPENSSL_cleanse(text.address.cast(), bytes);
                status[0]
            })
        }
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // What a panic of the back-end left.
        // SAFETY: ours.
        unsafe { aws_lc_sys::OPENSSL_cleanse(self.0.as_mut_ptr().cast(), self.0.len()) };
    }
}
