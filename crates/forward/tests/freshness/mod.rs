//! 100 ms after a route, neighbour, link, address, rule or setting changed, no
//! frame is forwarded by what was true before: XDP paths, one with a cache, do
//! what kernel routing does, also while the watcher is late or
//! stuck.
#![cfg(feature = "bpf")]

mod bench;
mod changes;
mod held;
mod tables;

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle, sleep};
use std::time::{Duration, Instant};

use lockgate_forward::topology::Family;
use lockgate_forward::topology::plan::Side;
use net::Journal;
use proptest::prelude::*;
use xdp::path::LEASE;
use xdp::{Counters, Reason};

use crate::freshness::bench::{Bench, FRAMES, Outcome, Start, cached, fib, kernel};
use crate::freshness::changes::{
    CHANGES, Change, OTHER_NEIGHBOUR, OTHER_ROUTER, behind, entrance, gateway, neighbour, rename,
};
use crate::freshness::held::{Held, Late};
use testing::is_root;

/// Within which a change must show.
const STALE_MAX: Duration = Duration::from_millis(100);

const FAMILIES: [Family; 2] = [Family::V4, Family::V6];

fn is_able() -> bool {
    testing::has_programs(&["ip"], "iproute2") && is_root()
}

type Outcomes = Vec<(&'static str, Outcome)>;

fn outcomes(mut bench: Bench, each: impl Fn(&mut Bench)) -> Outcomes {
    let look = |(name, change, comes): Change| {
        change(&mut bench);
        sleep(STALE_MAX);
        let outcome = bench.look(comes);
        assert_eq!(!outcome.is_empty(), comes, "{name}: {outcome:?}");
        each(&mut bench);
        // An error says if it does not follow.
        bench.running.router().counters().unwrap();
        (name, outcome)
    };
    CHANGES.into_iter().map(look).collect()
}

/// After each change paths do what kernel routing does, side by side. `burden`'s
/// value lives as long as the changes.
fn follow<T>(burden: impl Fn() -> T) {
    static KERNELS: OnceLock<Vec<(Family, Outcomes)>> = OnceLock::new();
    let kernels = KERNELS.get_or_init(|| side_by_side(&[kernel], || (), |_| ()));
    let paths = side_by_side(&[fib, cached], burden, use_it);
    for ((family, changes), (_, as_the_kernel)) in paths.iter().zip(kernels.iter().cycle()) {
        assert_eq!(changes, as_the_kernel, "{family:?}");
    }
}

/// The outcomes of each path in each family. The burden comes when all are there.
fn side_by_side<T>(
    starts: &[Start],
    burden: impl Fn() -> T,
    each: fn(&mut Bench),
) -> Vec<(Family, Outcomes)> {
    let (ready, may_begin) = (AtomicUsize::new(0), AtomicBool::new(false));
    let run = |start: Start, family: Family| {
        let bench = Bench::start(&Journal::open().unwrap(), start, family);
        ready.fetch_add(1, Ordering::SeqCst);
        while !may_begin.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(1));
        }
        outcomes(bench, each)
    };
    thread::scope(|scope| {
        let run = &run;
        let cases = starts
            .iter()
            .flat_map(|&start| FAMILIES.map(|family| (start, family)));
        let threads: Vec<_> = cases
            .map(|(start, family)| (family, scope.spawn(move || run(start, family))))
            .collect();
        let has_failed = || threads.iter().any(|(_, thread)| thread.is_finished());
        while ready.load(Ordering::SeqCst) < threads.len() && !has_failed() {
            sleep(Duration::from_millis(1));
        }
        let _burden = burden();
        may_begin.store(true, Ordering::SeqCst);
        let join = |(family, thread): (Family, ScopedJoinHandle<'_, Outcomes>)| {
            let outcomes = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            (family, outcomes)
        };
        threads.into_iter().map(join).collect()
    })
}

fn use_it(bench: &mut Bench) {
    let comes = !bench.look(false).is_empty();
    assert!(!comes || !bench.look(comes).is_empty());
}

#[test]
fn every_change_is_followed_as_the_kernel_does() {
    testing::timed(|| {
        if is_able() {
            follow(|| ());
        }
    });
}

#[test]
fn every_change_is_followed_when_the_watcher_is_late() {
    testing::alone(|| {
        if is_able() {
            follow(Late::watchers);
        }
    });
}

/// Alone, since watchers are kept from their work.
fn on_each(test: fn(Bench)) {
    testing::alone_as_root(|| {
        let journal = Journal::open().unwrap();
        for family in FAMILIES {
            for start in [fib, cached] {
                test(Bench::start(&journal, start, family));
            }
        }
    });
}

#[test]
fn nothing_is_stale_when_the_watcher_is_stuck() {
    on_each(stuck);
}

