//! A client and a worker on cores of their own, in simulated time: `hybrid`
//! beside a client that looks all the time and one that always sleeps.

use std::collections::VecDeque;

use lockgate_policy::{Hybrid, Refill, Slept, Step, Waited};
use proptest::prelude::*;

use crate::common::Random;

#[derive(Clone, Copy, Debug)]
struct Place {
    service: u64,
    /// From a notification until the client runs; how late a timer is; and how
    /// much both vary.
    wake: u64,
    late: u64,
    jitter: f64,
    signal: u64,
    client: u64,
    depth: usize,
    /// The part of the requests at which the worker stands still for a while.
    stalls: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Polled,
    Armed,
    Hybrid,
}

#[derive(Clone, Copy, Debug, Default)]
struct Done {
    elapsed_ns: u64,
    sent: usize,
    spun_ns: u64,
    /// What each wait would cost at best, ns: as long as it is, or a wake-up.
    best_ns: u64,
    sleeps: u64,
}

const REFILLS: usize = 1500;
const STALL: u64 = 1_000_000;

struct Client {
    place: Place,
    way: Way,
    hybrid: Hybrid,
    refill: Refill,
    random: Random,
    now: u64,
    free: u64,
    ends: VecDeque<u64>,
    done: Done,
}

impl Client {
    fn new(place: Place, way: Way) -> Self {
        Self {
            place,
            way,
            hybrid: Hybrid::default(),
            refill: Refill::new(place.depth),
            random: Random::new(7),
            now: 1,
            free: 0,
            ends: VecDeque::new(),
            done: Done::default(),
        }
    }

    fn run(mut self) -> Done {
        for refill in 0..REFILLS {
            if refill == REFILLS / 2 {
                self.done = Done::default();
                self.done.elapsed_ns = self.now;
            }
            self.done.sent += self.there();
            self.fill();
            self.wait_to_refill();
        }
        self.done.elapsed_ns = self.now - self.done.elapsed_ns;
        self.done
    }

    fn there(&self) -> usize {
        self.ends.iter().take_while(|&&end| end <= self.now).count()
    }

    fn fill(&mut self) {
        let there = self.there();
        self.ends.drain(..there);
        while self.ends.len() < self.place.depth {
            self.now += self.place.client;
            let is_stalled = self.random.unit() < self.place.stalls;
            let stall = if is_stalled { STALL } else { 0 };
            self.free = self.free.max(self.now) + self.place.service + stall;
            self.ends.push_back(self.free);
        }
    }

    fn wait_to_refill(&mut self) {
        let late = self.refill.wanted(self.ends.len());
        let is_long = self.hybrid.is_long(late.saturating_sub(self.there()));
        let looks = self.way == Way::Polled || self.way == Way::Hybrid && !is_long;
        let wanted = if looks {
            self.ends.len().div_ceil(2)
        } else {
            late
        };
        let begin = self.now;
        let rest = self.ends[wanted - 1].saturating_sub(begin);
        self.done.best_ns += rest.min(self.hybrid.cost_ns());
        let sleeps = self.done.sleeps;
        match self.way {
            Way::Polled => self.now = self.now.max(self.ends[wanted - 1]),
            Way::Armed if self.there() < wanted => self.sleep(wanted),
            Way::Armed => {}
            Way::Hybrid => self.wait(wanted),
        }
        if self.done.sleeps > sleeps {
            let left = self.ends.len() - self.there();
            // The client's own time until the worker sees new requests.
            let meanwhile = (8 * self.place.client).div_ceil(self.place.service) as usize;
            self.refill.woken(left.saturating_sub(meanwhile));
        }
    }

    /// As `Lane::sleep_or_spin` does it.
    fn wait(&mut self, wanted: usize) {
        let mut waited = Waited::default();
        let (start, before) = (self.now, self.there());
        loop {
            let there = self.there();
            if there >= wanted || waited.spun_ns > 0 && there > 0 {
                return;
            }
            match self.hybrid.step(wanted - there, waited) {
                Step::Spin(limit_ns) => {
                    let begin = self.now;
                    self.now = self.ends[wanted - 1].min(begin + limit_ns);
                    waited.spun_ns += limit_ns;
                    self.done.spun_ns += self.now - begin;
                    if self.there() > before {
                        self.hybrid.paced(self.there() - before, self.now - start);
                    }
                }
                Step::Sleep(count) => {
                    self.sleep(there + count);
                    waited.sleeps += 1;
                }
                Step::Nap(nap_ns) => {
                    self.nap(nap_ns);
                    waited.sleeps += 1;
                }
            }
        }
    }

