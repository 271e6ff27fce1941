//! AWS-LC against the portable back-end: batches of jobs with keys of their
//! own, of every length up to 128 KiB, scattered, misaligned, in place or not.

mod support;

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseResult, TestRunner};

use lockgate_crypto::{Algorithm, Backend, Key, Kind, Operation, Status, by_name};
use support::layout::{Spec, specs};
use support::{Prepared, material, process};

fn cases(usual: u32) -> u32 {
    if std::env::var("LOCKGATE_THOROUGH").is_ok_and(|value| value == "1") {
        usual * 32
    } else {
        usual
    }
}

fn back_ends() -> [Arc<dyn Backend>; 2] {
    ["aws-lc", "portable"].map(|name| by_name(name).expect("both exist"))
}

/// What one back-end makes of the batch.
struct Outcome {
    batch: Vec<Prepared>,
    statuses: Vec<Status>,
}

fn outcome(backend: &dyn Backend, kind: Kind, specs: &[Spec], batch: Vec<Prepared>) -> Outcome {
    let mut batch = batch;
    let keys: Vec<Box<dyn Key>> = specs
        .iter()
        .map(|spec| {
            backend
                .key(kind.algorithm, &key(kind.algorithm, spec))
                .expect("a good key")
        })
        .collect();
    let keys: Vec<&dyn Key> = keys.iter().map(|key| &**key).collect();
    let statuses = process(backend, kind, &keys, &mut batch);
    Outcome { batch, statuses }
}

/// Three keys take turns, so that batches mix them and use some twice.
fn key(algorithm: Algorithm, spec: &Spec) -> lockgate_crypto::KeyMaterial {
    material(algorithm, spec.seed % 3)
}

/// Fills in ciphertext and tag (or digest and signature) for what opens or
/// verifies, made by the other back-end over one segment; flips a bit if the
/// spec says so. Returns the batch, and which of it must be refused.
fn filled(maker: &dyn Backend, kind: Kind, specs: &[Spec]) -> (Vec<Prepared>, Vec<bool>) {
    specs.iter().map(|spec| fill(maker, kind, spec)).unzip()
}

fn fill(maker: &dyn Backend, kind: Kind, spec: &Spec) -> (Prepared, bool) {
    let mut job = spec.prepare(kind);
    let opposite = match (kind.algorithm, kind.operation) {
        (Algorithm::Aes128Gcm | Algorithm::Aes256Gcm, Operation::Decrypt) => Operation::Encrypt,
        (Algorithm::Rsa2048, Operation::Verify) => Operation::Sign,
        _ => return (job, false),
    };
    let forward = Kind {
        algorithm: kind.algorithm,
        operation: opposite,
    };
    let mut original = Prepared {
        arena: job.arena.clone(),
        source: job.source.clone(),
        destination: job.source.clone(),
        ..job
    };
    if kind.operation == Operation::Verify {
        original.destination.clear();
    }
    let made = maker
        .key(kind.algorithm, &key(kind.algorithm, spec))
        .expect("a good key");
    let batch = std::slice::from_mut(&mut original);
    assert_eq!(process(maker, forward, &[&*made], batch), [Status::Ok]);
    job.arena = original.arena;
    let forged = spec.flip.is_some_and(|bit| flip(&mut job, bit));
    (job, forged)
}

/// Flips one bit of source, additional data or tag.
fn flip(job: &mut Prepared, bit: u32) -> bool {
    let places: Vec<usize> = job
        .source
        .iter()
        .chain([&job.aad, &job.tag])
        .flat_map(|&(at, len)| at..at + len)
        .collect();
    let place = places[bit as usize / 8 % places.len()];
    job.arena[place] ^= 1 << (bit % 8);
    true
}

