//! Pages that cannot be touched on both sides of everything a job names.

use super::backend;
use crate::{Algorithm, Backend, Job, KeyForm, KeyMaterial, Segment, Segments, Status};

const PAGE: usize = 4096;

struct Fenced {
    map: *mut u8,
    map_bytes: usize,
    bytes: usize,
    at_end: bool,
}

impl Fenced {
    fn new(bytes: usize, at_end: bool) -> Self {
        let map_bytes = bytes.next_multiple_of(PAGE) + 2 * PAGE;
        // SAFETY: new anonymous memory, of which the inner pages are opened.
        let map = unsafe {
            let map = libc::mmap(
                std::ptr::null_mut(),
                map_bytes,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(map, libc::MAP_FAILED);
            let inner = map.wrapping_byte_add(PAGE);
            let access = libc::PROT_READ | libc::PROT_WRITE;
            assert_eq!(libc::mprotect(inner, map_bytes - 2 * PAGE, access), 0);
            map.cast()
        };
        Self {
            map,
            map_bytes,
            bytes,
            at_end,
        }
    }

    fn segment(&self) -> Segment {
        let start = if self.at_end {
            self.map_bytes - PAGE - self.bytes
        } else {
            PAGE
        };
        Segment::new(self.map.wrapping_add(start), self.bytes)
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: the whole mapping, made in `new`.
        unsafe { libc::munmap(self.map.cast(), self.map_bytes) };
    }
}

#[test]
fn nothing_beside_a_segment_is_touched() {
    nothing_beside_is_touched();
}

pub(super) fn nothing_beside_is_touched() {
    let Some(backend) = backend() else { return };
    for &kind in &backend.supported {
        let bytes = match kind.algorithm.key_form() {
            KeyForm::Bytes(bytes) => bytes,
            _ => 20,
        };
        let material = KeyMaterial::take(&mut vec![9; bytes]);
        let key = backend.key(kind.algorithm, &material).unwrap();
        for at_end in [false, true] {
            let mut lengths = vec![
                0, 16, 32, 48, 64, 80, 112, 128, 240, 256, 1024, 4096, 65_536,
            ];
            if !matches!(
                kind.algorithm,
                Algorithm::Aes128Ecb
                    | Algorithm::Aes192Ecb
                    | Algorithm::Aes256Ecb
                    | Algorithm::Aes128Cbc
                    | Algorithm::Aes192Cbc
                    | Algorithm::Aes256Cbc
            ) {
                lengths.extend((1..64).chain([65, 119, 120, 127, 129, 255, 257, 511, 1000, 5001]));
            }
            let is_aead = kind.algorithm.is_aead();
            let fenced: Vec<_> = lengths
                .iter()
                .enumerate()
                .map(|(index, &bytes)| {
                    let destination = match kind.algorithm.digest_bytes() {
                        0 => bytes,
                        digest => digest,
                    };
                    let aad = if is_aead { index % 50 } else { 0 };
                    let tag = if is_aead { 16 } else { 0 };
                    [bytes, destination, aad, tag].map(|bytes| Fenced::new(bytes, at_end))
                })
                .collect();
            let jobs: Vec<_> = fenced
                .iter()
                .map(|[source, destination, aad, tag]| Job {
                    key: &*key,
                    source: Segments::one(source.segment()),
                    destination: Segments::one(destination.segment()),
                    iv: [3; 16],
                    aad: aad.segment(),
                    tag: tag.segment(),
                })
                .collect();
            // All in one batch, then each alone.
            let mut statuses = vec![Status::Cancelled; jobs.len()];
            // SAFETY: every segment is open between its fences.
            unsafe { backend.process(kind, &jobs, &mut statuses) };
            for (job, status) in jobs.iter().zip(&mut statuses) {
                assert!(
                    matches!(status, Status::Ok | Status::AuthenticationFailed),
                    "{kind:?} {status:?}"
                );
                // SAFETY: as above.
                unsafe { backend.process(kind, &[*job], std::slice::from_mut(status)) };
            }
        }
    }
}
