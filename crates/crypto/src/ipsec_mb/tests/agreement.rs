//! Against AWS-LC where the library is known to go wrong: at and beyond
//! 65,536 bytes, where counters wrap, without text.

use super::backend;
use crate::aws_lc::AwsLc;
use crate::ipsec_mb::IpsecMb;
use crate::{
    Algorithm, Backend, Job, Key, KeyForm, KeyMaterial, Kind, Operation, Segment, Segments, Status,
};

fn material(algorithm: Algorithm, seed: u8) -> KeyMaterial {
    let bytes = match algorithm.key_form() {
        KeyForm::Bytes(bytes) => bytes,
        _ => usize::from(seed) * 20,
    };
    let mut key: Vec<u8> = (0..bytes).map(|at| noise(at, seed)).collect();
    KeyMaterial::take(&mut key)
}

fn noise(at: usize, seed: u8) -> u8 {
    let mixed = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ u64::from(seed));
    (mixed >> 32) as u8
}

/// One job's memory: everything in one arena, so that bytes written beside a
/// part show.
#[derive(Clone, PartialEq)]
struct Message {
    arena: Vec<u8>,
    bytes: usize,
    in_place: bool,
    iv: [u8; 16],
    aad_bytes: usize,
}

const GAP: usize = 32;

impl Message {
    fn new(bytes: usize, seed: u8) -> Self {
        let arena_bytes = 2 * bytes + 6 * GAP + 300;
        Self {
            arena: (0..arena_bytes).map(|at| noise(at, seed)).collect(),
            bytes,
            in_place: seed.is_multiple_of(2),
            iv: std::array::from_fn(|at| noise(at, seed ^ 0x55)),
            aad_bytes: usize::from(seed) % 40,
        }
    }

    fn job<'k>(&mut self, kind: Kind, key: &'k dyn Key) -> Job<'k> {
        let base = self.arena.as_mut_ptr();
        let segment = |at: usize, len: usize| Segment::new(base.wrapping_add(at), len);
        let source = segment(GAP + 1, self.bytes);
        let second = 2 * GAP + 2 + self.bytes;
        let destination = match kind.algorithm.digest_bytes() {
            0 if self.in_place => source,
            0 => segment(second, self.bytes),
            digest_bytes => segment(second, digest_bytes),
        };
        let third = second + self.bytes.max(64) + GAP;
        let is_aead = kind.algorithm.is_aead();
        Job {
            key,
            source: Segments::one(source),
            destination: Segments::one(destination),
            iv: self.iv,
            aad: segment(third + 16, if is_aead { self.aad_bytes } else { 0 }),
            tag: segment(third, if is_aead { 16 } else { 0 }),
        }
    }
}

fn agrees(backend: &IpsecMb, kind: Kind, messages: &[Message]) {
    let run = |backend: &dyn Backend| {
        let keys = [1, 7].map(|seed| {
            backend
                .key(kind.algorithm, &material(kind.algorithm, seed))
                .unwrap()
        });
        let mut messages = messages.to_vec();
        let mut statuses = vec![Status::Cancelled; messages.len()];
        let jobs: Vec<_> = messages
            .iter_mut()
            .enumerate()
            .map(|(index, message)| message.job(kind, &*keys[index % 2]))
            .collect();
        // SAFETY: every segment lies in a message's arena, which nobody
        // looks at until the call has returned.
        unsafe { backend.process(kind, &jobs, &mut statuses) };
        (messages, statuses)
    };
    let ((own, own_statuses), (theirs, their_statuses)) = (run(backend), run(&AwsLc));
    assert_eq!(own_statuses, their_statuses, "{kind:?}");
    for (index, (own, theirs)) in own.iter().zip(&theirs).enumerate() {
        let Message {
            bytes, in_place, ..
        } = own;
        assert!(
            own.arena == theirs.arena,
            "{kind:?}: message {index} of {bytes} bytes, in place {in_place}"
        );
    }
}

fn messages(lengths: &[usize]) -> Vec<Message> {
    let one = |(index, &bytes)| Message::new(bytes, index as u8);
    lengths.iter().enumerate().map(one).collect()
}

fn fits(kind: Kind, bytes: usize) -> usize {
    use Algorithm as A;
    match kind.algorithm {
        A::Aes128Cbc | A::Aes192Cbc | A::Aes256Cbc | A::Aes128Ecb | A::Aes192Ecb | A::Aes256Ecb => {
            bytes & !15
        }
        _ => bytes,
    }
}

