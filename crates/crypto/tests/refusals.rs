//! What must be refused is, before a byte is touched.

use std::ptr;

use crate::support::keys::pkcs8;
use crate::support::shape::{is_xts, message_bytes_max, takes_blocks};
use crate::support::{Prepared, Shape, material, noise, offered, plain, process};
use lockgate_crypto::{
    Algorithm, Backend, Job, KeyError, KeyForm, KeyMaterial, Kind, Operation, RsaBits, RsaScheme,
    Segment, Segments, Status, backends, generate_key,
};

/// Runs one job and asserts that it ends as `expected` and writes nothing.
fn refuses(backend: &dyn Backend, kind: Kind, job: Prepared, expected: Status, why: &str) {
    let key = backend
        .key(kind.algorithm, &material(kind.algorithm, 1))
        .expect("a good key");
    let before = job.arena.clone();
    let mut batch = [job];
    let statuses = process(backend, kind, &[&*key], &mut batch);
    let name = format!(
        "{} {} {}: {why}",
        backend.name(),
        kind.algorithm,
        kind.operation
    );
    assert_eq!(statuses, [expected], "{name}");
    assert!(batch[0].arena == before, "{name}: something was written");
}

fn bad_texts(kind: Kind) -> Vec<usize> {
    let algorithm = kind.algorithm;
    let modulus = algorithm.modulus_bytes();
    match (kind.operation, message_bytes_max(algorithm)) {
        (Operation::Encrypt, Some(most)) => vec![most + 1, modulus],
        (Operation::Decrypt, Some(_)) | (Operation::Derive, _) => vec![0, modulus - 1, modulus + 1],
        (Operation::Sign | Operation::Verify, _) => vec![0, 31, 33, 64],
        _ if takes_blocks(algorithm) => vec![1, 15, 17, 4097],
        _ if is_xts(algorithm) => vec![0, 1, 15, (16 << 20) + 1],
        _ => Vec::new(),
    }
}

/// Every kind of every back-end with the parts of a job that it takes.
fn each(mut run: impl FnMut(&dyn Backend, Kind, Shape)) {
    for backend in backends() {
        for kind in offered(&*backend) {
            run(&*backend, kind, Shape::near(kind, 48, 9));
        }
    }
}

#[test]
fn texts_of_a_wrong_length() {
    each(|backend, kind, good| {
        for source in bad_texts(kind) {
            let same = good.destination == good.source;
            let destination = if same { source } else { good.destination };
            let shape = Shape {
                source,
                destination,
                ..good
            };
            let job = plain(shape, 5, false);
            refuses(backend, kind, job, Status::BadLength, "wrong length");
        }
    });
}

fn bad_destinations(kind: Kind, good: Shape) -> Vec<usize> {
    match (kind.operation, message_bytes_max(kind.algorithm)) {
        (Operation::Decrypt, Some(most)) => vec![most + 1, kind.algorithm.modulus_bytes()],
        _ if good.destination == 0 => vec![1],
        _ => vec![0, good.destination - 1, good.destination + 1],
    }
}

#[test]
fn destinations_tags_and_additional_data_of_a_wrong_length() {
    each(|backend, kind, good| {
        let refuses = |shape, why| {
            let job = plain(shape, 5, false);
            refuses(backend, kind, job, Status::BadLength, why);
        };
        for destination in bad_destinations(kind, good) {
            let shape = Shape {
                destination,
                ..good
            };
            refuses(shape, "destination's length");
        }
        let tags = [0, 1, 12, 15, 16, 17, 64, 255, 256];
        for tag in tags.into_iter().filter(|&tag| tag != good.tag) {
            refuses(Shape { tag, ..good }, "tag's length");
        }
        if !kind.algorithm.is_aead() {
            refuses(Shape { aad: 1, ..good }, "additional data");
        }
    });
}

