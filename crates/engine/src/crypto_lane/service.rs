//! The worker's side: groups a batch by kind for the batch trait.
#![allow(
    unsafe_code,
    reason = "calls the batch trait over memory that lanes keep alive"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crypto::{
    Algorithm, Backend, Chaining, Job, Kind, Operation, Packets, Private, RsaScheme, Sectors,
    Segment, Segments, Status, fits,
};
use policy::Price;
use sys::clock::now_ns;

use super::request::CryptoRequest;
use super::states::States;
use crate::service::{BATCH_MAX, Batch, Outcomes, Service};

/// Completions are published when that many bytes are done, so that clients
/// go on while the worker does, and publishing still costs next to nothing a
/// byte.
const CHUNK_BYTES: usize = 64 * 1024;

const CHUNK_JOBS: usize = 16;

/// What each segment beyond the first of a source or destination costs, ns:
/// measured, and much the same for every kind.
const SEGMENT_NS: u64 = 6;

/// What a request takes the worker beside the back-end, ns, until it was measured: taking
/// it, grouping it, its completion.
const LANE_NS: f64 = 30.0;

/// Maximum, ns: a larger sample shows a thread that was preempted.
const LANE_NS_MAX: u64 = 300;

/// Maximum, ns: a larger sample shows a thread that was preempted.
const SEGMENT_NS_MAX: u64 = 100;

/// Room for the jobs of a chunk, or the segments of one, so that none is allocated.
struct Scratch<T>(Vec<T>);

// SAFETY: empty whenever it moves: filled and emptied within one call, whose
// requests also bound what the `'static` of a job stands for.
unsafe impl<T> Send for Scratch<T> {}

pub struct CryptoService {
    backend: Arc<dyn Backend>,
    worker: usize,
    width: usize,
    order: Vec<u8>,
    jobs: Scratch<Job<'static>>,
    statuses: Vec<Status>,
    states: Arc<Mutex<States>>,
    lists: Scratch<Segment>,
    private: Private,
    prices: Box<[Price]>,
    lane: Price,
    panics: Arc<[AtomicU64]>,
}

