//! The section without a host: routers of known speed that share a CPU.

use trial::Event;

use crate::router::scaling::config::{Config, Table};
use kit::routers::end::End;
use kit::routers::testing::{Collector, Fake, headline, in_rounds};

fn run(text: &str, host: &Fake, sink: &mut Collector) -> End {
    let table = kit::config::from_table::<Table>(text.parse().expect("toml"));
    let config = Config::try_from(table.expect("a table")).expect("a configuration");
    in_rounds(&config, host, (0.2, 9), sink)
}

#[test]
fn totals_and_limits_are_told() {
    let mut sink = Collector::default();
    let end = run("", &Fake::default(), &mut sink);
    assert!(matches!(end, End::Complete), "{end:?}");
    let mut counts = (0, 0, 0);
    for event in &sink.events {
        match event {
            Event::Comparison(one) if one.metric == "received_pps" => {
                assert!((0.98..1.02).contains(&one.ratio), "{one:?}");
                counts.0 += 1;
            }
            Event::Comparison(_) => counts.1 += 1,
            Event::Table(table) => {
                let columns = table.columns.len();
                assert!(table.rows.iter().all(|row| row.len() == columns));
                counts.2 += 1;
            }
            _ => {}
        }
    }
    assert_eq!(counts, (3, 2, 2));
    let first = headline(&sink.events);
    assert!(first.text.starts_with("8 routers"), "{}", first.text);
}

#[test]
fn noise_is_told_first_and_offers_nobody_a_share_of_it() {
    let host = Fake {
        noisy: vec!["kernel"],
        ..Fake::default()
    };
    let mut sink = Collector::default();
    let end = run("", &host, &mut sink);
    assert!(matches!(end, End::Complete), "{end:?}");
    let open = headline(&sink.events);
    assert!(open.text.contains("stays open"), "{}", open.text);
    assert!(open.text.contains("figures 7 and 8"), "{}", open.text);
    // What one carries is not known: the three cases beside were not measured.
    let beside = sink.events.iter().filter(|event| {
        matches!(event, Event::Point(point) if point.verdict.reason.contains("what one router carries"))
    });
    assert!(beside.count() >= 3);
    let trials = host.trials.get();
    assert_eq!(
        trials,
        2 + 9 * 4 * 2,
        "each was tried twice, those beside never"
    );
}

#[test]
fn a_router_that_breaks_at_once_is_told_all_the_same() {
    let host = Fake {
        breaks_at: Some(0),
        ..Fake::default()
    };
    let mut sink = Collector::default();
    let end = run("", &host, &mut sink);
    assert!(matches!(end, End::Failed { .. }), "{end:?}");
    assert!(headline(&sink.events).text.contains("stays open"));
}

#[test]
fn an_interrupt_before_the_first_trial_is_one() {
    let mut sink = Collector {
        interrupt_after: Some(1),
        ..Collector::default()
    };
    let end = run("", &Fake::default(), &mut sink);
    assert!(matches!(end, End::Interrupted), "{end:?}");
    headline(&sink.events);
}
