//! What a thread's manager keeps of a batch that is done: no text, no key.

use std::collections::HashSet;

use super::super::lane::Lane;
use super::backend;
use crate::kernels::tests::noise;
use crate::{Backend, Job, Key, KeyForm, KeyMaterial, Kind, Operation, Segment, Segments, Status};

const PATTERN: usize = 8;

fn windows(bytes: &[u8]) -> impl Iterator<Item = [u8; PATTERN]> {
    bytes
        .windows(PATTERN)
        .map(|window| window.try_into().unwrap())
}

struct Batch {
    texts: Vec<Vec<u8>>,
    results: Vec<Vec<u8>>,
    tags: Vec<[u8; 16]>,
}

const LENGTHS: [usize; 13] = [
    16, 64, 80, 4096, 65_552, 112, 32, 16, 48, 96, 1024, 160, 240,
];

impl Batch {
    fn run(backend: &dyn Backend, kind: Kind, key: &dyn Key) -> Self {
        let text = |(seed, len): (u64, usize)| noise(seed, len);
        let result_bytes = |len| kind.destination_bytes(len).expect("no public key");
        let mut own = Self {
            texts: (0..).zip(LENGTHS).map(text).collect(),
            results: LENGTHS.map(|len| vec![0; result_bytes(len)]).to_vec(),
            tags: vec![[1; 16]; LENGTHS.len()],
        };
        let tag_bytes = kind.algorithm.tag_bytes(kind.operation);
        let parts = own
            .texts
            .iter_mut()
            .zip(&mut own.results)
            .zip(&mut own.tags);
        let jobs: Vec<_> = parts
            .map(|((text, result), tag)| Job {
                key,
                source: Segments::one(segment(text)),
                destination: Segments::one(segment(result)),
                iv: [5; 16],
                aad: Segment::EMPTY,
                tag: segment(&mut tag[..tag_bytes]),
            })
            .collect();
        let mut statuses = vec![Status::Cancelled; jobs.len()];
        // SAFETY: every segment lies in memory of `own`.
        unsafe { backend.process(kind, &jobs, &mut statuses) };
        own
    }

    fn secrets(&self, kind: Kind) -> HashSet<[u8; PATTERN]> {
        let mut secrets = HashSet::new();
        for (text, result) in self.texts.iter().zip(&self.results) {
            let is_hash = kind.operation == Operation::Hash;
            let plain = if kind.operation == Operation::Decrypt {
                result
            } else {
                text
            };
            let pairs = text.iter().zip(result).filter(|_| !is_hash);
            let stream: Vec<u8> = pairs.map(|(a, b)| a ^ b).collect();
            secrets.extend(windows(plain).chain(windows(&stream)));
        }
        secrets.remove(&[0; PATTERN]);
        secrets
    }
}

fn segment(bytes: &mut [u8]) -> Segment {
    Segment::new(bytes.as_mut_ptr(), bytes.len())
}

fn key_bytes(kind: Kind) -> Vec<u8> {
    let bytes = match kind.algorithm.key_form() {
        KeyForm::Bytes(bytes) => bytes,
        _ => 20,
    };
    noise(99, bytes)
}

#[test]
fn a_manager_keeps_nothing_of_a_batch() {
    let Some(backend) = backend() else { return };
    for &kind in &backend.supported {
        let material = KeyMaterial::take(&mut key_bytes(kind));
        let key = backend.key(kind.algorithm, &material).unwrap();
        let mut secrets = Batch::run(&*backend, kind, &*key).secrets(kind);
        secrets.extend(windows(&key_bytes(kind)));
        let kept = Lane::with(&backend.opened, |lane| {
            let start = lane.manager.as_ptr().cast::<u8>();
            // SAFETY: the manager is this thread's, at rest, and so long.
            let memory =
                unsafe { std::slice::from_raw_parts(start, backend.opened.manager_bytes()) };
            windows(memory)
                .filter(|window| secrets.contains(window))
                .count()
        });
        assert_eq!(kept, Some(0), "{kind:?}");
    }
}
