//! Against AWS-LC where the library is known to go wrong: at and beyond
//! 65,536 bytes, where counters wrap, without text.

use super::backend;
use crate::aws_lc::AwsLc;
use crate::ipsec_mb::IpsecMb;
use crate::kernels::tests::{noise, step};
use crate::{Algorithm, Backend, Job, Key, KeyForm, KeyMaterial, Kind, Segment, Segments, Status};

fn material(algorithm: Algorithm, seed: u8) -> KeyMaterial {
    let bytes = match algorithm.key_form() {
        KeyForm::Bytes(bytes) => bytes,
        _ => usize::from(seed) * 20,
    };
    KeyMaterial::take(&mut noise(seed.into(), bytes))
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
            arena: noise(seed.into(), arena_bytes),
            bytes,
            in_place: seed.is_multiple_of(2),
            iv: noise(u64::from(seed) ^ 0x55, 16).try_into().unwrap(),
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
        // SAFETY: every segment lies in a message's arena, which no one
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
    bytes / step(kind) * step(kind)
}

pub(super) fn all_agree(lengths: &[usize]) {
    let Some(backend) = backend() else { return };
    for &kind in &backend.supported {
        let lengths: Vec<_> = lengths.iter().map(|&bytes| fits(kind, bytes)).collect();
        agrees(&backend, kind, &messages(&lengths));
    }
}

#[test]
fn batches_of_these_lengths() {
    let mixed = (0..150).map(|n| match n % 11 {
        0 => 200_000 - n * 16,
        _ => n * 16,
    });
    for lengths in [
        // Around 64 KiB.
        (65_504..=65_568).step_by(16).collect(),
        vec![65_533, 65_534, 65_535, 65_536, 65_537, 131_072, 131_073],
        // One alone, and a mebibyte.
        vec![131_072],
        vec![(1 << 20) + 1, 64, (1 << 20) - 1, 65_536],
        // Short ones, and none.
        vec![0],
        vec![0; 4],
        (0..300).map(|n| n * 7 % 300).collect(),
        // In lockstep.
        mixed.collect(),
    ] {
        all_agree(&lengths);
    }
}

#[test]
fn one_burst_and_a_job_more() {
    for count in [1, 2, 15, 16, 17, 127, 128, 129, 256, 257] {
        all_agree(&vec![96; count]);
    }
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
