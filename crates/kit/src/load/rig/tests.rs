//! Tiny runs on real lanes. No speed is asserted: only what must add up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crypto::{Algorithm, Backend, Kind, Operation, Workload};
use policy::{Controller, Counters, Moderation, Policy, Settings};

use crate::load::alone::Slice;
use crate::load::once;
use crate::load::rig::*;
use crate::place::{Placement, place, usable_cpus};

const KIND: Kind = Kind::new(Algorithm::Aes128Cbc, Operation::Encrypt);

fn backend() -> Arc<dyn Backend> {
    crypto::by_name("aws-lc").expect("it is built in")
}

/// A bench of one tenant with blocks of 1 and 4 KiB.
fn bench(placement: Placement, depth_max: usize, tasks_max: usize) -> Option<Bench> {
    let cpus = usable_cpus().expect("the kernel says");
    let Some(cores) = Cores::of(&cpus, placement) else {
        testing::skipped(format!("one CPU has no placement {}", placement.name()));
        return None;
    };
    let backend = backend();
    let workload = |bytes| Arc::new(Workload::new(&backend, KIND, bytes).expect("it takes them"));
    let tenant = Tenant {
        workloads: vec![workload(1024), workload(4096)],
        depth_max,
        tasks_max,
    };
    Some(Bench::start(cores, &backend, &[tenant]).expect("it starts"))
}

/// One a placement that this host has.
fn benches(depth_max: usize, tasks_max: usize) -> impl Iterator<Item = Bench> {
    let placements = [Placement::Shared, Placement::Split].into_iter();
    placements.filter_map(move |placement| bench(placement, depth_max, tasks_max))
}

fn steady(load: Load) -> Course {
    let (warm_up, length) = (Duration::from_millis(2), Duration::from_millis(60));
    Course::steady(warm_up, length, vec![load])
}

fn run(bench: &mut Bench, course: &Course) -> Record {
    bench.run(course, &|| false).expect("it runs")
}

/// The window of a run of that load, which did `enough`.
fn worked(bench: &mut Bench, load: Load, enough: impl Fn(&Share) -> bool) -> Window {
    let course = steady(load);
    let whole = run(bench, &course).whole().expect("one window");
    assert!(whole.seconds >= course.phases[0].length.as_secs_f64());
    let counters = &whole.tenants[0].counters;
    assert!(enough(&whole.tenants[0]), "{load:?}: {counters:?}");
    whole
}

fn each(settings: Settings) -> Regime {
    Regime::fixed(Moderation::Each, settings)
}

#[test]
fn what_is_sent_is_completed_and_taken() {
    testing::alone(|| {
        for mut bench in benches(16, 1) {
            for moderation in Moderation::ALL {
                let regime = Regime::fixed(moderation, Settings::UNLIMITED);
                bench.apply(0, regime).unwrap();
                let load = Load::closed(0, 16);
                let whole = worked(&mut bench, load, |share| share.counters.requests > 0);
                let totals = &bench.totals()[0];
                assert_eq!(totals.submitted, totals.reaped, "{moderation}");
                assert_eq!(totals.submitted, totals.counters.requests);
                assert_eq!(totals.counters.bytes, totals.counters.requests * 1024);
                assert!(totals.submitted >= whole.tenants[0].counters.requests);
            }
        }
    });
}

#[test]
fn a_bench_is_used_again_and_again() {
    testing::alone(|| {
        let mut bench = bench(Placement::Shared, 8, 1).unwrap();
        bench.apply(0, each(Settings::UNLIMITED)).unwrap();
        for load in [Load::closed(0, 8), Load::closed(1, 2)] {
            worked(&mut bench, load, |share| share.counters.requests > 0);
        }
        let totals = &bench.totals()[0];
        assert_eq!(totals.submitted, totals.counters.requests);
    });
}

/// What one tenant did in each of four phases: deep, of the larger blocks, by
/// three tasks, idle.
fn shares_of_four_phases(bench: &mut Bench, window: Duration) -> [Share; 4] {
    let phase = |load| Phase {
        length: window * 8,
        loads: vec![load],
    };
    let course = Course {
        warm_up: Duration::from_millis(2),
        window,
        phases: vec![
            phase(Load::closed(0, 32)),
            phase(Load::closed(1, 2)),
            phase(Load::closed(0, 4).with_tasks(3)),
            phase(Load::closed(0, 1).with_tasks(0)),
        ],
    };
    let record = run(bench, &course);
    assert_eq!(record.windows.len(), 32);
    [0, 1, 2, 3].map(|phase| {
        // The first windows may have what the phase before left in flight.
        let is_later = |own: &&Window| own.phase == phase && own.begin_s > 0.03;
        let windows = record.windows.iter().filter(is_later);
        Window::merged(windows).unwrap().tenants.remove(0)
    })
}

