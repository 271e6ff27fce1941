//! What must be refused is, before a byte is touched.

mod support;

use std::ptr;

use lockgate_crypto::{
    Algorithm, Backend, Job, Key, KeyError, KeyMaterial, Kind, Operation, Segment, Segments,
    Status, backends, generate_key,
};
use support::{Prepared, kinds, material, noise, plain, process};

/// Runs one job and asserts that it ends as `expected` and writes nothing.
fn refuses(backend: &dyn Backend, kind: Kind, job: Prepared, expected: Status, why: &str) {
    let key = backend
        .key(kind.algorithm, &material(kind.algorithm, 1))
        .expect("a good key");
    let before = job.arena.clone();
    let mut batch = [job];
    let statuses = process(backend, kind, &[&*key], &mut batch);
    let name = format!(
        "{} {} {:?}: {why}",
        backend.name(),
        kind.algorithm,
        kind.operation
    );
    assert_eq!(statuses, [expected], "{name}");
    assert!(batch[0].arena == before, "{name}: something was written");
}

/// Lengths of text that a kind cannot take.
fn bad_texts(algorithm: Algorithm) -> &'static [usize] {
    match algorithm {
        Algorithm::Aes128Cbc | Algorithm::Aes256Cbc => &[1, 15, 17, 4097],
        Algorithm::Aes256Xts => &[0, 1, 15, (16 << 20) + 1],
        Algorithm::Rsa2048 => &[0, 31, 33, 64],
        _ => &[],
    }
}

fn good_text(algorithm: Algorithm) -> usize {
    if algorithm == Algorithm::Rsa2048 {
        32
    } else {
        64
    }
}

#[test]
fn texts_of_a_wrong_length() {
    for backend in backends() {
        for kind in kinds() {
            for &bytes in bad_texts(kind.algorithm) {
                let job = plain(kind, bytes, 9, 5, false);
                refuses(&*backend, kind, job, Status::BadLength, "wrong length");
            }
        }
    }
}

#[test]
fn destinations_tags_and_additional_data_of_a_wrong_length() {
    for backend in backends() {
        for kind in kinds() {
            let job = || plain(kind, good_text(kind.algorithm), 9, 5, false);
            let bad = Status::BadLength;
            let mut longer = job();
            longer.destination[0].1 += 1;
            refuses(&*backend, kind, longer, bad, "destination longer");
            if job().destination[0].1 > 0 {
                let mut shorter = job();
                shorter.destination[0].1 -= 1;
                refuses(&*backend, kind, shorter, bad, "destination shorter");
            }
            for tag_bytes in [1, 12, 15, 17, 255]
                .into_iter()
                .chain((job().tag.1 > 0).then_some(0))
            {
                let mut other = job();
                other.arena.extend_from_slice(&[0; 256]);
                other.tag.1 = tag_bytes;
                refuses(&*backend, kind, other, bad, "tag length");
            }
            if job().aad.1 == 0 {
                let mut with_aad = job();
                with_aad.aad.1 = 1;
                refuses(&*backend, kind, with_aad, bad, "additional data");
            }
        }
    }
}

#[test]
fn partial_overlaps() {
    for backend in backends() {
        for kind in kinds().filter(|kind| kind.algorithm != Algorithm::Rsa2048) {
            for shift in [1, 16, 63] {
                let mut job = plain(kind, 64, 9, 5, false);
                job.destination[0].0 = job.source[0].0 + shift;
                refuses(&*backend, kind, job, Status::BadSegment, "overlap");
            }
        }
        let algorithm = Algorithm::Aes128Gcm;
        for &operation in algorithm.operations() {
            let kind = Kind {
                algorithm,
                operation,
            };
            let mut job = plain(kind, 64, 9, 5, true);
            job.tag.0 = job.destination[0].0 + 60;
            refuses(&*backend, kind, job, Status::BadSegment, "tag in the text");
            let mut job = plain(kind, 64, 9, 5, true);
            job.aad.0 = job.destination[0].0 - 1;
            refuses(
                &*backend,
                kind,
                job,
                Status::BadSegment,
                "additional data in the text",
            );
        }
        let kind = Kind {
            algorithm: Algorithm::Rsa2048,
            operation: Operation::Sign,
        };
        let mut job = plain(kind, 32, 0, 5, false);
        job.tag.0 = job.source[0].0 + 31;
        refuses(
            &*backend,
            kind,
            job,
            Status::BadSegment,
            "signature over the digest",
        );
    }
}

/// One job with segments as given; the arena is `bytes`.
fn raw(
    backend: &dyn Backend,
    algorithm: Algorithm,
    source: Segments,
    destination: Segments,
) -> Status {
    let key = backend
        .key(algorithm, &material(algorithm, 1))
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
    let kind = Kind {
        algorithm,
        operation: algorithm.operations()[0],
    };
    // SAFETY: each test gives segments that are valid, or refused unread.
    unsafe { backend.process(kind, &[job], &mut status) };
    status[0]
}

#[test]
fn null_wrapping_and_overlong_segments() {
    let mut bytes = noise(1, 64);
    let whole = Segment {
        address: bytes.as_mut_ptr(),
        len: 64,
    };
    let null = Segment {
        address: ptr::null_mut(),
        len: 64,
    };
    let wrapping = Segment {
        address: ptr::without_provenance_mut(usize::MAX - 10),
        len: 64,
    };
    let huge = Segment {
        address: ptr::without_provenance_mut(16),
        len: isize::MAX as usize + 1,
    };
    for backend in backends() {
        let run = |source, destination| {
            raw(
                &*backend,
                Algorithm::Aes128Ctr,
                Segments::one(source),
                Segments::one(destination),
            )
        };
        assert_eq!(run(null, whole), Status::BadSegment);
        assert_eq!(run(whole, null), Status::BadSegment);
        assert_eq!(run(wrapping, whole), Status::BadSegment);
        assert_eq!(run(huge, huge), Status::BadLength);
        assert_eq!(run(whole, whole), Status::Ok);
        assert_eq!(run(Segment::EMPTY, Segment::EMPTY), Status::Ok);
    }
}