/// What requests cost before any was seen, ns and ns per byte: near enough
/// for the first few.
fn prices() -> Box<[Price]> {
    let prior = |is_public_key: bool, operation: &Operation| {
        let request_ns = match operation {
            _ if !is_public_key => 200.0,
            Operation::Sign | Operation::Decrypt => 500_000.0,
            _ => 50_000.0,
        };
        Price::prior(request_ns, 0.25)
    };
    let of_one = |is_public_key| {
        Operation::ALL
            .iter()
            .map(move |one| prior(is_public_key, one))
    };
    let all = Algorithm::ALL.into_iter().map(Algorithm::is_public_key);
    let others = std::iter::repeat_n(false, Sectors::COSTS + Packets::ALL.len());
    all.chain(others).flat_map(of_one).collect()
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
    /// Makes the service of one member of a worker's crew; the crew shares `states`.
    pub(super) fn new(
        backend: Arc<dyn Backend>,
        worker: usize,
        panics: Arc<[AtomicU64]>,
        states: Arc<Mutex<States>>,
    ) -> Self {
        Self {
            backend,
            worker,
            width: 1,
            order: Vec::with_capacity(BATCH_MAX),
            jobs: Scratch(Vec::with_capacity(BATCH_MAX)),
            statuses: Vec::with_capacity(BATCH_MAX),
            states,
            lists: Scratch(Vec::new()),
            private: Private::default(),
            prices: prices(),
            lane: Price::prior(LANE_NS, 0.0),
            panics,
        }
    }

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
            let first = usize::from(chunk[0]);
            if requests[first].is_alone() {
                let beyond_ns = self.process_alone(kind, &requests[first]);
                outcomes.charge(first, beyond_ns);
            } else {
                self.process_timed(kind, requests, chunk);
            }
            for (&index, &status) in chunk.iter().zip(&self.statuses) {
                outcomes.complete(usize::from(index), status);
            }
            outcomes.publish();
            order = rest;
        }
        self.width = width;
    }

    /// Processes a request that is not done with others; what it took beyond what it was
    /// charged, ns, where that is known. What lists cost depends on how they lie, and on
    /// whether they are refused.
    fn process_alone(&mut self, kind: Kind, request: &CryptoRequest) -> u64 {
        let begin_ns = now_ns();
        let status = self.guarded(|own| own.do_alone(kind, request));
        let elapsed_ns = now_ns().saturating_sub(begin_ns);
        if let Some((number, has_more)) = request.kept()
            && !(has_more && status == Some(Status::Ok))
        {
            self.states().free(number);
        }
        let status = status.unwrap_or(Status::BackendFailed);
        self.statuses.clear();
        self.statuses.push(status);
        let lists_ns_max = request.rest_segments() * SEGMENT_NS_MAX;
        let beyond_ns = elapsed_ns.saturating_sub(self.work_ns(request));
        // Others of the kind do not pay for its lists: one that is little else teaches
        // nothing.
        let text_ns = elapsed_ns.saturating_sub(lists_ns_max);
        if has_worked(kind, status) && text_ns > elapsed_ns / 2 {
            // SAFETY: the request is in flight.
            let price = unsafe { request.kind_number() };
            self.prices[price].learn(1, Self::bytes(request) as u64, text_ns);
        }
        beyond_ns.min(lists_ns_max)
    }

    /// Takes in what a message that is cut begins with: its pieces have text alone.
    fn begin(&mut self, kind: Kind, request: &CryptoRequest, number: u16) -> bool {
        // SAFETY: as in `process_chunk`.
        let whole = unsafe { request.job(self.worker) };
        if whole.aad.len == 0 {
            return true;
        }
        let nothing = Job {
            source: Segments::EMPTY,
            destination: Segments::EMPTY,
            ..whole
        };
        // SAFETY: as in `process_chunk`; the state is new.
        let begun = self.guarded(|own| unsafe { own.do_piece(kind, &nothing, number, false) });
        begun == Some(Status::Ok)
    }

    fn states(&self) -> MutexGuard<'_, States> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Safety
    /// The caller keeps [`Backend::process_piece`]'s; the state is of this request.
    unsafe fn do_piece(&self, kind: Kind, job: &Job<'_>, number: u16, is_last: bool) -> Status {
        let mut between = self.states().lend(number);
        // SAFETY: the caller's.
        let status = unsafe { self.backend.process_piece(kind, job, &mut between, is_last) };
        self.states().give_back(number, between);
        status
    }

    fn do_alone(&mut self, kind: Kind, request: &CryptoRequest) -> Status {
        // SAFETY: as in `process_chunk`; the lists stay as they are.
        let job = unsafe { request.part_job(self.worker, &mut self.lists.0) };
        // SAFETY: as in `process_chunk`; what is kept is of this request.
        unsafe {
            if request.is_into_shared_memory() {
                return self.private.open(&*self.backend, kind, &job);
            }
            if let Some((number, has_more)) = request.kept() {
                return self.do_piece(kind, &job, number, !has_more);
            }
            let mut status = [Status::BackendFailed];
            self.backend.process(kind, &[job], &mut status);
            status[0]
        }
    }

    /// Calls the back-end and catches its panics, so that one tenant's request does
    /// not end the worker of the others. A back-end keeps no job after the call.
    fn guarded<T>(&mut self, call: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let ended = catch_unwind(AssertUnwindSafe(|| call(self)));
        if ended.is_err() {
            self.panics[self.worker].fetch_add(1, Ordering::Relaxed);
        }
        ended.ok()
    }

    /// Learns from a sample what requests of the kind cost. Refused requests cost
    /// next to nothing and do not count: a tenant that mixes them in would hide the
    /// price of the others.
    fn process_timed(&mut self, kind: Kind, requests: Batch<'_, CryptoRequest>, chunk: &[u8]) {
        // SAFETY: the request is in flight.
        let price = unsafe { requests[usize::from(chunk[0])].kind_number() };
        if !self.prices[price].wants_time() {
            return self.process_chunk(kind, requests, chunk);
        }
        let work_bytes = |index: &u8| Self::bytes(&requests[usize::from(*index)]) as u64;
        let begin_ns = now_ns();
        self.process_chunk(kind, requests, chunk);
        let elapsed_ns = now_ns().saturating_sub(begin_ns);
        let (mut count, mut bytes, mut lists_ns) = (0, 0_u64, 0);
        let all = chunk.iter().zip(&self.statuses);
        for (index, _) in all.filter(|one| has_worked(kind, *one.1)) {
            count += 1;
            bytes = bytes.saturating_add(work_bytes(index));
            lists_ns += requests[usize::from(*index)].rest_segments() * SEGMENT_NS;
        }
        if count > 0 {
            // Nor do long lists make others pay for them; nor, where they
            // cost less than we think, do they make anything cheap.
            let elapsed_ns = elapsed_ns.saturating_sub(lists_ns).max(elapsed_ns / 4);
            self.prices[price].learn(count, bytes, elapsed_ns);
        }
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
        let ended = self.guarded(|own| unsafe {
            own.backend.process(kind, &own.jobs.0, &mut own.statuses);
        });
        if ended.is_none() {
            self.statuses.fill(Status::BackendFailed);
        }
        self.jobs.0.clear();
    }

    #[cold]
    fn cancel(
        &mut self,
        requests: Batch<'_, CryptoRequest>,
        order: &[u8],
        outcomes: &mut Outcomes<'_, CryptoRequest>,
    ) {
        for &index in order {
            let index = usize::from(index);
            self.forget(&requests[index]);
            outcomes.complete(index, Status::Cancelled);
        }
    }
}

/// Whether the back-end went through all of the request. Numbers that FFDH and PKCS#1
/// v1.5 refuse, and packets of the other key phase, are only looked at.
fn has_worked(kind: Kind, status: Status) -> bool {
    match (status, kind.algorithm) {
        (
            Status::InvalidInput,
            Algorithm::Ffdh(_) | Algorithm::Packets(_) | Algorithm::Rsa(_, RsaScheme::Pkcs1),
        ) => false,
        (Status::Ok | Status::AuthenticationFailed | Status::InvalidInput, _) => true,
        _ => false,
    }
}

