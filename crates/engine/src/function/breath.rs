//! What a breath takes of a lane, and what it costs.

use policy::Allowance;

use crate::lane::Entry;
use crate::service::{BATCH_MAX, Origin, Service};
use crate::worker_lane::WorkerLane;

#[derive(Debug)]
pub(crate) struct Breath<R> {
    pub(crate) requests: Vec<Entry<R>>,
    pub(crate) origins: Vec<Origin>,
    pub(crate) present: Vec<u32>,
    /// What its requests were charged, ns.
    pub(crate) work_ns: u64,
}

impl<R> Breath<R> {
    pub(crate) fn new() -> Self {
        Self {
            requests: Vec::with_capacity(BATCH_MAX),
            origins: Vec::with_capacity(BATCH_MAX),
            present: Vec::with_capacity(BATCH_MAX),
            work_ns: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.requests.clear();
        self.origins.clear();
        self.present.clear();
        self.work_ns = 0;
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Purse {
    pub(super) least: usize,
    pub(super) most: usize,
    pub(super) credit_ns: u64,
    pub(super) allowance: Allowance,
    pub(super) taken: usize,
    pub(super) requests: u64,
    pub(super) spent_ns: u64,
    pub(super) last_ns: u64,
    pub(super) bytes: u64,
}

impl Purse {
    /// With that much in it, for no more than `most` requests.
    pub(super) fn new(least: usize, most: usize, credit_ns: u64) -> Self {
        Self {
            least,
            most,
            credit_ns,
            allowance: Allowance::UNLIMITED,
            taken: 0,
            requests: 0,
            spent_ns: 0,
            last_ns: 0,
            bytes: 0,
        }
    }

    /// One more request or piece; whether another may follow.
    pub(super) fn pay(&mut self, work_ns: u64, bytes: u64, has_more: bool) -> bool {
        self.taken += 1;
        self.requests += u64::from(!has_more);
        self.spent_ns = self.spent_ns.saturating_add(work_ns);
        self.last_ns = work_ns;
        self.bytes = self.bytes.saturating_add(bytes);
        self.is_open()
    }

    pub(super) fn is_open(&self) -> bool {
        self.taken < self.most
            && (self.spent_ns < self.credit_ns || self.taken < self.least)
            && self.requests < self.allowance.requests
            && self.bytes < self.allowance.bytes
    }
}

/// Takes up to `most` requests or pieces of a lane, as long as `pay` agrees.
#[inline(always)]
pub(super) fn take_from<S: Service>(
    service: &mut S,
    lane: &mut WorkerLane<S::Request>,
    into: &mut Breath<S::Request>,
    most: usize,
    mut pay: impl FnMut(&S, &S::Request, u64, bool) -> bool,
) {
    let Breath {
        requests,
        origins,
        present,
        ..
    } = into;
    let mut bytes = 0;
    let slot = lane.shared.slot;
    let begin = origins.len();
    lane.next = begin;
    let count = lane.take(service, most, |service, entry, number, has_more| {
        requests.push(entry);
        let of_one = S::bytes(&entry.request) as u64;
        bytes += of_one;
        origins.push(Origin {
            lane: slot,
            ticket: entry.ticket,
            number,
            has_more,
            done: None,
        });
        pay(service, &entry.request, of_one, has_more)
    });
    lane.end = origins.len();
    if lane.end > begin {
        lane.in_hand += u32::try_from(count).expect("at most BATCH_MAX");
        lane.shared.tally.bytes.add(bytes);
        present.push(slot);
    }
}
