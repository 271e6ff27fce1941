//! Who is next: deficit round robin.

use std::collections::VecDeque;

pub const WEIGHT_MAX: u32 = 1000;

/// The value of one turn of a flow of weight 1, ns of work: short enough for others
/// to wait for, long enough to be worth a turn.
const QUANTUM_NS: u64 = 2_000;

/// The maximum value of one turn of the heaviest flow, ns.
const TURN_NS_MAX: u64 = 64_000;

/// Shares a worker among flows by weight (Shreedhar & Varghese, "Efficient Fair
/// Queuing Using Deficit Round Robin", IEEE/ACM ToN 4(3), 1996), in units of *work*:
/// nanoseconds that a request is expected to take, so that requests and bytes both
/// count.
///
/// The surplus variant: a flow is served while it has credit, may overdraw it by the
/// last request, and pays before its next turn. So the price of a request need not be
/// known before it is taken. A flow without work leaves the ring with its debt but
/// without its credit, so that no flow saves up. What two busy flows got, divided by
/// their weights, differs by at most a turn and what both overdrew.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    flows: Vec<Flow>,
    ring: VecDeque<u32>,
    /// Of weight 1, ns.
    quantum_ns: i64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    weight: u32,
    deficit_ns: i64,
    is_active: bool,
    has_quantum: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    pub flow: u32,
    /// What it may spend, ns; the last request may go beyond it. At least 1.
    pub credit_ns: u64,
    pub is_alone: bool,
}

fn narrow(ns: u64) -> i64 {
    const MOST: i64 = i64::MAX / 4;
    i64::try_from(ns).map_or(MOST, |ns| ns.min(MOST))
}

impl Schedule {
    /// Adds a flow without work, or gives one another weight.
    ///
    /// # Panics
    /// When the weight is not from 1 to [`WEIGHT_MAX`]: callers validate what
    /// users give.
    pub fn set(&mut self, flow: u32, weight: u32) {
        assert!(
            (1..=WEIGHT_MAX).contains(&weight),
            "weight {weight} is not from 1 to {WEIGHT_MAX}"
        );
        let index = flow as usize;
        if index >= self.flows.len() {
            self.flows.resize(index + 1, Flow::default());
            self.ring.reserve(self.flows.len());
        }
        self.flows[index].weight = weight;
        self.weigh();
    }

    /// Takes a flow out and returns the debt that it leaves, ns.
    pub fn remove(&mut self, flow: u32) -> u64 {
        self.ring.retain(|other| *other != flow);
        let gone = std::mem::take(&mut self.flows[flow as usize]);
        self.weigh();
        gone.deficit_ns.min(0).unsigned_abs()
    }

    /// Adds to the debt that the flow pays before its next turn, ns.
    pub fn owe(&mut self, flow: u32, debt_ns: u64) {
        let own = &mut self.flows[flow as usize];
        own.deficit_ns = own.deficit_ns.saturating_sub(narrow(debt_ns));
    }

    fn weigh(&mut self) {
        let heaviest = self.flows.iter().map(|flow| flow.weight).max();
        let most = TURN_NS_MAX / u64::from(heaviest.unwrap_or(0).max(1));
        self.quantum_ns = i64::try_from(QUANTUM_NS.min(most)).expect("at most QUANTUM_NS");
    }

    /// A flow has work; it joins the ring's end unless it is in it.
    pub fn wake(&mut self, flow: u32) {
        let own = &mut self.flows[flow as usize];
        if !own.is_active {
            own.is_active = true;
            self.ring.push_back(flow);
        }
    }

    pub fn active(&self) -> usize {
        self.ring.len()
    }

    /// The flows with work, in the order of their turns.
    pub fn ring(&self) -> impl Iterator<Item = u32> {
        self.ring.iter().copied()
    }

    /// Takes the next flow with credit out of the ring, or `None` when no
    /// flow has work. Its turn ends with [`end`](Self::end),
    /// [`put_back`](Self::put_back) or [`leave`](Self::leave).
    pub fn begin(&mut self) -> Option<Visit> {
        let is_alone = self.ring.len() == 1;
        for _ in 0..self.ring.len() {
            if let Some(visit) = self.next(is_alone) {
                return Some(visit);
            }
        }
        if self.ring.is_empty() {
            return None;
        }
        self.skip_rounds();
        (0..self.ring.len()).find_map(|_| self.next(is_alone))
    }