fn are_of_their_loads(shares: &[Share; 4]) -> bool {
    let [deep, large, three, idle] = shares;
    let is_of_blocks = |share: &Share, block_bytes: u64| {
        let Counters {
            requests, bytes, ..
        } = share.counters;
        // Bytes count when requests are taken, requests when they are done.
        let breath = engine::BATCH_MAX as u64 * block_bytes;
        requests > 0 && bytes.abs_diff(requests * block_bytes) <= breath
    };
    is_of_blocks(deep, 1024)
        && is_of_blocks(large, 4096)
        && is_of_blocks(three, 1024)
        && deep.counters.depth() > 4.0
        && large.counters.depth() <= 2.0
        && large.task_requests[1..] == [0, 0]
        && three.task_requests.iter().all(|&count| count > 0)
        && idle.counters.requests == 0
}

#[test]
fn loads_change_while_it_runs() {
    testing::alone(|| {
        let mut bench = bench(Placement::Shared, 32, 3).unwrap();
        bench.apply(0, each(Settings::UNLIMITED)).unwrap();
        let shares = shares_of_four_phases(&mut bench, Duration::from_millis(20));
        assert!(are_of_their_loads(&shares), "{shares:?}");
        let totals = &bench.totals()[0];
        assert_eq!(totals.submitted, totals.reaped);
    });
}

#[test]
fn nothing_is_held_back_at_depth_one() {
    testing::alone(|| {
        for mut bench in benches(16, 1) {
            for moderation in [Moderation::Each, Moderation::Armed] {
                let settings = Settings::coalesce(64, 10_000).unwrap().and_cap(50).unwrap();
                bench.apply(0, Regime::fixed(moderation, settings)).unwrap();
                // A cap of 50/s that held something back would let 3 through.
                let beyond = |share: &Share| share.counters.requests > 4;
                let whole = worked(&mut bench, Load::closed(0, 1), beyond);
                assert_eq!(whole.tenants[0].held_alone, 0);
                assert_eq!(whole.tenants[0].counters.held, 0);
            }
        }
    });
}

#[test]
fn caps_are_kept_by_all_tasks_together() {
    testing::alone(|| {
        for mut bench in benches(16, 4) {
            for tasks in [1, 4] {
                bench.apply(0, each(Settings::cap(1000).unwrap())).unwrap();
                let load = Load::closed(0, 16).with_tasks(tasks);
                let whole = worked(&mut bench, load, |share| share.counters.held > 0);
                // One for the window's edge; and a lane with a single request in
                // flight for a moment is not held back.
                let most = 1000.0 * whole.seconds + 1.0 + tasks as f64;
                let sent = whole.tenants[0].counters.notifications as f64;
                assert!(sent <= most, "{sent} of {most}");
            }
        }
    });
}

/// Asks for a cap from its third look on.
struct Late(Arc<AtomicU64>);

impl Controller for Late {
    fn name(&self) -> &'static str {
        "late"
    }

    fn moderation(&self) -> Moderation {
        Moderation::Each
    }

    fn period_ns(&self) -> u64 {
        2_000_000
    }

    fn observe(&mut self, _now_ns: u64, _: &Counters) -> Settings {
        let looks = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        if looks < 3 {
            Settings::UNLIMITED
        } else {
            Settings::cap(2000).unwrap()
        }
    }
}

#[test]
fn controllers_are_asked_and_obeyed() {
    testing::alone(|| {
        let mut bench = bench(Placement::Shared, 16, 2).unwrap();
        let looks = Arc::new(AtomicU64::new(0));
        let late = Regime::controlled(Box::new(Late(Arc::clone(&looks))));
        bench.apply(0, late).unwrap();
        let course = steady(Load::closed(0, 16).with_tasks(2));
        let record = run(&mut bench, &course);
        assert!(looks.load(Ordering::Relaxed) >= 3);
        let whole = record.whole().unwrap();
        assert_eq!(whole.tenants[0].settings, Settings::cap(2000).unwrap());
    });
}

