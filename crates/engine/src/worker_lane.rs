//! The worker's end of a lane: what it takes of it, and whom it is to tell.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use policy::{Gate, Moderator};
use sys::clock::now_ns;
use sys::ring::{Consumer, Producer};

use crate::function::{FUNCTIONS_MAX, Function, SHARE_MAX};
use crate::lane::{BARRIER, Closed, Done, Entry, Order, Shared, URGENT};
use crate::resident::Home;
use crate::service::Service;
use crate::standpoint::{Beyond, Host};

/// A lane in the form in which it is passed on.
pub(crate) type BoxedLane<R> = Box<WorkerLane<R>>;

#[derive(Debug)]
pub(crate) struct WorkerLane<R> {
    pub(crate) shared: Arc<Shared<R>>,
    pub(crate) requests: Consumer<Entry<R>>,
    pub(crate) completions: Producer<Done>,
    pub(crate) next: usize,
    pub(crate) end: usize,
    pub(crate) staged: u32,
    pub(crate) in_hand: u32,
    /// The rest of requests of which a piece was taken, in order.
    pub(crate) carried: VecDeque<Rest<R>>,
    taken: u64,
    pub(crate) is_urgent: bool,
    pub(crate) hinted: u32,
    /// Complete requests that a client waits for together with all those before them.
    barriers: BinaryHeap<Reverse<u64>>,
    /// What it is to be charged beside its requests' expected work, ns.
    pub(crate) surcharge_ns: u64,
    /// By how much its work took less than expected lately, ns: what takes more is set off
    /// against it.
    saved_ns: u64,
    /// The part of what it is to be charged that its work surely took beyond expectation.
    pub(crate) beyond_ns: u64,
    pub(crate) moderator: Moderator,
    pub(crate) gate: Gate,
    pub(crate) place: Place,
    pub(crate) function: Option<Arc<Function<R>>>,
    /// Whose memory its requests are in.
    pub(crate) host: Host,
    _unclosed: Unclosed<R>,
    pub(crate) listed_ns: u64,
    /// Since when and until when a notification is held back.
    pub(crate) held: Option<Held>,
    /// Its client, if it lives here.
    pub(crate) home: Option<Home>,
}

/// Closes a lane that a worker drops in a panic.
#[derive(Debug)]
struct Unclosed<R>(Arc<Shared<R>>);

impl<R> Drop for Unclosed<R> {
    fn drop(&mut self) {
        if self.0.closed().is_none() {
            self.0.end(Closed::WorkerFailed);
        }
    }
}

/// What a notification costs the worker, ns: one write to an eventfd, measured 400 to
/// 700. The lane's owner pays for it.
const SIGNAL_NS: u64 = 500;
/// What is charged at most, ns: a worker that was preempted is nobody's fault.
const SIGNAL_NS_MAX: u64 = 20_000;

/// Most that is set off, ns: a few breaths' worth of chance.
const SAVED_NS_MAX: u64 = 20_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest<R> {
    pub(crate) entry: Entry<R>,
    pub(crate) number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Away,
    Lingering,
    Queued,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) since_ns: u64,
    pub(crate) due_ns: u64,
}

impl<R: Copy + Send> WorkerLane<R> {
    pub(crate) fn new(
        shared: Arc<Shared<R>>,
        requests: Consumer<Entry<R>>,
        completions: Producer<Done>,
        function: Option<Arc<Function<R>>>,
    ) -> Self {
        // As many pieces as a breath takes of a lane.
        let carried = match shared.config.piece_bytes {
            Some(_) => shared.config.depth.min(SHARE_MAX) + 1,
            None => 0,
        };
        let moderator = Moderator::new(shared.config.moderation, shared.config.settings);
        let id = function.as_ref().map(|function| function.id);
        Self {
            host: id.map_or(Host::NOBODY, Host::function),
            _unclosed: Unclosed(Arc::clone(&shared)),
            shared,
            requests,
            completions,
            next: 0,
            end: 0,
            staged: 0,
            in_hand: 0,
            carried: VecDeque::with_capacity(carried),
            taken: 0,
            is_urgent: false,
            hinted: 0,
            barriers: BinaryHeap::new(),
            surcharge_ns: 0,
            saved_ns: 0,
            beyond_ns: 0,
            moderator,
            gate: Gate::default(),
            place: Place::Away,
            function,
            listed_ns: u64::MAX,
            held: None,
            home: None,
        }
    }