#[test]
fn partial_overlaps() {
    each(|backend, kind, good| {
        let bad = Status::BadSegment;
        for shift in [1, 16, good.source.saturating_sub(1)] {
            let mut job = plain(good, 5, false);
            job.destination[0].0 = job.source[0].0 + shift;
            if good.destination > 0 {
                refuses(backend, kind, job, bad, "overlap");
            }
        }
        let mut job = plain(good, 5, false);
        job.tag.0 = job.source[0].0 + good.source - 1;
        if crate::support::writes_tag(kind) {
            refuses(backend, kind, job, bad, "tag over the source");
        }
        if kind.algorithm.is_aead() {
            let mut job = plain(good, 5, true);
            job.tag.0 = job.destination[0].0 + 40;
            refuses(backend, kind, job, bad, "tag in the text");
            let mut job = plain(good, 5, true);
            job.aad.0 = job.destination[0].0 - 1;
            refuses(backend, kind, job, bad, "additional data in the text");
        }
    });
}

/// One job with segments as given; the arena is `bytes`.
fn raw(backend: &dyn Backend, kind: Kind, source: Segments, destination: Segments) -> Status {
    let key = backend
        .key(kind.algorithm, &material(kind.algorithm, 1))
        .expect("a good key");
    let (aad, tag) = (Segment::EMPTY, Segment::EMPTY);
    let job = Job {
        key: &*key,
        source,
        destination,
        iv: [0; 16],
        aad,
        tag,
    };
    let mut status = [Status::Ok];
    // SAFETY: each test gives segments that are valid, or refused unread.
    unsafe { backend.process(kind, &[job], &mut status) };
    status[0]
}

/// The kinds that take 64 bytes, and 1025, in place with neither additional
/// data nor a tag.
fn plainest(backend: &dyn Backend, text_bytes: usize) -> Vec<Kind> {
    let bare = Shape {
        source: text_bytes,
        destination: text_bytes,
        aad: 0,
        tag: 0,
    };
    let mut kinds = offered(backend);
    kinds.retain(|kind| !kind.algorithm.is_public_key());
    kinds.retain(|&kind| Shape::near(kind, text_bytes, 0) == bare);
    kinds.retain(|kind| kind.operation != Operation::Hash);
    kinds
}

#[test]
fn null_wrapping_and_overlong_segments() {
    let mut bytes = noise(1, 64);
    let whole = Segment::new(bytes.as_mut_ptr(), 64);
    let null = Segment::new(ptr::null_mut(), 64);
    let wrapping = Segment::new(ptr::without_provenance_mut(usize::MAX - 10), 64);
    let huge = Segment::new(ptr::without_provenance_mut(16), isize::MAX as usize + 1);
    for backend in backends() {
        for kind in plainest(&*backend, 64) {
            let run = |source, destination| {
                let [source, destination] = [source, destination].map(Segments::one);
                raw(&*backend, kind, source, destination)
            };
            let name = format!("{} {kind:?}", backend.name());
            assert_eq!(run(null, whole), Status::BadSegment, "{name}");
            assert_eq!(run(whole, null), Status::BadSegment, "{name}");
            assert_eq!(run(wrapping, whole), Status::BadSegment, "{name}");
            assert_eq!(run(huge, huge), Status::BadLength, "{name}");
            assert_eq!(run(whole, whole), Status::Ok, "{name}");
            let none = run(Segment::EMPTY, Segment::EMPTY);
            let least = if is_xts(kind.algorithm) {
                Status::BadLength
            } else {
                Status::Ok
            };
            assert_eq!(none, least, "{name}");
        }
    }
}

#[test]
fn lists_that_are_null_misaligned_too_long_or_too_large() {
    let mut bytes = noise(1, 2048);
    let base = bytes.as_mut_ptr();
    let first = Segment::new(base, 1);
    let rest: Vec<Segment> = (1..=1025)
        .map(|at| Segment::new(base.wrapping_add(at), 1))
        .collect();
    let list = |rest_count| Segments {
        first,
        rest: rest.as_ptr(),
        rest_count,
    };
    let null = Segments {
        rest: ptr::null(),
        ..list(1)
    };
    let misaligned = Segments {
        rest: rest.as_ptr().wrapping_byte_add(1),
        ..list(1)
    };
    let half = Segment::new(base, isize::MAX as usize);
    let halves = [half, half];
    let too_large = Segments {
        first: half,
        rest: halves.as_ptr(),
        rest_count: 2,
    };
    let with_null = [Segment::new(ptr::null_mut(), 1)];
    let null_inside = Segments {
        first,
        rest: with_null.as_ptr(),
        rest_count: 1,
    };
    let run_all = |backend: &dyn Backend, kind| {
        let run = |list| raw(backend, kind, list, list);
        assert_eq!(run(list(1024)), Status::Ok);
        assert_eq!(run(list(1025)), Status::BadSegment);
        assert_eq!(run(list(u32::MAX)), Status::BadSegment);
        assert_eq!(run(null), Status::BadSegment);
        assert_eq!(run(misaligned), Status::BadSegment);
        assert_eq!(run(null_inside), Status::BadSegment);
        // Two segments of 2^63 − 1 bytes wrap; the sum is never formed.
        assert!(matches!(
            run(too_large),
            Status::BadSegment | Status::BadLength
        ));
    };
    for backend in backends() {
        for kind in plainest(&*backend, 1025) {
            run_all(&*backend, kind);
        }
    }
}

