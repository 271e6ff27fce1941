//! Caps, gathering and hints, on real workers and real notifications.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::common::{JOB_BYTES, Job, LONG, Tally, WORKER, cells, lane_config};
use lockgate_engine::{Engine, Governed, Governor, Hint, Lane, LaneConfig, SubmitError};
use policy::{Controller, Counters, Moderation, Settings};

/// So rare that a test which waits for it fails.
const HARDLY_EVER: u32 = 1;

const JOB: Job = Job {
    cell: 0,
    panics: false,
};

fn engine(delay: Duration) -> Engine<Tally> {
    let cells = cells(1);
    let service = move |_| Tally::new(&cells).delayed(delay);
    Engine::start(&[WORKER], service).unwrap()
}

fn lane(engine: &Engine<Tally>, moderation: Moderation, settings: Settings) -> Lane<Job> {
    let config = LaneConfig {
        settings,
        ..lane_config(64, moderation)
    };
    engine.lane(0, config).unwrap()
}

fn submit(lane: &mut Lane<Job>, count: usize, last: Hint) {
    for left in (0..count).rev() {
        let hint = if left == 0 { last } else { Hint::None };
        lane.enqueue_with(JOB, left as u64, hint).unwrap();
    }
    lane.kick();
}

fn drain(lane: &mut Lane<Job>) {
    while lane.in_flight() > 0 {
        lane.wait(1, LONG).unwrap();
        lane.reap(usize::MAX, |_| ());
    }
}

/// Whether what was submitted last is there within a time that is far shorter
/// than what `HARDLY_EVER` would take; of all that was submitted, if `all`.
fn is_prompt(lane: &mut Lane<Job>, all: bool) -> bool {
    let begin = Instant::now();
    let mut is_there = false;
    while lane.in_flight() > 0 && (all || !is_there) {
        lane.wait(1, LONG).unwrap();
        lane.reap(usize::MAX, |done| is_there |= done.token == 0);
    }
    begin.elapsed() < Duration::from_millis(400)
}

#[test]
fn a_cap_is_kept_and_nothing_is_lost() {
    testing::timed(|| {
        const CAP: u32 = 1000;
        for moderation in [Moderation::Each, Moderation::Armed] {
            let engine = engine(Duration::ZERO);
            let mut lane = lane(&engine, moderation, Settings::cap(CAP).unwrap());
            let begin = Instant::now();
            let mut count = 0_u64;
            while begin.elapsed() < Duration::from_millis(100) {
                let room = lane.room();
                count += room as u64;
                submit(&mut lane, room, Hint::None);
                lane.wait(lane.in_flight() / 2, LONG).unwrap();
                // What is alone in flight is notified of at once: none ever is.
                lane.reap(lane.in_flight() - 2, |_| ());
            }
            // Read before the time is: this thread may be kept in between.
            let notifications = lane.counters().notifications;
            let most = begin.elapsed().as_secs_f64() * f64::from(CAP) + 2.0;
            drain(&mut lane);
            let counters = lane.counters();
            assert!(
                notifications as f64 <= most,
                "{moderation}: {notifications} of {most}"
            );
            assert!(counters.held > 0 && counters.held_ns > 0, "{counters:?}");
            assert_eq!((counters.reaped, counters.held_alone), (count, 0));
            assert_eq!(counters.bytes, count * JOB_BYTES as u64);
        }
    });
}

#[test]
fn at_depth_one_nothing_waits() {
    testing::timed(|| {
        let rare = Settings::coalesce(64, 1_000_000).unwrap();
        let rare = rare.and_cap(HARDLY_EVER).unwrap();
        for moderation in [Moderation::Each, Moderation::Armed] {
            let engine = engine(Duration::ZERO);
            let mut lane = lane(&engine, moderation, rare);
            for _ in 0..200 {
                submit(&mut lane, 1, Hint::None);
                lane.wait(1, LONG).unwrap();
                lane.reap(usize::MAX, |_| ());
            }
            let counters = lane.counters();
            assert_eq!(
                (counters.reaped, counters.held, counters.held_alone),
                (200, 0, 0)
            );
        }
    });
}

#[test]
fn fewer_than_gathered_come_after_the_timeout() {
    testing::timed(|| {
        let engine = engine(Duration::ZERO);
        let settings = Settings::coalesce(64, 2000).unwrap();
        let mut lane = lane(&engine, Moderation::Each, settings);
        submit(&mut lane, 4, Hint::None);
        // Not reaped, so that a notification stays due.
        let begin = Instant::now();
        while lane.counters().held == 0 && begin.elapsed() < LONG {
            std::thread::sleep(Duration::from_micros(100));
        }
        let counters = lane.counters();
        assert_eq!((counters.notifications, counters.held), (1, 1));
        assert!(counters.held_ns >= 2_000_000, "{counters:?}");
        drain(&mut lane);
    });
}

