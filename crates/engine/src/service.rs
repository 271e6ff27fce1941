//! What a worker does with a batch: the part that knows what a request is.

use std::sync::atomic::Ordering;

use crypto::Status;
use policy::{Decision, Progress, Settings};
use sys::clock::now_ns;
use sys::wake::WakeIndex;

use crate::function::Lanes;
use crate::lane::{Done, Entry, HINTS};
use crate::worker_lane::{Held, WorkerLane};

/// Most requests a worker takes at a time, over all its lanes.
pub const BATCH_MAX: usize = 128;

pub trait Service: Send + 'static {
    type Request: Copy + Send + 'static;

    /// Whether what a batch takes beyond [`work_ns`](Self::work_ns) is charged by the clock,
    /// however little it is. Of others only that is for which memory held them up.
    const IS_TIMED: bool = false;

    /// How many requests it could process in the time that it needs for fewer, if the
    /// next are like the last. The worker may wait a little for that many.
    fn width(&self) -> usize {
        1
    }

    /// Bytes a request works on, about: for counters and shares.
    fn bytes(request: &Self::Request) -> usize;

    /// How long the request will take, about, ns: what its lane's virtual
    /// function is charged.
    fn work_ns(&self, request: &Self::Request) -> u64 {
        100 + Self::bytes(request) as u64 / 4
    }

    /// Whether to time the next breath, if its requests are charged.
    fn wants_time(&mut self) -> bool {
        false
    }

    /// A breath of `requests` took `elapsed_ns` from taking them to the last
    /// notification, and was expected to take `expected_ns`.
    fn breathed(&mut self, _requests: usize, _expected_ns: u64, _elapsed_ns: u64) {}

    /// Cuts the first `bytes` off a longer request and returns them as a request.
    /// `request` becomes the rest, to be [`resume`](Self::resume)d after them.
    /// `None`, with nothing changed, where the request cannot be cut.
    fn split(&mut self, _request: &mut Self::Request, _bytes: usize) -> Option<Self::Request> {
        None
    }

    /// The part before the rest of a request is done: the rest is next.
    fn resume(&mut self, _request: &mut Self::Request) {}

    /// The rest of a request is cancelled, and will not be processed.
    fn forget(&mut self, _rest: &Self::Request) {}

    /// Processes a batch of up to [`BATCH_MAX`] requests from any lanes and
    /// completes each exactly once, in any order. Publishing now and then
    /// lets clients go on while the rest is processed.
    fn process(
        &mut self,
        requests: Batch<'_, Self::Request>,
        outcomes: &mut Outcomes<'_, Self::Request>,
    );
}

#[derive(Debug)]
pub struct Batch<'b, R>(pub(crate) &'b [Entry<R>]);

impl<R> Clone for Batch<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Batch<'_, R> {}

impl<R> Batch<'_, R> {
    #[expect(clippy::len_without_is_empty, reason = "a batch is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &R> + ExactSizeIterator {
        self.0.iter().map(|entry| &entry.request)
    }
}

impl<R> std::ops::Index<usize> for Batch<'_, R> {
    type Output = R;

    fn index(&self, index: usize) -> &R {
        &self.0[index].request
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) lane: u32,
    pub(crate) ticket: u32,
    pub(crate) number: u32,
    pub(crate) has_more: bool,
    pub(crate) done: Option<Status>,
}

#[derive(Debug)]
pub struct Outcomes<'batch, R> {
    pub(crate) lanes: &'batch mut Lanes<R>,
    pub(crate) origins: &'batch mut [Origin],
    pub(crate) touched: &'batch mut Vec<u32>,
}

