//! What a request leaves on the stack: no key, no text, no key stream.

#![cfg(target_arch = "x86_64")]

use std::collections::HashSet;

use crate::published::{rejection::Rejection, rsa_key};
use crate::support::{Prepared, Shape, fast_backends, material, noise, offered, plain, process};
use lockgate_crypto::{
    Algorithm, Backend, Key, Kind, Operation, RsaBits, RsaScheme, SectorCipher, SectorIv,
    SectorMode, Sectors, Status,
};
use sha2::{Digest, Sha256};

const DEPTH: usize = 128 << 10;
/// The part that is searched: `paint` and the search have frames of their own.
const LOOKED_AT: usize = DEPTH - (16 << 10);
const PATTERN: usize = 8;

#[inline(never)]
fn paint() {
    let mut below = [1_u8; DEPTH];
    let start = below.as_mut_ptr();
    for at in 0..DEPTH {
        // SAFETY: within the array.
        unsafe { start.add(at).write_volatile(0) };
    }
}

#[inline(never)]
fn copy_below(copy: &mut [u64]) {
    let mark = 0_u64;
    // Of no object that the compiler knows the bounds of.
    let top = std::hint::black_box((&raw const mark).expose_provenance());
    let top = std::ptr::with_exposed_provenance::<u64>(top);
    for (index, word) in copy.iter_mut().enumerate() {
        // SAFETY: this thread's own stack, mapped since it was painted.
        *word = unsafe { top.wrapping_sub(index + 1).read_volatile() };
    }
}

fn windows(bytes: &[u8]) -> impl Iterator<Item = [u8; PATTERN]> {
    bytes
        .windows(PATTERN)
        .map(|window| window.try_into().expect("as long"))
}

fn run_once(
    backend: &dyn Backend,
    kind: Kind,
    key: &dyn Key,
    job: &mut Prepared,
    stack: &mut [u64],
) -> Status {
    paint();
    let status = process(backend, kind, &[key], std::slice::from_mut(job));
    copy_below(stack);
    status[0]
}

struct Secrets(Vec<[u8; PATTERN]>);

impl Secrets {
    fn of(kind: Kind, text: &[u8], result: &[u8]) -> Self {
        let mut secrets: Vec<_> = windows(text).collect();
        secrets.extend(windows(material(kind.algorithm, KEY).expose()));
        if kind.operation != Operation::Hash {
            let stream: Vec<u8> = text.iter().zip(result).map(|(a, b)| a ^ b).collect();
            secrets.extend(windows(&stream));
        }
        Self(secrets)
    }

    fn count(&self, stack: &[u64]) -> usize {
        let words = stack.iter().rev();
        let bytes: Vec<u8> = words.flat_map(|word| word.to_ne_bytes()).collect();
        // Most of the stack is as it was painted: few parts of it differ.
        let there: HashSet<_> = windows(&bytes).collect();
        self.0.iter().filter(|part| there.contains(*part)).count()
    }
}

const KEY: u64 = 3;

/// Parts of secrets on the stack after a job of `kind`.
fn left(backend: &dyn Backend, kind: Kind, text_bytes: usize, pieces: usize) -> usize {
    let key = backend.key(kind.algorithm, &material(kind.algorithm, KEY));
    let key = key.expect("a good key");
    let mut stack = vec![0; LOOKED_AT / 8];
    let is_back = kind.operation == Operation::Decrypt;
    let forward = Kind {
        operation: if is_back {
            Operation::Encrypt
        } else {
            kind.operation
        },
        ..kind
    };
    let mut job = plain(Shape::near(forward, text_bytes, 21), 5, false);
    let (at, len) = job.source[0];
    if pieces > 1 {
        job.source = vec![
            (at, 5),
            (at + 5, len / 2),
            (at + 5 + len / 2, len - len / 2 - 5),
        ];
    }
    let text = job.source_bytes();
    assert_eq!(
        run_once(backend, forward, &*key, &mut job, &mut stack),
        Status::Ok
    );
    let secrets = Secrets::of(kind, &text, &job.destination_bytes());
    if is_back {
        job.arena[at..at + len].fill(0);
        std::mem::swap(&mut job.source, &mut job.destination);
        assert_eq!(
            run_once(backend, kind, &*key, &mut job, &mut stack),
            Status::Ok
        );
        assert_eq!(job.destination_bytes(), text);
    }
    secrets.count(&stack)
}

fn on_a_deep_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(4 << 20).spawn(run);
    let ended = thread.expect("there is memory").join();
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