    pub(crate) fn has_work(&mut self) -> bool {
        !self.carried.is_empty() || self.requests.len_now() > 0
    }

    /// As [`has_work`](Self::has_work); looks at the ring's index only when
    /// no requests are known.
    pub(crate) fn has_more(&mut self) -> bool {
        !self.carried.is_empty() || !self.requests.is_empty()
    }

    pub(crate) fn waiting(&mut self, enough: usize) -> usize {
        (self.carried.len() + self.requests.up_to(enough)).min(enough)
    }

    /// Marks the completion staged last as one that a client waits for: alone, or
    /// with all those before it.
    pub(crate) fn hinted(&mut self, hints: u32, number: u32) {
        if hints & URGENT != 0 {
            self.is_urgent = true;
            self.hinted = self.completions.index();
        }
        if hints & BARRIER != 0 {
            let ago = (self.taken as u32).wrapping_sub(number);
            self.barriers.push(Reverse(self.taken - u64::from(ago)));
        }
    }

    /// Whether a client waits for completions and was not notified of them.
    pub(crate) fn is_hinted(&self) -> bool {
        self.is_urgent || !self.barriers.is_empty()
    }

    /// Looks whether all before a barrier are complete.
    pub(crate) fn look_at_barriers(&mut self) {
        // Else some of the batch are yet to be done.
        if self.in_hand as usize != self.carried.len() {
            return;
        }
        let oldest = self.carried.front().map_or(u64::MAX, |rest| rest.number);
        while let Some(&Reverse(number)) = self.barriers.peek()
            && number < oldest
        {
            self.barriers.pop();
            self.is_urgent = true;
            self.hinted = self.completions.index();
        }
    }

    pub(crate) fn is_of(&self, id: u64) -> bool {
        self.function.as_ref().is_some_and(|own| own.id == id)
    }

    /// The flow whose turn is its turn; its own number, if it is of no virtual
    /// function.
    pub(crate) fn flow_number(&self) -> u32 {
        let own = || FUNCTIONS_MAX as u32 + self.shared.slot;
        self.function
            .as_ref()
            .map_or_else(own, |function| function.number)
    }

    /// Takes up to `max` requests or pieces of requests, those begun first. `take`
    /// learns whether more of the same request follows, and says whether to go on.
    /// Returns how many are new.
    #[inline(always)]
    pub(crate) fn take<S: Service<Request = R>>(
        &mut self,
        service: &mut S,
        max: usize,
        mut take: impl FnMut(&S, Entry<R>, u32, bool) -> bool,
    ) -> usize {
        match self.shared.config.piece_bytes {
            None => self.requests.drain_while(max, |&entry| {
                // All of a breath end with it: their numbers are not needed.
                take(service, entry, 0, false)
            }),
            Some(piece_bytes) => self.take_pieces(service, max, piece_bytes, take),
        }
    }

    fn take_pieces<S: Service<Request = R>>(
        &mut self,
        service: &mut S,
        max: usize,
        piece_bytes: usize,
        mut take: impl FnMut(&S, Entry<R>, u32, bool) -> bool,
    ) -> usize {
        let carried = &mut self.carried;
        let mut cut = |mut rest: Rest<R>, is_begun: bool, carried: &mut VecDeque<Rest<R>>| {
            if is_begun {
                service.resume(&mut rest.entry.request);
            }
            if S::bytes(&rest.entry.request) > piece_bytes
                && let Some(request) = service.split(&mut rest.entry.request, piece_bytes)
            {
                carried.push_back(rest);
                let ticket = rest.entry.ticket;
                let entry = Entry { ticket, request };
                take(service, entry, rest.number as u32, true)
            } else {
                take(service, rest.entry, rest.number as u32, false)
            }
        };
        let begun = carried.len().min(max);
        for _ in 0..begun {
            let rest = carried.pop_front().expect("as many as were counted");
            if !cut(rest, true, carried) {
                return 0;
            }
        }
        // In order, nothing may overtake what is not finished.
        let is_fifo = self.shared.config.order == Order::Fifo;
        let step = if is_fifo { 1 } else { max - begun };
        let (mut count, mut goes_on) = (0, true);
        while goes_on && begun + count < max && (!is_fifo || self.carried.is_empty()) {
            let (carried, taken) = (&mut self.carried, &mut self.taken);
            let one = |&entry: &Entry<R>| {
                let number = *taken;
                *taken += 1;
                goes_on = cut(Rest { entry, number }, false, carried);
                goes_on
            };
            let taken = self.requests.drain_while(step, one);
            count += taken;
            if taken < step {
                break;
            }
        }
        count
    }

