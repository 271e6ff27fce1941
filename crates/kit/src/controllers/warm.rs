//! A controller that is kept from one trial to the next.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use policy::controllers::{Parameters, by_name};
use policy::{Controller, Counters, Moderation, Settings};

use crate::load::rig::Regime;

/// Kept controllers are asked at least once in this time, ns, so that hardly anything
/// of a trial is lost to them at its end.
const PERIOD_NS_MAX: u64 = 10_000_000;

/// A controller whose trials are parts of one life: to it neither time nor
/// counters move between them, although each has new lanes.
#[derive(Clone)]
pub struct Warm(Arc<Mutex<Life>>);

struct Life {
    controller: Box<dyn Controller>,
    settings: Settings,
    /// Of this life.
    now_ns: u64,
    counters: Counters,
    asked_ns: Option<u64>,
    /// What the trial in hand showed last.
    seen: Option<(u64, Counters)>,
}

impl Warm {
    /// A controller at its start; `name` is one of the registry.
    ///
    /// # Panics
    /// When there is no such controller.
    pub fn new(name: &'static str, parameters: &Parameters) -> Self {
        let controller = by_name(name, parameters).expect("the configuration knows the names");
        Self::of(controller)
    }

    fn of(controller: Box<dyn Controller>) -> Self {
        Self(Arc::new(Mutex::new(Life {
            controller,
            settings: Settings::UNLIMITED,
            now_ns: 0,
            counters: Counters::default(),
            asked_ns: None,
            seen: None,
        })))
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the next trial begins with.
    pub fn regime(&self) -> Regime {
        let settings = {
            let mut life = self.life();
            life.seen = None;
            life.settings
        };
        Regime {
            settings,
            ..Regime::controlled(Box::new(self.clone()))
        }
    }
}

impl Controller for Warm {
    fn name(&self) -> &'static str {
        self.life().controller.name()
    }

    fn moderation(&self) -> Moderation {
        self.life().controller.moderation()
    }

    fn period_ns(&self) -> u64 {
        self.life().controller.period_ns().min(PERIOD_NS_MAX)
    }

    fn observe(&mut self, now_ns: u64, counters: &Counters) -> Settings {
        self.life().observe(now_ns, counters)
    }

    fn remark(&self) -> Option<&'static str> {
        self.life().controller.remark()
    }
}

impl Life {
    fn observe(&mut self, now_ns: u64, counters: &Counters) -> Settings {
        let seen = self.seen.replace((now_ns, *counters));
        if let Some((seen_ns, seen)) = seen {
            self.now_ns += now_ns.saturating_sub(seen_ns);
            self.counters = self.counters.plus(&counters.since(&seen));
        }
        let period_ns = self.controller.period_ns();
        // A thread that is woken a little early has still waited its turn.
        let due_ns = |asked_ns: u64| asked_ns + period_ns - period_ns / 8;
        if self
            .asked_ns
            .is_none_or(|asked| self.now_ns >= due_ns(asked))
        {
            self.asked_ns = Some(self.now_ns);
            self.settings = self.controller.observe(self.now_ns, &self.counters);
        }
        self.settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Remembers what it was shown, and caps by how often.
    struct Witness(Arc<Mutex<Vec<(u64, u64)>>>);

    impl Controller for Witness {
        fn name(&self) -> &'static str {
            "witness"
        }

        fn moderation(&self) -> Moderation {
            Moderation::Each
        }

        fn period_ns(&self) -> u64 {
            100_000_000
        }

        fn observe(&mut self, now_ns: u64, counters: &Counters) -> Settings {
            let mut seen = self.0.lock().unwrap();
            seen.push((now_ns, counters.requests));
            Settings::cap(1000 * seen.len() as u32).unwrap()
        }

        fn remark(&self) -> Option<&'static str> {
            Some("seen")
        }
    }

    #[test]
    fn trials_are_one_life() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let warm = Warm::of(Box::new(Witness(Arc::clone(&seen))));
        assert!(warm.period_ns() <= PERIOD_NS_MAX);
        // Five trials of 50 ms, an hour apart, with new counters each.
        for trial in 0..5_u64 {
            let begin_ns = trial * 3_600_000_000_000;
            let mut regime = warm.regime();
            let controller = regime.controller.as_mut().unwrap();
            for tick in 0..=5_u64 {
                let counters = Counters {
                    requests: tick * 10,
                    ..Counters::default()
                };
                controller.observe(begin_ns + tick * 10_000_000, &counters);
            }
        }
        let seen = seen.lock().unwrap();
        assert_eq!(seen[0], (0, 0));
        // 90 ms are near enough to a period of 100.
        assert_eq!(seen[1], (90_000_000, 90));
        assert_eq!(seen.len(), 3);
        let last = Settings::cap(3000).unwrap();
        assert_eq!(warm.regime().settings, last, "the next begins there");
        assert_eq!(warm.remark(), Some("seen"));
    }
}
