//! Pages that cannot be touched on both sides of everything a job names.

use super::backend;
use crate::kernels::tests::guarded::Guarded;
use crate::kernels::tests::step;
use crate::{Backend, Job, KeyForm, KeyMaterial, Segments, Status};

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
            if step(kind) == 1 {
                lengths.extend((1..64).chain([65, 119, 120, 127, 129, 255, 257, 511, 1000, 5001]));
            }
            let is_aead = kind.algorithm.is_aead();
            let guarded: Vec<_> = lengths
                .iter()
                .enumerate()
                .map(|(index, &bytes)| {
                    let destination = match kind.algorithm.digest_bytes() {
                        0 => bytes,
                        digest => digest,
                    };
                    let aad = if is_aead { index % 50 } else { 0 };
                    let tag = if is_aead { 16 } else { 0 };
                    [bytes, destination, aad, tag].map(|bytes| Guarded::new(bytes, at_end))
                })
                .collect();
            let jobs: Vec<_> = guarded
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
            // SAFETY: every segment is mapped.
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
