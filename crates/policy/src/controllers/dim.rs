//! `dim`: what Linux does for network cards.

use super::meter::{Lap, Meter};
use crate::{Controller, Counters, Settings};

/// Profiles: microseconds that a completion waits at most, and how many are
/// gathered. `net_dim`'s default ones for reception, timed from the
/// completion.
const PROFILES: [(u32, u32); 5] = [(2, 256), (8, 128), (16, 64), (32, 64), (64, 64)];
const PROFILE_FIRST: usize = 1;
const EVENTS_MIN: u64 = 64;
const TIRED_MAX: u32 = 2 * PROFILES.len() as u32;
const SIGNIFICANT: f64 = 0.10;
/// How often it looks. The kernel looks at each interrupt, and judges at
/// every 64th; a controller's thread cannot be that quick.
const PERIOD_NS: u64 = 5_000_000;

/// Climbs a ladder of five profiles, step by step, as long as the sample
/// after a step is better than the one before; turns where it is not; parks
/// where it came from both sides, until the load changes.
///
/// Source: Linux, `lib/dim/net_dim.c` and `lib/dim/dim.c` (dynamic interrupt
/// moderation): the states, the order of comparison (bytes, then packets,
/// then events, each by more than 10%), parking and tiring are theirs. Two
/// things differ, because it is called at intervals rather than at each
/// interrupt: a sample spans at least 64 notifications instead of just 64,
/// and its rate of events is therefore counted instead of derived.
#[derive(Clone, Debug)]
pub struct Dim {
    meter: Meter,
    ladder: Ladder,
}

#[derive(Clone, Debug)]
struct Ladder {
    profile: usize,
    tune: Tune,
    steps_right: u32,
    steps_left: u32,
    tired: u32,
    last: Sample,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tune {
    ParkedOnTop,
    ParkedTired,
    Right,
    Left,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sample {
    bytes: f64,
    packets: f64,
    events: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Better,
    Same,
    Worse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Done,
    OnEdge,
    TooTired,
}

impl Sample {
    /// Better is more bytes; where those are alike, more packets; where
    /// those are, too, fewer events.
    fn against(self, last: Self) -> Verdict {
        let more = |now: f64, last: f64| {
            if last == 0.0 {
                return (now > 0.0).then_some(Verdict::Better);
            }
            let is_significant = (now - last).abs() / last > SIGNIFICANT;
            is_significant.then_some(if now > last {
                Verdict::Better
            } else {
                Verdict::Worse
            })
        };
        // Without bytes, or without packets, there is nothing else to compare.
        if last.bytes == 0.0 {
            return more(self.bytes, 0.0).unwrap_or(Verdict::Same);
        }
        if let Some(verdict) = more(self.bytes, last.bytes) {
            return verdict;
        }
        if last.packets == 0.0 {
            return more(self.packets, 0.0).unwrap_or(Verdict::Same);
        }
        if let Some(verdict) = more(self.packets, last.packets) {
            return verdict;
        }
        if last.events == 0.0 {
            return Verdict::Same;
        }
        match more(self.events, last.events) {
            Some(Verdict::Better) => Verdict::Worse,
            Some(_) => Verdict::Better,
            None => Verdict::Same,
        }
    }
}

impl Default for Ladder {
    fn default() -> Self {
        Self {
            profile: PROFILE_FIRST,
            // As a driver's zeroed memory has it.
            tune: Tune::ParkedOnTop,
            steps_right: 0,
            steps_left: 0,
            tired: 0,
            last: Sample::default(),
        }
    }
}

impl Ladder {
    fn judge(&mut self, sample: Sample) -> bool {
        let before = (self.profile, self.tune);
        match self.tune {
            Tune::ParkedOnTop => {
                if sample.against(self.last) != Verdict::Same {
                    self.leave();
                }
            }
            Tune::ParkedTired => {
                self.tired = self.tired.saturating_sub(1);
                if self.tired == 0 {
                    self.leave();
                }
            }
            Tune::Right | Tune::Left => self.climb(sample),
        }
        // A parked ladder keeps the sample it parked with, so that slow
        // drift is noticed, too.
        if before.1 != Tune::ParkedOnTop || self.tune != Tune::ParkedOnTop {
            self.last = sample;
        }
        self.profile != before.0
    }

    fn climb(&mut self, sample: Sample) {
        if sample.against(self.last) != Verdict::Better {
            self.turn();
        }
        if self.is_on_top() {
            self.park_on_top();
            return;
        }
        match self.step() {
            Step::Done => {}
            Step::OnEdge => self.park_on_top(),
            Step::TooTired => self.park(Tune::ParkedTired),
        }
    }

    fn turn(&mut self) {
        match self.tune {
            Tune::Right => {
                self.tune = Tune::Left;
                self.steps_left = 0;
            }
            Tune::Left => {
                self.tune = Tune::Right;
                self.steps_right = 0;
            }
            Tune::ParkedOnTop | Tune::ParkedTired => {}
        }
    }

    /// One step back after several forward: the top was just passed.
    fn is_on_top(&self) -> bool {
        match self.tune {
            Tune::ParkedOnTop | Tune::ParkedTired => true,
            Tune::Right => self.steps_left > 1 && self.steps_right == 1,
            Tune::Left => self.steps_right > 1 && self.steps_left == 1,
        }
    }

    fn step(&mut self) -> Step {
        if self.tired == TIRED_MAX {
            return Step::TooTired;
        }
        match self.tune {
            Tune::ParkedOnTop | Tune::ParkedTired => {}
            Tune::Right if self.profile + 1 == PROFILES.len() => return Step::OnEdge,
            Tune::Right => {
                self.profile += 1;
                self.steps_right += 1;
            }
            Tune::Left if self.profile == 0 => return Step::OnEdge,
            Tune::Left => {
                self.profile -= 1;
                self.steps_left += 1;
            }
        }
        self.tired += 1;
        Step::Done
    }

    fn park_on_top(&mut self) {
        self.tired = 0;
        self.park(Tune::ParkedOnTop);
    }

    fn park(&mut self, tune: Tune) {
        self.steps_right = 0;
        self.steps_left = 0;
        self.tune = tune;
    }

    fn leave(&mut self) {
        self.tune = if self.profile > 0 {
            Tune::Left
        } else {
            Tune::Right
        };
        // Neither edge nor tiredness can stop a step inwards after parking.
        self.step();
    }
}

impl Default for Dim {
    fn default() -> Self {
        Self {
            meter: Meter::new(PERIOD_NS),
            ladder: Ladder::default(),
        }
    }
}

impl Dim {
    fn settings(&self) -> Settings {
        let (timeout_us, count) = PROFILES[self.ladder.profile];
        Settings::coalesce(count, timeout_us).expect("every profile is within the limits")
    }

    fn judge(&mut self, lap: &Lap) {
        let sample = Sample {
            bytes: lap.bytes_per_s(),
            packets: lap.requests_per_s(),
            events: lap.notifications_per_s(),
        };
        if self.ladder.judge(sample) {
            // The next sample begins once the profile is in force.
            self.meter.restart();
        }
    }
}

impl Controller for Dim {
    fn name(&self) -> &'static str {
        "dim"
    }

    fn period_ns(&self) -> u64 {
        PERIOD_NS
    }

    fn observe(&mut self, now_ns: u64, counters: &Counters) -> Settings {
        let is_enough = |lap: &Lap| lap.counted.notifications >= EVENTS_MIN;
        if let Some(lap) = self.meter.lap_if(now_ns, counters, is_enough) {
            self.judge(&lap);
        }
        self.settings()
    }
}
