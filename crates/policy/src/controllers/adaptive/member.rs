//! One virtual function, as the regulator sees it.

use super::optimum::Usual;
use super::window::Window;
use crate::controllers::meter::Lap;

const OTHER_LOAD: f64 = 1.35;
const OTHER_SPEED: f64 = 1.5;
/// It must do so several times in a row.
const ODD_LOOKS: u32 = 2;
/// A speed below this part of the previous one is a loss.
const LOSER: f64 = 0.9;
/// How much a change of load counts towards being restless,
const STIRRED: u32 = 200;
/// and each look against it: with looks of 10 ms, more than two changes a second add
/// up.
const CALMED: u32 = 4;
const RESTLESS: u32 = 1000;
/// A mean of this many looks is one that a look can differ from.
const KNOWN_LOOKS: u32 = 2;
/// Where at least this part of the notifications was held back.
const HELD: f64 = 0.3;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Look {
    pub(super) requests_per_s: f64,
    pub(super) notifications_per_s: f64,
    pub(super) bytes_per_s: f64,
    pub(super) busy: f64,
    pub(super) requests: u64,
    block_bytes: f64,
    depth: f64,
    held: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    No,
    Speed,
    Load,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    pub(super) cap_per_s: Option<f64>,
    requests: Window,
    notifications: Window,
    depth: Window,
    block: Window,
    odd_looks: u32,
    restlessness: u32,
    before: Usual,
    /// A unit for speeds of other tenants: its own speed when first seen.
    unit: f64,
}

impl Look {
    pub(super) fn of(lap: &Lap) -> Self {
        let counted = &lap.counted;
        let share = |part: u64, whole: u64| {
            if whole == 0 {
                0.0
            } else {
                part as f64 / whole as f64
            }
        };
        Self {
            requests_per_s: lap.requests_per_s(),
            notifications_per_s: lap.notifications_per_s(),
            bytes_per_s: lap.bytes_per_s(),
            busy: share(counted.busy_ns, lap.elapsed_ns),
            requests: counted.requests,
            block_bytes: share(counted.bytes, counted.requests),
            depth: counted.depth(),
            held: share(counted.held, counted.notifications),
        }
    }

    pub(super) fn is_depth_bound(&self) -> bool {
        self.held >= HELD && self.usual().is_depth_bound()
    }

    fn usual(&self) -> Usual {
        Usual {
            notifications_per_s: self.notifications_per_s,
            requests_per_s: self.requests_per_s,
            depth: self.depth,
            block_bytes: self.block_bytes,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Other {
    block: bool,
    deeper: bool,
    shallower: bool,
    /// It is slower as well: a cap made for more in flight is now the limit, which
    /// cannot wait.
    is_limit: bool,
}

impl Other {
    fn of(look: &Look, usual: &Usual) -> Self {
        let (now, before) = (look.depth.max(1.0), usual.depth.max(1.0));
        let shallower = OTHER_LOAD * now < before;
        Self {
            block: differ(look.block_bytes, usual.block_bytes, OTHER_LOAD),
            deeper: now > OTHER_LOAD * before,
            shallower,
            is_limit: shallower && look.requests_per_s < LOSER * usual.requests_per_s,
        }
    }
}

fn differ(one: f64, other: f64, factor: f64) -> bool {
    // What is below one is as good as one: one request of a byte, one in
    // flight.
    let (one, other) = (one.max(1.0), other.max(1.0));
    one > other * factor || other > one * factor
}

impl Member {
    /// The speed as a multiple of that when it was first seen; `None` of one
    /// that did nothing then, or is never the same.
    pub(super) fn speed(&self, look: &Look) -> Option<f64> {
        (!self.is_unjudged()).then(|| look.requests_per_s / self.unit)
    }

    pub(super) fn is_unjudged(&self) -> bool {
        self.unit <= 0.0 || self.is_restless()
    }

    /// Its load changes all the time. If everything began anew each time, it could
    /// keep the others from improving.
    fn is_restless(&self) -> bool {
        self.restlessness >= RESTLESS
    }

    /// Much slower than under the caps before these.
    pub(super) fn has_lost(&self) -> bool {
        !self.is_restless() && self.requests.mean() < LOSER * self.before.requests_per_s
    }

    pub(super) fn add(&mut self, look: &Look) {
        if self.unit <= 0.0 {
            self.unit = look.requests_per_s;
        }
        self.requests.add(look.requests_per_s);
        self.notifications.add(look.notifications_per_s);
        // Nothing done shows neither depth nor block.
        if look.requests > 0 {
            self.depth.add(look.depth);
            self.block.add(look.block_bytes);
        }
    }

    /// Other caps apply: what is usual must be observed anew.
    pub(super) fn forget_usual(&mut self) {
        *self = Self {
            cap_per_s: self.cap_per_s,
            unit: self.unit,
            before: self.usual(),
            restlessness: self.restlessness,
            ..Self::default()
        };
    }

    pub(super) fn begin_anew(&mut self) {
        *self = Self {
            restlessness: self.restlessness,
            ..Self::default()
        };
    }

    /// Whether the load is another one, and does not change all the time.
    pub(super) fn new_change(&mut self, look: &Look) -> Change {
        let change = self.change(look);
        self.restlessness = self.restlessness.saturating_sub(CALMED);
        if change == Change::No {
            return change;
        }
        let was_restless = self.is_restless();
        self.restlessness = (self.restlessness + STIRRED).min(RESTLESS + STIRRED);
        if was_restless {
            self.forget_usual();
            return Change::No;
        }
        change
    }

    /// It may be about to become another load.
    pub(super) fn is_odd(&self) -> bool {
        self.odd_looks > 0
    }

    fn change(&mut self, look: &Look) -> Change {
        if self.requests.looks() < KNOWN_LOOKS {
            return self.change_since(look);
        }
        let usual = self.usual();
        let change = if look.requests == 0 || self.depth.looks() < KNOWN_LOOKS {
            Other::default()
        } else {
            Other::of(look, &usual)
        };
        if change.block || change.is_limit && self.cap_per_s.is_some() {
            return Change::Load;
        }
        let is_other_speed = differ(look.requests_per_s, usual.requests_per_s, OTHER_SPEED);
        if !change.shallower && !change.deeper && !is_other_speed {
            self.odd_looks = 0;
            return Change::No;
        }
        self.odd_looks += 1;
        match self.odd_looks >= ODD_LOOKS {
            false => Change::No,
            true if change.shallower || change.deeper => Change::Load,
            true => Change::Speed,
        }
    }

    /// The same just after other caps came into force. They neither change the block
    /// size nor lower both depth and speed.
    fn change_since(&self, look: &Look) -> Change {
        if self.before.depth <= 0.0 || look.requests == 0 {
            return Change::No;
        }
        let change = Other::of(look, &self.before);
        match change.block || change.is_limit && self.cap_per_s.is_some() {
            true => Change::Load,
            false => Change::No,
        }
    }

    pub(super) fn usual(&self) -> Usual {
        Usual {
            notifications_per_s: self.notifications.mean(),
            requests_per_s: self.requests.mean(),
            depth: self.depth.mean(),
            block_bytes: self.block.mean(),
        }
    }
}
