//! The parts of a job as pieces of one arena, which may overlap.
#![allow(unsafe_code, reason = "jobs are raw memory")]

use crypto::{Backend, Job, Key, Kind, Operation, Segment, Segments, Status};

use super::super::bytes::Bytes;

/// Bytes that all parts lie in.
pub(super) const ARENA_BYTES: usize = 4096;

/// Most pieces of a list.
const PIECES_MAX: usize = 24;

/// Offset and length.
type Piece = (usize, usize);

/// Where the parts of one job lie.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    source: Vec<Piece>,
    destination: Vec<Piece>,
    aad: Piece,
    tag: Piece,
    iv: [u8; 16],
}

impl Layout {
    /// Half of all inputs get pieces apart from one another, of lengths that
    /// fit; the other half get any pieces at all.
    pub(super) fn read(kind: Kind, input: &mut Bytes<'_>) -> Self {
        let iv = [input.byte(); 16];
        let is_wild = input.below(2) == 1;
        let source = match fixed_source_bytes(kind) {
            _ if is_wild => anywhere(input),
            Some(bytes) => vec![(0, bytes - 7), (bytes, 7)],
            None => in_turn(0, input),
        };
        let total = bytes_of(&source);
        let destination = match (input.below(4), kind.operation) {
            (0, _) => anywhere(input),
            (_, Operation::Hash) => vec![(3072, 15), (3100, result_bytes(kind, total) - 15)],
            (_, Operation::Sign | Operation::Verify) => Vec::new(),
            (1, _) if !kind.algorithm.is_public_key() => source.clone(),
            (_, _) => cut_like(result_bytes(kind, total), input),
        };
        let aad = if kind.algorithm.is_aead() {
            (3200, input.below(256))
        } else {
            (0, 0)
        };
        let tag = (3500, kind.algorithm.tag_bytes(kind.operation));
        Self {
            source,
            destination,
            aad: if is_wild { piece(input) } else { aad },
            tag: match input.below(4) {
                0 if is_wild => piece(input),
                1 if is_wild => (piece(input).0.min(ARENA_BYTES - tag.1), tag.1),
                _ => tag,
            },
            iv,
        }
    }

    /// From the destination to the source.
    pub(super) fn reversed(&self) -> Self {
        Self {
            source: self.destination.clone(),
            destination: self.source.clone(),
            ..self.clone()
        }
    }

    /// Runs the job over `arena`, of [`ARENA_BYTES`].
    pub(super) fn process(
        &self,
        backend: &dyn Backend,
        key: &dyn Key,
        kind: Kind,
        arena: &mut [u8],
    ) -> Status {
        assert_eq!(arena.len(), ARENA_BYTES);
        let base = arena.as_mut_ptr();
        let segment = |&(at, len): &Piece| Segment::new(base.wrapping_add(at), len);
        let [source, destination] = [&self.source, &self.destination]
            .map(|list| list.iter().map(segment).collect::<Vec<_>>());
        let job = Job {
            key,
            source: segments(&source),
            destination: segments(&destination),
            iv: self.iv,
            aad: segment(&self.aad),
            tag: segment(&self.tag),
        };
        let mut status = [Status::Cancelled];
        // SAFETY: every piece lies in the arena, which is borrowed mutably;
        // both lists live until the end of this function.
        unsafe { backend.process(kind, &[job], &mut status) };
        status[0]
    }

    /// Whether no byte of the destination is named twice.
    pub(super) fn has_defined_result(&self) -> bool {
        let mut pieces = self.destination.clone();
        pieces.retain(|&(_, len)| len > 0);
        pieces.sort_unstable();
        pieces
            .windows(2)
            .all(|pair| pair[0].0 + pair[0].1 <= pair[1].0)
    }

    /// The pieces that a job of `kind` that ended so may have written.
    pub(super) fn written(&self, kind: Kind, status: Status) -> Vec<Piece> {
        let mut written = Vec::new();
        let is_written = [
            Status::Ok,
            Status::AuthenticationFailed,
            Status::InvalidInput,
        ];
        if is_written.contains(&status) {
            written.clone_from(&self.destination);
        }
        if status == Status::Ok && matches!(kind.operation, Operation::Encrypt | Operation::Sign) {
            written.push(self.tag);
        }
        written
    }

    /// The source's bytes in `arena`.
    pub(super) fn source_of(&self, arena: &[u8]) -> Vec<u8> {
        let pieces = self.source.iter();
        pieces
            .flat_map(|&(at, len)| arena[at..at + len].iter().copied())
            .collect()
    }
}

/// The length that a source must have, where there is but one.
fn fixed_source_bytes(kind: Kind) -> Option<usize> {
    match kind.operation {
        Operation::Sign | Operation::Verify => Some(32),
        Operation::Decrypt | Operation::Derive if kind.algorithm.is_public_key() => {
            Some(kind.algorithm.modulus_bytes())
        }
        _ => None,
    }
}

/// Bytes of the result of a job with so many bytes of source; of a message
/// that RSA decrypts, a guess.
pub(super) fn result_bytes(kind: Kind, source_bytes: usize) -> usize {
    let algorithm = kind.algorithm;
    match kind.operation {
        Operation::Hash => algorithm.digest_bytes().max(15),
        Operation::Sign | Operation::Verify => 0,
        Operation::Decrypt if algorithm.is_public_key() => 32,
        _ if algorithm.is_public_key() => algorithm.modulus_bytes(),
        _ => source_bytes,
    }
}

fn segments(list: &[Segment]) -> Segments {
    let Some((&first, rest)) = list.split_first() else {
        return Segments::EMPTY;
    };
    Segments {
        first,
        rest: rest.as_ptr(),
        rest_count: u32::try_from(rest.len()).expect("at most PIECES_MAX"),
    }
}

fn bytes_of(pieces: &[Piece]) -> usize {
    pieces.iter().map(|&(_, len)| len).sum()
}

/// One piece anywhere in the arena.
fn piece(input: &mut Bytes<'_>) -> Piece {
    let at = input.below(ARENA_BYTES + 1);
    (at, input.below(256).min(ARENA_BYTES - at))
}

fn anywhere(input: &mut Bytes<'_>) -> Vec<Piece> {
    let count = input.below(PIECES_MAX);
    (0..count).map(|_| piece(input)).collect()
}

/// Up to eight pieces one after the other from `at`, with gaps: at most 1.5 KiB.
fn in_turn(mut at: usize, input: &mut Bytes<'_>) -> Vec<Piece> {
    let count = 1 + input.below(8);
    let unit = input.pick(&[1, 16, 32]);
    (0..count)
        .map(|_| {
            let len = match unit {
                32 => input.below(6) * 32,
                unit => input.below(160) / unit * unit,
            };
            let piece = (at + input.below(8), len);
            at = piece.0 + len;
            piece
        })
        .collect()
}

/// `total` bytes in pieces of another cut, in the arena's middle.
fn cut_like(total: usize, input: &mut Bytes<'_>) -> Vec<Piece> {
    let mut left = total.min(3000 - 1536);
    let mut at = 1536;
    let mut pieces = Vec::new();
    while left > 0 && pieces.len() < PIECES_MAX {
        let len = (1 + input.below(256)).min(left);
        pieces.push((at, len));
        at += len;
        left -= len;
    }
    if let Some(last) = pieces.last_mut() {
        last.1 += left;
    }
    pieces
}
