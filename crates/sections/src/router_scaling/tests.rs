//! The section on routers of known speed that share a CPU.

use kit::config::keys;
use kit::routers::testing::{Fake, headline, measured};
use trial::Event;

use super::*;

fn parse(text: &str) -> Result<Scaling, ConfigError> {
    Scaling::new(keys::parse(&text.parse().expect("toml"))?)
}

fn run(fake: &Fake) -> Vec<Event> {
    measured("", fake, |scaling: &Scaling, host, routers| {
        rig::OnRouters::new(scaling.clone(), host, routers)
    })
}

#[test]
fn an_empty_table_is_the_source_s_figures() {
    assert_eq!(parse("routers = [8, 1, 8]").unwrap().counts, [1, 8]);
    assert_eq!(parse("").unwrap().cases().len(), 4 + BESIDE.len());
    assert_eq!(parse("beside = 0").unwrap().cases().len(), 4);
    assert!(parse("path = 'xdp-cpumap'\nbeside = 0\nframe = 'imix'").is_ok());
}

#[test]
fn every_wrong_value_is_named_with_its_limit() {
    for (text, key, part) in [
        ("routers = []", "routers", "at least one"),
        ("routers = [0]", "routers", "1 to 32"),
        ("beside = 1", "beside", "2 to 32"),
        ("path = 'af-xdp:polled:32'", "path", "busy"),
        ("path = 'xdp-cpumap'", "path", "beside = 0"),
        ("frame = 32", "frame", "64 to 1518"),
    ] {
        let error = parse(text).err().expect(text);
        assert_eq!(error.key(), key, "{error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
}

#[test]
fn totals_and_limits_are_told() {
    let events = run(&Fake::default());
    let mut counts = (0, 0, 0, 0);
    for event in &events {
        match event {
            Event::Comparison(one) if one.metric == RECEIVED_PPS.name => {
                assert!((0.98..1.02).contains(&one.ratio), "{one:?}");
                assert_eq!(one.reference, "one router");
                counts.0 += 1;
            }
            Event::Comparison(one) => {
                assert_eq!(one.subject, "kernel routing, 64 B, one way, 4 routers");
                counts.1 += 1;
            }
            Event::Table(_) => counts.2 += 1,
            Event::Chart(chart) => {
                let names: Vec<_> = chart.series.iter().map(|line| line.name.as_str()).collect();
                assert_eq!(names, ["together", "least of one", "most of one"]);
                counts.3 += 1;
            }
            _ => {}
        }
    }
    assert_eq!(counts, (3, 2, 2, 1));
    let first = &headline(&events).text;
    assert!(first.starts_with("8 routers"), "{first}");
    assert!(first.contains("of one alone"), "{first}");
}

#[test]
fn noise_offers_nobody_a_share_of_it() {
    let host = Fake {
        noisy: vec!["kernel"],
        ..Fake::default()
    };
    let events = run(&host);
    let open = &headline(&events).text;
    assert!(open.contains("is not known"), "{open}");
    // What one carries is not known: the three cases beside were not measured.
    let doubt = "what one router carries is not known: a pause of 20 ms";
    let beside = events.iter().filter(
        |event| matches!(event, Event::Point(point) if point.verdict.reason.contains(doubt)),
    );
    assert!(beside.count() >= 3);
    let is_told = |event: &Event| matches!(event, Event::Finding(finding) if finding.text.starts_with("Not measured") && finding.text.contains(doubt));
    assert!(events.iter().any(is_told));
    let each_twice = 2 + 9 * 4 * 2;
    assert_eq!(host.trials.get(), each_twice, "those beside never");
}
