//! Another party writes to a job's memory while it is processed: what comes
//! out may be anything, but the job ends, and only its destination and tag
//! are written.

mod support;

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use lockgate_crypto::{Algorithm, Job, Segment, Segments, Status, by_name};
use support::{kinds, material, noise, plain, writes_tag};

const GUARD_BYTES: usize = 4096;
const TEXT_BYTES: usize = 4096;

/// Memory that several threads write, by way of atomics and of the library.
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

fn survives(name: &str, in_place: bool) {
    let backend = by_name(name).expect("it exists");
    for kind in kinds() {
        let text_bytes = if kind.algorithm == Algorithm::Rsa2048 {
            32
        } else {
            TEXT_BYTES
        };
        let key = backend
            .key(kind.algorithm, &material(kind.algorithm, 1))
            .expect("a good key");
        let layout = plain(kind, text_bytes, 13, 1, in_place);
        let shared = Shared::new(layout.arena.len());
        let base = shared.arena().as_ptr().cast::<u8>().cast_mut();
        let at = |(at, len)| Segment {
            address: base.wrapping_add(at),
            len,
        };
        let job = Job {
            key: &*key,
            source: Segments::one(at(layout.source[0])),
            destination: Segments::one(at(layout.destination[0])),
            iv: layout.iv,
            aad: at(layout.aad),
            tag: at(layout.tag),
        };
        let rounds = if kind.algorithm == Algorithm::Rsa2048 {
            5
        } else {
            200
        };
        std::thread::scope(|scope| {
            scope.spawn(|| shared.scribble());
            for _ in 0..rounds {
                let mut status = [Status::Cancelled];
                // SAFETY: the segments lie in `shared`, of atomics, which may
                // be written through a shared reference; others write there
                // too, as the contract allows.
                unsafe { backend.process(kind, &[job], &mut status) };
                let sound = status == [Status::Ok]
                    || (status == [Status::AuthenticationFailed] && !writes_tag(kind));
                if !sound {
                    shared.stop.store(true, Ordering::Relaxed);
                }
                assert!(sound, "{name} {kind:?} {status:?}");
            }
            shared.stop.store(true, Ordering::Relaxed);
        });
        assert!(shared.guards_intact(), "{name} {kind:?}");
    }
}

#[test]
fn aws_lc_in_place() {
    survives("aws-lc", true);
}

#[test]
fn aws_lc_apart() {
    survives("aws-lc", false);
}

#[test]
fn portable() {
    survives("portable", true);
}
