//! What a back-end says it supports is what its keys and its jobs say.

use crate::support::{Shape, is_sound, material, plain, process};
use lockgate_crypto::{Algorithm, Backend, Key, KeyError, Kind, Operation, Status, backends};

/// Every operation with every algorithm, whether that has it or not.
fn pairs() -> impl Iterator<Item = Kind> {
    Algorithm::ALL
        .into_iter()
        .flat_map(|algorithm| Operation::ALL.map(|operation| Kind::new(algorithm, operation)))
}

fn supports_any(backend: &dyn Backend, algorithm: Algorithm) -> bool {
    let has = |&operation: &Operation| backend.supports(Kind::new(algorithm, operation));
    Operation::ALL.iter().any(has)
}

/// How a job of noise ends, and whether it left everything as it was.
fn tried(backend: &dyn Backend, kind: Kind, key: &dyn Key) -> (Status, bool) {
    let job = plain(Shape::near(kind, 80, 5), 9, false);
    let mut batch = [job.clone()];
    let statuses = process(backend, kind, &[key], &mut batch);
    (statuses[0], batch[0].arena == job.arena)
}

#[test]
fn what_is_supported_has_a_key_and_ends_well() {
    for backend in backends() {
        let mut count = 0;
        for kind in pairs().filter(|&kind| backend.supports(kind)) {
            let name = backend.name();
            assert!(kind.algorithm.operations().contains(&kind.operation));
            assert!(backend.width(kind) > 0, "{name} {kind:?}");
            let key = backend.key(kind.algorithm, &material(kind.algorithm, 1));
            let key = key.unwrap_or_else(|error| panic!("{name} {kind:?}: {error}"));
            let (status, _) = tried(&*backend, kind, &*key);
            assert!(is_sound(kind, status), "{name} {kind:?}: {status:?}");
            count += 1;
        }
        assert!(count > 0, "{} supports nothing", backend.name());
    }
}

#[test]
fn what_is_not_supported_is_refused_and_nothing_else() {
    for backend in backends() {
        for kind in pairs().filter(|&kind| !backend.supports(kind)) {
            let name = backend.name();
            let key = backend.key(kind.algorithm, &material(kind.algorithm, 1));
            let (maker, key) = match key {
                Ok(key) => (true, key),
                Err(error) => {
                    let expected = KeyError::Unsupported {
                        backend: name,
                        algorithm: kind.algorithm,
                    };
                    assert_eq!(error, expected);
                    (false, portable_key(kind.algorithm))
                }
            };
            assert_eq!(
                maker,
                supports_any(&*backend, kind.algorithm),
                "{name} {kind:?}"
            );
            let tried = tried(&*backend, kind, &*key);
            assert_eq!(tried, (Status::Unsupported, true), "{name} {kind:?}");
        }
    }
}

fn portable_key(algorithm: Algorithm) -> Box<dyn Key> {
    let portable = lockgate_crypto::by_name("portable").expect("it exists");
    let key = portable.key(algorithm, &material(algorithm, 1));
    key.expect("it has every algorithm")
}
