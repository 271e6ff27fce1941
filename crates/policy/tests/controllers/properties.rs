//! What holds of every controller, whatever the load, the clock and the
//! counters do.

use lockgate_policy::controllers::{NAMES, Parameters, by_name, in_words};
use lockgate_policy::{
    COUNT_MAX, Controller, Counters, INTERVAL_NS_MAX, Moderation, Settings, TIMEOUT_US_MAX,
};
use proptest::prelude::*;

use crate::common::{Core, Lane, Load, Random, Sim, counters_of};

const SETTLING_NS: u64 = 1_000_000_000;
const SETTLED_NS: u64 = 500_000_000;
const WINDOW_NS: u64 = 100_000_000;

pub fn cases(usual: u32) -> u32 {
    let is_thorough = testing::is_thorough();
    if is_thorough { usual * 32 } else { usual }
}

fn parameters() -> Parameters {
    Parameters::default().with_interval_ns(20_000_000).unwrap()
}

fn controller(name: &str) -> Box<dyn Controller> {
    by_name(name, &parameters()).unwrap()
}

#[derive(Clone, Debug)]
pub struct Scene {
    pub core: Core,
    pub loads: Vec<Load>,
    pub seed: u64,
}

fn load() -> impl Strategy<Value = Load> {
    let depth = prop_oneof![Just(1_u32), Just(2), 3..32_u32, 33..200_u32];
    let block_bytes = prop_oneof![Just(64_u32), 512..4096_u32, Just(16_384), Just(65_536)];
    (depth, block_bytes, 0..8_u32, 1e4..2e5_f64).prop_map(|(depth, block_bytes, kind, per_s)| {
        match kind {
            0..5 => Load::Closed { depth, block_bytes },
            5 => Load::Eager { depth, block_bytes },
            _ => Load::Open {
                per_s,
                block_bytes,
                window: 256,
            },
        }
    })
}

pub fn scene() -> impl Strategy<Value = Scene> {
    let core = (
        prop_oneof![200.0..5000.0_f64, Just(650.0)],
        prop_oneof![Just(1_u32), Just(8), Just(64)],
        100.0..2000.0_f64,
        0.0..0.2_f64,
        prop_oneof![2 => Just(0.0), 1 => 0.0..0.3_f64],
        prop_oneof![2 => Just(None), 1 => (1000..15_000_u64).prop_map(Some)],
    )
        .prop_map(
            |(notification_ns, burst, request_ns, noise, stolen, split_wake_ns)| Core {
                split_wake_ns,
                notification_ns,
                burst,
                request_ns,
                noise,
                stolen,
                ..Core::USUAL
            },
        );
    (core, proptest::collection::vec(load(), 1..4), any::<u64>())
        .prop_map(|(core, loads, seed)| Scene { core, loads, seed })
}

impl Scene {
    pub fn sim(&self, make: impl Fn() -> Box<dyn Controller>) -> Sim {
        let mut sim = Sim::new(self.core, self.seed);
        for &load in &self.loads {
            let lane = sim.add(make());
            sim.load(lane, load);
        }
        sim
    }

    /// What one step of the core and its lanes takes at most, ns: nothing
    /// can be notified of in the middle of it.
    fn step_ns(&self) -> u64 {
        let core = &self.core;
        let work = core.request_ns + core.byte_ns * 65_536.0;
        let each = f64::from(core.burst) * (work * 1.3 + core.notification_ns);
        (each * self.loads.len() as f64) as u64 + 1000
    }
}

fn assert_valid(settings: Settings) {
    assert!(settings.interval_ns() <= INTERVAL_NS_MAX, "{settings:?}");
    assert!(
        (1..=COUNT_MAX.into()).contains(&settings.count()),
        "{settings:?}"
    );
    assert!(
        settings.timeout_ns() <= u64::from(TIMEOUT_US_MAX) * 1000,
        "{settings:?}"
    );
    assert!(
        settings.count() == 1 || settings.timeout_ns() > 0,
        "{settings:?}"
    );
    assert_eq!(Settings::unpack(settings.pack()), settings);
}

