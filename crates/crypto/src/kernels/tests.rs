//! Every set of instructions that this CPU has, against the twin that needs
//! none; and that no byte beyond a segment is touched.

mod gcm;
pub(crate) mod guarded;
mod packets;
mod residue;
mod sectors;

use std::sync::Arc;

use super::*;
use crate::{Segment, Segments};
use guarded::Guarded;

fn native_sets() -> Vec<Kernels> {
    use Instructions::{AesNi, Avx, Avx2, Avx512, Vaes};
    [AesNi, Avx, Avx2, Vaes, Avx512]
        .into_iter()
        .filter(|set| *set <= instructions())
        .map(|set| Kernels { set })
        .collect()
}

/// And the twin without any.
fn all_sets() -> Vec<Kernels> {
    native_sets().into_iter().chain([TWIN]).collect()
}

const TWIN: Kernels = Kernels {
    set: Instructions::Baseline,
};

pub(crate) fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed;
    let words = std::iter::repeat_with(|| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    });
    words.flat_map(u64::to_le_bytes).take(bytes).collect()
}

fn key_bytes(algorithm: Algorithm) -> usize {
    match algorithm.key_form() {
        crate::KeyForm::Bytes(bytes) => bytes,
        _ => unreachable!("kernels are AES only"),
    }
}

fn kinds() -> impl Iterator<Item = Kind> {
    let all = Algorithm::ALL.into_iter().flat_map(|algorithm| {
        [Operation::Encrypt, Operation::Decrypt].map(|operation| Kind::new(algorithm, operation))
    });
    // Those with a tag have tests of their own.
    all.filter(|kind| TWIN.supports(*kind) && !kind.algorithm.is_aead())
}

struct Batch {
    texts: Vec<(Vec<u8>, usize)>,
    in_place: bool,
}

impl Batch {
    fn of(lens: impl IntoIterator<Item = usize>, keys: usize, in_place: bool) -> Self {
        let text = |(index, len): (usize, usize)| (noise(index as u64, len), index * 7 / 3 % keys);
        Self {
            texts: lens.into_iter().enumerate().map(text).collect(),
            in_place,
        }
    }

    /// What `backend` makes of it; every segment ends, or (every other time)
    /// begins, at a page that cannot be touched.
    fn results(&self, backend: &Kernels, kind: Kind) -> Vec<Vec<u8>> {
        let keys = 1 + self.texts.iter().map(|text| text.1).max().unwrap_or(0);
        let material =
            |key| KeyMaterial::take(&mut noise(900 + key as u64, key_bytes(kind.algorithm)));
        let keys: Vec<_> = (0..keys)
            .map(|key| backend.key(kind.algorithm, &material(key)).unwrap())
            .collect();
        let guarded = |index: usize, len| Guarded::new(len, index.is_multiple_of(2));
        let texts = self.texts.iter().enumerate();
        let sources: Vec<_> = texts
            .map(|(index, (text, _))| guarded(index, text.len()).filled(text))
            .collect();
        let apart = self.texts.iter().enumerate();
        let destinations: Vec<_> = apart
            .map(|(index, (text, _))| guarded(index / 2, text.len()))
            .collect();
        let destination = |index: usize| {
            if self.in_place {
                &sources[index]
            } else {
                &destinations[index]
            }
        };
        let jobs: Vec<_> = (0..self.texts.len())
            .map(|index| Job {
                key: &*keys[self.texts[index].1],
                source: Segments::one(sources[index].segment()),
                destination: Segments::one(destination(index).segment()),
                iv: iv(index),
                aad: Segment::EMPTY,
                tag: Segment::EMPTY,
            })
            .collect();
        let mut statuses = vec![Status::Cancelled; jobs.len()];
        // SAFETY: segments are mapped until the end of this function.
        unsafe { backend.process(kind, &jobs, &mut statuses) };
        assert!(statuses.iter().all(|status| *status == Status::Ok));
        (0..jobs.len())
            .map(|index| destination(index).bytes())
            .collect()
    }

    fn agrees(&self, kind: Kind, what: &str) {
        let expected = self.results(&TWIN, kind);
        for backend in native_sets() {
            let got = self.results(&backend, kind);
            let differing = got.iter().zip(&expected).position(|(a, b)| a != b);
            let set = backend.set;
            assert_eq!(
                differing.map(|index| (index, self.texts[index].0.len())),
                None,
                "(job, bytes) of {what} with {set}, {kind:?}, in place {}",
                self.in_place
            );
        }
    }
}

