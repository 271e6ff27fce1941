//! The same work for every arm of a comparison: key, input and layout of the
//! slots that requests in flight occupy.

use std::sync::Arc;

use crate::{
    Algorithm, Backend, Data, KeyError, KeyMaterial, Kind, Operation, Slices, Status, generate_key,
    process_slices,
};

/// Slots begin on a cache line, and one line further apart than a power of
/// two, so that equal offsets of all slots do not fall into one cache set.
const LINE: usize = 64;

/// What a signature is over, and the key that RSA encryption transports.
const SHORT: usize = 32;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    #[error("{algorithm} cannot take blocks of {block_bytes} bytes; {limit}")]
    Block {
        algorithm: Algorithm,
        block_bytes: usize,
        limit: &'static str,
    },
    #[error("{algorithm} has no operation {operation:?}; it has {:?}", .algorithm.operations())]
    Operation {
        algorithm: Algorithm,
        operation: Operation,
    },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("{backend} ended a first {algorithm} job with {status:?}")]
    Trial {
        backend: &'static str,
        algorithm: Algorithm,
        status: Status,
    },
}

/// What is measured: one kind on blocks of one size.
#[derive(Debug)]
pub struct Workload {
    pub kind: Kind,
    /// Input bytes of a request; an algorithm with public keys has its own.
    pub block_bytes: usize,
    pub material: KeyMaterial,
    pub slot: Slot,
    pub input: Vec<u8>,
    pub tag: Vec<u8>,
    /// Whether each request may have an IV of its own: not where the input
    /// is bound to one.
    pub varies_iv: bool,
}

/// Where in its slot a request's parts lie: (offset, length).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub stride: usize,
    pub source: (usize, usize),
    pub destination: (usize, usize),
    pub tag: (usize, usize),
}

impl Workload {
    pub fn new(
        backend: &Arc<dyn Backend>,
        kind: Kind,
        block_bytes: usize,
    ) -> Result<Self, WorkloadError> {
        Self::check(kind, block_bytes)?;
        Self::with_key(backend, kind, block_bytes, generate_key(kind.algorithm))
    }

    /// Makes the input for a key that is there already: a new one for RSA takes
    /// up to seconds.
    pub fn with_key(
        backend: &Arc<dyn Backend>,
        kind: Kind,
        block_bytes: usize,
        material: KeyMaterial,
    ) -> Result<Self, WorkloadError> {
        Self::check(kind, block_bytes)?;
        let block_bytes = Self::input_bytes(kind, block_bytes);
        let mut own = Self {
            kind,
            block_bytes,
            material,
            slot: Slot::of(kind, block_bytes),
            input: (0..block_bytes).map(|index| (index % 251) as u8).collect(),
            tag: vec![0; kind.algorithm.tag_bytes(kind.operation)],
            varies_iv: !is_open(kind),
        };
        own.prepare(backend)?;
        Ok(own)
    }

    /// Bytes of a request's input where blocks of `block_bytes` are asked for:
    /// an algorithm with public keys has a size of its own.
    pub fn input_bytes(kind: Kind, block_bytes: usize) -> usize {
        match kind.operation {
            Operation::Decrypt | Operation::Derive if kind.algorithm.is_public_key() => {
                kind.algorithm.modulus_bytes()
            }
            _ if kind.algorithm.is_public_key() => SHORT,
            _ => block_bytes,
        }
    }

    /// Whether the algorithm has the operation and can take the block size.
    ///
    /// # Errors
    /// [`WorkloadError::Operation`], [`WorkloadError::Block`].
    pub fn check(kind: Kind, block_bytes: usize) -> Result<(), WorkloadError> {
        let Kind {
            algorithm,
            operation,
        } = kind;
        if !algorithm.operations().contains(&operation) {
            return Err(WorkloadError::Operation {
                algorithm,
                operation,
            });
        }
        let limit = if algorithm.takes_blocks() && !block_bytes.is_multiple_of(16) {
            "multiples of 16"
        } else if algorithm.is_xts() && !(16..=1 << 24).contains(&block_bytes) {
            "16 bytes to 16 MiB"
        } else {
            return Ok(());
        };
        Err(WorkloadError::Block {
            algorithm,
            block_bytes,
            limit,
        })
    }