#[test]
fn foreign_keys_stop_only_their_own_jobs() {
    for backend in backends() {
        let own = offered(&*backend);
        for foreign in backends() {
            let theirs = offered(&*foreign);
            let both = own.iter().filter(|kind| theirs.contains(kind));
            for kind in both.filter(|kind| kind.operation == Operation::Encrypt) {
                if foreign.name() != backend.name() && !kind.algorithm.is_public_key() {
                    refuses_foreign_keys(&*backend, &*foreign, &own, *kind);
                }
            }
        }
    }
}

/// A key of another back-end, one of another algorithm, and a good one. A key
/// made for several back-ends may serve each; then it must serve it well.
fn refuses_foreign_keys(backend: &dyn Backend, foreign: &dyn Backend, own: &[Kind], kind: Kind) {
    let key = |backend: &dyn Backend, algorithm| {
        let key = backend.key(algorithm, &material(algorithm, 1));
        key.expect("a good key")
    };
    let algorithm = kind.algorithm;
    let other = own.iter().find(|other| other.algorithm != algorithm);
    let other = other.map_or(algorithm, |kind| kind.algorithm);
    let keys = [
        key(foreign, algorithm),
        key(backend, other),
        key(backend, algorithm),
    ];
    let fresh = || plain(Shape::near(kind, 64, 0), 3, true);
    let mut batch = [fresh(), fresh(), fresh()];
    let statuses = process(
        backend,
        kind,
        &keys.each_ref().map(|key| &**key),
        &mut batch,
    );
    let name = format!(
        "{} with a key of {}, {kind:?}",
        backend.name(),
        foreign.name()
    );
    let good = &batch[2].arena;
    match statuses[0] {
        Status::Unsupported => assert!(batch[0].arena == fresh().arena, "{name}"),
        Status::Ok => assert!(&batch[0].arena == good, "{name}"),
        status => panic!("{name}: {status:?}"),
    }
    if other != algorithm {
        assert_eq!(statuses[1], Status::Unsupported, "{name}");
        assert!(batch[1].arena == fresh().arena, "{name}");
    }
    assert_eq!(statuses[2], Status::Ok, "{name}");
    assert!(good != &fresh().arena, "{name}: nothing was done");
}

#[test]
fn fewer_statuses_than_jobs() {
    for backend in backends() {
        for kind in offered(&*backend) {
            let process = || {
                let mut statuses = [Status::Ok];
                // SAFETY: there are no jobs, hence no segments.
                unsafe { backend.process(kind, &[], &mut statuses) };
            };
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(process));
            let payload = panicked.expect_err("it must panic");
            let message = payload
                .downcast_ref::<String>()
                .map_or_else(|| payload.downcast_ref::<&str>().copied(), |s| Some(s))
                .unwrap_or_default();
            assert!(message.contains("one status for each job"), "{message}");
        }
    }
}

fn algorithms(backend: &dyn Backend) -> Vec<Algorithm> {
    let mut algorithms: Vec<_> = offered(backend).iter().map(|kind| kind.algorithm).collect();
    algorithms.dedup();
    algorithms
}

