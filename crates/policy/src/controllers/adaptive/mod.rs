//! `adaptive`: ours.

mod backoff;
mod choice;
mod fit;
mod joint;
mod member;
mod optimum;
mod proposal;
mod regulator;
mod window;

pub use fit::Prices;
pub use joint::{Joint, Seat};
pub use optimum::optimum_per_s;

use super::Parameters;
use super::meter::{Meter, capped};
use crate::{Controller, Counters, Moderation, Settings};
use choice::Choice;
use regulator::Regulator;

/// Often enough to answer a change of load within 300 ms: two looks to see
/// it, four to know it, four to try a cap.
const PERIOD_NS: u64 = 10_000_000;

/// Armed first, and a cap where one is seen to help.
///
/// Source: ours, from the VCM paper's capacity equation (its (1)–(4), with a
/// price a request besides the one a byte) and the limit that it lacks:
///
/// ```text
/// T·I + c·N + t·V ≤ 1      and      N ≤ D·I
/// ```
///
/// with I notifications, N requests and V bytes a second, and D requests in
/// flight. The first says that notifications take the core's time; the
/// second that too few of them leave it without work. Where both bind, I* =
/// 1/(D·(c + t·B) + T): one notification for all that is in flight, and a cap
/// can gain nothing beyond it. `armed` comes near that by itself where one
/// client keeps a lane full; it does not where clients are woken for less
/// than they could wait for: with few in flight, at random times, or by
/// their own wish. So:
///
/// - It begins, and after every change of block size, depth or speed begins
///   anew, without a cap: what is left is `armed`, which is never bad.
/// - T, c and t are fitted online. Where N < D·I by a good part, there are
///   more notifications than needed, and the cap that suffices follows from
///   the equation, 15% above it. Where nothing shows how few would do, the
///   notifications are cut by 30%, again and again as long as it helps.
/// - A cap is first tried. It is kept if the speed is higher than before by
///   more than the noise, or the same for less of the core's time; withdrawn
///   if it is lower, or when enough looks showed nothing. Trials that did
///   not help are repeated ever more seldom, and so are checks of what did.
/// - A cap under which the depth is the limit (N ≈ D·I with notifications
///   held back) is raised by 40% at each look while it is on trial and slower
///   than none; withdrawn at once where fewer are in flight than it was made
///   for, or where the core, left by others, could do more; and else tried
///   18% higher now and then.
/// - No cap is lower than one notification in `hold_ns_max`, so
///   nothing is held for longer. With one request in flight nothing is held
///   at all, by [`Moderator`](crate::Moderator); with fewer than 1.5 on
///   average nothing is capped.
///
/// Where the user puts a price on the CPU time of clients
/// ([`Parameters::with_cpu_price`]) the policy is `hybrid`, and between two
/// trials of caps it is measured whether looking is worth its price: where it
/// is not, clients sleep at once, as under `armed`.
///
/// Several virtual functions of one core are better served by [`Joint`].
#[derive(Clone, Debug)]
pub struct Adaptive {
    meter: Meter,
    regulator: Regulator,
    choice: Option<Choice>,
}

impl Adaptive {
    /// Holds nothing back for longer than `hold_ns_max`.
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            meter: Meter::new(PERIOD_NS),
            regulator: Regulator::new(1, parameters.hold_ns_max),
            choice: parameters.cpu_price().map(Choice::new),
        }
    }

    /// What it has found a notification, a request and a byte to cost.
    pub fn prices(&self) -> Prices {
        self.regulator.prices()
    }
}

impl Controller for Adaptive {
    fn name(&self) -> &'static str {
        "adaptive"
    }

    fn moderation(&self) -> Moderation {
        if self.choice.is_some() {
            Moderation::Hybrid
        } else {
            Moderation::Armed
        }
    }

    fn period_ns(&self) -> u64 {
        PERIOD_NS
    }

    fn observe(&mut self, now_ns: u64, counters: &Counters) -> Settings {
        if let Some(lap) = self.meter.lap(now_ns, counters) {
            let may_begin = self.regulator.is_free();
            let choice = self.choice.as_mut();
            if !choice.is_some_and(|choice| choice.look(&lap, may_begin)) {
                self.regulator.look(&[lap]);
            }
        }
        let settings = settings(self.regulator.cap_per_s(0));
        match &self.choice {
            Some(choice) if !choice.looks() => settings.asleep(),
            _ => settings,
        }
    }
}

/// Rounded up, so that the longest hold is kept to.
fn settings(cap_per_s: Option<f64>) -> Settings {
    cap_per_s.map_or(Settings::UNLIMITED, |per_s| capped(per_s.ceil()))
}