/// For its neighbour the program would ask the kernel's tables; its own port it knows
/// from its maps.
fn stuck(mut bench: Bench) {
    bench.look_until_forwarded();
    let held = Held::watchers();
    neighbour(&bench, OTHER_NEIGHBOUR);
    sleep(STALE_MAX);
    let before = bench.running.counters();
    let outcome = bench.look(true);
    let other = (format!("{OTHER_NEIGHBOUR:02x?}"), "router".to_owned());
    assert_eq!(outcome, Outcome::from([other]));
    let after = bench.running.counters();
    assert_eq!(after.forwarded, before.forwarded);
    let unwatched = |counters: &Counters| counters.passed(Reason::Unwatched);
    assert!(unwatched(&after) - unwatched(&before) >= FRAMES);
    entrance(&bench, OTHER_ROUTER);
    sleep(STALE_MAX);
    assert_eq!(bench.look(false), Outcome::new());
    drop(held);
    bench.entrance = OTHER_ROUTER;
    bench.look_until_forwarded();
}

#[test]
fn no_frame_takes_a_withdrawn_route_after_the_lease() {
    on_each(withdrawn);
}

/// By the time stamp of the program itself, while frames come and nobody watches.
fn withdrawn(mut bench: Bench) {
    bench.look_until_forwarded();
    let control = bench.control();
    let held = Held::watchers();
    let route = behind(&bench, gateway(&bench));
    bench.inside().remove_route(&route).unwrap();
    let withdrawn = control.look().unwrap().ticks();
    let before = bench.running.counters();
    let until = Instant::now() + 4 * LEASE;
    while Instant::now() < until {
        bench.send_on();
        sleep(Duration::from_millis(1));
    }
    let after = bench.running.counters();
    let unwatched = |counters: &Counters| counters.passed(Reason::Unwatched);
    assert!(unwatched(&after) > unwatched(&before));
    let late = after.last_ticks.saturating_sub(withdrawn);
    assert!(late <= control.lease_ticks(), "{late} ticks");
    drop(held);
    testing::until(
        || {
            let before = bench.running.counters();
            bench.look(false);
            (before, bench.running.counters())
        },
        |(before, after)| unwatched(before) == unwatched(after),
    );
    assert_eq!(bench.running.counters().forwarded, after.forwarded);
}

#[test]
fn ports_may_go_and_come() {
    testing::timed(|| {
        if !is_able() {
            return;
        }
        let journal = Journal::open().unwrap();
        for start in [fib, cached] {
            let mut bench = Bench::start(&journal, start, Family::V4);
            for _ in 0..30 {
                for side in Side::BOTH {
                    let name = bench.topology.router_link(side).to_owned();
                    if !(rename(&bench, &name, "lg-gone") && rename(&bench, "lg-gone", &name)) {
                        testing::skipped("no link can be renamed while it is up; Linux 6.2 can");
                        return;
                    }
                }
                bench.running.router().counters().unwrap();
            }
            bench.look_until_forwarded();
            for side in Side::BOTH {
                let name = bench.topology.router_link(side).to_owned();
                bench.inside().remove_link(&name).unwrap();
            }
            sleep(STALE_MAX);
            // They cannot be counted; that is all.
            let error = bench.running.router().counters().unwrap_err();
            assert!(error.to_string().contains("counters"), "{error}");
        }
    });
}

#[test]
fn answers_are_kept() {
    testing::timed_as_root(|| {
        let journal = Journal::open().unwrap();
        for family in FAMILIES {
            let mut bench = Bench::start(&journal, cached, family);
            bench.look_until(|before, after| after.hits - before.hits == FRAMES);
            assert!(bench.running.router().cpu().unwrap().total_ns() > 0);
        }
    });
}

#[test]
fn no_answer_is_kept_where_destinations_have_an_mtu_of_their_own() {
    testing::timed_as_root(|| {
        let journal = Journal::open().unwrap();
        let mut bench = Bench::start(&journal, cached, Family::V4);
        bench.look_until(|before, after| after.hits - before.hits == FRAMES);
        let router = bench.topology.router();
        router.set_sysctl("ipv4/ip_forward_use_pmtu", "1").unwrap();
        bench.look_until(|before, after| {
            after.forwarded - before.forwarded == FRAMES && after.hits == before.hits
        });
    });
}

/// Nobody is told of this setting: the watcher looks at it.
#[test]
fn the_mtu_of_ipv6_is_followed() {
    testing::timed_as_root(|| {
        let journal = Journal::open().unwrap();
        for start in [fib, cached] {
            let mut bench = Bench::start(&journal, start, Family::V6);
            bench.look_until_forwarded();
            let setting = format!("ipv6/conf/{}/mtu", bench.exit());
            let router = bench.topology.router().clone();
            for (mtu, comes) in [("1280", false), ("1500", true)] {
                router.set_sysctl(&setting, mtu).unwrap();
                sleep(STALE_MAX);
                assert_eq!(!bench.look_with(1400, comes).is_empty(), comes, "{mtu}");
            }
        }
    });
}

#[test]
fn destinations_share_what_is_kept() {
    testing::timed_as_root(|| {
        let journal = Journal::open().unwrap();
        for family in FAMILIES {
            tables::shares(Bench::start(&journal, cached, family));
        }
    });
}

#[test]
fn any_table_is_followed_as_the_kernel_does() {
    testing::timed_as_root(|| {
        let config = ProptestConfig {
            cases: testing::cases(3, 100),
            max_shrink_iters: 30,
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        let journal = Journal::open().unwrap();
        proptest!(config, |(steps in tables::steps())| {
            for family in FAMILIES {
                tables::follows(Bench::start(&journal, cached, family), &steps);
            }
        });
    });
}
