//! What a flow pays for, and what keeps it from its turn meanwhile.

use std::cmp::Reverse;

use sys::clock::{now_ns, ticks};

use super::{Flow, Roster};

/// What is beyond expectation is paid in time from so much on, ns, and up to so much.
const HELD_NS: std::ops::RangeInclusive<u64> = 20_000..=1_000_000;

/// The longest time for which a flow is held, ns.
const HOLD_NS_MAX: u64 = 5_000_000;

/// Others that were served within so many ticks will be back: some 300 µs.
const RECENT_TICKS: u64 = 1_000_000;

impl<R: Copy + Send> Roster<R> {
    pub(super) fn look_at_throttled(&mut self) {
        let now_ns = now_ns();
        while let Some(&Reverse((due_ns, number))) = self.throttled.peek()
            && due_ns <= now_ns
        {
            self.throttled.pop();
            self.unthrottle(number);
        }
    }

    pub(super) fn unthrottle(&mut self, number: u32) {
        let Some(flow) = self.flow(number) else {
            return;
        };
        flow.is_throttled = false;
        flow.is_held = false;
        if !flow.queue.is_empty() {
            self.schedule.wake(number);
        }
    }

    /// When the first throttled flow may go on, ns.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        self.throttled.peek().map(|Reverse((due_ns, _))| *due_ns)
    }

    /// Charges what the lane's requests took beyond their expected cost, and returns
    /// it, ns.
    #[inline]
    pub(crate) fn charge(&mut self, slot: u32) -> u64 {
        let lane = &mut self.lanes[slot as usize];
        let surcharge_ns = std::mem::take(&mut lane.surcharge_ns);
        let beyond_ns = std::mem::take(&mut lane.beyond_ns);
        if surcharge_ns == 0 || self.owned == 0 {
            return 0;
        }
        let number = lane.flow_number();
        if let Some(function) = &lane.function {
            function.went_beyond(surcharge_ns);
        }
        let paid_ns = if HELD_NS.start() <= &beyond_ns {
            self.hold(number, beyond_ns.min(*HELD_NS.end()))
        } else {
            0
        };
        self.schedule
            .owe(number, surcharge_ns.saturating_sub(paid_ns));
        surcharge_ns
    }

    /// Has the flow pay for `beyond_ns` in time, where others will be back before long: by
    /// then a debt would be forgotten, since nobody else has work. What it has paid so, ns.
    #[cold]
    fn hold(&mut self, number: u32, beyond_ns: u64) -> u64 {
        let now_ticks = ticks();
        let weight = |flow: &Flow<R>| {
            let owner = flow.function.as_ref();
            u64::from(owner.map_or(1, |function| function.weight()))
        };
        let (mut own, mut others) = (1, 0);
        for (other, flow) in self.flows.iter().enumerate() {
            let Some(flow) = flow else { continue };
            if other == number as usize {
                own = weight(flow);
            } else if now_ticks.wrapping_sub(flow.served_ticks) < RECENT_TICKS {
                others += weight(flow);
            }
        }
        if others == 0 || self.ignores_quotas {
            return 0;
        }
        let hold_ns = (beyond_ns.saturating_mul(others) / own).min(HOLD_NS_MAX);
        let Some(flow) = self.flow(number).filter(|flow| !flow.is_throttled) else {
            return 0;
        };
        (flow.is_throttled, flow.is_held) = (true, true);
        self.throttled.push(Reverse((now_ns() + hold_ns, number)));
        beyond_ns
    }

    /// Whether the lane's client is to wait with what it brings.
    #[inline]
    pub(crate) fn is_held(&self, slot: u32) -> bool {
        let facts = self.facts.get(slot as usize).and_then(Option::as_ref);
        let flow = facts.and_then(|facts| self.flows.get(facts.flow as usize)?.as_ref());
        flow.is_some_and(|flow| flow.is_held)
    }
}