    fn nap(&mut self, nap_ns: u64) {
        let due = self.now + nap_ns;
        if self.ends.back().is_some_and(|&last| last < due) {
            return self.sleep(self.ends.len());
        }
        self.done.sleeps += 1;
        self.now = due + self.late(self.place.late);
        self.hybrid.napped(due, self.now);
    }

    fn late(&mut self, usual: u64) -> u64 {
        let varied = 1.0 + self.place.jitter * (2.0 * self.random.unit() - 1.0);
        (usual as f64 * varied) as u64
    }

    fn sleep(&mut self, wanted: usize) {
        let (begin, before) = (self.now, self.there());
        self.done.sleeps += 1;
        let notified = self.ends[wanted - 1].max(begin);
        for end in self.ends.iter_mut().skip(wanted) {
            *end += self.place.signal;
        }
        self.free += self.place.signal;
        self.now = notified + self.late(self.place.wake);
        self.hybrid.woken(Slept {
            begin_ns: begin,
            notified_ns: notified,
            woken_ns: self.now,
            signal_ns: self.place.signal,
            awaited: wanted - before,
            came: self.there() - before,
            is_dry: self.there() == self.ends.len(),
        });
    }
}

fn run(place: Place, way: Way) -> Done {
    Client::new(place, way).run()
}

/// Requests in a time, those of a client that looks all the time being 1.
fn speed(place: Place, way: Way) -> f64 {
    let [polled, own] = [Way::Polled, way].map(|way| {
        let done = run(place, way);
        // As many refills are not as many requests: what was sent counts.
        done.sent as f64 / done.elapsed_ns as f64
    });
    own / polled
}

fn place() -> impl Strategy<Value = Place> {
    let times = (100_u64..20_000, 1_000_u64..40_000, 5_000_u64..80_000);
    let parts = (times, 0.0..0.4, 8_usize..=128);
    parts.prop_map(|((service, wake, late), jitter, depth)| Place {
        service,
        wake,
        late,
        jitter,
        signal: 0,
        client: 30,
        depth,
        stalls: 0.0,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(100, 3000)))]

    /// Near or far, in whatever grain: next to nothing is lost.
    #[test]
    fn is_as_fast_as_looking_all_the_time(place in place()) {
        let ratio = speed(place, Way::Hybrid);
        prop_assert!(ratio >= 0.97, "{ratio}");
    }

    #[test]
    fn is_nearly_so_where_notifying_is_dear(place in place(), signal in 0_u64..8_000) {
        let ratio = speed(Place { signal, ..place }, Way::Hybrid);
        prop_assert!(ratio >= 0.97 - 1.0 / 16.0, "{ratio}");
    }

    #[test]
    fn looks_at_most_twice_as_long_as_the_best(
        place in place(), signal in 0_u64..8_000, stalls in 0.0..0.2,
    ) {
        let done = run(Place { signal, stalls, ..place }, Way::Hybrid);
        prop_assert!(done.spun_ns <= 2 * done.best_ns, "{done:?}");
    }
}

/// Near, a wait of many requests costs hardly any of the client's time; far,
/// where sleeping would starve the worker, it looks.
#[test]
fn sleeps_where_a_wake_up_is_cheap_and_looks_where_it_is_dear() {
    let near = Place {
        service: 1000,
        wake: 3000,
        late: 50_000,
        jitter: 0.1,
        signal: 500,
        client: 30,
        depth: 64,
        stalls: 0.0,
    };
    let done = run(near, Way::Hybrid);
    assert!(done.spun_ns * 10 < done.elapsed_ns, "{done:?}");
    let far = Place {
        service: 300,
        wake: 22_000,
        ..near
    };
    let armed = speed(far, Way::Armed);
    assert!(armed < 0.7, "{armed}");
    let done = run(far, Way::Hybrid);
    assert!(done.sleeps * 100 < REFILLS as u64, "{done:?}");
}
