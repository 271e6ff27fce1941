//! GCM by every set of instructions against AWS-LC's; segments end or begin at pages that
//! cannot be touched.

use super::{Guarded, all_sets, noise};
use crate::{
    Algorithm, Backend, Job, KeyMaterial, Kind, Operation, Segment, Segments, Status, by_name,
};

const ALGORITHMS: [Algorithm; 3] = [
    Algorithm::Aes128Gcm,
    Algorithm::Aes192Gcm,
    Algorithm::Aes256Gcm,
];

struct Case {
    algorithm: Algorithm,
    seed: u64,
    text: Vec<u8>,
    aad: Vec<u8>,
    in_place: bool,
    /// How many segments each side has.
    pieces: usize,
}

/// Text and tag.
type Ended = (Status, Vec<u8>, Vec<u8>);

impl Case {
    fn run(&self, backend: &dyn Backend, operation: Operation, text: &[u8], tag: &[u8]) -> Ended {
        let mut key = noise(self.seed, self.key_bytes());
        let key = backend.key(self.algorithm, &KeyMaterial::take(&mut key));
        let key = key.unwrap();
        let is_end = self.seed.is_multiple_of(2);
        let parts = parts(text, self.pieces);
        let sources: Vec<_> = parts
            .iter()
            .map(|part| Guarded::new(part.len(), is_end).filled(part))
            .collect();
        let apart: Vec<_> = parts
            .iter()
            .map(|part| Guarded::new(part.len(), !is_end))
            .collect();
        let destinations = if self.in_place { &sources } else { &apart };
        let aad = Guarded::new(self.aad.len(), is_end).filled(&self.aad);
        let tag = Guarded::new(16, is_end).filled(tag);
        let lists = [&sources, destinations]
            .map(|all| all.iter().map(Guarded::segment).collect::<Vec<Segment>>());
        let [source, destination] = [&lists[0], &lists[1]].map(|list| Segments {
            first: list[0],
            rest: list[1..].as_ptr(),
            rest_count: list.len() as u32 - 1,
        });
        let job = Job {
            key: &*key,
            source,
            destination,
            iv: noise(self.seed + 1, 16).try_into().unwrap(),
            aad: aad.segment(),
            tag: tag.segment(),
        };
        let mut status = [Status::Cancelled];
        // SAFETY: segments and lists live until the end of this function.
        unsafe { backend.process(Kind::new(self.algorithm, operation), &[job], &mut status) };
        let text = destinations.iter().flat_map(Guarded::bytes).collect();
        (status[0], text, tag.bytes())
    }

    fn key_bytes(&self) -> usize {
        super::key_bytes(self.algorithm)
    }

    fn agrees(&self) {
        let other = by_name("aws-lc").unwrap();
        let sealed = self.run(&*other, Operation::Encrypt, &self.text, &[0; 16]);
        for own in all_sets() {
            let what = format!("{} {} {}", own.set, self.algorithm, self.text.len());
            let ours = self.run(&own, Operation::Encrypt, &self.text, &[0; 16]);
            assert!(ours == sealed, "sealed: {what}");
            let opened = self.run(&own, Operation::Decrypt, &sealed.1, &sealed.2);
            assert!(
                opened.0 == Status::Ok && opened.1 == self.text,
                "opened: {what}"
            );
            let mut forged = sealed.2.clone();
            forged[self.seed as usize % 16] ^= 1 << (self.seed % 8);
            let refused = self.run(&own, Operation::Decrypt, &sealed.1, &forged);
            assert_eq!(refused.0, Status::AuthenticationFailed, "{what}");
            assert!(refused.1.iter().all(|byte| *byte == 0), "wiped: {what}");
        }
    }
}

fn parts(text: &[u8], count: usize) -> Vec<&[u8]> {
    let each = text.len().div_ceil(count).max(1);
    match text {
        [] => vec![text],
        _ => text.chunks(each).collect(),
    }
}

#[test]
fn every_length_is_sealed_and_opened_as_aws_lc_does() {
    let lengths = (0..700).chain([1200, 1452, 4095, 4096, 16_384, 65_537]);
    for (seed, length) in lengths.enumerate() {
        let seed = seed as u64;
        Case {
            algorithm: ALGORITHMS[seed as usize % 3],
            seed,
            text: noise(seed + 2, length),
            aad: noise(seed + 3, seed as usize * 7 % 65),
            in_place: seed % 4 < 2,
            pieces: 1,
        }
        .agrees();
    }
}

#[test]
fn long_additional_data_and_scattered_text_are_too() {
    for seed in 0..testing::cases(60, 2000) as u64 {
        let length = noise(seed, 2)[0] as usize * 40;
        Case {
            algorithm: ALGORITHMS[seed as usize % 3],
            seed,
            text: noise(seed + 2, length),
            aad: noise(seed + 3, noise(seed + 4, 2)[1] as usize * 9),
            in_place: seed.is_multiple_of(2),
            pieces: 1 + seed as usize % 7,
        }
        .agrees();
    }
}
