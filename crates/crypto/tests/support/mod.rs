//! Jobs over an arena of bytes, laid out as a test asks.

#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod keys;
pub mod layout;
pub mod shape;

use std::sync::Arc;

use lockgate_crypto::{
    Algorithm, Backend, Between, Job, Key, KeyError, Kind, Operation, Segment, Segments, Status,
    backends,
};

pub use keys::material;
pub use shape::Shape;

/// Bytes that look random but are the same each time (splitmix64).
pub fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed;
    let mut out = Vec::with_capacity(bytes + 8);
    while out.len() < bytes {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        out.extend_from_slice(&(z ^ (z >> 31)).to_le_bytes());
    }
    out.truncate(bytes);
    out
}

pub fn kinds() -> impl Iterator<Item = Kind> {
    Algorithm::ALL.into_iter().flat_map(|algorithm| {
        algorithm
            .operations()
            .iter()
            .map(move |&operation| Kind::new(algorithm, operation))
    })
}

pub fn offered(backend: &dyn Backend) -> Vec<Kind> {
    let has_key = |kind: &Kind| {
        let key = backend.key(kind.algorithm, &material(kind.algorithm, 1));
        !matches!(key, Err(KeyError::Unsupported { .. }))
    };
    kinds()
        .filter(|kind| backend.supports(*kind))
        .filter(has_key)
        .collect()
}

/// Every back-end but the one that is meant to be right, not fast.
pub fn fast_backends() -> Vec<Arc<dyn Backend>> {
    let mut backends = backends();
    backends.retain(|backend| backend.name() != "portable");
    backends
}

pub type Piece = (usize, usize);

#[derive(Clone)]
pub struct Prepared {
    pub arena: Vec<u8>,
    pub source: Vec<Piece>,
    pub destination: Vec<Piece>,
    pub aad: Piece,
    pub tag: Piece,
    pub iv: [u8; 16],
}

impl Prepared {
    pub fn source_bytes(&self) -> Vec<u8> {
        self.read(&self.source)
    }

    pub fn destination_bytes(&self) -> Vec<u8> {
        self.read(&self.destination)
    }

    pub fn tag_bytes(&self) -> Vec<u8> {
        self.read(&[self.tag])
    }

    fn read(&self, pieces: &[Piece]) -> Vec<u8> {
        pieces
            .iter()
            .flat_map(|&(at, len)| self.arena[at..at + len].iter().copied())
            .collect()
    }

    pub fn write_source(&mut self, mut bytes: &[u8]) {
        for &(at, len) in &self.source {
            let (now, later) = bytes.split_at(len);
            self.arena[at..at + len].copy_from_slice(now);
            bytes = later;
        }
        assert!(bytes.is_empty());
    }
}

struct Lists {
    source: Vec<Segment>,
    destination: Vec<Segment>,
    aad: Segment,
    tag: Segment,
    iv: [u8; 16],
}

impl Lists {
    fn of(prepared: &mut Prepared) -> Self {
        let base = prepared.arena.as_mut_ptr();
        let segment = |&(at, len): &Piece| {
            // An empty segment may dangle: let it.
            let address = if len == 0 {
                std::ptr::null_mut()
            } else {
                base.wrapping_add(at)
            };
            Segment { address, len }
        };
        Self {
            source: prepared.source.iter().map(segment).collect(),
            destination: prepared.destination.iter().map(segment).collect(),
            aad: segment(&prepared.aad),
            tag: segment(&prepared.tag),
            iv: prepared.iv,
        }
    }

    fn job<'k>(&self, key: &'k dyn Key) -> Job<'k> {
        Job {
            key,
            source: segments(&self.source),
            destination: segments(&self.destination),
            iv: self.iv,
            aad: self.aad,
            tag: self.tag,
        }
    }
}

fn segments(list: &[Segment]) -> Segments {
    let Some((&first, rest)) = list.split_first() else {
        return Segments::EMPTY;
    };
    let rest_count = u32::try_from(rest.len()).expect("tests use short lists");
    Segments {
        first,
        rest: rest.as_ptr(),
        rest_count,
    }
}

/// Processes all as one batch, `keys[i]` for `batch[i]`.
pub fn process(
    backend: &dyn Backend,
    kind: Kind,
    keys: &[&dyn Key],
    batch: &mut [Prepared],
) -> Vec<Status> {
    let lists: Vec<Lists> = batch.iter_mut().map(Lists::of).collect();
    let jobs: Vec<Job<'_>> = lists
        .iter()
        .zip(keys)
        .map(|(list, key)| list.job(*key))
        .collect();
    let mut statuses = vec![Status::Cancelled; jobs.len()];
    // SAFETY: every segment lies in an arena that `batch` borrows mutably;
    // the lists live until the end of this function.
    unsafe { backend.process(kind, &jobs, &mut statuses) };
    statuses
}

pub fn process_piece(
    backend: &dyn Backend,
    kind: Kind,
    key: &dyn Key,
    piece: &mut Prepared,
    between: &mut Between,
    is_last: bool,
) -> Status {
    let lists = Lists::of(piece);
    // SAFETY: as in `process`.
    unsafe { backend.process_piece(kind, &lists.job(key), between, is_last) }
}

/// A plain job: source, destination, additional data and tag side by side,
/// with gaps of noise between and around them.
pub fn plain(shape: Shape, seed: u64, in_place: bool) -> Prepared {
    let text_bytes = shape.source;
    let source = (16, text_bytes);
    let in_place = in_place && shape.destination == text_bytes;
    let destination = if in_place {
        source
    } else {
        (source.0 + text_bytes + 16, shape.destination)
    };
    let aad = (destination.0 + destination.1 + text_bytes + 16, shape.aad);
    let tag = (aad.0 + aad.1 + 16, shape.tag);
    Prepared {
        arena: noise(seed, tag.0 + tag.1 + 16),
        source: vec![source],
        destination: vec![destination],
        aad,
        tag,
        iv: noise(seed ^ 1, 16).try_into().expect("16 bytes"),
    }
}

/// Whether noise as input may end with this status: it must not open, verify or
/// decrypt.
pub fn is_sound(kind: Kind, status: Status) -> bool {
    match status {
        Status::Ok => true,
        Status::AuthenticationFailed => {
            kind.operation == Operation::Verify
                || (kind.operation == Operation::Decrypt && kind.algorithm.is_aead())
        }
        Status::InvalidInput => {
            kind.algorithm.is_public_key()
                && matches!(kind.operation, Operation::Decrypt | Operation::Derive)
        }
        _ => false,
    }
}

pub fn writes_tag(kind: Kind) -> bool {
    let writes = matches!(kind.operation, Operation::Encrypt | Operation::Sign);
    writes && kind.algorithm.tag_bytes(kind.operation) > 0
}