/// Two of three counters are about to wrap, in all or in the lower half.
fn iv(index: usize) -> [u8; 16] {
    let mut iv: [u8; 16] = noise(7 + index as u64, 16).try_into().unwrap();
    match index % 3 {
        0 => iv[..15].fill(0xff),
        1 => iv[8..15].fill(0xff),
        _ => {}
    }
    iv
}

/// Texts have a multiple of this many bytes.
pub(crate) fn step(kind: Kind) -> usize {
    if kind.algorithm.takes_blocks() { 16 } else { 1 }
}

#[test]
fn every_length_of_one_key_and_of_several() {
    for kind in kinds() {
        for (keys, in_place) in [(1, true), (5, false)] {
            // What is left over beyond whole rounds of any width repeats.
            let longest = if testing::is_thorough() { 1100 } else { 600 };
            let lens = (16..=longest).step_by(step(kind));
            Batch::of(lens, keys, in_place).agrees(kind, "every length");
        }
    }
}

#[test]
fn long_texts() {
    for kind in kinds() {
        let long = [4096, 16_384, 70_000, 123_457].map(|len| len / step(kind) * step(kind));
        Batch::of(long, 1, false).agrees(kind, "long texts");
        // Others have no data units.
        let is_xts = kind.algorithm.is_xts();
        if is_xts || testing::is_thorough() {
            Batch::of([1 << 24], 1, true).agrees(kind, "the longest data unit");
        }
    }
}

#[test]
fn scattered_texts_are_those_in_one_piece() {
    for kind in kinds() {
        for len in [16, 48, 112, 4096, 4112, 8208, 9001] {
            let len = len / step(kind) * step(kind);
            for backend in native_sets().into_iter().chain([TWIN]) {
                scattered_like_whole(&backend, kind, len);
            }
        }
    }
}

fn scattered_like_whole(backend: &Kernels, kind: Kind, len: usize) {
    let material = KeyMaterial::take(&mut noise(900, key_bytes(kind.algorithm)));
    let key = backend.key(kind.algorithm, &material).unwrap();
    let (mut text, iv) = (noise(0, len), iv(0));
    let at = text.as_mut_ptr();
    let piece = |start: usize, end: usize| Segment::new(at.wrapping_add(start), end - start);
    let cuts = [0, 5, len / 2, len - 3, len];
    let pieces: Vec<_> = cuts.windows(2).map(|cut| piece(cut[0], cut[1])).collect();
    let both = Segments {
        first: pieces[0],
        rest: pieces[1..].as_ptr(),
        rest_count: 3,
    };
    let job = Job {
        key: &*key,
        source: both,
        destination: both,
        iv,
        aad: Segment::EMPTY,
        tag: Segment::EMPTY,
    };
    let mut status = [Status::Cancelled];
    // SAFETY: the pieces are those of `text`, used only through them here.
    unsafe { backend.process(kind, &[job], &mut status) };
    assert_eq!(status, [Status::Ok]);
    let whole = Batch::of([len], 1, false).results(&TWIN, kind);
    assert_eq!(text, whole[0], "{kind:?} {len} with {}", backend.set);
}

#[test]
fn it_says_which_instructions_it_uses() {
    let used: Arc<dyn Backend> = crate::by_name(NAME).unwrap();
    assert_eq!(used.instructions(), Kernels::new().instructions());
    assert!(used.version().starts_with("lockgate "));
}

#[test]
fn mixed_sizes_and_keys_in_batches_of_1_to_70() {
    for kind in kinds() {
        let least = if step(kind) == 1 { 16 } else { 0 };
        let all: Vec<usize> = if testing::is_thorough() {
            (1..=70).collect()
        } else {
            (1..=20).chain([31, 32, 33, 63, 64, 65, 70]).collect()
        };
        for jobs in all {
            let lens = noise(jobs as u64, 2 * jobs);
            let lens = lens.chunks(2).map(|two| {
                let len = usize::from(u16::from_le_bytes([two[0], two[1] % 5]));
                (len / step(kind) * step(kind)).max(least)
            });
            let keys = [1, 3, 40][jobs % 3];
            Batch::of(lens, keys, jobs % 2 == 0).agrees(kind, "a mixed batch");
        }
    }
}
