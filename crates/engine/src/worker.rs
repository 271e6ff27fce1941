//! The worker: inhale, process, exhale.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use policy::Gather;
use sys::clock::now_ns;

use crate::lane::{Closed, Entry, WorkerLane};
use crate::pool::{Control, WorkerConfig};
use crate::service::{BATCH_MAX, Batch, Origin, Outcomes, Service};

/// Longest sleep without a look around; only a safety net, since whoever
/// brings work rings the doorbell.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// Most requests of one lane in a breath: enough for the widest multi-buffer
/// code, and few enough that the next ones arrive while these are processed.
const SHARE_MAX: usize = 32;

/// How often an idle worker that spins looks at the clock.
const LOOKS_A_CLOCK: u32 = 64;

pub(crate) struct Worker<S: Service> {
    service: S,
    config: WorkerConfig,
    control: Arc<Control<S::Request>>,
    lanes: Vec<WorkerLane<S::Request>>,
    gather: Gather,
    /// The lane to begin with next time: what did not fit this time.
    first: usize,
    has_abandoned: bool,
    requests: Vec<Entry<S::Request>>,
    origins: Vec<Origin>,
    touched: Vec<u32>,
    /// Lanes with requests in the breath.
    present: Vec<u32>,
}

impl<S: Service> Worker<S> {
    pub(crate) fn new(service: S, config: WorkerConfig, control: Arc<Control<S::Request>>) -> Self {
        Self {
            service,
            config,
            control,
            lanes: Vec::new(),
            gather: Gather::default(),
            first: 0,
            has_abandoned: false,
            requests: Vec::with_capacity(BATCH_MAX),
            origins: Vec::with_capacity(BATCH_MAX),
            touched: Vec::with_capacity(BATCH_MAX),
            present: Vec::with_capacity(BATCH_MAX),
        }
    }

    /// Works until the engine is shut down.
    pub(crate) fn run(&mut self) {
        while !self.answer_calls() {
            if self.breathe() == 0 {
                self.rest();
            }
        }
        self.finish();
    }

    /// Hands every lane back, also after a panic.
    pub(crate) fn close(&mut self, how: Closed) {
        for lane in self.lanes.drain(..).chain(self.control.end(how)) {
            lane.close(how);
        }
    }

    /// One breath: takes what is there, processes it, gives it back.
    fn breathe(&mut self) -> usize {
        let width = self.gather();
        let count = self.inhale(width);
        if count > 0 {
            let Self {
                lanes,
                origins,
                touched,
                requests,
                ..
            } = self;
            let mut outcomes = Outcomes {
                lanes,
                origins,
                touched,
            };
            let is_timed = width > 1 && self.gather.wants_time();
            let begin_ns = if is_timed { now_ns() } else { 0 };
            self.service.process(Batch(requests), &mut outcomes);
            self.exhale();
            if is_timed {
                self.gather.worked(now_ns() - begin_ns);
            }
        }
        count
    }

    /// Waits a little for more requests where more can be done in the same
    /// time, by [`Gather`]; returns how many that is.
    fn gather(&mut self) -> usize {
        let width = self.service.width();
        if width == 1 {
            return 1;
        }
        let before = self.waiting();
        // On a shared core the client cannot submit while we look.
        let patience = self.gather.begin(before, width);
        if let Some(patience) = patience.filter(|_| !self.config.is_core_shared) {
            let begin_ns = now_ns();
            let (mut after, mut waited_ns) = (before, 0);
            while after < patience.until && waited_ns < patience.limit_ns {
                std::hint::spin_loop();
                after = self.waiting();
                waited_ns = now_ns() - begin_ns;
            }
            self.gather.end(patience, before, after, waited_ns);
        }
        width
    }

    /// Requests that the next breath could take.
    fn waiting(&mut self) -> usize {
        let share = self.share();
        let there = |lane: &mut WorkerLane<_>| lane.requests.up_to(share);
        self.lanes.iter_mut().map(there).sum()
    }

    /// Most requests of one lane in a breath.
    fn share(&self) -> usize {
        (BATCH_MAX / self.lanes.len().max(1)).clamp(1, SHARE_MAX)
    }