fn settle(scene: &Scene, name: &str, sim: &mut Sim) -> f64 {
    sim.run_until(sim.now_ns + SETTLING_NS);
    // The listing's unset rate holds for as long as settings can, not longer.
    let windows_ns = match name {
        NEVER_SETTLES => vec![u64::from(INTERVAL_NS_MAX) + WINDOW_NS],
        _ => vec![WINDOW_NS; (SETTLED_NS / WINDOW_NS) as usize],
    };
    let mut requests = 0.0;
    for &window_ns in &windows_ns {
        for (lane, measured) in sim.measure(window_ns).iter().enumerate() {
            let is_starved = measured.requests_per_s == 0.0;
            assert!(!is_starved, "{name} starved {lane} of {scene:?}");
            requests += measured.requests_per_s;
        }
    }
    requests / windows_ns.len() as f64
}

fn assert_sound(scene: &Scene, name: &str, sim: &Sim) {
    for lane in &sim.lanes {
        assert_eq!(lane.held_alone, 0, "{name} {scene:?}");
        assert!(
            scene.core.stolen > 0.0 || lane.overdue_ns <= scene.step_ns(),
            "{name} held {} ns too long: {scene:?}",
            lane.overdue_ns
        );
        lane.history.iter().for_each(|&(_, it)| assert_valid(it));
    }
}

/// The listing follows every variation of the speed for ever: each fall sets the cap
/// to the rate of the last rise, as `traces` shows. It is the paper's, so it stays.
const NEVER_SETTLES: &str = "speed-monitor-listing";

/// What was chosen of late must lie near each other, or be the same few.
fn assert_settled(scene: &Scene, name: &str, sim: &Sim) {
    let since_ns = sim.now_ns - SETTLED_NS;
    for lane in &sim.lanes {
        let late = lane.history.iter().filter(|(at_ns, _)| *at_ns > since_ns);
        let late: Vec<Settings> = late.map(|&(_, settings)| settings).collect();
        let is_settled = name == NEVER_SETTLES
            || are_few(&late)
            || is_within(&late, 1.25)
            || is_mostly_one(lane, since_ns, sim.now_ns);
        assert!(is_settled, "{name} does not settle on {scene:?}: {late:?}");
    }
}