/// How many requests, from the front of `order`, go to the back-end together:
/// a chunk, unless it is wider; or one that is not done with others.
fn chunk(requests: Batch<'_, CryptoRequest>, order: &[u8], width: usize) -> usize {
    let mut bytes = 0_usize;
    for (count, &index) in order.iter().enumerate() {
        let request = &requests[usize::from(index)];
        if request.is_alone() {
            return count.max(1);
        }
        let is_chunk_full = bytes >= CHUNK_BYTES || count >= CHUNK_JOBS;
        if is_chunk_full && count >= width {
            return count;
        }
        // An estimate is enough here: the back-end checks the lengths.
        bytes = bytes.saturating_add(request.bytes());
    }
    order.len()
}

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

    const IS_TIMED: bool = true;

    fn width(&self) -> usize {
        self.width
    }

    fn bytes(request: &CryptoRequest) -> usize {
        // SAFETY: the worker asks for requests it has taken and not completed.
        unsafe { request.all_bytes() }
    }

    fn work_ns(&self, request: &CryptoRequest) -> u64 {
        // SAFETY: as above.
        let kind = unsafe { request.kind_number() };
        let lists_ns = request.rest_segments() * SEGMENT_NS;
        self.prices[kind]
            .work_ns(Self::bytes(request) as u64)
            .saturating_add(lists_ns + self.lane.work_ns(0))
    }

    fn split(&mut self, request: &mut CryptoRequest, bytes: usize) -> Option<CryptoRequest> {
        // SAFETY: as above.
        let kind = unsafe { request.kind() };
        let chaining = kind.chaining()?;
        let bytes = kind.piece_bytes(request.bytes(), bytes);
        if request.bytes() <= bytes {
            return None;
        }
        if !request.is_part() {
            // SAFETY: as above, and we are that worker.
            let is_good = unsafe {
                let has_key = request.has_key(self.worker);
                has_key && fits(kind, &request.job(self.worker)).is_ok()
            };
            let is_kept = chaining == Chaining::Kept;
            // As a whole it is refused, or done.
            let continues = !is_kept || self.backend.continues(kind);
            if !is_good || !continues || !request.is_divisible() {
                return None;
            }
            if is_kept {
                let number = self.states().take()?;
                if !self.begin(kind, request, number) {
                    self.states().free(number);
                    return None;
                }
                request.keep(number);
            }
        }
        // SAFETY: as above; it fits.
        Some(unsafe { request.split(chaining, bytes) })
    }

    fn wants_time(&mut self) -> bool {
        self.lane.wants_time()
    }

    fn breathed(&mut self, requests: usize, expected_ns: u64, elapsed_ns: u64) {
        let requests = requests as u64;
        let own_ns = requests * self.lane.work_ns(0);
        let beside_ns = elapsed_ns.saturating_sub(expected_ns.saturating_sub(own_ns));
        self.lane
            .learn(requests, 0, beside_ns.min(requests * LANE_NS_MAX));
    }

    fn resume(&mut self, request: &mut CryptoRequest) {
        // SAFETY: as above, and what was before it is done.
        unsafe { request.resume() }
    }

    fn forget(&mut self, rest: &CryptoRequest) {
        if let Some((number, _)) = rest.kept() {
            self.states().free(number);
        }
    }

    fn process(
        &mut self,
        requests: Batch<'_, CryptoRequest>,
        outcomes: &mut Outcomes<'_, CryptoRequest>,
    ) {
        // SAFETY: the requests are in flight until they are completed below.
        let kind = |index: u8| unsafe { requests[usize::from(index)].kind() };
        let worker = self.worker;
        // SAFETY: as above, and we are that worker.
        let has_key = |index: u8| unsafe { requests[usize::from(index)].has_key(worker) };
        if requests.iter().all(|request| request.is_like(&requests[0])) {
            if !has_key(0) {
                return self.cancel(requests, &AS_THEY_CAME[..requests.len()], outcomes);
            }
            let order = &AS_THEY_CAME[..requests.len()];
            return self.process_kind(kind(0), requests, order, outcomes);
        }
        // Of many tenants, each with a key of its own, but nothing to sort.
        let count = requests.len() as u8;
        if (0..count).all(|index| kind(index) == kind(0) && has_key(index)) {
            let order = &AS_THEY_CAME[..requests.len()];
            return self.process_kind(kind(0), requests, order, outcomes);
        }
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        for &index in &AS_THEY_CAME[..requests.len()] {
            if has_key(index) {
                order.push(index);
            } else {
                self.cancel(requests, &[index], outcomes);
            }
        }
        // By index within a kind, so that a lane's requests stay in order.
        order.sort_unstable_by_key(|&index| (kind(index), index));
        let mut kinds = 0;
        for of_one in order.chunk_by(|&a, &b| kind(a) == kind(b)) {
            self.process_kind(kind(of_one[0]), requests, of_one, outcomes);
            kinds += 1;
        }
        if kinds > 1 {
            // After a mixture the next kind is not known.
            self.width = 1;
        }
        self.order = order;
    }
}
