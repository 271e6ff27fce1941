//! How many requests a client keeps in flight, and so how many it can be told of at once.

use crate::learnt::Learnt;

/// Of what is in flight, the part that is done before the client is told: the rest keeps
/// the device at work until the client has gone on. Linux's drivers that ask to be told
/// late ask so (`virtqueue_enable_cb_delayed`).
const PART: (u32, u32) = (3, 4);

/// A client that has submitted nothing for so many times its usual pause has submitted
/// what it had.
const PAUSES: f64 = 4.0;

/// A pause before any is known, and the least and longest that is waited for, ns.
const PAUSE_NS: f64 = 5_000.0;
const QUIET_NS: std::ops::RangeInclusive<f64> = 2_000.0..=100_000.0;

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
/// been quiet for several of its pauses: it has no more, and waits. A client with one in
/// flight, which only ever waits, is told at once.
///
/// The depth is what was in flight at once. What a client told early keeps in flight is
/// less than it could; so whenever it is seen to be more than was known, one turn lasts
/// until the client is quiet.
#[derive(Clone, Debug)]
pub struct Turns {
    depth: u32,
    before: Standing,
    /// When the client last submitted something, and how long that takes it each.
    submitted_ns: u64,
    pause: Learnt,
    /// Since when something is ready of which the client was not told.
    ready_ns: Option<u64>,
    /// Whether it was told since it last submitted: what follows is no pause.
    is_told: bool,
    trial: Trial,
    /// Turns between trials that taught nothing.
    rest: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trial {
    /// The depth that was known when it began.
    Running(u32),
    /// Turns until the next may begin.
    Resting(u32),
}

impl Turns {
    pub fn new(standing: Standing) -> Self {
        Self {
            depth: 1,
            before: standing,
            submitted_ns: 0,
            pause: Learnt::prior(PAUSE_NS),
            ready_ns: None,
            is_told: true,
            trial: Trial::Resting(0),
            rest: 0,
        }
    }

    /// Requests that the client keeps in flight, as far as is known.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Looks at where the client stands.
    pub fn look(&mut self, standing: Standing, now_ns: u64) {
        let new = standing.submitted.wrapping_sub(self.before.submitted);
        // What follows a notification may be the answer to it.
        let is_answer = self.is_told && standing.taken != self.before.taken;
        if new > 0 {
            if !is_answer && self.submitted_ns > 0 {
                let since_ns = now_ns.saturating_sub(self.submitted_ns);
                self.pause.learn(since_ns as f64 / f64::from(new));
            }
            self.submitted_ns = now_ns;
            self.is_told = false;
        }
        self.before = standing;
        let in_flight = standing.in_flight();
        if in_flight > self.depth {
            if self.trial == Trial::Resting(0) {
                self.trial = Trial::Running(self.depth);
            }
            self.depth = in_flight;
        }
        if standing.ready() == 0 {
            self.ready_ns = None;
        } else if self.ready_ns.is_none_or(|since_ns| since_ns > now_ns) {
            self.ready_ns = Some(now_ns);
        }
    }

    /// When to tell the client of what is done, as it stood at the last look; in the
    /// past: now. Whoever waits until then looks again, then and when more is done.
    pub fn due_ns(&mut self, now_ns: u64) -> u64 {
        let Some(ready_ns) = self.ready_ns.filter(|_| self.depth > 1) else {
            return now_ns;
        };
        let kept_until_ns = ready_ns.saturating_add(KEPT_NS_MAX);
        let quiet_from_ns = self.submitted_ns.saturating_add(self.quiet_ns());
        // A clock that went back must not hold anything for longer.
        let is_quiet = quiet_from_ns <= now_ns || self.submitted_ns > now_ns;
        let (ready, in_flight) = (self.before.ready(), self.before.in_flight());
        if is_quiet {
            self.conclude(in_flight);
        }
        let is_trial = matches!(self.trial, Trial::Running(_));
        let is_enough = ready >= (self.depth * PART.0 / PART.1).max(1) && !is_trial;
        if is_enough || is_quiet && ready == in_flight {
            return now_ns;
        }
        if is_quiet {
            // More is about to be done.
            kept_until_ns
        } else {
            quiet_from_ns.min(kept_until_ns)
        }
    }

    fn quiet_ns(&self) -> u64 {
        let quiet_ns = (PAUSES * self.pause.ns()).clamp(*QUIET_NS.start(), *QUIET_NS.end());
        match self.trial {
            Trial::Running(_) => quiet_ns.max(TRIAL_QUIET_NS) as u64,
            Trial::Resting(_) => quiet_ns as u64,
        }
    }

    /// The client has submitted all that it had.
    fn conclude(&mut self, in_flight: u32) {
        if let Trial::Running(known) = self.trial {
            self.rest = if in_flight > known {
                0
            } else {
                (2 * self.rest + 1).min(REST_MAX)
            };
            self.trial = Trial::Resting(self.rest);
        }
        self.depth = in_flight.max(1);
    }

    /// The client was told of what is done.
    pub fn told(&mut self) {
        self.is_told = true;
        self.ready_ns = None;
        if let Trial::Resting(turns) = &mut self.trial {
            *turns = turns.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A device that is done with a request `work_ns` after it came, and a client that
    /// keeps `depth` in flight: it needs `pause_ns` to submit each, and `latency_ns`
    /// until a notification makes it take back what is done, and submit as many.
    struct Loop {
        turns: Turns,
        now_ns: u64,
        standing: Standing,
        backlog: u32,
        /// When those submitted are done.
        due: std::collections::VecDeque<u64>,
        next_submit_ns: u64,
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
                    self.next_submit_ns = self.now_ns + client.pause_ns;
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
        let times = (100..30_000_u64, 500..60_000_u64, 50..20_000_u64);
        (1..200_u32, times).prop_map(|(depth, (pause_ns, latency_ns, work_ns))| Client {
            depth,
            pause_ns,
            latency_ns,
            work_ns,
        })
    }

    /// One at a time is all there is: nothing is kept, ever.
    #[test]
    fn who_waits_for_each_is_told_at_once() {
        let client = Client {
            depth: 1,
            pause_ns: 900,
            latency_ns: 3000,
            work_ns: 700,
        };
        let mut one = Loop::new(client, 7);
        assert_eq!(one.run(500), 500);
        assert_eq!(one.kept_ns, [0; 500]);
    }

    /// An emulated guest: the interrupt takes it a few pauses.
    #[test]
    fn who_submits_one_by_one_is_told_of_three_quarters() {
        for depth in [4, 16, 64, 256] {
            let client = Client {
                depth,
                pause_ns: 4000,
                latency_ns: 25_000,
                work_ns: 1000,
            };
            let mut one = Loop::new(client, 65_500);
            one.run(10 * u64::from(depth));
            let requests = 100 * u64::from(depth);
            let told = one.run(requests);
            let least = depth * 3 / 4;
            assert!(
                told <= requests.div_ceil(least.into()) + 2,
                "{depth}: {told} of {requests}"
            );
            assert_eq!(one.turns.depth(), depth);
        }
    }

    /// It is kept waiting once, and not for long.
    #[test]
    fn who_comes_to_wait_for_each_is_told_at_once_again() {
        let client = Client {
            depth: 16,
            pause_ns: 10_000,
            latency_ns: 25_000,
            work_ns: 1000,
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
            kept.len() <= 1 && kept.iter().all(|ns| **ns <= 100_000),
            "{kept:?}"
        );
        one.become_one_of(16);
        one.run(200);
        assert_eq!(one.turns.depth(), 16);
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