impl<R: Copy + Send> Outcomes<'_, R> {
    /// Ends request `index` of the batch.
    ///
    /// # Panics
    /// When it was ended before: a request completes exactly once.
    pub fn complete(&mut self, index: usize, status: Status) {
        let origin = &mut self.origins[index];
        assert!(
            origin.done.is_none(),
            "request {index} of the batch completed twice"
        );
        origin.done = Some(status);
        let lane = &mut self.lanes[origin.lane as usize];
        if origin.has_more && status != Status::Ok {
            // As it ends here, there is nothing more.
            origin.has_more = false;
            lane.carried
                .retain(|rest| rest.entry.ticket != origin.ticket);
        }
        let staged_before = lane.staged;
        if lane.shared.config.order == crate::Order::Any {
            if !origin.has_more {
                stage(lane, origin.ticket, origin.number, status);
            }
        } else {
            stage_in_order(lane, self.origins);
        }
        if staged_before == 0 && lane.staged > 0 {
            self.touched.push(self.origins[index].lane);
        }
    }

    /// Request `index` took `work_ns` more work than expected: its owner pays for it.
    pub fn charge(&mut self, index: usize, work_ns: u64) {
        self.lanes[self.origins[index].lane as usize].owe(work_ns);
    }

    /// Shows completions to clients that poll, and notifies sleeping clients as their
    /// policies say. A client that has just fallen asleep may be overlooked, since
    /// nothing is fenced here. The worker looks again, fenced, at the end of the
    /// breath.
    pub fn publish(&mut self) {
        let lanes = &mut *self.lanes;
        self.touched.retain(|&lane| {
            let lane = &mut lanes[lane as usize];
            // A polling client takes the index's cache line away whenever it
            // looks, and the worker must get it back to publish: so not for
            // completions before the one it waits for.
            let moderation = lane.shared.config.moderation;
            let is_awaited = !moderation.client_looks()
                || lane.is_armed()
                || lane.is_hinted() && moderation.client_sleeps()
                || lane.shared.wake.is_wanted(lane.completions.index());
            if is_awaited {
                show(lane);
            }
            // What the client writes meanwhile is looked at next: have it here.
            lane.shared.wake.anticipate();
            lane.requests.anticipate();
            !is_awaited
        });
    }

    /// At the end of a breath: publishes the rest and wakes each client that waits
    /// for what is there. It also wakes clients of lanes that have run dry: fewer
    /// requests than the `width` that would be done in the same time.
    pub(crate) fn settle(&mut self, present: &[u32], width: usize) {
        for lane in self.touched.drain(..) {
            show(&mut self.lanes[lane as usize]);
        }
        self.wake(present, width);
    }

    /// Wakes the clients of `present` that wait for what is there.
    fn wake(&mut self, present: &[u32], width: usize) {
        let sleeps = |lane: &u32| {
            let config = &self.lanes[*lane as usize].shared.config;
            config.moderation.client_sleeps()
        };
        // A fence waits until the results have left the core: only for those
        // who may sleep.
        if !present.iter().any(sleeps) {
            return;
        }
        WakeIndex::fence_after_publish();
        for &lane in present {
            wake(&mut self.lanes[lane as usize], width);
        }
    }
}

/// Wakes a lane's client if it waits for what is there: what was published is fenced.
pub(crate) fn wake<R: Copy + Send>(lane: &mut WorkerLane<R>, width: usize) {
    // The ring is looked at only for a sleeper: its index is the client's cache line.
    lane.look_at_barriers();
    if lane.is_armed() || lane.is_urgent || lane.held.is_some() {
        let is_dry = lane.in_hand == 0 && lane.requests.len_now() < width;
        notify(lane, 0, is_dry);
    }
}

pub(crate) fn cancel<S: Service>(service: &mut S, lane: &mut WorkerLane<S::Request>) {
    let forgotten = lane.carried.drain(..).map(|rest| {
        service.forget(&rest.entry.request);
        rest.entry.ticket
    });
    let mut tickets: Vec<u32> = forgotten.collect();
    lane.requests.len_now();
    let count = lane
        .requests
        .drain(usize::MAX, |entry| tickets.push(entry.ticket));
    lane.in_hand += u32::try_from(count).expect("at most DEPTH_MAX");
    for ticket in tickets {
        stage(lane, ticket, 0, Status::Cancelled);
    }
}

fn stage<R: Copy + Send>(lane: &mut WorkerLane<R>, ticket: u32, number: u32, status: Status) {
    let done = Done {
        ticket: ticket & !HINTS,
        status,
    };
    lane.completions
        .stage(done)
        .expect("the completion ring has a slot for every request in flight");
    if ticket & HINTS != 0 {
        lane.hinted(ticket & HINTS, number);
    }
    lane.staged += 1;
    lane.in_hand -= 1;
}

fn stage_in_order<R: Copy + Send>(lane: &mut WorkerLane<R>, origins: &[Origin]) {
    while lane.next < lane.end
        && let Some(status) = origins[lane.next].done
    {
        let origin = &origins[lane.next];
        if !origin.has_more {
            stage(lane, origin.ticket, origin.number, status);
        }
        lane.next += 1;
    }
}

fn show<R: Copy + Send>(lane: &mut WorkerLane<R>) {
    lane.completions.publish();
    let mut published = std::mem::take(&mut lane.staged);
    lane.shared.tally.completed.add(u64::from(published));
    if let Some(home) = &mut lane.home {
        home.resident.exhale();
        // It may carry them out later, in an order of its own.
        published = home.resident.unreaped();
    }
    notify(lane, published, false);
}

