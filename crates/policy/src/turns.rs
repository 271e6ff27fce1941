//! How many requests a client keeps in flight, and so how many it can be told of at once.

use crate::learnt::Learnt;

/// Of what is in flight, the part that is done before the client is told: the rest keeps
/// it at work until the notification has reached it. Linux's drivers that ask to be told
/// late ask so (`virtqueue_enable_cb_delayed`).
const PART: (u32, u32) = (3, 4);

/// The same where the client has submitted all, and the device is behind.
const PART_BEHIND: (u32, u32) = (1, 2);

/// A client that has submitted nothing for so many times its usual pause has submitted
/// what it had.
const PAUSES: f64 = 4.0;

/// A pause before any is known, ns.
const PAUSE_NS: f64 = 5_000.0;

/// How long a client that submits nothing may have more, at least and at most, ns. A
/// guest's driver submits one request, and goes on when its interrupt has been served.
const QUIET_NS: std::ops::RangeInclusive<f64> = 10_000.0..=200_000.0;

/// How much later than usual they are taken not to come.
const LATE: f64 = 1.5;

/// What remains of the patience after each turn.
const CALM: f64 = 0.98;

/// In a trial at least, ns: its client may be slower than it was.
const TRIAL_QUIET_NS: f64 = 50_000.0;

/// No completion is kept for longer for the sake of those to come, ns.
pub const KEPT_NS_MAX: u64 = 1_000_000;

/// After trials that taught nothing at most so many turns pass before the next.
const REST_MAX: u32 = 255;

/// What a client has submitted and taken back, as numbers that wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub submitted: u16,
    /// Of these, what is done and shown.
    pub done: u16,
    /// Of these, what the client has taken back, as far as is known.
    pub taken: u16,
}

impl Standing {
    fn in_flight(self) -> u32 {
        self.submitted.wrapping_sub(self.taken).into()
    }

    /// Done, and not taken back.
    fn ready(self) -> u32 {
        self.done.wrapping_sub(self.taken).into()
    }
}

/// Learns how many requests a client keeps in flight, where it submits them one by one:
/// a device that is faster than its client sees one at a time, and yet more are to come.
///
/// A turn ends when the client is told. It then takes back what is done and submits as
/// many anew. So it is told when three quarters of its depth are done, or when it has
/// been quiet for long enough: it has no more, and waits. A client with one in flight,
/// which only ever waits, is told at once. Where it has submitted its whole depth and
/// the device is behind, it is told of one half.
///
/// The depth is what was in flight at once. Turns may differ: Linux's crypto engine, when
/// it was idle, submits one request, and the others when that is done. So the depth is
/// known of turns that follow one with about as many in flight.
///
/// What a client that is told early keeps in flight is less than it could. So now and then,
/// and when more is seen than was known, a turn lasts until the client is quiet: a trial.
#[derive(Clone, Debug)]
pub struct Turns {
    usual: [Usual; DEPTHS],
    /// Of the turns that follow one like the last; and those that follow this one, which
    /// begin when the client takes back what it was told of.
    current: usize,
    next: Option<usize>,
    /// The depth that was known before, during a trial.
    trial: Option<u32>,
    before: Standing,
    /// When the client last submitted something, and how long that takes it each.
    submitted_ns: u64,
    pause: Learnt,
    /// When it last did anything: it may submit as soon as it has taken back what it can.
    active_ns: u64,
    /// Since when something is ready of which the client was not told.
    ready_ns: Option<u64>,
    /// Whether it was told since it last submitted: what follows is no pause.
    is_told: bool,
    /// For how long it is taken to have more, ns: twice as long whenever it had.
    patience_ns: f64,
    doubt: Option<Doubt>,
}

/// One for each power of 2 that a depth can have.
const DEPTHS: usize = 16;

/// What is known of turns of one kind.
#[derive(Clone, Copy, Debug)]
struct Usual {
    depth: u32,
    /// Turns until the next trial, and how many there are between trials that taught
    /// nothing.
    rest: u32,
    rests: u32,
}

/// A client that was taken to have no more.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// What it had submitted, and had in flight: it can answer with so many.
    submitted: u16,
    in_flight: u32,
    is_told: bool,
}

impl Turns {
    pub fn new(standing: Standing) -> Self {
        let usual = Usual {
            depth: 1,
            rest: 0,
            rests: 0,
        };
        Self {
            usual: [usual; DEPTHS],
            current: 0,
            next: None,
            trial: None,
            before: standing,
            submitted_ns: 0,
            pause: Learnt::prior(PAUSE_NS),
            active_ns: 0,
            ready_ns: None,
            is_told: true,
            patience_ns: *QUIET_NS.start(),
            doubt: None,
        }
    }