fn are_few(late: &[Settings]) -> bool {
    let mut kinds: Vec<u64> = late.iter().map(|it| it.pack()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.len() <= 5
}

fn is_within(late: &[Settings], ratio: f64) -> bool {
    let intervals = || late.iter().map(|it| f64::from(it.interval_ns()));
    let widest = intervals().fold(0.0, f64::max);
    let narrowest = intervals().fold(f64::MAX, f64::min);
    widest <= ratio * narrowest
}

/// One lot of settings is in force most of the time: what a controller that
/// tries others now and then settles at.
fn is_mostly_one(lane: &Lane, since_ns: u64, now_ns: u64) -> bool {
    let mut in_force = std::collections::BTreeMap::<u64, u64>::new();
    let mut until_ns = now_ns;
    for &(at_ns, settings) in lane.history.iter().rev() {
        let from_ns = at_ns.max(since_ns);
        *in_force.entry(settings.pack()).or_default() += until_ns.saturating_sub(from_ns);
        until_ns = until_ns.min(from_ns);
    }
    let longest_ns = in_force.values().max().copied().unwrap_or(0);
    longest_ns as f64 > 0.6 * (now_ns - since_ns) as f64
}

struct Disturbed {
    inner: Box<dyn Controller>,
    random: Random,
    kind: Disturbance,
    looks: u64,
    base: Option<Counters>,
    back: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Disturbance {
    Forward,
    Back,
    Zero,
    Absurd,
    Reset,
}

const DISTURBED: std::ops::Range<u64> = 7..30;

impl Controller for Disturbed {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn moderation(&self) -> Moderation {
        self.inner.moderation()
    }

    fn period_ns(&self) -> u64 {
        self.inner.period_ns()
    }

    fn observe(&mut self, now_ns: u64, counters: &Counters) -> Settings {
        self.looks += 1;
        let has_begun = self.looks >= DISTURBED.start;
        let is_now = DISTURBED.contains(&self.looks);
        let settings = match self.kind {
            Disturbance::Forward if has_begun => {
                self.inner.observe(now_ns + 3_600_000_000_000, counters)
            }
            Disturbance::Back if has_begun => self
                .inner
                .observe(now_ns - *self.back.get_or_insert(now_ns), counters),
            Disturbance::Zero if is_now => {
                self.inner.observe(now_ns, counters);
                self.inner.observe(now_ns, counters);
                self.inner.observe(now_ns, counters)
            }
            Disturbance::Absurd if is_now => {
                let absurd = counters_of(std::array::from_fn(|_| self.random.word()));
                let now_ns = self.random.word();
                assert_valid(self.inner.observe(now_ns, &absurd));
                self.inner.observe(now_ns, counters)
            }
            Disturbance::Reset if has_begun => {
                let base = *self.base.get_or_insert(*counters);
                self.inner.observe(now_ns, &counters.since(&base))
            }
            _ => self.inner.observe(now_ns, counters),
        };
        assert_valid(settings);
        settings
    }
}

fn name() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(NAMES.to_vec())
}

fn disturbance() -> impl Strategy<Value = Disturbance> {
    proptest::sample::select(vec![
        Disturbance::Forward,
        Disturbance::Back,
        Disturbance::Zero,
        Disturbance::Absurd,
        Disturbance::Reset,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(32),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn settles_and_never_starves(name in name(), scene in scene()) {
        let mut sim = scene.sim(|| controller(name));
        settle(&scene, name, &mut sim);
        assert_sound(&scene, name, &sim);
        // A core that others take now and then is no steady load.
        if scene.core.stolen == 0.0 {
            assert_settled(&scene, name, &sim);
        }
    }

    #[test]
    fn counters_may_wrap(name in name(), scene in scene(), before in 0..2_000_000_u64) {
        let history = |begin: u64| {
            let core = Core { counters_begin: begin, ..scene.core };
            let mut sim = Scene { core, ..scene.clone() }.sim(|| controller(name));
            sim.run_until(sim.now_ns + SETTLING_NS);
            sim.lanes.into_iter().map(|lane| lane.history).collect::<Vec<_>>()
        };
        prop_assert_eq!(history(0), history(u64::MAX - before));
    }

    #[test]
    fn recovers_from_any_clock_and_counter(
        name in name(), scene in scene(), kind in disturbance(), seed in any::<u64>(),
    ) {
        let calm = settle(&scene, name, &mut scene.sim(|| controller(name)));
        let mut sim = scene.sim(|| Box::new(Disturbed {
            inner: controller(name),
            random: Random::new(seed),
            kind,
            looks: 0,
            base: None,
            back: None,
        }));
        sim.run_until(sim.now_ns + SETTLING_NS);
        let disturbed = settle(&scene, name, &mut sim);
        assert_sound(&scene, name, &sim);
        // On a core that others take now and then a controller that walks is
        // somewhere else at each look, disturbed or not.
        let part = if scene.core.stolen > 0.0 { 0.4 } else { 0.8 };
        prop_assert!(
            disturbed > part * calm || name == NEVER_SETTLES,
            "{} {:?} {:?}: {} of {}", name, kind, scene, disturbed, calm
        );
    }

    #[test]
    fn anything_may_be_observed(
        name in name(),
        seen in proptest::collection::vec((any::<u64>(), any::<[u64; 9]>(), 0..5_u32), 1..60),
    ) {
        let mut controller = controller(name);
        let mut now_ns = 0_u64;
        for (step, words, kind) in seen {
            // Small steps and small counts look like a load; others do not.
            let shrink = |word: u64| word >> (kind * 13);
            now_ns = now_ns.wrapping_add(shrink(step));
            let counters = counters_of(words.map(shrink));
            assert_valid(controller.observe(now_ns, &counters));
            prop_assert!(controller.period_ns() > 0);
        }
    }
}

#[test]
fn names_are_known_and_others_refused() {
    for name in NAMES {
        assert_eq!(controller(name).name(), name);
        assert!(in_words(name).starts_with(name));
    }
    assert_ne!(in_words("vic"), "vic", "it is not the paper's");
    let error = by_name("adaptiv", &parameters()).err().unwrap();
    assert!(error.to_string().contains("'adaptiv'"));
    assert!(error.to_string().contains("speed-monitor-prose"));
}
