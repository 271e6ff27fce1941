//! What a virtual function's handle, its lanes and the workers share.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use policy::{Allowance, BURST_NS_MAX, Bucket, Counters, Gate, Quota, Settings};

use sys::clock::now_ns;

use super::config::{FUNCTION_LANES_PER_S, FunctionConfig, Number};
use super::life::Possessions;
use crate::lane::{LaneError, Shared};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Life {
    Running,
    /// Takes none; finishes those it has.
    Draining,
    Removed,
}

impl std::fmt::Display for Life {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Draining => "draining",
            Self::Removed => "removed",
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionCounters {
    pub lanes: usize,
    pub requests: u64,
    pub bytes: u64,
    pub notifications: u64,
    /// Work that its requests were charged, ns: see
    /// [`Service::work_ns`](crate::Service::work_ns).
    pub work_ns: u64,
    /// The part of it that its requests took beyond what they were expected to.
    pub beyond_ns: u64,
    /// The time for which its memory let workers wait.
    pub held_up_ns: u64,
    pub throttled: u64,
}

/// Distinguishes functions that had the same number one after the other.
static FUNCTIONS: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(crate) struct Function<R> {
    pub(crate) id: u64,
    pub(crate) number: u32,
    weight: AtomicU32,
    lanes_max: usize,
    /// When the next notification may be sent, over all lanes. Several workers at the
    /// same moment may send one more.
    gate: AtomicU64,
    sharers: AtomicU32,
    /// Debt of work on the worker that had its last lane, ns.
    debt_ns: AtomicU64,
    /// One for all workers. A lock, but only where there is a quota.
    bucket: Mutex<Bucket>,
    is_limited: AtomicBool,
    work_ns: AtomicU64,
    beyond_ns: AtomicU64,
    held_up_ns: AtomicU64,
    throttled: AtomicU64,
    pub(crate) possessions: Possessions,
    state: Mutex<State<R>>,
}

#[derive(Debug)]
pub(crate) struct State<R> {
    pub(crate) life: Life,
    pub(crate) settings: Settings,
    pub(crate) reserved: usize,
    making: Bucket,
    pub(crate) members: Vec<Member<R>>,
    gone: Counters,
    gone_held_alone: u64,
    /// Until it is removed and the last worker has let it go.
    number: Option<Number>,
}

#[derive(Debug)]
pub(crate) struct Member<R> {
    pub(crate) worker: usize,
    pub(crate) shared: Arc<Shared<R>>,
}

impl<R> Function<R> {
    pub(crate) fn new(number: Number, config: &FunctionConfig) -> Self {
        Self {
            id: FUNCTIONS.fetch_add(1, Ordering::Relaxed),
            number: number.value,
            weight: AtomicU32::new(config.weight),
            lanes_max: config.lanes_max,
            gate: AtomicU64::new(Gate::default().pack()),
            sharers: AtomicU32::new(0),
            debt_ns: AtomicU64::new(0),
            bucket: Mutex::new(Bucket::new(config.quota)),
            is_limited: AtomicBool::new(!config.quota.is_unlimited()),
            work_ns: AtomicU64::new(0),
            beyond_ns: AtomicU64::new(0),
            held_up_ns: AtomicU64::new(0),
            throttled: AtomicU64::new(0),
            possessions: Possessions::default(),
            state: Mutex::new(State {
                life: Life::Running,
                settings: config.settings,
                reserved: 0,
                making: Bucket::new(making()),
                members: Vec::new(),
                gone: Counters::default(),
                gone_held_alone: 0,
                number: Some(number),
            }),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bucket(&self) -> MutexGuard<'_, Bucket> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.state().life == Life::Removed
    }

    pub(crate) fn weight(&self) -> u32 {
        self.weight.load(Ordering::Relaxed)
    }

    pub(crate) fn set_weight(&self, weight: u32) {
        self.weight.store(weight, Ordering::Relaxed);
    }

    pub(crate) fn set_quota(&self, quota: Quota) {
        *self.bucket() = Bucket::new(quota);
        self.is_limited
            .store(!quota.is_unlimited(), Ordering::Relaxed);
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.is_limited.load(Ordering::Relaxed)
    }

    pub(crate) fn allowance(&self) -> Result<Allowance, u64> {
        let mut bucket = self.bucket();
        // Within the lock, so that no worker's clock is behind another's.
        let allowance = bucket.allowance(now_ns());
        drop(bucket);
        if allowance.is_err() {
            self.throttled.fetch_add(1, Ordering::Relaxed);
        }
        allowance
    }

    pub(crate) fn spend(&self, requests: u64, bytes: u64) {
        let mut bucket = self.bucket();
        bucket.spend(now_ns(), requests, bytes);
    }

    /// Worker: stores the debt, since it has no lane of the function any more.
    pub(super) fn leave_debt(&self, debt_ns: u64) {
        self.debt_ns.fetch_add(debt_ns, Ordering::Relaxed);
    }

    pub(super) fn take_debt(&self) -> u64 {
        self.debt_ns.swap(0, Ordering::Relaxed)
    }

    pub(crate) fn worked(&self, work_ns: u64) {
        self.work_ns.fetch_add(work_ns, Ordering::Relaxed);
    }

    pub(crate) fn went_beyond(&self, beyond_ns: u64) {
        self.beyond_ns.fetch_add(beyond_ns, Ordering::Relaxed);
        self.worked(beyond_ns);
    }

    pub(crate) fn held_up(&self, waited_ns: u64) {
        self.held_up_ns.fetch_add(waited_ns, Ordering::Relaxed);
    }

    pub(crate) fn gate(&self) -> Gate {
        Gate::unpack(self.gate.load(Ordering::Relaxed)).of(self.sharers.load(Ordering::Relaxed))
    }

    /// Worker: a notification passed the gate, as `pass` says. Others may have
    /// passed since it was looked at; the more the next must wait.
    pub(crate) fn pass_gate(&self, mut pass: impl FnMut(&mut Gate)) {
        let lanes = self.sharers.load(Ordering::Relaxed);
        let passed = |word| {
            let mut gate = Gate::unpack(word).of(lanes);
            pass(&mut gate);
            Some(gate.pack())
        };
        let order = Ordering::Relaxed;
        // It is `None` that it would refuse.
        let _ = self.gate.fetch_update(order, order, passed);
    }

    pub(crate) fn reserve(&self) -> Result<Settings, LaneError> {
        let mut state = self.state();
        if state.life != Life::Running {
            return Err(LaneError::Ended(state.life));
        }
        if state.reserved >= self.lanes_max {
            let lanes = state.reserved;
            return Err(LaneError::Share { lanes });
        }
        let now_ns = now_ns();
        if state.making.allowance(now_ns).is_err() {
            let per_s = FUNCTION_LANES_PER_S;
            return Err(LaneError::TooOften { per_s });
        }
        state.making.spend(now_ns, 1, 0);
        state.reserved += 1;
        Ok(state.settings)
    }

    pub(crate) fn give_back(&self) {
        let mut state = self.state();
        state.reserved -= 1;
        state.free_number();
    }

    pub(crate) fn enrol(&self, worker: usize, shared: &Arc<Shared<R>>) {
        let mut state = self.state();
        // Both may have changed since room was reserved.
        shared
            .settings
            .store(state.settings.pack(), Ordering::Relaxed);
        shared.set_draining(state.life == Life::Draining);
        let shared = Arc::clone(shared);
        state.members.push(Member { worker, shared });
        self.sharers.fetch_add(1, Ordering::Relaxed);
    }

    /// The lane will not get to its worker; its room is still to be given back.
    pub(crate) fn dismiss(&self, shared: &Arc<Shared<R>>) {
        if self.state().dismiss(shared) {
            self.sharers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn let_go(&self, shared: &Arc<Shared<R>>) {
        let mut state = self.state();
        if state.dismiss(shared) {
            self.sharers.fetch_sub(1, Ordering::Relaxed);
            state.reserved -= 1;
            state.gone = state.gone.plus(&shared.counters());
            state.gone_held_alone += shared.tally.held_alone.value();
        }
        state.free_number();
    }

    pub(crate) fn totals(&self) -> Counters {
        let state = self.state();
        let add = |total: Counters, member: &Member<R>| total.plus(&member.shared.counters());
        state.members.iter().fold(state.gone, add)
    }

    pub(crate) fn held_alone(&self) -> u64 {
        let state = self.state();
        let of = |member: &Member<R>| member.shared.tally.held_alone.value();
        state.gone_held_alone + state.members.iter().map(of).sum::<u64>()
    }

    pub(crate) fn counters(&self) -> FunctionCounters {
        let totals = self.totals();
        FunctionCounters {
            lanes: self.state().reserved,
            requests: totals.requests,
            bytes: totals.bytes,
            notifications: totals.notifications,
            work_ns: self.work_ns.load(Ordering::Relaxed),
            beyond_ns: self.beyond_ns.load(Ordering::Relaxed),
            held_up_ns: self.held_up_ns.load(Ordering::Relaxed),
            throttled: self.throttled.load(Ordering::Relaxed),
        }
    }
}

impl<R> State<R> {
    fn dismiss(&mut self, shared: &Arc<Shared<R>>) -> bool {
        let is_it = |member: &Member<R>| Arc::ptr_eq(&member.shared, shared);
        let index = self.members.iter().position(is_it);
        index.map(|index| self.members.swap_remove(index)).is_some()
    }

    /// Another function may have the number when nothing is left of this one.
    pub(crate) fn free_number(&mut self) {
        if self.life == Life::Removed && self.reserved == 0 {
            self.number = None;
        }
    }
}

fn making() -> Quota {
    let often = Quota::UNLIMITED.and_requests(FUNCTION_LANES_PER_S);
    let at_once = often.and_then(|often| often.with_burst(BURST_NS_MAX));
    at_once.expect("a few hundred a second, and those of a second at once")
}