#[test]
fn hints_are_not_held_back() {
    testing::timed(|| {
        for moderation in [Moderation::Each, Moderation::Armed] {
            for hint in [Hint::Urgent, Hint::Barrier] {
                let engine = engine(Duration::ZERO);
                let settings = Settings::cap(HARDLY_EVER).unwrap();
                let mut lane = lane(&engine, moderation, settings);
                // The cap's first notification is free.
                submit(&mut lane, 8, Hint::None);
                drain(&mut lane);
                for _ in 0..5 {
                    submit(&mut lane, 8, hint);
                    let is_prompt = is_prompt(&mut lane, hint == Hint::Barrier);
                    assert!(is_prompt, "{moderation} {hint:?}");
                    lane.watch().set(Settings::UNLIMITED);
                    drain(&mut lane);
                    lane.watch().set(settings);
                }
            }
        }
    });
}

#[test]
fn new_settings_apply_to_what_is_held_back() {
    testing::timed(|| {
        let engine = engine(Duration::ZERO);
        let settings = Settings::cap(HARDLY_EVER).unwrap();
        let mut lane = lane(&engine, Moderation::Each, settings);
        for _ in 0..2 {
            submit(&mut lane, 8, Hint::None);
            lane.watch().set(Settings::UNLIMITED);
            assert!(is_prompt(&mut lane, true));
            lane.watch().set(settings);
        }
    });
}

#[test]
fn a_closed_lane_gives_up_what_was_held_back() {
    let engine = engine(Duration::from_millis(1));
    let settings = Settings::cap(HARDLY_EVER).unwrap();
    let mut lane = lane(&engine, Moderation::Each, settings);
    submit(&mut lane, 30, Hint::None);
    engine.shutdown();
    drain(&mut lane);
    assert_eq!(lane.counters().reaped, 30);
    assert!(matches!(lane.submit(JOB, 0), Err(SubmitError::Closed(_))));
}

struct Recorder {
    seen: Arc<Mutex<Vec<Counters>>>,
    settings: Settings,
}

impl Controller for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn period_ns(&self) -> u64 {
        1_000_000
    }

    fn observe(&mut self, _: u64, counters: &Counters) -> Settings {
        self.seen.lock().unwrap().push(*counters);
        self.settings
    }
}

#[test]
fn a_governor_shows_counters_and_sets_settings() {
    let engine = engine(Duration::ZERO);
    let mut lane = lane(&engine, Moderation::Each, Settings::UNLIMITED);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let controller = Box::new(Recorder {
        seen: Arc::clone(&seen),
        settings: Settings::cap(4321).unwrap(),
    });
    let watch = lane.watch();
    let governed = Governed {
        controller,
        watch: watch.clone(),
    };
    let governor = Governor::start(vec![governed], None).unwrap();
    let begin = Instant::now();
    let has_seen = || {
        let seen = seen.lock().unwrap();
        seen.iter()
            .any(|counters| counters.requests > 100 && counters.looks > 0)
    };
    while !has_seen() && begin.elapsed() < LONG {
        submit(&mut lane, 8, Hint::None);
        drain(&mut lane);
    }
    drop(governor);
    assert_eq!(watch.settings(), Settings::cap(4321).unwrap());
    let calls = seen.lock().unwrap().len();
    let last = seen.lock().unwrap()[calls - 1];
    assert!(last.requests > 100 && last.busy_ns > 0, "{last:?}");
    assert!((1.0..=8.0).contains(&last.depth()), "{last:?}");
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(seen.lock().unwrap().len(), calls, "it has stopped");
}

/// What was reaped by a client that was awake needs no notification: it does
/// not let the next completions past the cap.
#[test]
fn a_hint_counts_for_its_completion_only() {
    let engine = engine(Duration::from_millis(5));
    let mut lane = lane(&engine, Moderation::Armed, Settings::cap(20).unwrap());
    let begin = Instant::now();
    while lane.counters().held == 0 {
        submit(&mut lane, 1, Hint::Urgent);
        while lane.reap(1, |_| ()) == 0 {
            std::thread::yield_now();
        }
        submit(&mut lane, 2, Hint::None);
        drain(&mut lane);
        assert!(begin.elapsed() < LONG, "{:?}", lane.counters());
    }
}