pub(super) fn all_agree(lengths: &[usize]) {
    let Some(backend) = backend() else { return };
    for &kind in &backend.supported {
        let lengths: Vec<_> = lengths.iter().map(|&bytes| fits(kind, bytes)).collect();
        agrees(&backend, kind, &messages(&lengths));
    }
}

#[test]
fn around_sixty_four_kibibytes() {
    let blocks: Vec<_> = (65_504..=65_568).step_by(16).collect();
    all_agree(&blocks);
    all_agree(&[65_533, 65_534, 65_535, 65_536, 65_537, 131_072, 131_073]);
}

#[test]
fn one_alone_and_a_mebibyte() {
    all_agree(&[131_072]);
    all_agree(&[(1 << 20) + 1, 64, (1 << 20) - 1, 65_536]);
}

#[test]
fn short_ones_and_none() {
    all_agree(&[0]);
    all_agree(&[0, 0, 0, 0]);
    let lengths: Vec<_> = (0..300).map(|n| n * 7 % 300).collect();
    all_agree(&lengths);
}

#[test]
fn one_burst_and_a_job_more() {
    for count in [1, 2, 15, 16, 17, 127, 128, 129, 256, 257] {
        all_agree(&vec![96; count]);
    }
}

#[test]
fn mixed_lengths_in_lockstep() {
    let lengths: Vec<_> = (0..150)
        .map(|n| {
            if n % 11 == 0 {
                200_000 - n * 16
            } else {
                n * 16
            }
        })
        .collect();
    all_agree(&lengths);
}

#[test]
fn counters_that_wrap() {
    wraps_agree(&[0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 255, 256, 4094]);
}

/// Counters that begin this many blocks before 2^32, 2^64 and 2^128.
pub(super) fn wraps_agree(before: &[u128]) {
    let Some(backend) = backend() else { return };
    let is_ctr = |kind: &&Kind| kind.algorithm.name().ends_with("-ctr");
    for &kind in backend.supported.iter().filter(is_ctr) {
        for whole_bytes in [4, 8, 16] {
            for before in before {
                let mut batch = messages(&[1, 16, 33, 256, 300, 1024, 5000, 65_536, 70_001]);
                for message in &mut batch {
                    message.iv[16 - whole_bytes..].fill(0xff);
                    let counter = u128::from_be_bytes(message.iv) - before;
                    message.iv = counter.to_be_bytes();
                }
                agrees(&backend, kind, &batch);
            }
        }
    }
}

#[test]
fn a_wrong_tag_leaves_nothing() {
    let Some(backend) = backend() else { return };
    let opens = |kind: &&Kind| kind.algorithm.is_aead() && kind.operation == Operation::Decrypt;
    for &kind in backend.supported.iter().filter(opens) {
        let key = backend
            .key(kind.algorithm, &material(kind.algorithm, 1))
            .unwrap();
        for bytes in [0, 1, 16, 64, 4096, 65_536] {
            let mut message = Message::new(bytes, 3);
            let job = message.job(kind, &*key);
            let mut status = [Status::Ok];
            // SAFETY: the arena outlives the call.
            unsafe { backend.process(kind, &[job], &mut status) };
            assert_eq!(status, [Status::AuthenticationFailed]);
            let at = 2 * GAP + 2 + bytes;
            let left = &message.arena[at..at + bytes];
            assert!(left.iter().all(|&byte| byte == 0), "{kind:?} {bytes}");
        }
    }
}

#[test]
fn sealed_messages_open() {
    let Some(backend) = backend() else { return };
    let seals = |kind: &&Kind| kind.algorithm.is_aead() && kind.operation == Operation::Encrypt;
    for &kind in backend.supported.iter().filter(seals) {
        let opening = Kind {
            operation: Operation::Decrypt,
            ..kind
        };
        let key = backend
            .key(kind.algorithm, &material(kind.algorithm, 1))
            .unwrap();
        for bytes in [0, 1, 15, 16, 17, 64, 100, 65_536, (1 << 20) + 1] {
            let mut message = Message::new(bytes, 2);
            let before = message.arena.clone();
            for kind in [kind, opening] {
                let job = message.job(kind, &*key);
                let mut status = [Status::Cancelled];
                // SAFETY: the arena outlives the call.
                unsafe { backend.process(kind, &[job], &mut status) };
                assert_eq!(status, [Status::Ok], "{kind:?} {bytes}");
            }
            let text = GAP + 1..GAP + 1 + bytes;
            assert!(message.arena[text.clone()] == before[text], "{bytes}");
        }
    }
}