    /// Gives the head its quantum; if it is still in debt, its turn is over.
    fn next(&mut self, is_alone: bool) -> Option<Visit> {
        let flow = self.ring.pop_front()?;
        let own = &mut self.flows[flow as usize];
        if !own.has_quantum {
            own.has_quantum = true;
            own.deficit_ns += self.quantum_ns * i64::from(own.weight);
        }
        match u64::try_from(own.deficit_ns) {
            Ok(credit_ns @ 1..) => Some(Visit {
                flow,
                credit_ns,
                is_alone,
            }),
            _ => {
                own.has_quantum = false;
                self.ring.push_back(flow);
                None
            }
        }
    }

    /// All are in debt: skips rounds until one is not.
    fn skip_rounds(&mut self) {
        let quantum_ns = self.quantum_ns;
        let rounds = |flow: &u32| {
            let own = &self.flows[*flow as usize];
            -own.deficit_ns / (quantum_ns * i64::from(own.weight))
        };
        let rounds = self.ring.iter().map(rounds).min().unwrap_or(0);
        for &flow in &self.ring {
            let own = &mut self.flows[flow as usize];
            own.deficit_ns += rounds * quantum_ns * i64::from(own.weight);
        }
    }

    /// Ends the turn: its flow did `spent_ns` of work, the last request was
    /// `last_ns`, and it `has_more` or not. A flow with credit left is served next
    /// again.
    pub fn end(&mut self, visit: Visit, spent_ns: u64, last_ns: u64, has_more: bool) {
        let own = &mut self.flows[visit.flow as usize];
        if visit.is_alone {
            // No quantum is given: only what it overdrew at the end is still to pay.
            let quantum_ns = self.quantum_ns * i64::from(own.weight);
            own.deficit_ns = (quantum_ns - narrow(last_ns)).min(0);
        } else {
            own.deficit_ns = own.deficit_ns.saturating_sub(narrow(spent_ns));
        }
        if !has_more {
            self.leave(visit);
        } else if own.deficit_ns > 0 {
            self.put_back(visit);
        } else {
            own.has_quantum = false;
            self.ring.push_back(visit.flow);
        }
    }

    /// Puts the turn back, before all others.
    pub fn put_back(&mut self, visit: Visit) {
        self.ring.push_front(visit.flow);
    }

