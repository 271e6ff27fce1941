//! One lane's moderation over time: a policy, its settings, and what it has
//! held back so far.

use crate::moderation::{Decision, Moderation, Progress};
use crate::settings::Settings;

/// The time over which requests that a worker publishes at once were done, about.
const BREATH_NS: u64 = 50_000;

/// When the next notification of a virtual function may be sent. Its lanes share one
/// gate, so that the cap holds for all of them together. None waits longer than it
/// takes to let each through once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    next_ns: u64,
    lanes: u32,
}

impl Default for Gate {
    fn default() -> Self {
        Self::unpack(0)
    }
}

impl Gate {
    /// As one word, for lanes of several workers that share it.
    pub fn pack(self) -> u64 {
        self.next_ns
    }

    pub fn unpack(next_ns: u64) -> Self {
        Self { next_ns, lanes: 1 }
    }

    #[must_use]
    pub fn of(self, lanes: u32) -> Self {
        let lanes = lanes.max(1);
        Self { lanes, ..self }
    }

    /// The maximum time until each lane had its turn.
    fn round_ns(self, settings: Settings) -> u64 {
        u64::from(settings.interval_ns()) * u64::from(self.lanes)
    }

    /// A notification was sent at `now_ns`. One that did not wait for the gate keeps
    /// it closed longer.
    fn passed(&mut self, now_ns: u64, settings: Settings) {
        let next_ns = self.next_ns.max(now_ns);
        let next_ns = next_ns
            .saturating_add(settings.interval_ns().into())
            .min(now_ns.saturating_add(self.round_ns(settings)));
        // One that is late to say so takes nothing back of what others said.
        self.next_ns = self.next_ns.max(next_ns);
    }

    /// When the gate opens for a lane that has waited since `since_ns`: within a
    /// round, whatever other lanes, the clock or the settings did.
    fn opens_ns(&self, since_ns: u64, settings: Settings) -> u64 {
        self.next_ns
            .min(since_ns.saturating_add(self.round_ns(settings)))
    }
}

/// Decides for one lane when its completions become notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moderator {
    moderation: Moderation,
    settings: Settings,
    pending: u32,
    since_ns: u64,
}

impl Moderator {
    pub const fn new(moderation: Moderation, settings: Settings) -> Self {
        Self {
            moderation,
            settings,
            pending: 0,
            since_ns: 0,
        }
    }

    pub fn settings(&self) -> Settings {
        self.settings
    }

