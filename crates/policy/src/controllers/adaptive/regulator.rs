//! Tries caps, keeps those that help, withdraws the others.

use super::backoff::Backoff;
use super::fit::{Fit, Load, Prices};
use super::member::{Change, Look, Member};
use super::proposal::{Direction, Proposer};
use super::window::{LOOKS_MIN, Span, Verdict};
use crate::controllers::meter::Lap;

const REQUESTS_MIN: u64 = 32;
/// A trial that is not decided by then is not evidence.
const TRIAL_LOOKS_MAX: u32 = 12;
const SLOWER: f64 = 0.97;
/// Faster than usual, and at less of the core's time.
const FASTER: f64 = 1.08;
const IDLER: f64 = 0.85;
/// Looks in a row, since one may be odd.
const ROOMY_LOOKS: u32 = 2;
/// Looks after other caps came into force that still show the old ones.
const SKIPPED: u32 = 1;
const RAISE: f64 = 1.4;
const RAISES_MAX: u32 = 3;
#[derive(Clone, Debug)]
enum Stage {
    Steady,
    Trying {
        former: Vec<Option<f64>>,
        raises: u32,
    },
    Checking {
        kept: Vec<Option<f64>>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Regulator {
    least_per_s: f64,
    fit: Fit,
    members: Vec<Member>,
    stage: Stage,
    base: Span,
    trial: Span,
    skip: u32,
    direction: Direction,
    roomy_looks: u32,
    backoff: Backoff,
}

impl Regulator {
    pub(super) fn new(members: usize, hold_ns_max: u64) -> Self {
        Self {
            least_per_s: (1e9 / hold_ns_max as f64).ceil().max(1.0),
            fit: Fit::default(),
            members: vec![Member::default(); members],
            stage: Stage::Steady,
            base: Span::default(),
            trial: Span::default(),
            skip: 0,
            direction: Direction::default(),
            roomy_looks: 0,
            backoff: Backoff::default(),
        }
    }

    pub(super) fn prices(&self) -> Prices {
        self.fit.prices()
    }

    pub(super) fn add(&mut self) {
        self.members.push(Member::default());
        self.begin_anew();
    }

    pub(super) fn cap_per_s(&self, member: usize) -> Option<f64> {
        self.members[member].cap_per_s
    }

    pub(super) fn look(&mut self, laps: &[Lap]) {
        let looks: Vec<Look> = laps.iter().map(Look::of).collect();
        self.see_prices(&looks);
        if looks.iter().map(|look| look.requests).sum::<u64>() < REQUESTS_MIN {
            return self.begin_anew();
        }
        let changes = self.members.iter_mut().zip(&looks);
        let changes = changes.map(|(member, look)| member.new_change(look));
        match changes.max() {
            Some(Change::Load) => return self.begin_anew(),
            Some(Change::Speed) => return self.begin_again(),
            _ => {}
        }
        if self.skip > 0 {
            self.skip -= 1;
            return self.skip_look(&looks);
        }
        self.add_look(&looks);
        match self.stage {
            Stage::Steady => self.steady(&looks),
            Stage::Trying { raises, .. } => self.trying(&looks, raises),
            Stage::Checking { .. } => self.checking(),
        }
    }

    /// The old caps were in force for a part of this look. Harm that shows all the
    /// same is evidence enough.
    fn skip_look(&mut self, looks: &[Look]) {
        let mut seen = Span::default();
        seen.speed.add(self.speed(looks));
        if matches!(self.stage, Stage::Trying { .. }) && seen.is_far_below(&self.base) {
            self.give_up();
        }
    }

    fn see_prices(&mut self, looks: &[Look]) {
        let sum = |of: fn(&Look) -> f64| looks.iter().map(of).sum();
        // Each counts all the work of the core.
        let busy = looks.iter().map(|look| look.busy).fold(0.0, f64::max);
        self.fit.see(&Load {
            notifications_per_s: sum(|look| look.notifications_per_s),
            requests_per_s: sum(|look| look.requests_per_s),
            bytes_per_s: sum(|look| look.bytes_per_s),
            // Where it is not counted the core is taken to be busy.
            busy: if busy > 0.0 { busy } else { 1.0 },
        });
    }

    fn add_look(&mut self, looks: &[Look]) {
        let members = self.members.iter_mut().zip(looks);
        members.for_each(|(member, look)| member.add(look));
        let speed = self.speed(looks);
        let cost = self.cost(looks);
        let span = match self.stage {
            Stage::Steady => &mut self.base,
            _ => &mut self.trial,
        };
        span.speed.add(speed);
        span.cost.add(cost);
    }

    fn cost(&self, looks: &[Look]) -> f64 {
        let speed = self.speed(looks);
        let busy = looks.iter().map(|look| look.busy).fold(0.0, f64::max);
        if speed > 0.0 { busy / speed } else { 0.0 }
    }

    fn speed(&self, looks: &[Look]) -> f64 {
        let members = self.members.iter().zip(looks);
        let speeds = members.filter_map(|(member, look)| member.speed(look));
        let (sum, count) =
            speeds.fold((0.0, 0_u32), |(sum, count), speed| (sum + speed, count + 1));
        sum / f64::from(count.max(1))
    }

    fn steady(&mut self, looks: &[Look]) {
        if self.has_room(looks) {
            return self.begin_again();
        }
        self.backoff.pass();
        let is_odd = self.members.iter().any(Member::is_odd);
        let is_judged = !self.members.iter().all(Member::is_unjudged);
        if self.base.looks() < LOOKS_MIN || is_odd || !is_judged {
            return;
        }
        if self.is_capped() && self.backoff.may_check() {
            let kept = self.put(&vec![None; self.members.len()]);
            self.stage = Stage::Checking { kept };
        } else if self.backoff.may_try() {
            self.propose();
        }
    }

    /// The caps have become the limit for several looks in a row: N ≈ D·I, and the
    /// core could do more. It does more than it used to, or as much in less time:
    /// another tenant has left. A core that was taken away for a while shows neither.
    fn has_room(&mut self, looks: &[Look]) -> bool {
        let is_limit =
            |(member, look): (&Member, &Look)| member.cap_per_s.is_some() && look.is_depth_bound();
        let is_known = self.base.looks() >= LOOKS_MIN;
        let is_limit = is_known && self.members.iter().zip(looks).any(is_limit);
        let (speed, cost) = (self.speed(looks), self.cost(looks));
        let (usual, dear) = (&self.base.speed, &self.base.cost);
        let is_idler = speed > SLOWER * usual.mean() && cost < IDLER * dear.mean() - dear.spread();
        let is_faster = speed > FASTER * usual.mean() + usual.spread();
        let has_room = is_limit && (is_faster || is_idler);
        self.roomy_looks = if has_room { self.roomy_looks + 1 } else { 0 };
        self.roomy_looks >= ROOMY_LOOKS
    }

    pub(super) fn is_free(&self) -> bool {
        matches!(self.stage, Stage::Steady) && !self.is_capped()
    }

    fn is_capped(&self) -> bool {
        self.members.iter().any(|member| member.cap_per_s.is_some())
    }

    fn propose(&mut self) {
        let proposer = Proposer {
            prices: self.fit.prices(),
            least_per_s: self.least_per_s,
            direction: self.direction,
        };
        let members = self.members.iter();
        let caps: Vec<Option<f64>> = members.map(|member| proposer.propose(member)).collect();
        if caps == self.caps() {
            self.direction = self.direction.other();
            self.backoff.found_nothing();
            return;
        }
        let mut members = self.members.iter();
        let has_target = members.any(|member| proposer.target(member).is_some());
        // A step that only tries its luck is given up where it was wrong.
        let raises = if has_target { 0 } else { RAISES_MAX };
        let former = self.put(&caps);
        self.stage = Stage::Trying { former, raises };
    }

    fn caps(&self) -> Vec<Option<f64>> {
        self.members.iter().map(|member| member.cap_per_s).collect()
    }

    fn trying(&mut self, looks: &[Look], raises: u32) {
        let is_slower = self.trial.speed.mean() < SLOWER * self.base.speed.mean();
        if is_slower && raises < RAISES_MAX && self.raise_bound(looks) {
            if let Stage::Trying { raises, .. } = &mut self.stage {
                *raises += 1;
            }
            self.trial = Span::default();
            return;
        }
        let is_harmful = self.trial.is_far_below(&self.base);
        match self.trial.against(&self.base) {
            _ if is_harmful => self.give_up(),
            Verdict::Better if self.has_loser() => self.give_up(),
            Verdict::Better => self.keep(),
            Verdict::Open if self.trial.looks() < TRIAL_LOOKS_MAX => {}
            _ => self.give_up(),
        }
    }

    /// Gives more notifications at once to a tenant that the depth limits while
    /// notifications are held back.
    fn raise_bound(&mut self, looks: &[Look]) -> bool {
        let mut has_raised = false;
        for (member, look) in self.members.iter_mut().zip(looks) {
            if let Some(cap_per_s) = member.cap_per_s
                && look.is_depth_bound()
            {
                member.cap_per_s = Some(cap_per_s * RAISE);
                has_raised = true;
            }
        }
        if has_raised {
            self.members.iter_mut().for_each(Member::forget_usual);
        }
        has_raised
    }

    fn has_loser(&self) -> bool {
        self.members.iter().any(Member::has_lost)
    }

    fn keep(&mut self) {
        self.stage = Stage::Steady;
        self.base = std::mem::take(&mut self.trial);
        self.backoff.helped();
    }

    fn give_up(&mut self) {
        if let Stage::Trying { former, .. } = std::mem::replace(&mut self.stage, Stage::Steady) {
            self.put(&former);
        }
        self.trial = Span::default();
        self.direction = self.direction.other();
        self.backoff.failed();
    }

    fn checking(&mut self) {
        let is_harmful = self.trial.is_far_below(&self.base);
        let verdict = if is_harmful {
            Verdict::Better
        } else {
            self.base.against(&self.trial)
        };
        if verdict == Verdict::Open && self.trial.looks() < TRIAL_LOOKS_MAX {
            return;
        }
        let Stage::Checking { kept } = std::mem::replace(&mut self.stage, Stage::Steady) else {
            return;
        };
        if verdict == Verdict::Better {
            self.put(&kept);
            self.backoff.confirmed();
        } else {
            self.base = self.trial;
            self.backoff.refuted();
        }
        self.trial = Span::default();
    }

    fn put(&mut self, caps: &[Option<f64>]) -> Vec<Option<f64>> {
        let former = self.caps();
        for (member, cap) in self.members.iter_mut().zip(caps) {
            member.cap_per_s = *cap;
            member.forget_usual();
        }
        self.trial = Span::default();
        self.skip = SKIPPED;
        former
    }

    fn begin_anew(&mut self) {
        self.begin_again();
        self.backoff.begin_anew();
    }

    fn begin_again(&mut self) {
        self.skip = if self.is_capped() { SKIPPED } else { 0 };
        match self.stage {
            Stage::Trying { .. } => self.backoff.interrupted(),
            _ => self.backoff.begin_again(),
        }
        self.members.iter_mut().for_each(Member::begin_anew);
        self.stage = Stage::Steady;
        self.base = Span::default();
        self.trial = Span::default();
        self.roomy_looks = 0;
        self.direction = Direction::default();
    }
}
