//! The worker's side: groups a batch by kind for the batch trait.
#![allow(
    unsafe_code,
    reason = "calls the batch trait over memory that lanes keep alive"
)]

use std::sync::Arc;

use crypto::{Backend, Job, Kind, Status};

use super::request::CryptoRequest;
use crate::service::{BATCH_MAX, Batch, Outcomes, Service};

/// Completions are published when that many bytes are done, so that clients
/// go on while the worker does, and publishing still costs next to nothing a
/// byte.
const CHUNK_BYTES: usize = 32 * 1024;

/// Likewise for small requests.
const CHUNK_JOBS: usize = 16;

/// Room for the jobs of a chunk, so that none is allocated.
struct Scratch(Vec<Job<'static>>);

// SAFETY: empty whenever it moves: filled and emptied within one call, whose
// requests also bound what the `'static` stands for.
unsafe impl Send for Scratch {}

/// One worker's crypto.
pub struct CryptoService {
    backend: Arc<dyn Backend>,
    worker: usize,
    /// Of the last batch's kind.
    width: usize,
    /// Kind of each request of the batch.
    kinds: Vec<Kind>,
    /// Indices into the batch, by kind.
    order: Vec<u8>,
    jobs: Scratch,
    statuses: Vec<Status>,
}

impl std::fmt::Debug for CryptoService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "CryptoService({}, worker {})",
            self.backend.name(),
            self.worker
        )
    }
}

impl CryptoService {
    pub(super) fn new(backend: Arc<dyn Backend>, worker: usize) -> Self {
        Self {
            backend,
            worker,
            width: 1,
            kinds: Vec::with_capacity(BATCH_MAX),
            order: Vec::with_capacity(BATCH_MAX),
            jobs: Scratch(Vec::with_capacity(BATCH_MAX)),
            statuses: Vec::with_capacity(BATCH_MAX),
        }
    }

    /// How many requests, from the front of `order`, go to the back-end
    /// together: one kind, and a chunk unless the back-end is wider.
    fn chunk(&self, requests: Batch<'_, CryptoRequest>, order: &[u8]) -> usize {
        let kind = self.kinds[usize::from(order[0])];
        let jobs_min = self.backend.width(kind);
        let mut bytes = 0_usize;
        for (count, &index) in order.iter().enumerate() {
            let is_chunk_full = bytes >= CHUNK_BYTES || count >= CHUNK_JOBS;
            let is_other = self.kinds[usize::from(index)] != kind;
            if is_other || (is_chunk_full && count >= jobs_min) {
                return count;
            }
            // SAFETY: the request is in flight. An estimate is enough here:
            // the back-end checks the lengths.
            bytes = bytes.saturating_add(unsafe { requests[usize::from(index)].bytes() });
        }
        order.len()
    }

    fn process_chunk(
        &mut self,
        kind: Kind,
        requests: Batch<'_, CryptoRequest>,
        chunk: std::ops::Range<usize>,
    ) {
        self.jobs.0.clear();
        for &index in &self.order[chunk] {
            let request = &requests[usize::from(index)];
            // SAFETY: the request is in flight, and the jobs are gone before
            // it is completed. This is worker `self.worker` of the session's
            // engine: the lane refused sessions of other engines.
            self.jobs.0.push(unsafe { request.job(self.worker) });
        }
        self.statuses.clear();
        self.statuses
            .resize(self.jobs.0.len(), Status::BackendFailed);
        // SAFETY: the lane checked every segment against regions that it
        // keeps alive until the requests are completed.
        unsafe { self.backend.process(kind, &self.jobs.0, &mut self.statuses) };
        self.jobs.0.clear();
    }
}

impl Service for CryptoService {
    type Request = CryptoRequest;

    fn width(&self) -> usize {
        self.width
    }

    fn process(
        &mut self,
        requests: Batch<'_, CryptoRequest>,
        outcomes: &mut Outcomes<'_, CryptoRequest>,
    ) {
        self.order.clear();
        self.order.extend((0..=u8::MAX).take(requests.len()));
        self.kinds.clear();
        // SAFETY: the requests are in flight until they are completed below.
        let kinds = requests.iter().map(|request| unsafe { request.kind() });
        self.kinds.extend(kinds);
        if self.kinds.iter().any(|kind| *kind != self.kinds[0]) {
            let kinds = &self.kinds;
            // By index within a kind, so that a lane's requests stay in order.
            self.order
                .sort_unstable_by_key(|&index| (kinds[usize::from(index)], index));
        }
        // Of a mixture nobody knows what comes next.
        let first = self.kinds[usize::from(self.order[0])];
        let last = self.kinds[usize::from(self.order[self.order.len() - 1])];
        self.width = if first == last {
            self.backend.width(first)
        } else {
            1
        };
        let mut begin = 0;
        while begin < self.order.len() {
            let end = begin + self.chunk(requests, &self.order[begin..]);
            let kind = self.kinds[usize::from(self.order[begin])];
            self.process_chunk(kind, requests, begin..end);
            for (&index, &status) in self.order[begin..end].iter().zip(&self.statuses) {
                outcomes.complete(usize::from(index), status);
            }
            outcomes.publish();
            begin = end;
        }
    }
}