    pub(crate) fn is_consistent(&self) -> bool {
        let Slot {
            stride,
            source,
            destination,
            tag,
        } = self.slot;
        let fits = |(offset, len): (usize, usize)| {
            offset.checked_add(len).is_some_and(|end| end <= stride)
        };
        stride.is_multiple_of(LINE)
            && [source, destination, tag].into_iter().all(fits)
            && (source.1, tag.1) == (self.input.len(), self.tag.len())
    }

    /// Bytes that a request in flight touches, in and out.
    pub fn footprint_bytes(&self) -> usize {
        let Slot {
            source,
            destination,
            tag,
            ..
        } = self.slot;
        let output = if destination.0 == source.0 {
            0
        } else {
            destination.1
        };
        source.1 + output + tag.1
    }

    /// Makes the input one that the kind takes: sealed where it opens,
    /// encrypted where RSA decrypts, signed where it verifies; and for a key
    /// agreement a public value, which is what it makes of the base.
    fn prepare(&mut self, backend: &Arc<dyn Backend>) -> Result<(), WorkloadError> {
        let Kind {
            algorithm,
            operation,
        } = self.kind;
        let before = match operation {
            Operation::Decrypt if is_open(self.kind) => Operation::Encrypt,
            Operation::Decrypt if algorithm.is_public_key() => Operation::Encrypt,
            Operation::Verify => Operation::Sign,
            Operation::Derive => Operation::Derive,
            _ => return Ok(()),
        };
        let kind = Kind::new(algorithm, before);
        let source = match before {
            Operation::Derive => base(algorithm),
            Operation::Encrypt if algorithm.is_public_key() => self.input[..SHORT].to_vec(),
            _ => self.input.clone(),
        };
        let destination: &mut [u8] = match before {
            Operation::Sign => &mut [],
            _ => &mut self.input,
        };
        let key = backend.key(algorithm, &self.material)?;
        let slices = Slices {
            tag: &mut self.tag,
            ..Slices::plain(Data::apart(&source, destination))
        };
        match process_slices(&**backend, &*key, kind, slices) {
            Status::Ok => Ok(()),
            status => Err(WorkloadError::Trial {
                backend: backend.name(),
                algorithm,
                status,
            }),
        }
    }
}

/// The public value whose secret is a public value: 9 on the curve, 4 in the
/// groups of RFC 7919, where it generates the squares.
fn base(algorithm: Algorithm) -> Vec<u8> {
    let mut base = vec![0; algorithm.modulus_bytes()];
    if algorithm == Algorithm::X25519 {
        base[0] = 9;
    } else if let Some(last) = base.last_mut() {
        *last = 4;
    }
    base
}

fn is_open(kind: Kind) -> bool {
    kind.algorithm.is_aead() && kind.operation == Operation::Decrypt
}

impl Slot {
    fn of(kind: Kind, block_bytes: usize) -> Self {
        let source = (0, block_bytes);
        let after = block_bytes.next_multiple_of(LINE);
        let Kind {
            algorithm,
            operation,
        } = kind;
        let destination = match operation {
            Operation::Hash => (after, algorithm.digest_bytes()),
            Operation::Sign | Operation::Verify => (after, 0),
            Operation::Decrypt if algorithm.is_public_key() => (after, SHORT),
            Operation::Encrypt | Operation::Derive if algorithm.is_public_key() => {
                (after, algorithm.modulus_bytes())
            }
            // Opening in place would destroy the input of the next request.
            Operation::Decrypt if is_open(kind) => (after, block_bytes),
            _ => source,
        };
        let is_apart = destination.0 != 0;
        let tag_offset = if is_apart {
            after + destination.1.next_multiple_of(LINE)
        } else {
            after
        };
        let tag = (tag_offset, algorithm.tag_bytes(operation));
        let stride = (tag.0 + tag.1).next_multiple_of(LINE) + LINE;
        Self {
            stride,
            source,
            destination,
            tag,
        }
    }
}