#[test]
fn a_request_leaves_no_secret_on_the_stack() {
    on_a_deep_stack(|| {
        for backend in fast_backends() {
            let mut kinds = offered(&*backend);
            kinds.retain(|kind| !kind.algorithm.is_public_key());
            for kind in kinds {
                for (bytes, pieces) in [(77, 1), (1037, 1), (1037, 3), (20_013, 3), (70_013, 1)] {
                    let left = left(&*backend, kind, bytes, pieces);
                    let name = backend.name();
                    assert_eq!(left, 0, "{name} {kind:?} {bytes} bytes in {pieces} pieces");
                }
            }
        }
    });
}

#[test]
fn a_run_of_sectors_leaves_no_secret_on_the_stack() {
    on_a_deep_stack(|| {
        let mut stack = vec![0; LOOKED_AT / 8];
        for mode in SectorMode::ALL {
            for (key_bytes, (count, bytes)) in mode
                .key_bytes()
                .into_iter()
                .flat_map(|key| [(1, 512), (3, 4096), (130, 512)].map(|run| (key, run)))
            {
                let (key, text) = (noise(31, key_bytes), noise(32, count * bytes));
                let sectors = Sectors::new(mode, SectorIv::EssivSha256, key_bytes, bytes);
                let sectors = sectors.expect("sizes that there are");
                paint();
                let own = SectorCipher::new(sectors, &key);
                copy_below(&mut stack);
                let own = own.expect("a length that the mode has");
                let name = format!("{} {key_bytes} {count} × {bytes}", mode.name());
                let hashed = Sha256::digest(&key);
                let of_key: Vec<_> = windows(&key).chain(windows(&hashed)).collect();
                assert_eq!(Secrets(of_key.clone()).count(&stack), 0, "{name}, a key");
                let mut run = text.clone();
                for encrypt in [true, false] {
                    let before = run.clone();
                    paint();
                    own.run(encrypt, 9, &mut run);
                    copy_below(&mut stack);
                    let stream: Vec<u8> = before.iter().zip(&run).map(|(a, b)| a ^ b).collect();
                    let parts = windows(&text).chain(windows(&stream));
                    let secrets = Secrets(parts.chain(of_key.clone()).collect());
                    assert_eq!(secrets.count(&stack), 0, "{name}, encrypt: {encrypt}");
                }
                assert_eq!(run, text, "{name}");
            }
        }
    });
}

/// No hash behind the replacement of a PKCS#1 v1.5 message stays on the stack, with a
/// message or without.
#[test]
fn implicit_rejection_leaves_nothing_on_the_stack() {
    on_a_deep_stack(|| {
        let kind = Kind::new(
            Algorithm::Rsa(RsaBits::B2048, RsaScheme::Pkcs1),
            Operation::Encrypt,
        );
        let material = || material(kind.algorithm, KEY);
        let [_, exponent] = rsa_key::numbers(material().expose());
        for backend in fast_backends() {
            if !backend.supports(kind) {
                continue;
            }
            let mut stack = vec![0; LOOKED_AT / 8];
            paint();
            let key = backend.key(kind.algorithm, &material());
            copy_below(&mut stack);
            let key = key.expect("a good key");
            let hashed = Sha256::digest(&exponent);
            let mut secrets: Vec<_> = windows(&hashed).chain(windows(&exponent)).collect();
            let name = backend.name();
            assert_eq!(Secrets(secrets.clone()).count(&stack), 0, "{name}");
            let mut job = plain(Shape::near(kind, 77, 0), 5, false);
            let status = run_once(&*backend, kind, &*key, &mut job, &mut stack);
            assert_eq!(status, Status::Ok);
            let text = job.source_bytes();
            let rejection = Rejection::new(material().expose(), &job.destination_bytes());
            let instead = rejection.of(text.len() - 1);
            for bytes in [&rejection.key, &text, &rejection.of(text.len()), &instead] {
                secrets.extend(windows(bytes));
            }
            let secrets = Secrets(secrets);
            std::mem::swap(&mut job.source, &mut job.destination);
            let kind = Kind {
                operation: Operation::Decrypt,
                ..kind
            };
            for expected in [text, instead] {
                job.destination[0].1 = expected.len();
                let status = run_once(&*backend, kind, &*key, &mut job, &mut stack);
                assert_eq!((status, job.destination_bytes()), (Status::Ok, expected));
                assert_eq!(secrets.count(&stack), 0, "{name}");
            }
        }
    });
}

#[test]
fn what_is_left_would_be_found() {
    on_a_deep_stack(|| {
        let mut stack = vec![0; LOOKED_AT / 8];
        let secret = noise(77, 256);
        paint();
        leave(&secret);
        copy_below(&mut stack);
        let secrets = Secrets(windows(&secret).collect());
        assert!(secrets.count(&stack) > 0);
    });
}

#[inline(never)]
fn leave(secret: &[u8]) {
    let mut copy = [0; 256];
    copy.copy_from_slice(secret);
    std::hint::black_box(&mut copy);
}
