//! A back-end's own loop: what one core does with no ring, no wake-up and no
//! second thread. The yardstick for everything built above.
#![allow(
    unsafe_code,
    reason = "jobs over memory of its own: see each SAFETY comment"
)]

use std::sync::Arc;

use crate::workload::Workload;
use crate::{Backend, Job, Key, KeyError, Kind, Segment, Segments, Status};

/// A cache line, so that slots begin on one.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line(#[expect(dead_code, reason = "reached through addresses only")] [u8; 64]);

/// A workload on `slots` slots in turn, in this thread.
pub struct RawLoop {
    backend: Arc<dyn Backend>,
    kind: Kind,
    varies_iv: bool,
    passes: u64,
    statuses: Vec<Status>,
    jobs: Vec<Job<'static>>,
    _key: Box<dyn Key>,
    _memory: Box<[Line]>,
}

impl RawLoop {
    /// Sets key, memory and jobs up.
    ///
    /// # Errors
    /// [`KeyError`] from the back-end.
    ///
    /// # Panics
    /// When the workload's parts do not fit its slots: it was altered.
    pub fn new(
        backend: Arc<dyn Backend>,
        workload: &Workload,
        slots: usize,
    ) -> Result<Self, KeyError> {
        let key = backend.key(workload.kind.algorithm, &workload.material)?;
        assert!(workload.is_consistent(), "a workload's parts fit its slots");
        let stride = workload.slot.stride;
        let bytes = slots.checked_mul(stride).expect("slots that fit memory");
        let mut memory = vec![Line([0; 64]); bytes / 64].into_boxed_slice();
        let base = memory.as_mut_ptr().cast::<u8>();
        // SAFETY: the key lives in a box that this value keeps as long as the
        // jobs, and is only used while this value is borrowed mutably.
        let shared: &'static dyn Key = unsafe { &*std::ptr::from_ref(&*key) };
        let job = |slot: usize| job(workload, shared, base.wrapping_add(slot * stride));
        let jobs = (0..slots).map(job).collect();
        Ok(Self {
            kind: workload.kind,
            varies_iv: workload.varies_iv,
            passes: 0,
            statuses: vec![Status::Ok; slots],
            jobs,
            backend,
            _key: key,
            _memory: memory,
        })
    }

    /// Processes every slot once; the number of requests.
    ///
    /// # Errors
    /// The first status that is not `Ok`.
    pub fn pass(&mut self) -> Result<usize, Status> {
        if self.varies_iv {
            self.passes += 1;
            // A number that a sector of any size may have.
            let count = (self.passes * 8).to_le_bytes();
            self.jobs
                .iter_mut()
                .for_each(|job| job.iv[..8].copy_from_slice(&count));
        }
        // SAFETY: every segment lies in memory that this value owns and
        // borrows mutably here.
        unsafe {
            self.backend
                .process(self.kind, &self.jobs, &mut self.statuses)
        };
        match self.statuses.iter().find(|status| **status != Status::Ok) {
            Some(failed) => Err(*failed),
            None => Ok(self.jobs.len()),
        }
    }
}

/// The job of the slot at `base`, whose input it writes there.
fn job(workload: &Workload, key: &'static dyn Key, base: *mut u8) -> Job<'static> {
    let segment = |(offset, len): (usize, usize)| Segment::new(base.wrapping_add(offset), len);
    let slot = &workload.slot;
    for (part, bytes) in [(slot.source, &workload.input), (slot.tag, &workload.tag)] {
        // SAFETY: the slot lies in fresh memory of `RawLoop::new`, which
        // reserved `stride` bytes for it, more than any part's end.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), base.wrapping_add(part.0), part.1) };
    }
    Job {
        key,
        source: Segments::one(segment(slot.source)),
        destination: Segments::one(segment(slot.destination)),
        iv: [0; 16],
        aad: Segment::EMPTY,
        tag: segment(slot.tag),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, KeyMaterial, RsaBits, backends, generate_key};

    /// A new RSA key takes up to seconds: those of the known answers serve.
    fn material(algorithm: Algorithm) -> KeyMaterial {
        macro_rules! kept {
            ($bits:literal) => {
                include_bytes!(concat!("../tests/vectors/rsa-", $bits, ".pkcs8.der")).to_vec()
            };
        }
        let mut der = match algorithm {
            Algorithm::Rsa(RsaBits::B512, _) => kept!("512"),
            Algorithm::Rsa(RsaBits::B1024, _) => kept!("1024"),
            Algorithm::Rsa(RsaBits::B2048, _) => kept!("2048"),
            Algorithm::Rsa(RsaBits::B3072, _) => kept!("3072"),
            Algorithm::Rsa(RsaBits::B4096, _) => kept!("4096"),
            _ => return generate_key(algorithm),
        };
        KeyMaterial::take(&mut der)
    }

    #[test]
    fn every_kind_of_every_back_end_runs_more_than_once() {
        for backend in backends() {
            for kind in Kind::all().filter(|&kind| backend.supports(kind)) {
                let key = material(kind.algorithm);
                let workload = Workload::with_key(&backend, kind, 4096, key).unwrap();
                let mut raw = RawLoop::new(Arc::clone(&backend), &workload, 3).unwrap();
                for _ in 0..2 {
                    assert_eq!(raw.pass(), Ok(3), "{} {kind:?}", backend.name());
                }
            }
        }
    }
}