    /// Ends the turn; the flow is out of the ring until it [wakes](Self::wake).
    pub fn leave(&mut self, visit: Visit) {
        let own = &mut self.flows[visit.flow as usize];
        own.is_active = false;
        own.has_quantum = false;
        own.deficit_ns = own.deficit_ns.min(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flows that always have work, each with requests of one price, served until
    /// `total` is done. Returns the work of each, and the dearest visit beyond its
    /// credit.
    fn serve(schedule: &mut Schedule, prices: &[u64], work_ns: u64) -> Vec<u64> {
        let mut done = vec![0; prices.len()];
        let mut sum = 0;
        while sum < work_ns {
            let visit = schedule.begin().expect("all have work");
            let price_ns = prices[visit.flow as usize];
            let mut spent_ns = 0;
            while spent_ns < visit.credit_ns {
                spent_ns += price_ns;
            }
            schedule.end(visit, spent_ns, price_ns, true);
            done[visit.flow as usize] += spent_ns;
            sum += spent_ns;
        }
        done
    }

    fn schedule(weights: &[u32]) -> Schedule {
        let mut schedule = Schedule::default();
        for (flow, &weight) in (0..).zip(weights) {
            schedule.set(flow, weight);
            schedule.wake(flow);
        }
        schedule
    }

    /// Who has the next turns, each of which takes its credit.
    fn turns(schedule: &mut Schedule, count: usize) -> Vec<u32> {
        let next = || {
            let visit = schedule.begin().expect("all have work");
            schedule.end(visit, visit.credit_ns, 1, true);
            visit.flow
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    struct Noise(u64);

    impl Noise {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % limit
        }
    }

    #[test]
    fn shares_are_within_a_turn_and_a_request_of_the_ideal() {
        let mut noise = Noise(7);
        for _ in 0..200 {
            let flows = 2 + noise.below(9) as usize;
            let weights: Vec<u32> = (0..flows).map(|_| 1 + noise.below(1000) as u32).collect();
            let prices: Vec<u64> = (0..flows).map(|_| 1 + noise.below(300_000)).collect();
            let mut schedule = schedule(&weights);
            let done = serve(&mut schedule, &prices, 500_000_000);
            let heaviest = *weights.iter().max().unwrap();
            let quantum_ns = QUANTUM_NS.min(TURN_NS_MAX / u64::from(heaviest)) as f64;
            let round = |flow: usize| done[flow] as f64 / f64::from(weights[flow]);
            for one in 0..flows {
                for other in 0..flows {
                    let apart = (round(one) - round(other)).abs();
                    let overdrawn = |flow: usize| prices[flow] as f64 / f64::from(weights[flow]);
                    let most = 2.0 * quantum_ns + overdrawn(one) + overdrawn(other);
                    assert!(
                        apart <= most,
                        "{weights:?} {prices:?} {done:?}: {apart} of {most}"
                    );
                }
            }
        }
    }

    /// While one huge request is paid for, the others continue; when all have huge
    /// ones, rounds are not passed one by one.
    #[test]
    fn huge_requests_starve_no_one_and_are_served() {
        let huge = 1_000_000_000_000;
        let mut one_huge = schedule(&[1, 1]);
        let mut turns = [0; 2];
        for _ in 0..10_000 {
            let visit = one_huge.begin().unwrap();
            let price_ns = [100, huge][visit.flow as usize];
            one_huge.end(visit, price_ns.max(visit.credit_ns), price_ns, true);
            turns[visit.flow as usize] += 1;
        }
        assert!(turns[0] >= 9_998 && turns[1] >= 1, "{turns:?}");
        let mut all_huge = schedule(&[1, 1000, 3]);
        let done = serve(&mut all_huge, &[huge; 3], 1000 * huge);
        assert!(done[1] > 900 * huge && done[0] >= huge, "{done:?}");
    }

    #[test]
    fn no_one_saves_up_or_runs_from_debt() {
        let mut schedule = schedule(&[1, 1]);
        // 0 leaves with credit, and comes back with none of it.
        let visit = schedule.begin().unwrap();
        schedule.end(visit, 1, 1, false);
        schedule.wake(0);
        let visit = schedule.begin().unwrap();
        assert_eq!((visit.flow, visit.credit_ns), (1, QUANTUM_NS));
        // 1 leaves with debt, and finds it when it is back.
        schedule.end(visit, 10 * QUANTUM_NS, 10 * QUANTUM_NS, false);
        schedule.wake(1);
        for _ in 0..9 {
            let visit = schedule.begin().unwrap();
            assert_eq!((visit.flow, visit.credit_ns), (0, QUANTUM_NS));
            schedule.end(visit, QUANTUM_NS, 1, true);
        }
        let turns = turns(&mut schedule, 3);
        assert!(turns.contains(&1), "{turns:?}");
    }

    #[test]
    fn a_flow_alone_is_always_served_and_owes_its_last_request_only() {
        let mut schedule = schedule(&[1]);
        for _ in 0..1000 {
            let visit = schedule.begin().unwrap();
            assert!(visit.is_alone);
            schedule.end(visit, 1_000_000, 3 * QUANTUM_NS, true);
        }
        schedule.set(1, 1);
        schedule.wake(1);
        let turns = turns(&mut schedule, 6);
        assert!(
            turns.iter().filter(|flow| **flow == 0).count() >= 2,
            "{turns:?}"
        );
    }

    /// Flows come and go, change weight and have absurd requests: exactly the flows
    /// with work are served.
    #[test]
    fn exactly_who_has_work_is_served() {
        let mut noise = Noise(99);
        let mut schedule = Schedule::default();
        let mut work = [None::<u32>; 12];
        for _ in 0..40_000 {
            let flow = noise.below(12) as usize;
            let number = flow as u32;
            match (noise.below(8), work[flow]) {
                (0, None) => {
                    schedule.set(number, 1 + noise.below(1000) as u32);
                    work[flow] = Some(0);
                }
                (1, Some(_)) => {
                    schedule.remove(number);
                    work[flow] = None;
                }
                (2, Some(_)) => schedule.set(number, 1 + noise.below(1000) as u32),
                (3 | 4, Some(left)) => {
                    work[flow] = Some(left + 1);
                    schedule.wake(number);
                }
                _ => {
                    let busy = work.iter().filter(|left| left.is_some_and(|left| left > 0));
                    assert_eq!(schedule.active(), busy.count());
                    let Some(visit) = schedule.begin() else {
                        assert_eq!(schedule.active(), 0);
                        continue;
                    };
                    let left = work[visit.flow as usize].expect("it is there");
                    assert!(left > 0 && visit.credit_ns > 0);
                    let price_ns = [1, 5000, u64::MAX][noise.below(3) as usize];
                    match noise.below(4) {
                        0 => schedule.put_back(visit),
                        1 => {
                            work[visit.flow as usize] = Some(0);
                            schedule.leave(visit);
                        }
                        _ => {
                            work[visit.flow as usize] = Some(left - 1);
                            schedule.end(visit, price_ns, price_ns, left > 1);
                        }
                    }
                }
            }
        }
    }
}