    pub fn set(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// Whether decisions depend on the time and on what the client has in flight; if
    /// not, 0 will do for both. What was held back under other settings must still be
    /// decided.
    pub fn needs_clock(&self) -> bool {
        self.moderation.client_sleeps() && (!self.settings.is_unlimited() || self.pending > 0)
    }

    /// What to do now. After [`Decision::Later`] the caller must ask again at that
    /// time, with nothing more published.
    pub fn decide(&mut self, progress: Progress, now_ns: u64, gate: &Gate) -> Decision {
        let decision = self.moderation.decide(progress);
        if !self.needs_clock() {
            return decision;
        }
        // A clock that went back must not hold anything for longer.
        if self.pending == 0 || self.since_ns > now_ns {
            self.since_ns = now_ns;
        }
        // What was reaped unasked needs no notification any more.
        let pending = self.pending.saturating_add(progress.published);
        self.pending = pending.min(progress.unreaped);
        if self.pending == 0 {
            return Decision::Silent;
        }
        let due_ns = self.due_ns(progress, now_ns, gate);
        if due_ns > now_ns {
            return Decision::Later(due_ns);
        }
        match decision {
            Decision::Signal(_) => Decision::Signal(self.signals(now_ns, gate)),
            other => other,
        }
    }

    /// Gathered completions are one notification. Completions held by a cap alone
    /// count as many as would have passed the gate since it opened: a cap above the
    /// sending rate changes nothing.
    fn signals(&self, now_ns: u64, gate: &Gate) -> u32 {
        let interval_ns = u64::from(self.settings.interval_ns());
        if interval_ns == 0 || self.settings.count() > 1 {
            return 1;
        }
        let open_ns = now_ns.saturating_sub(gate.next_ns).min(BREATH_NS);
        let passed = u32::try_from(1 + open_ns / interval_ns).unwrap_or(u32::MAX);
        passed.min(self.pending)
    }

    fn due_ns(&self, progress: Progress, now_ns: u64, gate: &Gate) -> u64 {
        if progress.is_urgent || progress.in_flight <= 1 {
            return now_ns;
        }
        let gathered_ns = if self.pending >= self.settings.count() {
            now_ns
        } else {
            self.since_ns.saturating_add(self.settings.timeout_ns())
        };
        gathered_ns.max(gate.opens_ns(self.since_ns, self.settings))
    }

    pub fn notified(&mut self, now_ns: u64, gate: &mut Gate) {
        self.pending = 0;
        gate.passed(now_ns, self.settings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1000;

    fn full(published: u32) -> Progress {
        Progress {
            published,
            unreaped: 40,
            in_flight: 64,
            ..Progress::default()
        }
    }

    #[test]
    fn a_cap_holds_back_and_lets_go() {
        let mut gate = Gate::default();
        let mut each = Moderator::new(Moderation::Each, Settings::cap(10_000).unwrap());
        assert_eq!(each.decide(full(3), 1000, &gate), Decision::Signal(1));
        each.notified(1000, &mut gate);
        assert_eq!(each.decide(full(1), 2000, &gate), Decision::Later(101_000));
        assert_eq!(
            each.decide(full(5), 90_000, &gate),
            Decision::Later(101_000)
        );
        assert_eq!(each.decide(full(0), 101_000, &gate), Decision::Signal(1));
        each.notified(101_000, &mut gate);
        assert_eq!(each.decide(full(0), 999_000, &gate), Decision::Silent);
    }

    fn sent_per_s(cap_per_s: u32) -> f64 {
        let mut gate = Gate::default();
        let mut lane = Moderator::new(Moderation::Each, Settings::cap(cap_per_s).unwrap());
        let mut sent = 0_u64;
        for now_ns in (0..100_000 * US).step_by(1000) {
            let published = if now_ns.is_multiple_of(10 * US) {
                16
            } else {
                0
            };
            if let Decision::Signal(times) = lane.decide(full(published), now_ns, &gate)
                && times > 0
            {
                sent += u64::from(times);
                lane.notified(now_ns, &mut gate);
            }
        }
        sent as f64 / 0.1
    }

    #[test]
    fn a_cap_above_what_is_sent_changes_nothing_and_one_below_is_kept() {
        for (cap_per_s, expected) in [(4_000_000, 1.6e6), (400_000, 4e5), (5_000, 5e3)] {
            let sent = sent_per_s(cap_per_s);
            assert!(
                (0.9 * expected..=1.001 * expected + 20.0).contains(&sent),
                "{cap_per_s}: {sent}"
            );
        }
    }

    #[test]
    fn lanes_of_one_gate_share_the_cap() {
        let settings = Settings::cap(10_000).unwrap();
        let mut gate = Gate::default();
        let mut one = Moderator::new(Moderation::Each, settings);
        let mut other = one;
        assert_eq!(one.decide(full(1), 50, &gate), Decision::Signal(1));
        one.notified(50, &mut gate);
        assert_eq!(other.decide(full(1), 60, &gate), Decision::Later(100_050));
    }

    #[test]
    fn coalescing_counts_or_waits() {
        let mut gate = Gate::default();
        let mut lane = Moderator::new(Moderation::Each, Settings::coalesce(8, 50).unwrap());
        let begin = 7 * US;
        assert_eq!(
            lane.decide(full(3), begin, &gate),
            Decision::Later(begin + 50 * US)
        );
        assert_eq!(lane.decide(full(5), begin + 9, &gate), Decision::Signal(1));
        lane.notified(begin + 9, &mut gate);
        let again = 100 * US;
        assert_eq!(
            lane.decide(full(1), again, &gate),
            Decision::Later(again + 50 * US)
        );
        assert_eq!(
            lane.decide(full(0), again + 50 * US, &gate),
            Decision::Signal(1)
        );
    }

    #[test]
    fn alone_or_urgent_never_waits() {
        let settings = Settings::coalesce(64, 1_000_000)
            .unwrap()
            .and_cap(1)
            .unwrap();
        for moderation in [Moderation::Each, Moderation::Armed] {
            let mut gate = Gate::default();
            let mut lane = Moderator::new(moderation, settings);
            lane.notified(5, &mut gate);
            let alone = Progress {
                published: 1,
                unreaped: 1,
                in_flight: 1,
                is_dry: true,
                is_urgent: false,
            };
            assert!(!matches!(lane.decide(alone, 6, &gate), Decision::Later(_)));
            let urgent = Progress {
                is_urgent: true,
                ..full(1)
            };
            assert!(!matches!(lane.decide(urgent, 7, &gate), Decision::Later(_)));
        }
    }

    #[test]
    fn what_is_held_survives_a_change_of_settings() {
        let mut gate = Gate::default();
        let mut lane = Moderator::new(Moderation::Each, Settings::cap(1).unwrap());
        lane.notified(0, &mut gate);
        assert!(matches!(
            lane.decide(full(1), 10, &gate),
            Decision::Later(_)
        ));
        lane.set(Settings::UNLIMITED);
        assert_eq!(lane.decide(full(0), 20, &gate), Decision::Signal(1));
    }

    #[test]
    fn a_clock_that_steps_back_holds_nothing_longer() {
        let settings = Settings::coalesce(64, 100).unwrap().and_cap(1000).unwrap();
        let mut gate = Gate::default();
        let mut lane = Moderator::new(Moderation::Each, settings);
        lane.notified(u64::MAX - 5, &mut gate);
        let Decision::Later(due) = lane.decide(full(1), 1000, &gate) else {
            panic!("held back");
        };
        assert!(due <= 1000 + 1000 * US, "{due}");
    }

    #[test]
    fn a_faster_cap_counts_at_once() {
        let mut gate = Gate::default();
        let mut lane = Moderator::new(Moderation::Each, Settings::cap(1).unwrap());
        lane.notified(0, &mut gate);
        lane.set(Settings::cap(10_000).unwrap());
        assert_eq!(lane.decide(full(1), 10, &gate), Decision::Later(100_010));
        assert_eq!(lane.decide(full(0), 100_010, &gate), Decision::Signal(1));
    }

    #[test]
    fn a_clock_that_stepped_back_lets_go_in_time() {
        let mut gate = Gate::default();
        let mut lane = Moderator::new(Moderation::Each, Settings::cap(1000).unwrap());
        lane.notified(u64::MAX - 5, &mut gate);
        assert!(matches!(
            lane.decide(full(1), u64::MAX - 4, &gate),
            Decision::Later(_)
        ));
        assert_eq!(
            lane.decide(full(0), 1000, &gate),
            Decision::Later(1_001_000)
        );
        assert_eq!(lane.decide(full(0), 1_001_000, &gate), Decision::Signal(1));
    }

    /// A lane that has something to notify of whenever the gate opens, and is
    /// asked first, does not keep the others shut out; and the cap holds.
    #[test]
    fn no_lane_of_a_gate_is_shut_out() {
        const LANES: u64 = 5;
        let settings = Settings::cap(10_000).unwrap();
        let mut gate = Gate::default().of(LANES as u32);
        let mut lanes = [Moderator::new(Moderation::Each, settings); LANES as usize];
        let mut counts = [0; LANES as usize];
        let steps = 100_000;
        for now_ns in (1..=steps).map(|step| step * US) {
            for (lane, count) in lanes.iter_mut().zip(&mut counts) {
                if lane.decide(full(1), now_ns, &gate) == Decision::Signal(1) {
                    lane.notified(now_ns, &mut gate);
                    *count += 1;
                }
            }
        }
        let sum: u64 = counts.iter().sum();
        assert!(sum <= steps / 100 + LANES, "{counts:?}");
        assert!(sum >= steps / 101, "{counts:?}");
        let least = steps / 100 / (LANES + 1);
        assert!(counts.iter().all(|count| *count >= least), "{counts:?}");
    }
}
