//! The best size of a piece: long requests are cut, so that others get their turn, and
//! pieces that are too short cost more than the requests in one go (the VCM paper's best
//! block, of its equation 9, measured).

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crypto::{Backend, Kind, Operation, generate_key};
use engine::{Call, CallError, CryptoEngine, CryptoLane, LaneConfig, LaneError, Span};
use engine::{StartError, WaitError, WorkerConfig};
use policy::Moderation;

use crate::words::size;

/// Sizes that are tried, bytes; each is a multiple of what a lane can cut.
pub const SIZES: [usize; 6] = [2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];

/// The shortest piece that costs at most so many times what the cheapest does. A worker
/// takes up to 32 pieces in a turn, for which others wait: beside requests of 1 MiB that
/// costs them more than these pieces cost.
const DEARER_MAX: f64 = 1.25;

/// Requests in flight, as many as wide kernels take at once, and the bytes of each: more
/// than of any piece.
const DEPTH: usize = 32;
const REQUEST_BYTES: usize = 128 << 10;

const ROUNDS: usize = 7;
const TRIAL: Duration = Duration::from_millis(3);
/// Longer than any trial on a host that stands still for a while.
const LIMIT: Duration = Duration::from_secs(20);

/// What was measured.
#[derive(Clone, Debug)]
pub struct Best {
    pub bytes: usize,
    /// Of each size, ns per KiB: the least of all rounds.
    pub costs: Vec<(usize, f64)>,
}

impl fmt::Display for Best {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |(bytes, ns): &(usize, f64)| format!("{} {ns:.1}", size(*bytes));
        let costs: Vec<_> = self.costs.iter().map(of).collect();
        let (best, costs) = (size(self.bytes), costs.join(", "));
        write!(
            f,
            "pieces of {best}, the shortest that cost at most {DEARER_MAX} times the least (ns/KiB: {costs})"
        )
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PieceError {
    #[error("no worker")]
    Engine(#[from] StartError),
    #[error("no lane")]
    Lane(#[from] LaneError),
    #[error("no key of {kind}")]
    Key {
        kind: String,
        #[source]
        source: crypto::KeyError,
    },
    #[error("a request is refused")]
    Call(#[from] CallError),
    #[error("requests do not end")]
    Wait(#[from] WaitError),
    #[error("a request ends as {0:?}")]
    Status(crypto::Status),
}

/// Measures for about 150 ms, on a worker of its own, the sizes in turn. The kind is a
/// cipher's whose requests can be cut, or a hash's.
///
/// # Errors
/// [`PieceError`].
pub fn best(backend: Arc<dyn Backend>, kind: Kind) -> Result<Best, PieceError> {
    let engine = CryptoEngine::start(backend, &[WorkerConfig::default()])?;
    let mut lanes = Vec::new();
    for bytes in SIZES {
        lanes.push(Trial::new(&engine, kind, bytes)?);
    }
    let mut costs: Vec<_> = SIZES.iter().map(|bytes| (*bytes, f64::INFINITY)).collect();
    for _ in 0..ROUNDS {
        for (trial, cost) in lanes.iter_mut().zip(&mut costs) {
            // What disturbs makes it slower, and never faster.
            cost.1 = cost.1.min(trial.run()?);
        }
    }
    Ok(Best {
        bytes: choose(&costs),
        costs,
    })
}

fn choose(costs: &[(usize, f64)]) -> usize {
    let least = costs
        .iter()
        .map(|cost| cost.1)
        .fold(f64::INFINITY, f64::min);
    let is_cheap = |cost: &&(usize, f64)| cost.1 <= DEARER_MAX * least;
    let shortest = costs.iter().filter(is_cheap).map(|cost| cost.0).min();
    shortest.expect("the cheapest is one of them")
}

struct Trial {
    lane: CryptoLane,
    session: engine::SessionId,
    kind: Kind,
}

impl Trial {
    fn new(engine: &CryptoEngine, kind: Kind, piece_bytes: usize) -> Result<Self, PieceError> {
        let config = LaneConfig {
            depth: DEPTH,
            moderation: Moderation::Polled,
            piece_bytes: Some(piece_bytes),
            ..LaneConfig::default()
        };
        let slab_bytes = DEPTH * stride(kind);
        let mut lane = engine.lane(0, config, slab_bytes, 1)?;
        let key = generate_key(kind.algorithm);
        let session = engine.session(kind.algorithm, &key);
        let session = session.map_err(|source| PieceError::Key {
            kind: kind.algorithm.to_string(),
            source,
        })?;
        let session = lane.attach(&session)?;
        Ok(Self {
            lane,
            session,
            kind,
        })
    }

    /// Batches one after the other; ns per KiB of the quickest.
    fn run(&mut self) -> Result<f64, PieceError> {
        let (begin, mut least) = (Instant::now(), Duration::MAX);
        while begin.elapsed() < TRIAL {
            let begin = Instant::now();
            self.batch()?;
            least = least.min(begin.elapsed());
        }
        Ok(least.as_nanos() as f64 / (DEPTH * REQUEST_BYTES / 1024) as f64)
    }

    fn batch(&mut self) -> Result<(), PieceError> {
        for slot in 0..DEPTH {
            let at = slot * stride(self.kind);
            let source = [Span::slab(at, REQUEST_BYTES)];
            // In place, but for a digest.
            let destination = match self.kind.operation {
                Operation::Hash => [Span::slab(at + REQUEST_BYTES, digest(self.kind))],
                _ => source,
            };
            let call = Call {
                session: self.session,
                operation: self.kind.operation,
                source: &source,
                destination: &destination,
                iv: [0; 16],
                aad: Span::EMPTY,
                tag: Span::EMPTY,
            };
            self.lane.enqueue(&call, slot as u64)?;
        }
        self.lane.kick();
        let mut status = Ok(());
        while self.lane.in_flight() > 0 {
            self.lane.wait(1, LIMIT)?;
            self.lane.reap(usize::MAX, |done| {
                if done.status != crypto::Status::Ok {
                    status = Err(PieceError::Status(done.status));
                }
            });
        }
        status
    }
}

fn digest(kind: Kind) -> usize {
    kind.destination_bytes(REQUEST_BYTES)
        .unwrap_or(REQUEST_BYTES)
}

fn stride(kind: Kind) -> usize {
    REQUEST_BYTES + digest(kind).next_multiple_of(64)
}

#[cfg(test)]
mod tests {
    use crypto::Algorithm;

    use super::*;

    #[test]
    fn the_shortest_that_costs_little_more_is_best() {
        let costs = |all: [f64; 4]| SIZES.into_iter().zip(all).collect::<Vec<_>>();
        assert_eq!(choose(&costs([9.0, 4.9, 4.0, 4.2])), SIZES[1]);
        assert_eq!(choose(&costs([4.0, 4.0, 4.0, 4.0])), SIZES[0]);
        assert_eq!(choose(&costs([9.0, 8.5, 8.0, 6.0])), SIZES[3]);
    }

    #[test]
    fn every_size_is_measured() {
        let backend = crypto::by_name("aws-lc").expect("it is built in");
        for algorithm in [Algorithm::Aes128Cbc, Algorithm::Sha256] {
            let best = best(Arc::clone(&backend), Kind::from(algorithm)).unwrap();
            assert!(SIZES.contains(&best.bytes));
            assert!(
                best.costs
                    .iter()
                    .all(|cost| cost.1.is_finite() && cost.1 > 0.0)
            );
        }
    }
}