#[test]
fn lists_that_are_null_misaligned_too_long_or_too_large() {
    let mut bytes = noise(1, 2048);
    let base = bytes.as_mut_ptr();
    let first = Segment {
        address: base,
        len: 1,
    };
    let rest: Vec<Segment> = (1..=1025)
        .map(|at| Segment {
            address: base.wrapping_add(at),
            len: 1,
        })
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
    let half = Segment {
        address: base,
        len: isize::MAX as usize,
    };
    let halves = [half, half];
    let too_large = Segments {
        first: half,
        rest: halves.as_ptr(),
        rest_count: 2,
    };
    let with_null = [Segment {
        address: ptr::null_mut(),
        len: 1,
    }];
    let null_inside = Segments {
        first,
        rest: with_null.as_ptr(),
        rest_count: 1,
    };
    for backend in backends() {
        let run = |list| raw(&*backend, Algorithm::Aes256Ctr, list, list);
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
    }
}

#[test]
fn operations_of_another_algorithm_and_foreign_keys() {
    let [one, other] = [&backends()[0], &backends()[1]].map(|backend| backend.clone());
    let right = Kind {
        algorithm: Algorithm::Aes128Ctr,
        operation: Operation::Encrypt,
    };
    let wrong = Kind {
        algorithm: Algorithm::Aes128Ctr,
        operation: Operation::Hash,
    };
    for (backend, foreign) in [(&one, &other), (&other, &one)] {
        assert!(backend.supports(right) && !backend.supports(wrong));
        assert_eq!(backend.width(right), 1);
        refuses(
            &**backend,
            wrong,
            plain(right, 64, 0, 5, true),
            Status::Unsupported,
            "operation",
        );
        let keys: [Box<dyn Key>; 3] = [
            foreign
                .key(Algorithm::Aes128Ctr, &material(Algorithm::Aes128Ctr, 1))
                .expect("good"),
            backend
                .key(Algorithm::Aes128Cbc, &material(Algorithm::Aes128Cbc, 1))
                .expect("good"),
            backend
                .key(Algorithm::Aes128Ctr, &material(Algorithm::Aes128Ctr, 1))
                .expect("good"),
        ];
        let mut batch = [1, 2, 3].map(|seed| plain(right, 64, 0, seed, true));
        let before: Vec<Vec<u8>> = batch.iter().map(|job| job.arena.clone()).collect();
        let statuses = process(
            &**backend,
            right,
            &keys.each_ref().map(|key| &**key),
            &mut batch,
        );
        assert_eq!(
            statuses,
            [Status::Unsupported, Status::Unsupported, Status::Ok]
        );
        assert!(batch[0].arena == before[0] && batch[1].arena == before[1]);
        assert!(
            batch[2].arena != before[2],
            "one bad neighbour does not stop the next"
        );
    }
}

#[test]
#[should_panic(expected = "one status for each job")]
fn fewer_statuses_than_jobs() {
    let backend = &backends()[0];
    let kind = Kind {
        algorithm: Algorithm::Sha256,
        operation: Operation::Hash,
    };
    let mut statuses = [Status::Ok];
    // SAFETY: there are no jobs, hence no segments.
    unsafe { backend.process(kind, &[], &mut statuses) };
}

#[test]
fn keys_of_a_wrong_length_or_form() {
    for backend in backends() {
        for algorithm in Algorithm::ALL {
            let Some(expected) = algorithm.key_bytes() else {
                continue;
            };
            let got = expected + 1;
            let error = backend
                .key(algorithm, &KeyMaterial::take(&mut noise(1, got)))
                .err();
            assert_eq!(
                error,
                Some(KeyError::Length {
                    algorithm,
                    expected,
                    got
                })
            );
        }
        let mut equal_halves = noise(1, 32).repeat(2);
        let error = backend
            .key(Algorithm::Aes256Xts, &KeyMaterial::take(&mut equal_halves))
            .err();
        assert_eq!(error, Some(KeyError::EqualXtsHalves));
    }
}

#[test]
fn keys_that_are_not_rsa_2048_in_pkcs8() {
    let algorithm = Algorithm::Rsa2048;
    let good = include_bytes!("vectors/rsa-2048.pkcs8.der").to_vec();
    let mut trailing = good.clone();
    trailing.push(0);
    let bad = [
        Vec::new(),
        noise(3, 1217),
        good[..good.len() - 1].to_vec(),
        trailing,
        include_bytes!("vectors/rsa-1024.pkcs8.der").to_vec(),
        include_bytes!("vectors/p-256.pkcs8.der").to_vec(),
    ];
    for backend in backends() {
        for (index, der) in bad.iter().enumerate() {
            let error = backend
                .key(algorithm, &KeyMaterial::take(&mut der.clone()))
                .err();
            let malformed = Some(KeyError::Malformed { algorithm });
            assert_eq!(error, malformed, "{} {index}", backend.name());
        }
        assert!(backend.key(algorithm, &generate_key(algorithm)).is_ok());
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