    /// Requests that the client keeps in flight in a turn like this, as far as is known.
    pub fn depth(&self) -> u32 {
        self.usual[self.current].depth
    }

    /// Looks at where the client stands.
    pub fn look(&mut self, standing: Standing, now_ns: u64) {
        let new = standing.submitted.wrapping_sub(self.before.submitted);
        let is_taken = standing.taken != self.before.taken;
        if new > 0 {
            // What follows a notification may be the answer to it.
            if !(self.is_told && is_taken) && self.submitted_ns > 0 {
                let since_ns = now_ns.saturating_sub(self.submitted_ns);
                self.pause.learn(since_ns as f64 / f64::from(new));
            }
            self.submitted_ns = now_ns;
            self.is_told = false;
        }
        if new > 0 || is_taken {
            self.active_ns = now_ns;
        }
        self.before = standing;
        if let Some(doubt) = self.doubt
            && u32::from(standing.submitted.wrapping_sub(doubt.submitted)) > doubt.in_flight
        {
            self.patience_ns = (2.0 * self.patience_ns).min(*QUIET_NS.end());
            self.doubt = None;
        }
        if is_taken && let Some(next) = self.next.take() {
            self.current = next;
            let usual = &mut self.usual[next];
            if usual.rest == 0 && usual.depth > 1 {
                self.trial = Some(usual.depth);
            }
            usual.rest = usual.rest.saturating_sub(1);
        }
        let in_flight = standing.in_flight();
        let usual = &mut self.usual[self.current];
        // Without anything new it is what is left of the turn before.
        if new > 0 && in_flight > usual.depth {
            if usual.rest == 0 && self.trial.is_none() {
                self.trial = Some(usual.depth);
            }
            usual.depth = in_flight;
        }
        let is_new = self.ready_ns.is_none_or(|since_ns| since_ns > now_ns);
        if standing.ready() == 0 {
            self.ready_ns = None;
        } else if is_new || is_taken {
            self.ready_ns = Some(now_ns);
        }
    }

    /// When to tell the client of what is done, as it stood at the last look; in the
    /// past: now. Whoever waits until then looks again, then and when more is done.
    pub fn due_ns(&mut self, now_ns: u64) -> u64 {
        let Some(ready_ns) = self.ready_ns.filter(|_| self.depth() > 1) else {
            return now_ns;
        };
        let quiet_from_ns = self.active_ns.saturating_add(self.quiet_ns());
        // A clock that went back must not hold anything for longer.
        let is_quiet = quiet_from_ns <= now_ns || self.active_ns > now_ns;
        let (ready, in_flight) = (self.before.ready(), self.before.in_flight());
        if is_quiet {
            self.conclude(in_flight);
        }
        let in_hand = in_flight.saturating_sub(ready);
        let part = match in_flight >= self.depth() && in_hand > self.depth() / 4 {
            true => PART_BEHIND,
            false => PART,
        };
        let enough = match self.trial {
            Some(_) => u32::MAX,
            None => (self.depth() * part.0 / part.1).max(1),
        };
        if ready >= enough || is_quiet && ready == in_flight {
            return now_ns;
        }
        let kept_until_ns = ready_ns.saturating_add(KEPT_NS_MAX);
        if is_quiet {
            // More is about to be done.
            return kept_until_ns;
        }
        // Who kicks with the last of them is heard sooner.
        let there_ns = match self.trial {
            Some(_) => 0.0,
            None => LATE * f64::from(enough - ready) * self.pause.ns(),
        };
        let there_ns = there_ns.min(*QUIET_NS.end()) as u64;
        let there_ns = self.active_ns.saturating_add(there_ns);
        quiet_from_ns.max(there_ns).min(kept_until_ns)
    }

    /// How many are still expected of this turn before the client is told.
    pub fn missing(&self) -> u32 {
        let enough = self.depth() * PART.0 / PART.1;
        match self.trial {
            Some(_) => 1,
            None => enough.saturating_sub(self.before.in_flight()).max(1),
        }
    }

    fn quiet_ns(&self) -> u64 {
        let least_ns = match self.trial {
            Some(_) => TRIAL_QUIET_NS,
            None => *QUIET_NS.start(),
        };
        let quiet_ns = self.patience_ns.max(PAUSES * self.pause.ns());
        quiet_ns.clamp(least_ns, *QUIET_NS.end()) as u64
    }

    /// The client has submitted all that it had.
    fn conclude(&mut self, in_flight: u32) {
        self.end_trial(in_flight);
        let usual = &mut self.usual[self.current];
        if in_flight < usual.depth {
            self.doubt = Some(Doubt {
                submitted: self.before.submitted,
                in_flight,
                is_told: false,
            });
        }
        usual.depth = in_flight.max(1);
    }