fn agrees(kind: Kind, specs: &[Spec]) -> TestCaseResult {
    let [aws_lc, portable] = back_ends();
    let (before, forged) = filled(&*portable, kind, specs);
    let (again, _) = filled(&*portable, kind, specs);
    let one = outcome(&*aws_lc, kind, specs, before);
    let other = outcome(&*portable, kind, specs, again);
    prop_assert_eq!(&one.statuses, &other.statuses);
    for (index, (a, b)) in one.batch.iter().zip(&other.batch).enumerate() {
        let expected = if forged[index] {
            Status::AuthenticationFailed
        } else {
            Status::Ok
        };
        prop_assert_eq!(one.statuses[index], expected);
        // The whole arena: nothing beside destination and tag was written.
        prop_assert!(a.arena == b.arena, "job {} differs", index);
        if forged[index] {
            prop_assert!(
                a.destination_bytes().iter().all(|&byte| byte == 0),
                "plaintext is left"
            );
        }
        nothing_else_written(kind, &specs[index], &*portable, a)?;
    }
    Ok(())
}

/// Bytes that are neither destination nor written tag are as they were.
fn nothing_else_written(
    kind: Kind,
    spec: &Spec,
    maker: &dyn Backend,
    after: &Prepared,
) -> TestCaseResult {
    let (mut before, _) = fill(maker, kind, spec);
    let mut written = before.destination.clone();
    if support::writes_tag(kind) {
        written.push(before.tag);
    }
    for (at, len) in written {
        before.arena[at..at + len].copy_from_slice(&after.arena[at..at + len]);
    }
    prop_assert!(before.arena == after.arena, "wrote outside its destination");
    Ok(())
}

fn check(algorithm: Algorithm, usual_cases: u32) {
    for &operation in algorithm.operations() {
        let kind = Kind {
            algorithm,
            operation,
        };
        let config = Config {
            cases: cases(usual_cases),
            failure_persistence: None,
            ..Config::default()
        };
        let batches = prop::collection::vec(specs(algorithm), 1..6);
        TestRunner::new(config)
            .run(&batches, |specs| agrees(kind, &specs))
            .unwrap_or_else(|failure| panic!("{algorithm} {operation:?}: {failure}"));
    }
}

#[test]
fn aes_128_cbc() {
    check(Algorithm::Aes128Cbc, 48);
}

#[test]
fn aes_256_cbc() {
    check(Algorithm::Aes256Cbc, 48);
}

#[test]
fn aes_128_ctr() {
    check(Algorithm::Aes128Ctr, 48);
}

#[test]
fn aes_256_ctr() {
    check(Algorithm::Aes256Ctr, 48);
}

#[test]
fn aes_128_gcm() {
    check(Algorithm::Aes128Gcm, 64);
}

#[test]
fn aes_256_gcm() {
    check(Algorithm::Aes256Gcm, 64);
}

#[test]
fn aes_256_xts() {
    check(Algorithm::Aes256Xts, 64);
}

#[test]
fn sha256() {
    check(Algorithm::Sha256, 48);
}

#[test]
fn rsa_2048() {
    check(Algorithm::Rsa2048, 12);
}

/// The same with CPU features hidden from AWS-LC, in processes of their own:
/// other code paths, same results. The masks clear CPUID bits as
/// `OPENSSL_ia32cap` defines them (leaf 1 ECX:EDX, then leaf 7).
#[cfg(target_arch = "x86_64")]
#[test]
fn with_cpu_features_hidden() {
    let masks = [
        ("AVX-512", ":~0xC0230000"),
        ("all of leaf 7", ":0"),
        ("AES-NI, PCLMULQDQ", "~0x200000200000000"),
        (
            "AES-NI, PCLMULQDQ, SSSE3, AVX, leaf 7",
            "~0x1000020200000000:0",
        ),
    ];
    let own = std::env::current_exe().expect("a test binary knows its path");
    for (hidden, mask) in masks {
        let child = std::process::Command::new(&own)
            .args(["--skip", "with_cpu_features_hidden"])
            .env("OPENSSL_ia32cap", mask)
            .output()
            .expect("it can be run again");
        let text = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success(), "without {hidden}: {text}");
        assert!(text.contains("9 passed"), "without {hidden}: {text}");
    }
}