#[test]
fn keys_of_a_wrong_length() {
    for backend in backends() {
        for algorithm in algorithms(&*backend) {
            let KeyForm::Bytes(expected) = algorithm.key_form() else {
                continue;
            };
            for got in [expected + 1, 2 * expected + 1] {
                let error = backend
                    .key(algorithm, &KeyMaterial::take(&mut noise(1, got)))
                    .err();
                let length = KeyError::Length {
                    algorithm,
                    expected,
                    got,
                };
                assert_eq!(error, Some(length), "{}", backend.name());
            }
            if is_xts(algorithm) {
                let mut equal_halves = noise(1, expected / 2).repeat(2);
                let error = backend
                    .key(algorithm, &KeyMaterial::take(&mut equal_halves))
                    .err();
                assert_eq!(error, Some(KeyError::EqualXtsHalves), "{}", backend.name());
            }
        }
    }
}

/// OAEP and PSS with 512 bits: such a key existed once, and a job of 32 bytes ended
/// the worker.
#[test]
fn what_does_not_exist_has_no_key_and_runs_nowhere() {
    for backend in backends() {
        let real = Algorithm::Rsa(RsaBits::B512, RsaScheme::Pkcs1);
        for scheme in [RsaScheme::Oaep, RsaScheme::Pss] {
            let algorithm = Algorithm::Rsa(RsaBits::B512, scheme);
            let material = material(real, 1);
            assert!(backend.key(algorithm, &material).is_err(), "{algorithm:?}");
            let Ok(key) = backend.key(real, &material) else {
                continue;
            };
            for operation in Operation::ALL {
                let kind = Kind::new(algorithm, operation);
                assert!(!backend.supports(kind), "{kind:?}");
                for (source, destination) in [(32, 0), (64, 0), (64, 32), (20, 64)] {
                    let shape = Shape {
                        source,
                        destination,
                        aad: 0,
                        tag: 0,
                    };
                    let mut batch = [plain(shape, 5, false)];
                    let statuses = process(&*backend, kind, &[&*key], &mut batch);
                    assert_eq!(statuses, [Status::Unsupported], "{kind:?}");
                }
            }
        }
    }
}

/// Whether two algorithms share their keys: RSA with moduli of one length.
fn same_keys(a: Algorithm, b: Algorithm) -> bool {
    match (a, b) {
        (Algorithm::Rsa(a, _), Algorithm::Rsa(b, _)) => a == b,
        _ => a == b,
    }
}

#[test]
fn keys_that_are_not_of_the_kind_in_pkcs8() {
    let is_pkcs8 = |algorithm: &Algorithm| algorithm.key_form() == KeyForm::Pkcs8;
    for backend in backends() {
        for algorithm in algorithms(&*backend).into_iter().filter(is_pkcs8) {
            let good = pkcs8(algorithm)[0];
            let mut bad = vec![
                Vec::new(),
                noise(3, 1217),
                good[..good.len() - 1].to_vec(),
                [good, &[0]].concat(),
            ];
            let others = Algorithm::ALL.into_iter().filter(is_pkcs8);
            let others = others.filter(|&other| !same_keys(algorithm, other));
            bad.extend(others.map(|other| pkcs8(other)[0].to_vec()));
            for (index, mut der) in bad.into_iter().enumerate() {
                let error = backend.key(algorithm, &KeyMaterial::take(&mut der)).err();
                let malformed = Some(KeyError::Malformed { algorithm });
                assert_eq!(error, malformed, "{} {algorithm} {index}", backend.name());
            }
        }
    }
}

/// A new key of more than 2048 bits takes a second and more.
fn is_quick(algorithm: Algorithm) -> bool {
    !matches!(
        algorithm,
        Algorithm::Rsa(RsaBits::B3072 | RsaBits::B4096, _)
    )
}

#[test]
fn generated_keys_are_good_for_every_back_end() {
    for algorithm in Algorithm::ALL.into_iter().filter(|&one| is_quick(one)) {
        let material = generate_key(algorithm);
        for backend in backends() {
            if algorithms(&*backend).contains(&algorithm) {
                let key = backend.key(algorithm, &material);
                assert_eq!(key.err(), None, "{} {algorithm}", backend.name());
            }
        }
    }
}

#[test]
fn taking_a_key_wipes_where_it_was_and_debug_hides_it() {
    let mut source = *b"not to be seen by anyone at all!";
    let material = KeyMaterial::take(&mut source);
    assert_eq!(source, [0; 32]);
    assert_eq!(material.expose(), b"not to be seen by anyone at all!");
    assert_eq!(format!("{material:?}"), "KeyMaterial(32 bytes)");
}
