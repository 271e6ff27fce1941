//! In a process of its own: it stands before the C library's `malloc`.
//!
//! Counts C's and Rust's allocations alike, and looks into what is freed, by
//! standing in front of the C library's `malloc` and its kin.
//!
//! Rust's system allocator calls these for every alignment it is asked for.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod support;

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use lockgate_crypto::{
    Algorithm, Backend, Job, Key, KeyMaterial, Kind, Segment, Segments, Status, backends, by_name,
};
use support::keys::secret;
use support::{Shape, fast_backends, is_sound, kinds, material, noise, offered, plain};

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn malloc_usable_size(block: *mut c_void) -> usize;
}

const PATTERN_BYTES: usize = 16;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static SECRETS: Cell<Option<[[u8; PATTERN_BYTES]; 2]>> = const { Cell::new(None) };
    static LEAKS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    CALLS.with(|calls| calls.set(calls.get() + 1));
}

#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    count();
    // SAFETY: forwarded.
    unsafe { __libc_malloc(size) }
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count_: usize, size: usize) -> *mut c_void {
    count();
    // SAFETY: forwarded.
    unsafe { __libc_calloc(count_, size) }
}

#[unsafe(no_mangle)]
extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    count();
    // SAFETY: forwarded.
    unsafe { __libc_memalign(alignment, size) }
}

#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    memalign(alignment, size)
}

/// # Safety
/// As in POSIX: `out` is writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    let block = memalign(alignment, size);
    // SAFETY: the caller's.
    unsafe { out.write(block) };
    if block.is_null() { 12 } else { 0 }
}

/// # Safety
/// As in C: `old` came from one of these functions, or is null.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    let new = malloc(size);
    if !old.is_null() && !new.is_null() {
        // SAFETY: `old` is a block, `new` another of at least `size` bytes.
        unsafe {
            let bytes = malloc_usable_size(old).min(size);
            std::ptr::copy_nonoverlapping(old.cast::<u8>(), new.cast::<u8>(), bytes);
            free(old);
        }
    }
    new
}

/// # Safety
/// As in C: `block` came from one of these functions, or is null.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    if block.is_null() {
        return; // Frees nothing: AWS-LC empties its error queue that way.
    }
    count();
    if let Some(secrets) = SECRETS.get() {
        // SAFETY: a block that is still ours, of that many bytes.
        let bytes =
            unsafe { std::slice::from_raw_parts(block.cast::<u8>(), malloc_usable_size(block)) };
        if bytes
            .windows(PATTERN_BYTES)
            .any(|window| secrets.iter().any(|s| s == window))
        {
            LEAKS.with(|leaks| leaks.set(leaks.get() + 1));
        }
    }
    // SAFETY: forwarded.
    unsafe { __libc_free(block) };
}

fn calls_during(run: impl FnOnce()) -> usize {
    let before = CALLS.get();
    run();
    CALLS.get() - before
}

/// What is freed during `run` and still holds a secret, forwards or backwards.
fn leaks_during(secret: [u8; PATTERN_BYTES], run: impl FnOnce()) -> usize {
    let mut backwards = secret;
    backwards.reverse();
    LEAKS.set(0);
    SECRETS.set(Some([secret, backwards]));
    run();
    SECRETS.set(None);
    LEAKS.get()
}

/// Cuts a segment into `count` of nearly the same length.
fn cut(segment: Segment, count: usize) -> Vec<Segment> {
    (0..count)
        .map(|index| {
            let at = |index| segment.len * index / count;
            let address = segment.address.wrapping_add(at(index));
            Segment::new(address, at(index + 1) - at(index))
        })
        .collect()
}

fn list(segments: &[Segment]) -> Segments {
    let rest_count = u32::try_from(segments.len() - 1).expect("a short list");
    Segments {
        first: segments[0],
        rest: segments[1..].as_ptr(),
        rest_count,
    }
}

