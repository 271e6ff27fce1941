//! Another party writes to a job's memory while it is processed: what comes
//! out may be anything, but the job ends, and only its destination and tag
//! are written.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::support::{Shape, is_sound, material, noise, offered, plain};
use lockgate_crypto::{Backend, Job, Kind, Segment, Segments, Status, backends};

const GUARD_BYTES: usize = 4096;
const TEXT_BYTES: usize = 4096;
/// Jobs of a batch: several, so that multi-buffer code runs.
const BATCH: usize = 8;

struct Shared {
    guarded: Box<[AtomicU8]>,
    stop: AtomicBool,
}

impl Shared {
    fn new(bytes: usize) -> Self {
        let fresh = noise(9, bytes + 2 * GUARD_BYTES);
        Self {
            guarded: fresh.into_iter().map(AtomicU8::new).collect(),
            stop: AtomicBool::new(false),
        }
    }

    fn arena(&self) -> &[AtomicU8] {
        &self.guarded[GUARD_BYTES..self.guarded.len() - GUARD_BYTES]
    }

    fn scribble(&self) {
        let mut value = 1_u8;
        while !self.stop.load(Ordering::Relaxed) {
            for byte in self.arena() {
                byte.store(value, Ordering::Relaxed);
            }
            value = value.wrapping_mul(5).wrapping_add(1);
        }
    }

    fn guards_intact(&self) -> bool {
        let now: Vec<u8> = self
            .guarded
            .iter()
            .map(|byte| byte.load(Ordering::Relaxed))
            .collect();
        let was = noise(9, now.len());
        let end = now.len() - GUARD_BYTES;
        now[..GUARD_BYTES] == was[..GUARD_BYTES] && now[end..] == was[end..]
    }
}

struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Jobs of one kind while another thread writes all over their memory.
fn survives(backend: &dyn Backend, kind: Kind, in_place: bool) {
    let name = backend.name();
    let key = backend
        .key(kind.algorithm, &material(kind.algorithm, 1))
        .expect("a good key");
    let layout = plain(Shape::near(kind, TEXT_BYTES, 13), 1, in_place);
    let shared = Shared::new(layout.arena.len());
    let base = shared.arena().as_ptr().cast::<u8>().cast_mut();
    let at = |(at, len)| Segment::new(base.wrapping_add(at), len);
    let job = Job {
        key: &*key,
        source: Segments::one(at(layout.source[0])),
        destination: Segments::one(at(layout.destination[0])),
        iv: layout.iv,
        aad: at(layout.aad),
        tag: at(layout.tag),
    };
    let rounds = if kind.algorithm.is_public_key() {
        testing::cases(1, 3)
    } else {
        testing::cases(8, 25)
    };
    std::thread::scope(|scope| {
        scope.spawn(|| shared.scribble());
        // However this ends, the other must end too.
        let _stop = Stop(&shared.stop);
        for _ in 0..rounds {
            let mut statuses = [Status::Cancelled; BATCH];
            // SAFETY: the segments lie in `shared`, of atomics, which may
            // be written through a shared reference; others write there
            // too, as the contract allows. Jobs of a batch may write the
            // same bytes for the same reason.
            unsafe { backend.process(kind, &[job; BATCH], &mut statuses) };
            let sound = statuses.iter().all(|&status| is_sound(kind, status));
            assert!(sound, "{name} {kind:?} {statuses:?}");
        }
    });
    assert!(shared.guards_intact(), "{name} {kind:?}");
}

#[test]
fn every_back_end_survives_another_writer() {
    for backend in backends() {
        for kind in offered(&*backend) {
            for in_place in [true, false] {
                survives(&*backend, kind, in_place);
            }
        }
    }
}