    /// Takes requests lane by lane, a fair share each, beginning where the
    /// last breath ended; where `width` can be done at once, that many or a
    /// multiple: what is over would take as long as as many again, and has
    /// company in the next breath.
    fn inhale(&mut self, width: usize) -> usize {
        self.requests.clear();
        self.origins.clear();
        self.present.clear();
        let lanes = self.lanes.len();
        let share = self.share();
        let room = if width > 1 {
            let waiting = self.waiting().min(BATCH_MAX);
            (waiting / width).max(1) * width
        } else {
            BATCH_MAX
        };
        let first = self.first;
        for step in 0..lanes {
            let index = (first + step) % lanes;
            self.take_from(index, share.min(room - self.requests.len()));
            if self.requests.len() == room {
                self.first = (index + 1) % lanes;
                break;
            }
        }
        self.requests.len()
    }

    fn take_from(&mut self, index: usize, share: usize) {
        let Self {
            lanes,
            requests,
            origins,
            present,
            ..
        } = self;
        let lane = &mut lanes[index];
        let number = u32::try_from(index).expect("fewer lanes than 2^32");
        lane.next = origins.len();
        let count = lane.requests.drain(share, |entry| {
            requests.push(*entry);
            origins.push(Origin {
                lane: number,
                ticket: entry.ticket,
                done: None,
            });
        });
        lane.end = origins.len();
        if count > 0 {
            present.push(number);
        }
    }

    fn exhale(&mut self) {
        assert!(
            self.origins.iter().all(|origin| origin.done.is_some()),
            "a service completes every request of its batch"
        );
        let Self {
            lanes,
            origins,
            touched,
            ..
        } = self;
        let mut outcomes = Outcomes {
            lanes,
            origins,
            touched,
        };
        outcomes.settle(&self.present, self.service.width());
        self.control.tally.batches.add(1);
        self.control.tally.requests.add(self.requests.len() as u64);
    }

    /// Nothing to do: spins a little if told to, then sleeps if every lane
    /// allows it.
    fn rest(&mut self) {
        if self.spin() {
            return;
        }
        if self
            .lanes
            .iter()
            .any(|lane| !lane.shared.config.moderation.worker_sleeps())
        {
            if self.config.is_core_shared {
                std::thread::yield_now();
            }
            return;
        }
        self.control.arm_doorbell();
        if self.has_work() {
            self.control.disarm_doorbell();
        } else {
            self.control.tally.sleeps.add(1);
            self.control.sleep(SLEEP_MAX);
        }
    }

    /// Whether work came while spinning.
    fn spin(&mut self) -> bool {
        if self.config.idle_spin.is_zero() {
            return false;
        }
        let deadline = Instant::now() + self.config.idle_spin.min(SLEEP_MAX);
        for look in 1u32.. {
            if self.has_work() {
                return true;
            }
            std::hint::spin_loop();
            if look.is_multiple_of(LOOKS_A_CLOCK) && Instant::now() >= deadline {
                break;
            }
        }
        false
    }

    fn has_work(&mut self) -> bool {
        self.control.is_called()
            || self
                .lanes
                .iter_mut()
                .any(|lane| lane.requests.len_now() > 0)
    }

    /// Takes new lanes in and lets abandoned ones go; `true` means stop.
    fn answer_calls(&mut self) -> bool {
        if !self.has_abandoned && !self.control.is_called() {
            return false;
        }
        self.lanes.extend(self.control.take_new_lanes());
        // What an abandoned lane still holds is processed first.
        let is_gone = |lane: &WorkerLane<_>| lane.shared.is_client_gone.load(Ordering::Acquire);
        self.lanes
            .retain_mut(|lane| !is_gone(lane) || lane.requests.len_now() > 0);
        self.has_abandoned = self.lanes.iter().any(is_gone);
        self.first %= self.lanes.len().max(1);
        self.control.is_stopping()
    }

    /// The last breaths: everything submitted before the stop, and no more,
    /// so that a client which keeps submitting cannot keep the worker alive.
    fn finish(&mut self) {
        let last = |lane: &mut WorkerLane<S::Request>| {
            let waiting = u32::try_from(lane.requests.len_now()).expect("at most DEPTH_MAX");
            lane.requests.index().wrapping_add(waiting)
        };
        let goals: Vec<u32> = self.lanes.iter_mut().map(last).collect();
        let is_short = |(lane, goal): (&WorkerLane<S::Request>, &u32)| {
            goal.wrapping_sub(lane.requests.index()) as i32 > 0
        };
        while self.lanes.iter().zip(&goals).any(is_short) {
            self.breathe();
        }
    }
}