/// Allocations of a batch of eight jobs (or one, where a job takes its time),
/// scattered over `pieces` each, once the first batch is done.
fn steady_state(backend: &dyn Backend, kind: Kind, text_bytes: usize, pieces: usize) -> usize {
    let key = backend
        .key(kind.algorithm, &material(kind.algorithm, 1))
        .expect("a good key");
    let count = if kind.algorithm.is_public_key() { 1 } else { 8 };
    let mut arenas: Vec<_> = (0..count)
        .map(|seed| plain(Shape::near(kind, text_bytes, 13), seed, false))
        .collect();
    let lists: Vec<_> = arenas
        .iter_mut()
        .map(|job| {
            let base = job.arena.as_mut_ptr();
            let at = |(at, len)| Segment::new(base.wrapping_add(at), len);
            let [source, destination] = [job.source[0], job.destination[0]];
            let cuts = [(source, pieces), (destination, pieces + 1)]
                .map(|(piece, pieces)| cut(at(piece), if pieces > 2 { pieces } else { 1 }));
            (cuts, at(job.aad), at(job.tag), job.iv)
        })
        .collect();
    let jobs: Vec<Job<'_>> = lists
        .iter()
        .map(|([source, destination], aad, tag, iv)| Job {
            key: &*key,
            source: list(source),
            destination: list(destination),
            iv: *iv,
            aad: *aad,
            tag: *tag,
        })
        .collect();
    let mut statuses = vec![Status::Cancelled; jobs.len()];
    // SAFETY: segments lie in `arenas`, lists in `lists`; both live on.
    let mut run = || unsafe { backend.process(kind, &jobs, &mut statuses) };
    run();
    let calls = calls_during(run);
    let name = backend.name();
    let all_sound = statuses.iter().all(|&status| is_sound(kind, status));
    assert!(all_sound, "{name} {kind:?}: {statuses:?}");
    calls
}

#[test]
fn a_request_allocates_nothing_but_with_public_keys() {
    for backend in fast_backends() {
        let kinds = offered(&*backend);
        for kind in kinds.iter().filter(|kind| !kind.algorithm.is_public_key()) {
            for (text_bytes, pieces) in
                [(64, 1), (64, 7), (16_384, 1), (16_384, 50), (65_536, 1000)]
            {
                let calls = steady_state(&*backend, *kind, text_bytes, pieces);
                let name = backend.name();
                assert_eq!(
                    calls, 0,
                    "{name} {kind:?}, {text_bytes} bytes in {pieces} pieces"
                );
            }
        }
    }
}

#[test]
fn what_is_said_to_allocate_does() {
    let [aws_lc, portable] = ["aws-lc", "portable"].map(|name| by_name(name).expect("it exists"));
    for kind in offered(&*portable) {
        assert!(steady_state(&*portable, kind, 32, 1) > 0, "{kind:?}");
    }
    for kind in offered(&*aws_lc) {
        if matches!(kind.algorithm, Algorithm::Rsa(..)) {
            assert!(steady_state(&*aws_lc, kind, 32, 1) > 0, "{kind:?}");
        }
    }
}

fn make_use_and_drop(backend: &dyn Backend, algorithm: Algorithm, seed: u64) {
    let key: Box<dyn Key> = backend
        .key(algorithm, &material(algorithm, seed))
        .expect("a good key");
    for kind in kinds().filter(|kind| kind.algorithm == algorithm) {
        let job = plain(Shape::near(kind, 32, 0), 5, false);
        support::process(backend, kind, &[&*key], &mut [job]);
    }
}

#[test]
fn no_freed_block_holds_a_key() {
    for backend in backends() {
        let offered = offered(&*backend);
        for algorithm in Algorithm::ALL {
            let is_offered = offered.iter().any(|kind| kind.algorithm == algorithm);
            let is_numbers = matches!(algorithm, Algorithm::Rsa(..) | Algorithm::Ffdh(_));
            let (Some(secret), true) = (secret(algorithm, 75), is_offered) else {
                continue;
            };
            if backend.name() == "portable" && is_numbers {
                continue; // Its big numbers are not wiped: see the module.
            }
            let leaks = leaks_during(secret, || make_use_and_drop(&*backend, algorithm, 75));
            assert_eq!(leaks, 0, "{} {algorithm}", backend.name());
        }
    }
}

#[test]
fn a_leak_would_be_found() {
    let secret = noise(5, PATTERN_BYTES).try_into().expect("16 bytes");
    assert!(leaks_during(secret, || drop(noise(5, 100))) > 0);
    let material = KeyMaterial::take(&mut noise(5, 100));
    assert_eq!(leaks_during(secret, || drop(material)), 0);
}