#[test]
fn an_open_loop_sends_no_more_than_its_rate() {
    testing::alone(|| {
        let mut bench = bench(Placement::Shared, 16, 2).unwrap();
        for moderation in [Moderation::Armed, Moderation::Polled] {
            let regime = Regime::fixed(moderation, Settings::UNLIMITED);
            bench.apply(0, regime).unwrap();
            let load = Load {
                rate_per_s: Some(4000.0),
                ..Load::closed(0, 16).with_tasks(2)
            };
            let has_sent = |share: &Share| share.submitted > 0 && !share.latency.is_empty();
            let whole = worked(&mut bench, load, has_sent);
            let share = &whole.tenants[0];
            // What fell due before the window may be sent in it.
            let most = 4000.0 * (whole.seconds + 0.01) + 2.0;
            assert!(share.submitted as f64 <= most, "{}", share.submitted);
        }
    });
}

#[test]
fn an_interrupt_ends_a_run_early() {
    testing::alone(|| {
        let mut bench = bench(Placement::Shared, 4, 1).unwrap();
        bench.apply(0, each(Settings::UNLIMITED)).unwrap();
        let course = Course {
            window: Duration::from_millis(5),
            ..steady(Load::closed(0, 4))
        };
        let record = bench.run(&course, &|| true).unwrap();
        assert_eq!(record.windows.len(), 1);
    });
}

#[test]
fn tasks_without_a_lane_stay_out() {
    testing::alone(|| {
        let mut bench = bench(Placement::Shared, 4, 3).unwrap();
        for lanes in [3, 1, 2] {
            let regime = each(Settings::UNLIMITED).for_tasks(lanes);
            bench.apply(0, regime).unwrap();
            let load = Load::closed(0, 4).with_tasks(lanes);
            let at_work = |share: &Share| share.task_requests.iter().filter(|&&n| n > 0).count();
            let whole = worked(&mut bench, load, |share| at_work(share) == lanes);
            assert_eq!(whole.tenants[0].task_requests[lanes..], vec![0; 3 - lanes]);
            let more = steady(load.with_tasks(lanes + 1));
            assert!(matches!(
                bench.run(&more, &|| false),
                Err(RigError::Load { what: "tasks", .. })
            ));
        }
    });
}

#[test]
fn a_load_beyond_the_bench_is_refused() {
    testing::alone(|| {
        let mut bench = bench(Placement::Shared, 4, 2).unwrap();
        bench.apply(0, each(Settings::UNLIMITED)).unwrap();
        for load in [
            Load::closed(2, 4),
            Load::closed(0, 5),
            Load::closed(0, 0),
            Load::closed(0, 4).with_tasks(3),
        ] {
            let error = bench.run(&steady(load), &|| false).unwrap_err();
            assert!(matches!(error, RigError::Load { .. }), "{error}");
        }
        let two = Course::steady(Duration::ZERO, Duration::ZERO, vec![Load::closed(0, 1); 2]);
        assert!(matches!(
            bench.run(&two, &|| false),
            Err(RigError::Tenants {
                loads: 2,
                tenants: 1
            })
        ));
    });
}

/// An engine without a virtual function, several lanes and workers, every mode.
#[test]
fn a_trial_of_its_own_engine_has_its_lanes_workers_and_modes() {
    testing::alone(|| {
        let cpus = usable_cpus().expect("the kernel says");
        let cpus = place(&cpus, Placement::Shared, 2, 3).expect("one CPU is enough");
        let backend = backend();
        let workload = Arc::new(Workload::new(&backend, KIND, 1024).expect("it takes them"));
        for mode in Mode::ALL {
            let load = Load::in_mode(mode, 8).with_tasks(3);
            let slice = Slice::whole(Duration::from_millis(60));
            let ways = (load, Policy::ARMED);
            let record = once::trial(&backend, &workload, &cpus, ways, slice).expect("it runs");
            let window = record.whole().expect("one window");
            let share = &window.tenants[0];
            assert!(
                share.task_requests.iter().all(|&done| done > 0),
                "{mode}: {share:?}"
            );
            assert_eq!(share.task_requests.len(), 3);
            assert!(share.doorbells > 0 && !share.latency.is_empty(), "{mode}");
            let is_each_timed = mode == Mode::Sync;
            assert_eq!(
                share.latency.len() * 2 > share.reaped,
                is_each_timed,
                "{mode}"
            );
        }
    });
}