    fn end_trial(&mut self, in_flight: u32) {
        if let Some(known) = self.trial.take() {
            let usual = &mut self.usual[self.current];
            usual.rests = match in_flight > known {
                true => 0,
                false => (2 * usual.rests + 1).min(REST_MAX),
            };
            usual.rest = usual.rests;
        }
    }

    /// The client was told of what is done.
    pub fn told(&mut self) {
        self.is_told = true;
        self.ready_ns = None;
        // One that took too long taught nothing.
        self.end_trial(0);
        self.patience_ns = (CALM * self.patience_ns).max(*QUIET_NS.start());
        if let Some(doubt) = &mut self.doubt
            && std::mem::replace(&mut doubt.is_told, true)
        {
            // It answered, and no more came.
            self.doubt = None;
        }
        let in_flight = self.before.in_flight().max(1);
        self.next = Some((in_flight.ilog2() as usize).min(DEPTHS - 1));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A device that is done with a request `work_ns` after it came, and a client that
    /// keeps `depth` in flight: it needs `pause_ns` to submit each, and `latency_ns`
    /// until a notification makes it take back what is done, and submit as many. Of these
    /// it submits the first at once, and the next after `reap_ns` for each.
    struct Loop {
        turns: Turns,
        now_ns: u64,
        standing: Standing,
        backlog: u32,
        /// When those submitted are done.
        due: std::collections::VecDeque<u64>,
        next_submit_ns: u64,
        busy_ns: u64,
        interrupt_ns: Option<u64>,
        told: u64,
        /// How long those that were told of had been done.
        kept_ns: Vec<u64>,
        first_ready_ns: Option<u64>,
        client: Client,
    }

    #[derive(Clone, Copy, Debug)]
    struct Client {
        depth: u32,
        pause_ns: u64,
        latency_ns: u64,
        work_ns: u64,
        reap_ns: u64,
    }

    impl Loop {
        fn new(client: Client, begin: u16) -> Self {
            let standing = Standing {
                submitted: begin,
                done: begin,
                taken: begin,
            };
            Self {
                turns: Turns::new(standing),
                now_ns: 1,
                standing,
                backlog: client.depth,
                due: [].into(),
                next_submit_ns: 1,
                busy_ns: 0,
                interrupt_ns: None,
                told: 0,
                kept_ns: Vec::new(),
                first_ready_ns: None,
                client,
            }
        }

        /// As it goes on when all that is in flight came back.
        fn become_one_of(&mut self, depth: u32) {
            self.client.depth = depth;
            self.backlog = depth - self.standing.in_flight();
        }

        /// Until so many more are taken back; notifications, meanwhile.
        fn run(&mut self, count: u64) -> u64 {
            let (client, told, mut taken) = (self.client, self.told, 0);
            while taken < count {
                let due_ns = self.decide();
                let submit_ns = (self.backlog > 0).then_some(self.next_submit_ns);
                let all = [
                    submit_ns,
                    self.interrupt_ns,
                    due_ns,
                    self.due.front().copied(),
                ];
                let next_ns = all.into_iter().flatten().min();
                self.now_ns = next_ns.expect("something is to come").max(self.now_ns);
                if submit_ns.is_some_and(|at| at <= self.now_ns) {
                    self.backlog -= 1;
                    self.standing.submitted = self.standing.submitted.wrapping_add(1);
                    let begin_ns = self
                        .due
                        .back()
                        .map_or(self.now_ns, |at| *at.max(&self.now_ns));
                    self.due.push_back(begin_ns + client.work_ns);
                    let busy_ns = std::mem::take(&mut self.busy_ns);
                    self.next_submit_ns = self.now_ns + client.pause_ns + busy_ns;
                }
                while self.due.front().is_some_and(|at| *at <= self.now_ns) {
                    self.due.pop_front();
                    self.standing.done = self.standing.done.wrapping_add(1);
                    self.first_ready_ns.get_or_insert(self.now_ns);
                }
                if self.interrupt_ns.is_some_and(|at| at <= self.now_ns) {
                    self.interrupt_ns = None;
                    let ready = self.standing.ready();
                    self.standing.taken = self.standing.done;
                    self.first_ready_ns = None;
                    taken += u64::from(ready);
                    self.backlog += ready;
                    self.busy_ns = u64::from(ready) * client.reap_ns;
                    self.next_submit_ns = self.next_submit_ns.max(self.now_ns + client.pause_ns);
                }
                self.turns.look(self.standing, self.now_ns);
                assert!(self.standing.in_flight() + self.backlog == client.depth);
            }
            self.told - told
        }

        /// As a worker does when something was done or a time has come; until when it
        /// waits.
        fn decide(&mut self) -> Option<u64> {
            // One notification is enough for all that is done before it arrives.
            if self.standing.ready() == 0 || self.interrupt_ns.is_some() {
                return None;
            }
            let due_ns = self.turns.due_ns(self.now_ns);
            if due_ns > self.now_ns {
                return Some(due_ns);
            }
            self.turns.told();
            self.told += 1;
            self.kept_ns
                .extend(self.first_ready_ns.map(|at| self.now_ns - at));
            self.interrupt_ns = Some(self.now_ns + self.client.latency_ns);
            None
        }
    }

    fn client() -> impl Strategy<Value = Client> {
        let times = (
            100..30_000_u64,
            500..60_000_u64,
            50..20_000_u64,
            0..8000_u64,
        );
        let of = |(depth, (pause_ns, latency_ns, work_ns, reap_ns))| Client {
            depth,
            pause_ns,
            latency_ns,
            work_ns,
            reap_ns,
        };
        (1..200_u32, times).prop_map(of)
    }

    /// One at a time is all there is: nothing is kept, ever.
    #[test]
    fn who_waits_for_each_is_told_at_once() {
        let client = Client {
            depth: 1,
            pause_ns: 900,
            latency_ns: 3000,
            work_ns: 700,
            reap_ns: 0,
        };
        let mut one = Loop::new(client, 7);
        assert_eq!(one.run(500), 500);
        assert_eq!(one.kept_ns, [0; 500]);
    }

    /// An emulated guest: the interrupt takes it a few pauses.
    #[test]
    fn who_submits_one_by_one_is_told_of_many() {
        for depth in [4, 16, 64, 256] {
            let client = Client {
                depth,
                pause_ns: 4000,
                latency_ns: 25_000,
                work_ns: 1000,
                reap_ns: 0,
            };
            let mut one = Loop::new(client, 65_500);
            one.run(10 * u64::from(depth));
            let requests = 100 * u64::from(depth);
            let told = one.run(requests);
            let least = depth * 5 / 8;
            assert!(
                told <= requests.div_ceil(least.into()) + 2,
                "{depth}: {told} of {requests}"
            );
            assert!(one.turns.depth() >= least, "{:?}", one.turns);
        }
    }

    /// It is kept waiting once or twice, and not for long.
    #[test]
    fn who_comes_to_wait_for_each_is_told_at_once_again() {
        let client = Client {
            depth: 16,
            pause_ns: 10_000,
            latency_ns: 25_000,
            work_ns: 1000,
            reap_ns: 4_000,
        };
        let mut one = Loop::new(client, 0);
        one.run(200);
        while one.standing.in_flight() > 0 || one.backlog > 1 {
            one.backlog = one.backlog.min(1);
            one.client.depth = one.standing.in_flight() + one.backlog;
            one.run(1);
            if one.client.depth == 1 {
                break;
            }
        }
        one.kept_ns.clear();
        assert_eq!(one.run(100), 100);
        let kept: Vec<_> = one.kept_ns.iter().filter(|ns| **ns > 0).collect();
        assert!(
            kept.len() <= 2 && kept.iter().all(|ns| **ns <= 200_000),
            "{kept:?}"
        );
        one.become_one_of(16);
        one.run(200);
        let most = one.turns.usual.iter().map(|usual| usual.depth).max();
        assert!(most >= Some(12), "{:?}", one.turns);
    }

    proptest! {
        /// No client hangs, nothing is kept for longer than is said, and none is told
        /// more often than of each.
        #[test]
        fn every_client_goes_on(client in client(), begin: u16) {
            let mut one = Loop::new(client, begin);
            let told = one.run(2000);
            prop_assert!(told <= 2000 + u64::from(client.depth));
            prop_assert!(one.kept_ns.iter().all(|ns| *ns <= KEPT_NS_MAX));
            if client.depth == 1 {
                prop_assert!(one.kept_ns.iter().all(|ns| *ns == 0));
            }
        }

        /// Whatever a guest writes where its numbers are, nothing overflows and nothing
        /// is kept for longer.
        #[test]
        fn numbers_of_any_kind_end_in_time(
            looks in prop::collection::vec((any::<[u16; 3]>(), any::<u64>(), any::<bool>()), 1..60),
        ) {
            let mut turns = Turns::new(Standing::default());
            for ([submitted, done, taken], now_ns, is_told) in looks {
                turns.look(Standing { submitted, done, taken }, now_ns);
                let due_ns = turns.due_ns(now_ns);
                prop_assert!(due_ns.saturating_sub(now_ns) <= KEPT_NS_MAX);
                if is_told {
                    turns.told();
                }
            }
        }
    }
}
