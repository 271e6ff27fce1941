//! The section without a host: paths of known speed.

use forward::topology::Routes;
use kit::routers::testing::{
    Fake, assert_has, assert_refused, comparisons, findings as told, headline, measured, points,
    section,
};
use trial::{Event, Weight};

use super::load::cpus_of;
use super::*;

fn run(text: &str, fake: &Fake) -> Vec<Event> {
    measured(text, fake, on)
}

#[test]
fn every_target_is_compared_with_a_lower_bound() {
    let events = run("", &Fake::default());
    let all = comparisons(&events);
    let held: Vec<_> = all.iter().filter(|one| one.target.is_some()).collect();
    // Cached at 1, 256 and 65,536, devmap, batch 32, testpmd.
    assert_eq!(held.len(), 6, "{held:#?}");
    for one in held {
        assert!(one.target.as_ref().is_some_and(|target| target.met));
        assert_eq!(one.pairs.len(), 9);
    }
    let first = &headline(&events).text;
    assert_has(first, ["FIB cache", "0.94×", "Targets: 6 met."]);
    let batching = "Batching: AF_XDP two-port patch (asks no table), polled, batch 32";
    assert_has(&told(&events, Weight::Advice), [batching, "Polling"]);
    let notes = [
        "testpmd",
        "more destinations (65536)",
        "a larger table (100000)",
    ];
    assert_has(&told(&events, Weight::Note), notes);
    assert_eq!(told(&events, Weight::Warning), "", "every target is met");
}

/// A target of a few rounds is neither met nor missed.
#[test]
fn an_undecided_target_is_told_as_undecided() {
    let text = "paths = ['kernel', 'xdp-devmap']\ndestinations = [1]\nroutes = []\npairs = 2";
    let events = run(text, &Fake::default());
    assert_has(&headline(&events).text, ["Targets: 1 undecided."]);
    let undecided = "Targets that are undecided: XDP devmap redirect compared with kernel routing";
    assert_has(&told(&events, Weight::Warning), [undecided]);
}

/// What names a ratio in a contract.
#[test]
fn ratios_are_named_by_what_differs() {
    let events = run("", &Fake::default());
    let names: Vec<_> = comparisons(&events)
        .iter()
        .map(|one| format!("{}: {} ÷ {}", one.subject, one.arm, one.reference))
        .collect();
    for wanted in [
        "64 B, one way: XDP with a FIB cache ÷ kernel routing",
        "64 B, one way: XDP with a FIB cache ÷ XDP devmap redirect",
        "AF_XDP two-port patch (asks no table), polled, 64 B, one way: batch 32 ÷ batch 1",
        "kernel routing, 64 B, one way: 256 destinations ÷ destinations 1",
        "kernel routing, 64 B, one way, 256 destinations: 1000 routes ÷ no routes",
    ] {
        assert!(
            names.iter().any(|own| own == wanted),
            "{wanted}: {names:#?}"
        );
    }
}

/// Frames keep coming from a router that drops some, and so do new ones.
#[test]
fn what_loses_frames_has_no_rate_and_says_why() {
    let host = Fake {
        lossy: vec!["xdp-devmap"],
        ..Fake::default()
    };
    let text = "paths = ['kernel', 'xdp-devmap']\ndestinations = [1]\nroutes = []";
    let events = run(text, &host);
    let lost = |path: &str| {
        let own = trial::Dimension::from(path);
        let all = points(&events);
        let point = all.iter().find(|point| point.dimensions["path"] == own);
        let point = point.expect("it was measured");
        let value = |measure: Measure| point.metric(measure.name).expect("it is counted").value;
        let gone = value(OFFERED) - value(RECEIVED);
        assert!((gone - value(LOST)).abs() < 1.0);
        (value(LOSS).round() as u32, point.verdict.is_valid())
    };
    assert_eq!(
        (lost("kernel"), lost("xdp-devmap")),
        ((0, true), (30, false))
    );
    let warnings = ["30.0% of the frames were lost", "ip -s link"];
    assert_has(&told(&events, Weight::Warning), warnings);
    let all = comparisons(&events);
    assert!(all.iter().all(|one| !one.believed && one.target.is_none()));
}

#[test]
fn without_kernel_routing_the_highest_rate_is_told() {
    let text = "paths = ['xdp-fib', 'xdp-devmap']\nframe = 512";
    let events = run(text, &Fake::default());
    let first = &headline(&events).text;
    let highest = "highest is that of XDP devmap redirect";
    assert_has(first, [highest, "no rate of kernel routing"]);
    // Targets are of the smallest frames.
    assert!(!first.contains("Target"), "{first}");
}

#[test]
fn destinations_and_routes_are_measured_where_they_can_matter() {
    let text = "paths = ['kernel', 'bridge', 'xdp-devmap', 'af-xdp:polled:32']";
    let paths: Paths = section(text).unwrap();
    // All four, kernel and devmap to more destinations, kernel's tables.
    let grid = paths.grid();
    assert_eq!(grid.len(), 4 + 2 * 2 + 2);
    let (last, way) = grid[grid.len() - 1];
    assert_eq!(last.destinations, 256, "65,536 do not fit 1,000");
    let setup = paths.setup(way, last, &[0, 1]);
    assert_eq!(setup.topology.routes, Routes::Table(100_000));
    let both = section("ipv6 = true\ntwo_way = true\nframe = 128\nroutes = []").unwrap();
    for paths in [paths, both] {
        for (load, way) in paths.grid() {
            let setup = paths.setup(way, load, &[0, 1]);
            paths.offer(&setup, load).check(&setup).unwrap();
        }
    }
}

#[test]
fn a_queue_gets_a_cpu_where_there_are_enough() {
    let way: Way = "xdp-fib:2".parse().unwrap();
    assert_eq!(cpus_of(way, &[0, 1]).router, [1]);
    let many = cpus_of(way, &[0, 1, 2, 3]);
    assert_eq!((many.generator, many.sink), (0, 2));
    assert_eq!(many.router, [1, 3]);
}

#[test]
fn what_no_option_can_see_alone_is_named() {
    assert_refused::<Paths>(&[
        ("ipv6 = true", "frame", "84"),
        ("ipv6 = true\nframe = 128", "routes", "routes = []"),
        ("destinations = [1, 3]", "destinations", "3"),
        ("sources = [3]", "sources", "3"),
        ("sources = [65536]", "sources", "32768"),
        ("changes = [200000]", "changes", "100000"),
        ("routes = []\nchanges = [1]", "changes", "routes"),
        ("routes = []\nsources = [2]", "sources", "routes"),
        (
            "destinations = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]\npaths = ['kernel', 'kernel:2', 'kernel:3', 'kernel:4', 'kernel:5', 'kernel:6', 'kernel:7', 'kernel:8']",
            "paths",
            "limit is 128",
        ),
    ]);
}