/// Does what the lane's policy says, `published` completions later.
fn notify<R: Copy + Send>(lane: &mut WorkerLane<R>, published: u32, is_dry: bool) {
    lane.look_at_barriers();
    if lane.is_urgent && lane.completions.is_taken(lane.hinted) {
        // The client that waited has it.
        lane.is_urgent = false;
    }
    let settings = lane.shared.settings.load(Ordering::Relaxed);
    lane.moderator.set(Settings::unpack(settings));
    let is_timed = lane.moderator.needs_clock();
    let now_ns = if is_timed { now_ns() } else { 0 };
    if is_timed && let Some(function) = &lane.function {
        lane.gate = function.gate();
    }
    let progress = Progress {
        published,
        is_dry,
        is_urgent: lane.is_urgent,
        ..if is_timed {
            lane.standing()
        } else {
            Progress::default()
        }
    };
    let decision = lane.moderator.decide(progress, now_ns, &lane.gate);
    match lane.with_turns(decision, progress.is_urgent) {
        Decision::Signal(0) | Decision::Silent => lane.held = None,
        Decision::Signal(times) => {
            // A client here takes all that is there for one.
            let times = if lane.home.is_some() { 1 } else { times };
            for _ in 0..times {
                lane.signal();
            }
            lane.notified(now_ns);
        }
        Decision::IfReached => claim(lane, false, now_ns),
        Decision::IfAsleep => {
            let force = progress.is_urgent || lane.unreaped() > 0;
            claim(lane, force, now_ns);
        }
        // For a client that is awake nothing is held back.
        Decision::Later(due_ns) if lane.is_awaited(is_dry) => lane.hold(due_ns, &progress),
        Decision::Later(_) => lane.held = None,
    }
}

/// Notifies a client that sleeps and waits for what is there, or for
/// anything, with `force`.
fn claim<R: Copy + Send>(lane: &mut WorkerLane<R>, force: bool, now_ns: u64) {
    if lane.claim(force) {
        lane.notified(now_ns);
    } else {
        // No client sleeps, or not for this.
        lane.held = None;
    }
}

impl<R: Copy + Send> WorkerLane<R> {
    fn standing(&mut self) -> Progress {
        let unreaped = self.unreaped();
        let waiting = u32::try_from(self.requests.len_now()).expect("at most DEPTH_MAX");
        let usual = self.home.as_ref().map_or(0, |home| home.resident.depth());
        Progress {
            unreaped,
            in_flight: (unreaped + waiting + self.in_hand).max(usual),
            ..Progress::default()
        }
    }

    /// Whether a client would be notified now, were it not for the settings.
    fn is_awaited(&mut self, is_dry: bool) -> bool {
        match self.shared.config.moderation {
            policy::Moderation::Armed | policy::Moderation::Hybrid => self.is_wanted(is_dry),
            _ => true,
        }
    }

    /// A client that is told only of what it waits for, and lives here, is told when it
    /// waits for nothing more: it cannot say itself what it waits for.
    fn with_turns(&mut self, decision: Decision, is_urgent: bool) -> Decision {
        let Some(home) = self.home.as_mut().filter(|_| !is_urgent) else {
            return decision;
        };
        match decision {
            Decision::IfReached | Decision::IfAsleep => {
                let now_ns = now_ns();
                let due_ns = home.resident.due_ns(now_ns);
                if due_ns > now_ns {
                    return Decision::Later(due_ns);
                }
                decision
            }
            _ => decision,
        }
    }

    fn hold(&mut self, due_ns: u64, progress: &Progress) {
        let since_ns = match self.held {
            Some(held) => held.since_ns,
            None => {
                let in_flight = match progress.in_flight {
                    // It was not asked for: no cap applies.
                    0 => self.standing().in_flight,
                    known => known,
                };
                if in_flight <= 1 {
                    self.shared.tally.held_alone.add(1);
                }
                now_ns()
            }
        };
        self.held = Some(Held { since_ns, due_ns });
    }

    fn notified(&mut self, now_ns: u64) {
        self.is_urgent = false;
        match &self.function {
            Some(function) if now_ns > 0 => {
                function.pass_gate(|gate| self.moderator.notified(now_ns, gate));
            }
            _ => self.moderator.notified(now_ns, &mut self.gate),
        }
        let standing = self.standing();
        let tally = &self.shared.tally;
        tally.looks.add(1);
        tally.in_flight.add(standing.in_flight.into());
        if let Some(held) = self.held.take() {
            // No cap had to know the time, where a resident held it back.
            let now_ns = if now_ns > 0 {
                now_ns
            } else {
                sys::clock::now_ns()
            };
            tally.held.add(1);
            tally.held_ns.add(now_ns.saturating_sub(held.since_ns));
        }
    }
}
