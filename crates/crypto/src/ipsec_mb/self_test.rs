//! Each operation against AWS-LC, before it is offered: several
//! messages of different lengths at once, with keys in turn.

use super::IpsecMb;
use crate::aws_lc::AwsLc;
use crate::{
    Algorithm, Backend, Job, Key, KeyForm, KeyMaterial, Kind, Operation, Segment, Segments, Status,
};

const CANDIDATES: [Algorithm; 18] = [
    Algorithm::Aes128Ecb,
    Algorithm::Aes192Ecb,
    Algorithm::Aes256Ecb,
    Algorithm::Aes128Cbc,
    Algorithm::Aes192Cbc,
    Algorithm::Aes256Cbc,
    Algorithm::Aes128Ctr,
    Algorithm::Aes192Ctr,
    Algorithm::Aes256Ctr,
    Algorithm::Aes128Gcm,
    Algorithm::Aes192Gcm,
    Algorithm::Aes256Gcm,
    Algorithm::ChaCha20Poly1305,
    Algorithm::Sha1,
    Algorithm::Sha256,
    Algorithm::Sha384,
    Algorithm::Sha512,
    Algorithm::HmacSha256,
];

/// Bytes of each message: more than there are lanes, short ones, long ones,
/// and those about which lanes count wrong.
const LENGTHS: [usize; 20] = [
    64, 16, 0, 1024, 48, 65_536, 80, 4096, 16, 160, 112, 128, 65_552, 32, 240, 2048, 64, 65_520,
    16, 96,
];

/// Which message of an opened batch has a wrong tag.
const SPOILT: usize = 3;

/// An operation that is not offered, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub kind: Kind,
    pub reason: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Kind {
            algorithm,
            operation,
        } = self.kind;
        write!(f, "{algorithm} {operation}: {}", self.reason)
    }
}

pub(super) fn run(backend: &IpsecMb) -> (Vec<Kind>, Vec<Refused>) {
    let (mut supported, mut refused) = (Vec::new(), Vec::new());
    for algorithm in CANDIDATES {
        for &operation in algorithm.operations() {
            let kind = Kind::new(algorithm, operation);
            match sound(backend, kind) {
                Ok(()) => supported.push(kind),
                Err(reason) => refused.push(Refused { kind, reason }),
            }
        }
    }
    (supported, refused)
}

struct Keys {
    own: super::key::IpsecKey,
    theirs: Box<dyn Key>,
}

fn keys(backend: &IpsecMb, algorithm: Algorithm, seed: u8) -> Result<Keys, String> {
    let bytes = match algorithm.key_form() {
        KeyForm::Bytes(bytes) => bytes,
        _ => 40 + 60 * usize::from(seed),
    };
    let mut key: Vec<u8> = (0..bytes).map(|at| byte(at, seed)).collect();
    let material = KeyMaterial::take(&mut key);
    let theirs = AwsLc.key(algorithm, &material);
    Ok(Keys {
        theirs: theirs.map_err(|error| error.to_string())?,
        own: backend
            .untested_key(algorithm, &material)
            .map_err(|error| error.to_string())?,
    })
}

fn sound(backend: &IpsecMb, kind: Kind) -> Result<(), String> {
    if kind.algorithm == Algorithm::ChaCha20Poly1305 && backend.chosen.chacha_reads_beyond() {
        return Err("the library's SSE code reads beyond the end of the text".to_owned());
    }
    agrees(backend, kind)
}

fn agrees(backend: &IpsecMb, kind: Kind) -> Result<(), String> {
    let pair = [
        keys(backend, kind.algorithm, 0)?,
        keys(backend, kind.algorithm, 1)?,
    ];
    let theirs = |index: usize| &*pair[index % 2].theirs;
    let mut messages = Messages::new();
    if kind.algorithm.is_aead() && kind.operation == Operation::Decrypt {
        let seal = Kind {
            operation: Operation::Encrypt,
            ..kind
        };
        messages.run(&AwsLc, seal, theirs);
        messages.tags[SPOILT][5] ^= 4;
    }
    let mut expected = messages.clone();
    expected.run(&AwsLc, kind, theirs);
    messages.run(backend, kind, |index| &pair[index % 2].own);
    let differs = (0..LENGTHS.len()).find(|&index| messages.part(index) != expected.part(index));
    match differs {
        Some(index) => Err(format!(
            "of {} bytes: {:?}, {:?} expected, or another result than AWS-LC's",
            LENGTHS[index], messages.statuses[index], expected.statuses[index]
        )),
        None => Ok(()),
    }
}

#[derive(Clone)]
struct Messages {
    texts: Vec<Vec<u8>>,
    digests: Vec<[u8; 64]>,
    tags: Vec<[u8; 16]>,
    statuses: Vec<Status>,
}

impl Messages {
    fn new() -> Self {
        let text = |&bytes: &usize| (0..bytes).map(|at| byte(at, 7)).collect();
        Self {
            texts: LENGTHS.iter().map(text).collect(),
            digests: vec![[0; 64]; LENGTHS.len()],
            tags: vec![[3; 16]; LENGTHS.len()],
            statuses: vec![Status::BackendFailed; LENGTHS.len()],
        }
    }

    fn run<'k>(&mut self, backend: &dyn Backend, kind: Kind, key: impl Fn(usize) -> &'k dyn Key) {
        let tag_bytes = kind.algorithm.tag_bytes(kind.operation);
        let digest_bytes = kind.algorithm.digest_bytes();
        let parts = self
            .texts
            .iter_mut()
            .zip(&mut self.digests)
            .zip(&mut self.tags);
        let jobs: Vec<_> = parts
            .enumerate()
            .map(|(index, ((text, digest), tag))| {
                let source = segment(text, LENGTHS[index]);
                let is_hash = kind.operation == Operation::Hash;
                let digest = segment(digest, digest_bytes);
                Job {
                    key: key(index),
                    source: Segments::one(source),
                    destination: Segments::one(if is_hash { digest } else { source }),
                    // The first counters wrap, at 32 bits or at 128.
                    iv: [if index < 6 { 0xff } else { 0x5a }; 16],
                    aad: Segment::EMPTY,
                    tag: segment(tag, tag_bytes),
                }
            })
            .collect();
        // SAFETY: every segment lies in memory of this value, which no one
        // looks at until the call has returned.
        unsafe { backend.process(kind, &jobs, &mut self.statuses) };
    }

    fn part(&self, index: usize) -> (&[u8], &[u8], &[u8], Status) {
        (
            &self.texts[index],
            &self.digests[index],
            &self.tags[index],
            self.statuses[index],
        )
    }
}

fn segment(memory: &mut [u8], bytes: usize) -> Segment {
    Segment::new(memory[..bytes].as_mut_ptr(), bytes)
}

fn byte(at: usize, seed: u8) -> u8 {
    (at as u8).wrapping_mul(31) ^ ((at >> 8) as u8).wrapping_mul(17) ^ seed.wrapping_mul(91)
}