    /// Completions that the client may not have seen.
    pub(crate) fn unreaped(&mut self) -> u32 {
        match &mut self.home {
            Some(home) => home.resident.unreaped(),
            None => self.completions.unreaped(),
        }
    }

    /// Whether a client that sleeps until something is there would be woken now, or, if
    /// `is_any`, by whatever there is.
    pub(crate) fn is_wanted(&mut self, is_any: bool) -> bool {
        let wake = &self.shared.wake;
        match &mut self.home {
            Some(home) => home.resident.is_awaited(),
            None => wake.is_armed() && (is_any || wake.is_wanted(self.completions.index())),
        }
    }

    /// Whether a client sleeps, at a glance.
    pub(crate) fn is_armed(&self) -> bool {
        self.home.is_some() || self.shared.wake.is_armed()
    }

    /// Notifies a client that sleeps and waits for what is there, or for anything, with
    /// `force`; whether there was one.
    pub(crate) fn claim(&mut self, force: bool) -> bool {
        match &mut self.home {
            Some(_) => self.signal(),
            None => {
                let is_claimed = self.shared.wake.claim(self.completions.index(), force);
                is_claimed && self.signal()
            }
        }
    }

    /// Notifies the client; whether it wanted that.
    pub(crate) fn signal(&mut self) -> bool {
        let (is_told, took_ns) = match &mut self.home {
            Some(home) => {
                let begin_ns = now_ns();
                let is_told = home.resident.tell();
                // Another process's thread is woken: often as long as a batch takes.
                let took_ns = now_ns().saturating_sub(begin_ns);
                (is_told, took_ns.clamp(SIGNAL_NS, SIGNAL_NS_MAX))
            }
            None => {
                self.shared.notify();
                (true, SIGNAL_NS)
            }
        };
        if is_told {
            self.shared.tally.notifications.add(1);
            self.owe(took_ns);
        }
        is_told
    }

    pub(crate) fn owe(&mut self, work_ns: u64) {
        self.surcharge_ns = self.surcharge_ns.saturating_add(work_ns);
    }

    /// Its work took that much more than expected, or less. What varies by chance costs
    /// nothing, and what always takes more does.
    pub(crate) fn went_beyond(&mut self, beyond: Beyond) {
        let more_ns = u64::try_from(beyond.ns).unwrap_or(0);
        let less_ns = beyond.ns.min(0).unsigned_abs();
        let owed_ns = more_ns.saturating_sub(self.saved_ns);
        self.owe(owed_ns);
        if !beyond.may_be_lost {
            self.beyond_ns = self.beyond_ns.saturating_add(owed_ns);
        }
        let left_ns = self.saved_ns.saturating_sub(more_ns);
        self.saved_ns = (left_ns + less_ns).min(SAVED_NS_MAX);
        if let Some(function) = self.function.as_ref().filter(|_| beyond.has_waited) {
            function.held_up(more_ns);
        }
    }

    /// Hands the lane back: publishes what is staged, and returns what was never
    /// taken to the client.
    pub(crate) fn close(mut self, how: Closed) {
        self.completions.publish();
        self.leave_function();
        self.shared.close(self.requests, how);
    }

    pub(crate) fn leave_function(&mut self) {
        if let Some(function) = self.function.take() {
            function.let_go(&self.shared);
        }
    }
}
