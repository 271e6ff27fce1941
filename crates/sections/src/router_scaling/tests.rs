//! The section on routers of known speed that share a CPU.

use kit::routers::testing::{
    Fake, assert_has, assert_refused, comparisons, findings, headline, measured, points, section,
    tables,
};
use trial::{Event, Weight};

use super::*;

fn parse(text: &str) -> Scaling {
    section(text).expect(text)
}

fn run(fake: &Fake) -> Vec<Event> {
    measured("", fake, rig::on)
}

#[test]
fn an_empty_table_is_the_source_s_figures() {
    assert_eq!(parse("routers = [8, 1, 8]").counts, [1, 8]);
    assert_eq!(parse("").cases().len(), 4 + BESIDE.len());
    assert_eq!(parse("beside = 0").cases().len(), 4);
    parse("path = 'xdp-cpumap'\nbeside = 0\nframe = 'imix'");
}

#[test]
fn every_wrong_value_is_named_with_its_limit() {
    assert_refused::<Scaling>(&[
        ("routers = []", "routers", "at least one"),
        ("routers = [0]", "routers", "1 to 32"),
        ("beside = 1", "beside", "2 to 32"),
        ("path = 'af-xdp:polled:32'", "path", "busy"),
        ("path = 'xdp-cpumap'", "path", "beside = 0"),
        ("frame = 32", "frame", "64 to 1518"),
    ]);
}

#[test]
fn totals_and_limits_are_told() {
    let events = run(&Fake::default());
    let is_total = |one: &&&trial::Comparison| one.metric == RECEIVED_PPS.name;
    let all = comparisons(&events);
    let totals: Vec<_> = all.iter().filter(is_total).collect();
    for one in &totals {
        assert!((0.98..1.02).contains(&one.ratio), "{one:?}");
        assert_eq!(one.reference, "one router");
    }
    for one in all.iter().filter(|one| !is_total(one)) {
        assert_eq!(one.subject, "kernel routing, 64 B, one way, 4 routers");
    }
    assert_eq!((totals.len(), all.len()), (3, 5));
    assert_eq!(tables(&events).len(), 2);
    let charts = events.iter().filter_map(|event| match event {
        Event::Chart(chart) => Some(chart.series.iter().map(|line| line.name.as_str())),
        _ => None,
    });
    let charts: Vec<Vec<_>> = charts.map(Iterator::collect).collect();
    assert_eq!(charts, [["together", "least of one", "most of one"]]);
    let first = &headline(&events).text;
    assert!(first.starts_with("8 routers"), "{first}");
    assert_has(first, ["of one alone"]);
}

#[test]
fn noise_offers_nobody_a_share_of_it() {
    let host = Fake {
        noisy: vec!["kernel"],
        ..Fake::default()
    };
    let events = run(&host);
    assert_has(&headline(&events).text, ["is not known"]);
    // What one carries is not known: the three cases beside were not measured.
    let doubt = "what one router carries is not known: a pause of 20 ms";
    let mut beside = points(&events);
    beside.retain(|point| point.verdict.reason.contains(doubt));
    assert_eq!(beside.len(), 3);
    assert_has(&findings(&events, Weight::Warning), ["Not measured", doubt]);
    let each_twice = 2 + 9 * 4 * 2;
    assert_eq!(host.trials.get(), each_twice, "those beside never");
}
