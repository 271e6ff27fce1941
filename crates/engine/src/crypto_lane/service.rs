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
const CHUNK_BYTES: usize = 64 * 1024;

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
    /// Indices into a batch of several kinds, by kind.
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
            order: Vec::with_capacity(BATCH_MAX),
            jobs: Scratch(Vec::with_capacity(BATCH_MAX)),
            statuses: Vec::with_capacity(BATCH_MAX),
        }
    }

    /// Processes the requests at `order`, all of one kind, and completes them
    /// a chunk at a time.
    fn process_kind(
        &mut self,
        kind: Kind,
        requests: Batch<'_, CryptoRequest>,
        mut order: &[u8],
        outcomes: &mut Outcomes<'_, CryptoRequest>,
    ) {
        let width = self.backend.width(kind);
        while !order.is_empty() {
            let (chunk, rest) = order.split_at(chunk(requests, order, width));
            self.process_chunk(kind, requests, chunk);
            for (&index, &status) in chunk.iter().zip(&self.statuses) {
                outcomes.complete(usize::from(index), status);
            }
            outcomes.publish();
            order = rest;
        }
        self.width = width;
    }

    fn process_chunk(&mut self, kind: Kind, requests: Batch<'_, CryptoRequest>, chunk: &[u8]) {
        self.jobs.0.clear();
        for &index in chunk {
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

/// How many requests, from the front of `order`, go to the back-end together:
/// a chunk, unless it is wider.
fn chunk(requests: Batch<'_, CryptoRequest>, order: &[u8], width: usize) -> usize {
    let mut bytes = 0_usize;
    for (count, &index) in order.iter().enumerate() {
        let is_chunk_full = bytes >= CHUNK_BYTES || count >= CHUNK_JOBS;
        if is_chunk_full && count >= width {
            return count;
        }
        // SAFETY: the request is in flight. An estimate is enough here: the
        // back-end checks the lengths.
        bytes = bytes.saturating_add(unsafe { requests[usize::from(index)].bytes() });
    }
    order.len()
}

/// The order of a batch in which nothing need be sorted.
const AS_THEY_CAME: [u8; BATCH_MAX] = {
    let mut order = [0; BATCH_MAX];
    let mut index = 0;
    while index < BATCH_MAX {
        order[index] = index as u8;
        index += 1;
    }
    order
};

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
        // SAFETY: the requests are in flight until they are completed below.
        let kind = |index: u8| unsafe { requests[usize::from(index)].kind() };
        if requests.iter().all(|request| request.is_like(&requests[0])) {
            let order = &AS_THEY_CAME[..requests.len()];
            return self.process_kind(kind(0), requests, order, outcomes);
        }
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend_from_slice(&AS_THEY_CAME[..requests.len()]);
        // By index within a kind, so that a lane's requests stay in order.
        order.sort_unstable_by_key(|&index| (kind(index), index));
        let mut kinds = 0;
        for of_one in order.chunk_by(|&a, &b| kind(a) == kind(b)) {
            self.process_kind(kind(of_one[0]), requests, of_one, outcomes);
            kinds += 1;
        }
        if kinds > 1 {
            // Of a mixture nobody knows what comes next.
            self.width = 1;
        }
        self.order = order;
    }
}
