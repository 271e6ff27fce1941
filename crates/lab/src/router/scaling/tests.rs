//! The section without a host: routers of known speed that share a CPU.

use forward::bench::Setup;
use forward::topology::Cpus;
use std::time::Duration;
use trial::{Event, Weight};

use super::config::{Config, Table};
use super::section::measure;
use crate::router::end::End;
use crate::router::testing::{Collector, Fake};
use crate::vcm::schedule::Wishes;

fn run(text: &str, host: &Fake, sink: &mut Collector) -> End {
    let table = crate::config::from_table::<Table>(text.parse().expect("toml"));
    let config = Config::try_from(table.expect("a table")).expect("a configuration");
    let wishes = Wishes {
        trials: 1,
        slice_s: (0.2, 0.2),
        pairs: Some(9),
        seconds: None,
        start_s: 0.0,
        overhead_s: 0.0,
    };
    let schedule = wishes.schedule(Duration::from_secs(3600)).expect("it fits");
    let cpus = Cpus::among(&[0, 1]);
    let build = |setups: &[Setup]| host.build(setups);
    measure((&config, &schedule, &cpus, "lockgate run"), &build, sink)
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
    let headline = sink.events.iter().find_map(|event| match event {
        Event::Finding(finding) if finding.weight == Weight::Headline => Some(&finding.text),
        _ => None,
    });
    assert!(
        headline.is_some_and(|text| text.contains("8 routers")),
        "{headline:?}"
    );
}

#[test]
fn an_interrupt_before_the_first_trial_is_one() {
    let mut sink = Collector {
        interrupt_after: Some(1),
        ..Collector::default()
    };
    let end = run("", &Fake::default(), &mut sink);
    assert!(matches!(end, End::Interrupted), "{end:?}");
}
