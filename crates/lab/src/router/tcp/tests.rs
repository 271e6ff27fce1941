//! The section without a host.

use forward::bench::Setup;
use forward::topology::Cpus;
use std::time::Duration;
use trial::{Event, Weight};

use super::config::{Config, Table};
use super::section::measure;
use crate::ConfigError;
use crate::router::end::End;
use crate::router::testing::{Collector, Fake};
use crate::vcm::schedule::Wishes;

fn config(text: &str) -> Result<Config, ConfigError> {
    Config::try_from(crate::config::from_table::<Table>(
        text.parse().expect("toml"),
    )?)
}

#[test]
fn wrong_values_are_named() {
    for (text, key) in [
        ("paths = []", "paths"),
        ("paths = ['ovs']", "paths"),
        ("seconds = 61.0", "seconds"),
        ("pairs = 1000", "pairs"),
        ("frames = [64]", "frames"),
    ] {
        assert_eq!(config(text).expect_err(text).key(), key);
    }
}

#[test]
fn table_3_has_the_source_s_rows_and_ours() {
    let config = config("paths = ['kernel', 'xdp-fib', 'bridge']").expect("a configuration");
    let wishes = Wishes {
        trials: 1,
        slice_s: (1.0, 1.0),
        pairs: Some(5),
        seconds: None,
        start_s: 0.0,
        overhead_s: 0.0,
    };
    let schedule = wishes.schedule(Duration::from_secs(60)).expect("it fits");
    let host = Fake {
        missing: vec!["bridge"],
        ..Fake::default()
    };
    let build = |setups: &[Setup]| host.build(setups);
    let mut sink = Collector::default();
    let cpus = Cpus::among(&[0, 1]);
    let end = measure(
        (&config, &schedule, &cpus, "lockgate run"),
        &build,
        &mut sink,
    );
    assert!(matches!(end, End::Complete), "{end:?}");
    let mut counts = (0, 0);
    for event in &sink.events {
        match event {
            Event::Table(table) => {
                assert_eq!(table.rows.len(), 4, "two of the source, two of ours");
                counts.0 += 1;
            }
            Event::Comparison(one) => {
                assert_eq!((one.ratio, one.pairs.len()), (1.0, 5));
                counts.1 += 1;
            }
            Event::Finding(finding) if finding.weight == Weight::Warning => {
                assert_eq!(finding.remedy, "install bridge");
            }
            _ => {}
        }
    }
    assert_eq!(counts, (1, 2));
}
